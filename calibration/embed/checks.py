"""What a text must be before a model sees it, and what vectors must be before anyone compares them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import EmbeddingError, listed

UNIT_TOLERANCE = 1e-3
"""float32 moves the length of a unit vector by about 1e-7; a vector cut short moves it by far more than 1e-3."""


@dataclass(frozen=True)
class Norms:
    """Measured lengths of vectors.

    Attributes
    ----------
    min, max : float
        NaN when there are no vectors.
    not_unit, zero : int
        Vectors whose length is off 1 by more than 1e-3, and vectors of length 0; zeros count in both.
    first : tuple of int
        Indexes of the first vectors that are not of unit length, at most five.
    """

    min: float
    max: float
    not_unit: int
    zero: int
    first: tuple[int, ...] = ()

    @property
    def unit(self) -> bool:
        """Whether every vector is of unit length, so that conversions between metrics hold."""
        return self.not_unit == 0


def measured_norms(vectors: npt.ArrayLike) -> Norms:
    """Measure the lengths of vectors, shape (n, d); a length that is not a number counts as not unit.

    Examples
    --------
    >>> measured_norms([[0.6, 0.0], [0.6, 0.8]])
    Norms(min=0.6, max=1.0, not_unit=1, zero=0, first=(0,))
    """
    values = np.asarray(vectors)
    if len(values) == 0:
        return Norms(float("nan"), float("nan"), 0, 0)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64, casting="safe"))
    off = np.flatnonzero(~(np.abs(lengths - 1.0) <= UNIT_TOLERANCE))
    return Norms(
        min=float(lengths.min()),
        max=float(lengths.max()),
        not_unit=len(off),
        zero=int(np.count_nonzero(lengths == 0.0)),
        first=tuple(int(index) for index in off[:5]),
    )


def names(ids: Sequence[str] | None, n: int) -> list[str]:
    """Name each of n inputs in error messages: by its id where there are ids, else by its place.

    Examples
    --------
    >>> names(["q1"], 1), names(None, 2)
    (['q1'], ['input 0', 'input 1'])
    """
    if ids is None:
        return [f"input {index}" for index in range(n)]
    if len(ids) != n:
        raise EmbeddingError(f"{len(ids)} ids for {n} texts: give one id for each text.")
    return [str(name) for name in ids]


def check_texts(texts: Sequence[str], ids: Sequence[str] | None = None) -> None:
    r"""Refuse texts no model can be trusted with: blank, not a string, with a NUL or half a character.

    Blank texts get an error from one server, a plausible unit vector from another; some engines stop reading at a NUL.

    Examples
    --------
    >>> check_texts(["alpha", "  "], ["q1", "q2"])
    Traceback (most recent call last):
    calibration.errors.EmbeddingError: 1 of 2 texts cannot be embedded; correct or remove them:
      - q2: blank text
    """
    if isinstance(texts, str):
        raise EmbeddingError("one string was given where a list of texts is expected; put it in a list.")
    labels = names(ids, len(texts))
    faults = ((label, _text_fault(text)) for label, text in zip(labels, texts, strict=True))
    problems = [f"{label}: {fault}" for label, fault in faults if fault is not None]
    if problems:
        raise EmbeddingError(
            f"{len(problems)} of {len(texts)} texts cannot be embedded; correct or remove them:\n{listed(problems)}"
        )


def _text_fault(text: object) -> str | None:
    if not isinstance(text, str):
        return f"not a text but {type(text).__name__}"
    if not text.strip():
        return "blank text"
    if "\0" in text:
        return "contains a NUL character"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "contains half of a surrogate pair, which is no character"
    return None


def check_vectors(vectors: npt.ArrayLike, n: int, dimensions: int | None, ids: Sequence[str] | None = None) -> None:
    """Refuse anything but n finite vectors of one width, naming the inputs concerned.

    Parameters
    ----------
    dimensions : int or None
        The width expected; None accepts any.

    Examples
    --------
    >>> check_vectors([[0.1, float("nan")], [0.6, 0.8]], 2, 2, ["t0", "t1"])
    Traceback (most recent call last):
    calibration.errors.EmbeddingError: 1 of 2 vectors cannot be used:
      - t0: 1 of 2 components is NaN or infinite
    """
    values = np.asarray(vectors)
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise EmbeddingError(
            f"expected {n} vectors of numbers, found an array of shape {values.shape} and type {values.dtype}."
        )
    if len(values) != n:
        raise EmbeddingError(f"expected {n} vectors, one for each text, found {len(values)}.")
    width = values.shape[1]
    if n and (width == 0 or (dimensions is not None and width != dimensions)):
        wanted = "at least 1" if dimensions is None else str(dimensions)
        raise EmbeddingError(f"expected vectors of {wanted} dimensions, found {width}.")
    broken = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(broken):
        labels = names(ids, n)
        raise EmbeddingError(f"{len(broken)} of {n} vectors cannot be used:\n{listed(_broken(values, broken, labels))}")


def _broken(values: npt.NDArray[np.generic], rows: npt.NDArray[np.intp], labels: list[str]) -> list[str]:
    problems = []
    for row in rows:
        count = int(np.count_nonzero(~np.isfinite(values[row])))
        problems.append(
            f"{labels[row]}: {count} of {values.shape[1]} components {'is' if count == 1 else 'are'} NaN or infinite"
        )
    return problems
