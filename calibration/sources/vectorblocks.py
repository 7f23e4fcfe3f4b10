"""Vector files read piece by piece: parquet by batches, npz as a stream of its members."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import StoreError
from .base import Floats32

BLOCK_ROWS = 8192
Half = Literal["query", "doc"]
ROLES = {"query": "query", "doc": "passage"}
"""Half of a vector file -> the word for it in a parquet file's column `role`."""

_ID, _VECTOR = ("doc_id", "id"), ("embedding", "vector")


class Piece(NamedTuple):
    """Consecutive rows of one vector width, as float32; `vectors` is None for rows without one."""

    ids: list[Any]
    document_ids: list[Any] | None
    vectors: Floats32 | None


class VectorReader(Protocol):
    """A vector file of either kind."""

    def has(self, half: Half) -> bool:
        """Tell whether the file has query vectors, or passage vectors."""
        ...

    def ids(self, half: Half) -> Iterator[tuple[list[Any], list[Any] | None]]:
        """Yield ids, and the documents of passages where the file names them, without reading vectors."""
        ...

    def pieces(self, half: Half) -> Iterator[Piece]:
        """Yield all rows, at most `BLOCK_ROWS` at a time."""
        ...


def open_reader(path: Path) -> VectorReader:
    """Open a vector file by its suffix.

    Raises
    ------
    StoreError
        No such file, another kind, or one that lacks what it must have.
    """
    readers: dict[str, type[NpzReader] | type[ParquetReader]] = {".npz": NpzReader, ".parquet": ParquetReader}
    if path.suffix.lower() not in readers:
        raise StoreError(f"{path.name} is neither .npz nor .parquet, the two kinds of vector file known here.")
    if not path.is_file():
        raise StoreError(f"the vector file {path} does not exist.")
    return readers[path.suffix.lower()](path)


class NpzReader:
    """npz with doc_ids, doc_vectors, perhaps document_ids, perhaps query_ids and query_vectors; nothing is executed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        known = ["query_ids", "query_vectors", "doc_ids", "doc_vectors", "document_ids"]
        with self._opened() as file:
            self._members = {name.removesuffix(".npy") for name in file.namelist()}
        problems = [f"unknown array {name!r}; known: {', '.join(known)}" for name in self._members.difference(known)]
        for half in ROLES:
            pair = {f"{half}_ids", f"{half}_vectors"}
            problems += [f"{name} is missing" for name in pair - self._members if pair & self._members]
        if problems:
            raise StoreError(f"the vectors in {path.name} cannot be used: " + "; ".join(sorted(problems)))

    def has(self, half: Half) -> bool:
        """Tell whether the file has query vectors, or passage vectors."""
        return f"{half}_vectors" in self._members

    def ids(self, half: Half) -> Iterator[tuple[list[Any], list[Any] | None]]:
        """Yield ids, and the documents of passages where the file names them, without reading vectors."""
        columns = [f"{half}_ids", *self._documents(half)]
        for ids, *documents in self._rows(columns):
            yield ids.tolist(), documents[0].tolist() if documents else None

    def pieces(self, half: Half) -> Iterator[Piece]:
        """Yield all rows, at most `BLOCK_ROWS` at a time."""
        columns = [f"{half}_ids", f"{half}_vectors", *self._documents(half)]
        for ids, vectors, *documents in self._rows(columns):
            with np.errstate(over="ignore"):  # becomes infinite, which the source counts
                floats = np.ascontiguousarray(vectors, dtype=np.float32)
            yield Piece(ids.tolist(), documents[0].tolist() if documents else None, floats)

    def _documents(self, half: Half) -> list[str]:
        return ["document_ids"] if half == "doc" and "document_ids" in self._members else []

    def _rows(self, names: Sequence[str]) -> Iterator[list[npt.NDArray[Any]]]:
        """Yield rows of several arrays side by side."""
        with ExitStack() as stack:
            file = stack.enter_context(self._opened())
            try:
                arrays = [_Array(stack.enter_context(file.open(f"{name}.npy")), name) for name in names]
                lengths = {array.name: array.shape[0] for array in arrays}
                if len(set(lengths.values())) > 1:
                    raise StoreError(f"{self._path.name}: arrays of different length: {lengths}.")
                while (rows := [array.next_rows() for array in arrays]) and len(rows[0]):
                    yield rows
            except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
                raise self._broken(error) from error

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._path)
        except (zipfile.BadZipFile, OSError) as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> StoreError:
        return StoreError(f"{self._path.name} is not a whole npz file ({error}). Write it again with numpy.savez.")


class _Array:
    """One member of an npz file, read from its start to its end; zipfile checks its sum at the end."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.name = name
        self.shape, fortran, self._dtype = read_header(stream)
        if self._dtype.hasobject:
            raise StoreError(f"{name} holds Python objects, which are not read; save an array of strings or numbers.")
        vectors = name.endswith("_vectors")
        if len(self.shape) != 1 + vectors or (vectors and (self._dtype.kind not in "fiu" or self.shape[1] == 0)):
            expected = "rows of numbers" if vectors else "one list"
            raise StoreError(f"{name} has shape {self.shape} and type {self._dtype}; expected {expected}.")
        if fortran and vectors and min(self.shape) > 1:
            raise StoreError(f"{name} is stored column by column; save numpy.ascontiguousarray({name}).")
        self._stream, self._left = stream, self.shape[0]

    def next_rows(self) -> npt.NDArray[Any]:
        """Read the next `BLOCK_ROWS` rows, none at the end."""
        rows = min(BLOCK_ROWS, self._left)
        self._left -= rows
        shape = (rows, *self.shape[1:])
        size = int(np.prod(shape)) * self._dtype.itemsize
        data = bytearray(size)
        view, got = memoryview(data), 0
        while got < size:
            part = self._stream.read(min(size - got, 1 << 24))
            if not part:
                raise EOFError(f"{self.name} ends early")
            view[got : got + len(part)] = part
            got += len(part)
        if not self._left and self._stream.read(1):
            raise EOFError(f"{self.name} is longer than it says")
        return np.frombuffer(data, dtype=self._dtype).reshape(shape)


