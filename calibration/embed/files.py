"""Vectors that somebody else made, from an npz or a parquet file."""

import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import StoreError, listed
from .model import Vectors

HALVES = ("query", "doc")
ROLES = {"query": "query", "passage": "doc"}  # the parquet file's word for each half


@dataclass(frozen=True)
class VectorFile:
    """Vectors by id; a half that the file does not have is None, ids and vectors alike."""

    query_ids: list[str] | None
    query_vectors: Vectors | None
    doc_ids: list[str] | None
    doc_vectors: Vectors | None


def read_vectors(path: Path | str) -> VectorFile:
    """Read vectors and their ids; nothing in the file is ever executed.

    Parameters
    ----------
    path : path
        npz with arrays query_ids, query_vectors, doc_ids, doc_vectors (either half may be absent), or parquet with
        columns id, vector and role (query or passage).

    Raises
    ------
    StoreError
        Every problem at once: missing or unknown arrays, counts that differ, ragged widths, null or infinite
        components, blank or repeated ids.
    """
    path = Path(path)
    readers = {".npz": _read_npz, ".parquet": _read_parquet}
    if path.suffix.lower() not in readers:
        raise StoreError(f"{path.name} is neither .npz nor .parquet, the two kinds of vector file known here.")
    if not path.is_file():
        raise StoreError(f"the vector file {path} does not exist.")
    problems: list[str] = []
    halves = readers[path.suffix.lower()](path, problems)
    checked = {half: _checked_half(half, *halves[half], problems) for half in HALVES if half in halves}
    widths = {half: vectors.shape[1] for half, (_, vectors) in checked.items() if vectors is not None}
    if len(set(widths.values())) > 1:
        problems.append(f"query vectors have {widths['query']} dimensions, doc vectors {widths['doc']}")
    if not halves and not problems:
        problems.append("no vectors at all")
    if problems:
        raise StoreError(f"the vectors in {path.name} cannot be used:\n{listed(problems)}")
    return VectorFile(*checked.get("query", (None, None)), *checked.get("doc", (None, None)))


def _read_npz(path: Path, problems: list[str]) -> dict[str, tuple[Any, Any]]:
    expected = [f"{half}_{part}" for half in HALVES for part in ("ids", "vectors")]
    arrays = {}
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            problems += [
                f"unknown array {name!r}; known: {', '.join(expected)}" for name in file.files if name not in expected
            ]
            for name in set(expected).intersection(file.files):
                try:
                    arrays[name] = file[name]
                except ValueError:
                    problems.append(
                        f"{name} holds Python objects, which are not read; save it as an array of strings or numbers"
                    )
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise StoreError(f"{path.name} is not a whole npz file ({error}). Write it again with numpy.savez.") from error
    halves = {}
    for half in HALVES:
        ids, vectors = (f"{half}_ids", f"{half}_vectors")
        if ids in arrays and vectors in arrays:
            halves[half] = (arrays[ids], arrays[vectors])
        elif ids in arrays or vectors in arrays:
            present, absent = (ids, vectors) if ids in arrays else (vectors, ids)
            problems.append(f"{present} is there, {absent} is not")
    return halves


def _read_parquet(path: Path, problems: list[str]) -> dict[str, tuple[Any, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path.name} is not a whole parquet file ({error}).") from error
    missing = [name for name in ("id", "vector", "role") if name not in table.column_names]
    if missing:
        raise StoreError(f"{path.name} lacks the columns {', '.join(missing)}; found {', '.join(table.column_names)}.")
    roles = table["role"].to_pylist()
    odd = sorted({repr(role) for role in roles if role not in ROLES})
    if odd:
        problems.append(f"role {', '.join(odd[:5])}; expected {' or '.join(ROLES)}")
    kind = table.schema.field("vector").type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        problems.append(f"column vector is of type {kind}; expected lists of floats")
        return {}
    halves = {}
    for role, half in ROLES.items():
        part = table.filter(pc.equal(table["role"], role))
        if part.num_rows:
            ids = part["id"].to_pylist()
            halves[half] = (ids, _matrix(half, ids, part["vector"].combine_chunks(), problems))
    return halves


def _matrix(half: str, ids: list[Any], column: Any, problems: list[str]) -> npt.NDArray[Any] | None:
    """Turn a column of lists into one array, or name the rows that do not fit."""
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column).to_pylist()
    width = Counter(length for length in lengths if length is not None).most_common(1)
    usual = width[0][0] if width else 0
    ragged = [
        f"{half} {ids[row]}: {'no vector' if length is None else f'{length} dimensions, expected {usual}'}"
        for row, length in enumerate(lengths)
        if length != usual
    ]
    problems += ragged
    if ragged:
        return None
    flat = column.flatten()
    if flat.null_count:
        holes = np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False)) // max(usual, 1)
        problems += [f"{half} {ids[row]}: a component is null" for row in dict.fromkeys(holes.tolist())]
        return None
    values: npt.NDArray[Any] = flat.to_numpy(zero_copy_only=False)
    return values.reshape(len(ids), usual)


def _checked_half(
    half: str, raw_ids: Any, raw_vectors: npt.NDArray[Any] | None, problems: list[str]
) -> tuple[list[str], Vectors | None]:
    ids = list(_texts(half, raw_ids, problems))
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    problems += [f"{half} {name}: the id stands on more than one vector" for name in repeated]
    if raw_vectors is None:
        return ids, None
    if raw_vectors.ndim != 2 or raw_vectors.dtype.kind not in "fiu" or raw_vectors.shape[1] == 0:
        problems.append(
            f"{half}_vectors has shape {raw_vectors.shape} and type {raw_vectors.dtype}; expected rows of numbers"
        )
        return ids, None
    if len(ids) != len(raw_vectors):
        problems.append(f"{len(ids)} {half} ids, {len(raw_vectors)} {half} vectors")
        return ids, None
    with np.errstate(over="ignore"):  # becomes infinite, and is refused below
        vectors = np.ascontiguousarray(raw_vectors, dtype=np.float32)
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    problems += [f"{half} {ids[row]}: a component is NaN or infinite" for row in broken]
    return ids, vectors


def _texts(half: str, raw: Any, problems: list[str]) -> Iterator[str]:
    """Ids as text: strings, or whole numbers, which are written out."""
    values = raw.tolist() if isinstance(raw, np.ndarray) else raw
    if not isinstance(values, list) or (isinstance(raw, np.ndarray) and raw.ndim != 1):
        problems.append(f"{half} ids are not one list")
        return
    for row, value in enumerate(values):
        whole = isinstance(value, int) and not isinstance(value, bool)
        text = str(value) if whole or isinstance(value, str) else ""
        if not text.strip():
            problems.append(f"{half} row {row}: {value!r} is no id; expected a text or a whole number")
        yield text if text.strip() else f"row {row}"
