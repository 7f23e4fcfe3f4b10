"""The rows of one statement by binary COPY, taken as they arrive and decoded a block at a time."""

import time
from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg import Copy, errors, pq, sql

from ...errors import StoreError
from ..base import Floats32
from .catalog import Target
from .connect import Connection
from .wire import COPY_END, COPY_HEADER, FLOATS

Rows = tuple[list[str], list[str | None], Floats32]
"""Ids, documents (None where there is none) and vectors of a block."""

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

PIECE_BYTES = 2 << 20
"""Decoded at once: what stays in the processor's cache."""

NAP = 0.001
"""Seconds to wait when nothing has arrived: reader and server would wake each other for every few rows."""

_COUNT, _LENGTH = np.dtype(">i2"), np.dtype(">i4")
_FIRST, _SIZE = _COUNT.itemsize, _LENGTH.itemsize
"""A row begins with the number of its columns, a value with its length, -1 for NULL."""

_CUT = "the server's answer ended too early; nothing is recommended from a partial pull."


def copied_columns(target: Target) -> sql.Composed:
    """Columns of a row: id, the document if the table names one, vector."""
    texts = [target.id] if target.names.document_column is None else [target.id, target.document]
    return sql.SQL(", ").join([*texts, target.vector])


def copied_blocks(
    connection: Connection, target: Target, query: sql.Composed, width: int, rows: int
) -> Generator[Rows]:
    """Copy the rows of a query of `copied_columns` in blocks of `rows`.

    Raises
    ------
    StoreError
        A vector has another width, or an id is NULL: the column changed; or the answer is cut.
    """
    numbers = FLOATS[target.column_type]
    form = np.dtype([("size", ">i4"), ("width", ">i2"), ("unused", ">i2"), ("values", numbers, (width,))])
    texts = 1 if target.names.document_column is None else 2
    piece = max(1, PIECE_BYTES // form.itemsize)
    # without parameters nothing is read as a placeholder, so what was doubled for them is single again
    text = query.as_bytes(connection).replace(b"%%", b"%")
    with connection.cursor() as cursor, cursor.copy(b"COPY (" + text + b"\n) TO STDOUT (FORMAT binary)") as copy:
        received = _Received(connection, copy)
        ids: list[str] = []
        documents: list[str | None] = []
        vectors: Floats32 = np.empty((rows, width), dtype=np.float32)
        while sizes := received.take(min(piece, rows - len(ids))):
            done = len(ids) + len(sizes)
            columns, vectors[len(ids) : done] = _decoded(received.room, sizes, form, texts)
            ids += columns[0]
            documents += columns[1] if texts > 1 else [None] * len(sizes)
            if done == rows:
                yield ids, documents, vectors
                ids, documents, vectors = [], [], np.empty((rows, width), dtype=np.float32)
        if ids:
            yield ids, documents, vectors[: len(ids)]


class _Received:
    """Messages of a binary COPY, one row each as the protocol has it, put one after the other.

    Each is copied while it is in the processor's cache, into memory that is used again: kept as they are, thousands of
    them would each be fetched back and cost their own pages.
    """

    def __init__(self, connection: Connection, copy: Copy) -> None:
        self.room = bytearray(1 << 16)
        self._connection, self._copy = connection, copy
        first = bytes(copy.read())
        if not first.startswith(COPY_HEADER):
            raise StoreError("the server's answer is no binary copy; connect to the database itself.")
        self._first, self._ended = first[len(COPY_HEADER) :], False

    def take(self, rows: int) -> list[int]:
        """Put the next `rows` rows, or what is left, into `room` and give their sizes."""
        sizes: list[int] = []
        if self._ended:
            return sizes
        arrived, end, room = self._connection.pgconn.get_copy_data, 0, memoryview(self.room)
        message = self._first or self._copy.read()
        self._first = b""
        try:
            while message:
                size = len(message)
                if size == len(COPY_END) and bytes(message) == COPY_END:
                    self._ended = True
                    self._copy.read()
                    return sizes
                if end + size > len(room):
                    room.release()
                    self.room.extend(bytes(len(self.room) + size))
                    room = memoryview(self.room)
                room[end : end + size] = message
                end += size
                sizes.append(size)
                if len(sizes) == rows:
                    return sizes
                # psycopg waits for every row anew, though most have come with the one before
                size, message = arrived(1)
                if size == 0:
                    self._connection.pgconn.consume_input()
                    size, message = arrived(1)
                if size < 0:
                    self._raise_failure()
                if size == 0:
                    time.sleep(NAP)
                    message = self._copy.read()
        finally:
            room.release()
        raise StoreError(_CUT)

    def _raise_failure(self) -> None:
        """Raise what the server broke off with."""
        results = list(iter(self._connection.pgconn.get_result, None))
        for result in results:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise errors.error_from_result(result, self._connection.info.encoding)
        raise StoreError(_CUT)


def _decoded(
    room: bytearray, row_sizes: list[int], form: np.dtype[np.void], texts: int
) -> tuple[list[list[Any]], npt.NDArray[np.floating]]:
    """Decode rows of `texts` texts, the first of them never NULL, and one vector, which still lies in `room`."""
    width = form["values"].shape[0]
    wrong = StoreError(
        f"received rows that are no id and {width} numbers; the column changed, or holds several widths."
    )
    sizes = np.array(row_sizes, dtype=np.int64)
    ends = sizes.cumsum()
    starts, vectors_at = ends - sizes, ends - form.itemsize
    data: Bytes = np.frombuffer(room, dtype=np.uint8, count=int(ends[-1]))
    if (vectors_at < starts + _FIRST).any() or (_values(data, starts, _COUNT) != texts + 1).any():
        raise wrong
    at, spans = starts + _FIRST, []
    for _ in range(texts):
        if (at + _SIZE > vectors_at).any():
            raise wrong
        lengths, first = _values(data, at, _LENGTH).astype(np.int64), at + _SIZE
        at = first + np.maximum(lengths, 0)
        spans.append((first, at, lengths < 0))
    table = _values(data, vectors_at, form)
    if (at != vectors_at).any() or (table["size"] != form.itemsize - _SIZE).any() or (table["width"] != width).any():
        raise wrong
    unnamed = int(spans[0][-1].sum())
    if unnamed:
        raise StoreError(f"received {unnamed} rows without an id; the column changed.")
    return [_texts(room, *span) for span in spans], table["values"]


def _texts(room: bytearray, starts: Places, ends: Places, missing: npt.NDArray[np.bool_]) -> list[str | None]:
    with memoryview(room) as view:
        raw = bytes(view[: int(ends[-1])])
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    try:
        found: list[str | None] = [raw[a:b].decode() for a, b in places]
    except UnicodeDecodeError as error:
        raise StoreError(
            f"an id holds bytes that are no UTF-8 ({error.object[:40]!r}): the database does not check its texts. "
            "Mend it."
        ) from None
    for row in np.flatnonzero(missing):
        found[row] = None
    return found


def _values(data: Bytes, places: Places, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Read a value at each of some places; rows of one size, which most blocks consist of, are read where they lie."""
    steps = np.diff(places)
    if len(steps) == 0 or (steps == steps[0]).all():
        step = int(steps[0]) if len(steps) else kind.itemsize
        return np.ndarray(len(places), kind, data.data, int(places[0]), (step,))
    windows = np.lib.stride_tricks.sliding_window_view(data, kind.itemsize)[places]
    values: npt.NDArray[Any] = np.ascontiguousarray(windows).view(kind)[:, 0]
    return values
