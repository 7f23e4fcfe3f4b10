"""From a server's reply to vectors: placed by index, counted, and looked at before numpy can hide anything."""

import base64
import binascii
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import EmbeddingError, listed
from .model import Vectors


def vectors_of_reply(reply: Any, labels: Sequence[str], width: int | None, *, asked: bool) -> Vectors:
    """Turn the reply to a batch into an array, shape (n, d), in the order of the texts.

    Parameters
    ----------
    reply : CreateEmbeddingResponse
        As the client hands it over, unchecked; vectors in base64 or as lists, as the server likes.
    labels : sequence of str
        Names of the texts, in the order they were sent.
    width : int or None
        Expected dimensions; None takes the first vector's.
    asked : bool
        Whether `width` was asked of the server, so that another width means the request was ignored.

    Raises
    ------
    EmbeddingError
        Missing, repeated or unknown indexes; null, NaN or infinite components; other widths. All of them at once.
    """
    ordered = _by_index(reply, labels)
    rows, problems = [], []
    for label, embedding in zip(labels, ordered, strict=True):
        row, fault = _row(embedding)
        if row is not None and width is None:
            width = len(row)
        if row is not None and len(row) != width:
            hint = "; the server ignores the dimensions asked for" if asked else ""
            fault = f"{len(row)} dimensions, expected {width}{hint}"
        if fault is not None:
            problems.append(f"{label}: {fault}")
        elif row is not None:
            rows.append(row)
    if problems:
        raise EmbeddingError(
            f"{len(problems)} of {len(labels)} vectors in the reply cannot be used:\n{listed(problems)}"
        )
    return np.array(rows, dtype=np.float32)


def _by_index(reply: Any, labels: Sequence[str]) -> list[Any]:
    """Put the reply's embeddings into the order of the texts; the index decides, never the position."""
    items = getattr(reply, "data", None)
    if not isinstance(items, list):
        raise EmbeddingError("the server's reply has no list of embeddings. Is the base URL that of an embeddings API?")
    indexes = [getattr(item, "index", None) for item in items]
    counts = Counter(indexes)
    problems = []
    unknown = [index for index in counts if type(index) is not int or not 0 <= index < len(labels)]
    if unknown:
        problems.append(f"unknown index: {', '.join(map(repr, unknown[:5]))}")
    problems += [
        f"{labels[row]} (index {row}): {counts[row]} vectors" for row in range(len(labels)) if counts[row] != 1
    ]
    if problems:
        raise EmbeddingError(
            f"the reply to {len(labels)} texts has {len(items)} vectors, expected one for each text:\n"
            f"{listed(problems)}"
        )
    placed = {item.index: getattr(item, "embedding", None) for item in items}
    return [placed[row] for row in range(len(labels))]


def _row(embedding: Any) -> tuple[npt.NDArray[np.float32] | None, str | None]:
    """One vector, or what is wrong with it."""
    if isinstance(embedding, str):
        try:
            values = np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
        except (binascii.Error, ValueError):
            return None, "not a vector of 32-bit floats in base64"
    elif isinstance(embedding, list):
        nulls = sum(value is None for value in embedding)
        if nulls:
            return None, f"{nulls} of {len(embedding)} components null"
        if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in embedding):
            return None, "components that are not numbers"
        with np.errstate(over="ignore"):  # becomes infinite, and is refused below
            values = np.array(embedding, dtype=np.float64).astype(np.float32)
    else:
        return None, f"not a vector but {type(embedding).__name__}"
    if len(values) == 0:
        return None, "an empty vector"
    broken = int(np.count_nonzero(~np.isfinite(values)))
    return (None, f"{broken} of {len(values)} components NaN or infinite") if broken else (values, None)
