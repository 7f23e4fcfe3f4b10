"""pgvector's binary format: int16 width, int16 unused, then big-endian floats (4 bytes; 2 in a halfvec)."""

import struct
from collections.abc import Sequence

import numpy as np

from ...errors import StoreError
from ..base import Floats32

COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0)
COPY_END = struct.pack("!h", -1)
FLOATS = {"vector": ">f4", "halfvec": ">f2"}
"""Column type -> the binary form of its numbers."""


def decode(cells: Sequence[bytes], width: int, column_type: str = "vector") -> Floats32:
    """Decode the raw cells of a column into a (len(cells), width) array, in bulk.

    Raises
    ------
    StoreError
        A cell has another width.

    Examples
    --------
    >>> decode([bytes.fromhex("000200003f80000000000000")], 2).tolist()
    [[1.0, 0.0]]
    """
    record = np.dtype([("width", ">i2"), ("unused", ">i2"), ("values", FLOATS[column_type], (width,))])
    raw = b"".join(cells)
    if len(raw) != len(cells) * record.itemsize:
        raise StoreError(f"received vectors of other widths than {width}; the column changed, or holds several widths.")
    table = np.frombuffer(raw, dtype=record)
    if (table["width"] != width).any():
        raise StoreError(f"received vectors of other widths than {width}; the column changed, or holds several widths.")
    vectors: Floats32 = table["values"].astype(np.float32)
    return vectors


def encode(vectors: Floats32) -> list[bytes]:
    """Encode the rows of an (n, d) array as vector cells.

    Examples
    --------
    >>> encode(np.array([[1.0, 0.0]], dtype=np.float32))[0].hex()
    '000200003f80000000000000'
    """
    count, width = vectors.shape
    table = np.zeros(count, dtype=[("width", ">i2"), ("unused", ">i2"), ("values", ">f4", (width,))])
    table["width"] = width
    table["values"] = vectors
    raw, size = table.tobytes(), table.itemsize
    return [raw[start : start + size] for start in range(0, count * size, size)]


def copy_rows(texts: Sequence[Sequence[bytes]], cells: Sequence[bytes]) -> bytes:
    """Write rows of text columns followed by one vector in the format of COPY BINARY, without header and end."""
    columns = struct.pack("!h", len(texts) + 1)
    size = struct.Struct("!i").pack
    parts: list[bytes] = []
    for *row, cell in zip(*texts, cells, strict=True):
        parts.append(columns)
        for text in row:
            parts += (size(len(text)), text)
        parts += (size(len(cell)), cell)
    return b"".join(parts)


def vector_text(vector: Floats32) -> str:
    """Write a vector as pgvector reads it, without loss.

    Examples
    --------
    >>> vector_text(np.array([0.8, -1.0], dtype=np.float32))
    '[0.8,-1.0]'
    """
    return "[" + ",".join(str(value) for value in vector) + "]"
