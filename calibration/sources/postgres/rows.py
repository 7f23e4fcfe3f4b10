"""Rows of a table as they come over a connection, and the blocks they are put into."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg import ServerCursor, sql
from psycopg.types.string import ByteaBinaryLoader

from ...errors import StoreError
from ..base import Block, Floats32, Floats64, Preflight, needs_direction
from .catalog import Target
from .connect import Connection

Flags = npt.NDArray[np.bool_]


def columns_of(target: Target) -> sql.Composed:
    """Columns of a row with its vector: id, document, vector."""
    return sql.SQL("{}, {}, {}").format(target.id, target.document, target.vector)


def stream(
    connection: Connection, target: Target, query: sql.Composed, parameters: tuple[Any, ...], size: int
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query in lists, vectors as raw bytes."""
    cursor: ServerCursor[tuple[Any, ...]]
    with connection.cursor("calibration_pull", binary=True) as cursor:
        cursor.adapters.register_loader(target.type_oid, ByteaBinaryLoader)
        cursor.execute(query, parameters, binary=True)
        while rows := cursor.fetchmany(size):
            yield rows


def block_of(
    names: list[str],
    documents: list[str | None],
    keep: Flags,
    target: Target,
    *,
    vectors: Floats32 | None = None,
    scores: Floats64 | None = None,
    query_row: int | None = None,
) -> Block:
    """Make a block of the rows to keep; a passage without a document is a document of its own."""
    if not keep.all():
        names = [name for name, kept in zip(names, keep, strict=True) if kept]
        documents = [name for name, kept in zip(documents, keep, strict=True) if kept]
        vectors = None if vectors is None else vectors[keep]
        scores = None if scores is None else scores[keep]
    own = None
    if target.names.document_column is not None:
        own = [name if document is None else document for name, document in zip(names, documents, strict=True)]
    return Block(names, own, vectors, scores, query_row)


def directed(
    names: list[str], documents: list[str | None], vectors: Floats32, zeros: bool, target: Target
) -> tuple[Block, int]:
    """Make a block of rows with their vectors, without those of length zero if there are `zeros` to leave out.

    Returns
    -------
    (Block, int)
        And how many were left out.
    """
    keep = np.asarray(vectors.any(axis=1)) if zeros else np.ones(len(vectors), dtype=np.bool_)
    return block_of(names, documents, keep, target, vectors=vectors), len(vectors) - int(keep.sum())


def check_left_out(found: int, facts: Preflight, metric: str) -> None:
    """Raise unless exactly the zero vectors were left out.

    Raises
    ------
    StoreError
    """
    expected = facts.zero_vectors if needs_direction(metric) else 0
    if found != expected:
        raise StoreError(
            f"{found} rows came without a usable score, {expected} zero vectors were counted: the stored vectors are "
            "so short or so long that their scores are not numbers. Normalise them."
        )


def width_of(raw: bytes) -> int:
    """Width of a vector's cell."""
    return int.from_bytes(raw[:2], "big")