class ParquetReader:
    """Parquet with columns doc_id or id, embedding or vector, perhaps document_id, perhaps role (query, passage)."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._path = path
        with self._opened() as file:
            schema = file.schema_arrow
        found = {name: [one for one in names if one in schema.names] for name, names in _COLUMNS.items()}
        lacking = [" or ".join(_COLUMNS[name]) for name in ("id", "vector") if not found[name]]
        if lacking:
            raise StoreError(f"{path.name} lacks the columns {', '.join(lacking)}; found {', '.join(schema.names)}.")
        doubled = [" and ".join(names) for names in found.values() if len(names) > 1]
        if doubled:
            raise StoreError(f"{path.name} has {', '.join(doubled)}; leave one of each.")
        self._names = {name: names[0] for name, names in found.items() if names}
        kind = schema.field(self._names["vector"]).type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        if not lists or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
            raise StoreError(f"column {self._names['vector']} is of type {kind}; expected lists of floats.")
        self._halves = self._roles()

    def has(self, half: Half) -> bool:
        """Tell whether the file has query vectors, or passage vectors."""
        return half in self._halves

    def ids(self, half: Half) -> Iterator[tuple[list[Any], list[Any] | None]]:
        """Yield ids, and the documents of passages where the file names them, without reading vectors."""
        for batch in self._batches(half, [name for name in ("id", "document_id") if name in self._names]):
            yield self._column(batch, "id"), self._column(batch, "document_id") if half == "doc" else None

    def pieces(self, half: Half) -> Iterator[Piece]:
        """Yield all rows, at most `BLOCK_ROWS` at a time."""
        import pyarrow.compute as pc

        for batch in self._batches(half, [name for name in self._names if name != "role"]):
            column = batch.column(self._names["vector"])
            widths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
            for width in np.unique(widths).tolist():
                rows = batch.filter(widths == width) if (widths != width).any() else batch
                documents = self._column(rows, "document_id") if half == "doc" else None
                vectors = None if width < 0 else _matrix(rows.column(self._names["vector"]), width)
                yield Piece(self._column(rows, "id") or [], documents, vectors)

    def _column(self, batch: Any, name: str) -> Any:
        return batch.column(self._names[name]).to_pylist() if name in self._names else None

    def _roles(self) -> frozenset[Half]:
        """Look which halves there are; without a role every row is a passage."""
        if "role" not in self._names:
            return frozenset({"doc"})
        seen: set[Any] = set()
        with self._opened() as file:
            for batch in file.iter_batches(columns=[self._names["role"]]):
                seen.update(batch.column(0).unique().to_pylist())
        odd = sorted(repr(role) for role in seen.difference(ROLES.values()))
        if odd:
            raise StoreError(f"{self._path.name}: role {', '.join(odd[:5])}; expected query or passage.")
        halves: tuple[Half, Half] = ("query", "doc")
        return frozenset(half for half in halves if ROLES[half] in seen)

    def _batches(self, half: Half, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        role = self._names.get("role")
        columns = [self._names[name] for name in names] + ([] if role is None else [role])
        with self._opened() as file:
            try:
                for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=columns):
                    chosen = batch if role is None else batch.filter(pc.equal(batch.column(role), ROLES[half]))
                    if chosen.num_rows:
                        yield chosen
            except (pa.ArrowException, OSError) as error:
                raise StoreError(f"{self._path.name} is not a whole parquet file ({error}).") from error

    def _opened(self) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # buffered: otherwise a whole row group is read at once, and files often have but one
            return pq.ParquetFile(self._path, buffer_size=1 << 20, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise StoreError(f"{self._path.name} is not a whole parquet file ({error}).") from error


_COLUMNS = {"id": _ID, "vector": _VECTOR, "document_id": ("document_id",), "role": ("role",)}


def _matrix(column: Any, width: int) -> Floats32:
    """Turn lists of one width into rows; a null component becomes NaN, which the source counts."""
    import pyarrow as pa

    values = column.flatten()
    with np.errstate(over="ignore"):
        floats = values.cast(pa.float64()) if values.null_count or pa.types.is_integer(values.type) else values
        return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(len(column), width)
