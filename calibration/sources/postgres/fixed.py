"""Rows of one size, an integer id and a vector, decoded a block at a time: no object per row until its id is needed."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from psycopg import sql

from ...errors import StoreError
from ..base import Floats32
from .catalog import Target
from .connect import Connection
from .wire import COPY_END, COPY_HEADER, FLOATS

INTEGERS = {"int2": ">i2", "int4": ">i4", "int8": ">i8"}
"""Type of an id column -> its binary form."""


def fixed_columns(target: Target) -> sql.Composed:
    """Columns of a row of one size."""
    return sql.SQL("{}, {}").format(sql.Identifier(target.names.id_column), target.vector)


def fixed_blocks(
    connection: Connection, target: Target, query: sql.Composed, width: int, rows: int
) -> Iterator[tuple[list[str], Floats32]]:
    """Copy the rows of a query of `fixed_columns` in blocks of about `rows`: ids as text, and vectors.

    Raises
    ------
    StoreError
        A row has another size: the column changed, or an id is NULL.
    """
    record = np.dtype(
        [
            ("columns", ">i2"),
            ("id_size", ">i4"),
            ("id", INTEGERS[target.id_type]),
            ("size", ">i4"),
            ("width", ">i2"),
            ("unused", ">i2"),
            ("values", FLOATS[target.column_type], (width,)),
        ]
    )
    # without parameters nothing is read as a placeholder, so what was doubled for them is single again
    text = query.as_string(connection).replace("%%", "%")
    waiting, size = bytearray(), 0
    with connection.cursor() as cursor, cursor.copy(f"COPY ({text}\n) TO STDOUT (FORMAT binary)".encode()) as copy:
        pieces = iter(copy)
        waiting += bytes(next(pieces, b""))
        if not waiting.startswith(COPY_HEADER):
            raise StoreError("the server's answer is no binary copy; connect to the database itself.")
        del waiting[: len(COPY_HEADER)]
        for piece in pieces:
            waiting += piece
            size = len(waiting)
            if size >= rows * record.itemsize:
                whole = size - size % record.itemsize
                yield _decoded(bytes(waiting[:whole]), record, width)
                del waiting[:whole]
    if not waiting.endswith(COPY_END):
        raise StoreError(
            "the server's answer ended in the middle of a row; nothing is recommended from a partial pull."
        )
    rest = bytes(waiting[: -len(COPY_END)])
    if rest:
        yield _decoded(rest, record, width)


def _decoded(raw: bytes, record: np.dtype[np.void], width: int) -> tuple[list[str], Floats32]:
    if len(raw) % record.itemsize:
        raise StoreError(f"received rows of other sizes than an id and {width} numbers; the column changed.")
    table: npt.NDArray[np.void] = np.frombuffer(raw, dtype=record)
    sizes = (record["id"].itemsize, record["values"].itemsize + 4)
    right = (table["columns"] == 2) & (table["id_size"] == sizes[0]) & (table["size"] == sizes[1])
    if not (right & (table["width"] == width)).all():
        raise StoreError(f"received rows of other sizes than an id and {width} numbers; the column changed.")
    vectors: Floats32 = table["values"].astype(np.float32)
    return [str(value) for value in table["id"].tolist()], vectors
