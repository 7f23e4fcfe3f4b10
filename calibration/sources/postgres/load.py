"""Loading vectors into the embedded server: a table is there whole, or not at all."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from psycopg import sql

from ...errors import StoreError
from ..base import Floats32, Progress
from .cluster import CLUSTER_NAME
from .connect import Connection, connect, explained
from .wire import COPY_END, COPY_HEADER, copy_rows, encode

PREFIX = "vectors_"
BLOCK_ROWS = 4096
PLAIN_WIDTH = 1900
"""Wider vectors do not fit into one 8 kB page, which STORAGE PLAIN asks for."""


@dataclass(frozen=True)
class LoadedTable:
    """A table of vectors in the embedded server; `bytes` with its index."""

    name: str
    rows: int
    dimensions: int
    bytes: int


def table_name(model_digest: str, corpus_hash: str) -> str:
    """Name the table of one model's vectors of one corpus.

    Examples
    --------
    >>> table_name("sha256:ABCDEF0123456789", "0011223344556677")
    'vectors_abcdef012345_001122334455'
    """
    parts = [
        re.sub(r"[^a-z0-9]", "", text.lower().removeprefix("sha256:"))[:12] for text in (model_digest, corpus_hash)
    ]
    if not all(parts):
        raise StoreError(f"no table name from {model_digest!r} and {corpus_hash!r}: expected hexadecimal digests.")
    return PREFIX + "_".join(parts)


def load_vectors(
    conninfo: str,
    table_name: str,
    doc_ids: Sequence[str],
    vectors: npt.ArrayLike,
    document_ids: Sequence[str] | None = None,
    *,
    progress: Progress | None = None,
) -> bool:
    """Load vectors as a table (id, document_id, embedding); False if a table of that name and count is there already.

    Everything is one transaction: killed at any moment, it leaves nothing. A table of another count or width is
    replaced.

    Raises
    ------
    StoreError
        The server is not the embedded one, the lengths differ, ids repeat, or vectors hold NaN.
    """
    array = _checked(doc_ids, vectors, document_ids)
    with connect(conninfo, read_only=False) as connection, explained(f"load {table_name}"):
        _refuse_foreign(connection)
        with connection.transaction():
            # Two processes may load the same table: the second waits, then finds it.
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (table_name,))
            if _present(connection, table_name) == array.shape:
                return False
            table = sql.Identifier(table_name)
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            _create(connection, table, array.shape[1], document_ids is not None)
            _copy(connection, table, doc_ids, array, document_ids, progress)
            connection.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(table))
            facts = json.dumps({"rows": array.shape[0], "dimensions": array.shape[1]})
            connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(table, sql.Literal(facts)))
        connection.execute(sql.SQL("VACUUM ANALYZE {}").format(table))
    return True


def list_tables(conninfo: str) -> list[LoadedTable]:
    """List the tables of vectors in the embedded server, by name."""
    with connect(conninfo) as connection, explained("list the loaded tables"):
        rows = connection.execute(
            "SELECT relname, obj_description(oid, 'pg_class'), pg_total_relation_size(oid) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND starts_with(relname, %s)"
            " ORDER BY relname",
            (PREFIX,),
        ).fetchall()
    facts = [(name, json.loads(comment or "{}"), size) for name, comment, size in rows]
    return [LoadedTable(name, fact.get("rows", 0), fact.get("dimensions", 0), size) for name, fact, size in facts]


def drop_tables(conninfo: str, names: Sequence[str]) -> list[str]:
    """Drop some of the tables that `list_tables` names; returns those that were there."""
    present = {table.name for table in list_tables(conninfo)}
    with connect(conninfo, read_only=False) as connection, explained("drop loaded tables"):
        _refuse_foreign(connection)
        dropped = [name for name in names if name in present]
        for name in dropped:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
    return dropped


def _checked(doc_ids: Sequence[str], vectors: npt.ArrayLike, document_ids: Sequence[str] | None) -> Floats32:
    array: Floats32 = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(doc_ids) != len(array) or (document_ids is not None and len(document_ids) != len(array)):
        lengths = [len(doc_ids), *([] if document_ids is None else [len(document_ids)])]
        raise StoreError(f"{lengths} ids and vectors of shape {array.shape}; expected one vector per id.")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise StoreError(f"{len(bad)} vectors hold NaN or infinity, first {doc_ids[int(bad[0])]!r}; embed them again.")
    return array


def _refuse_foreign(connection: Connection) -> None:
    row = connection.execute("SELECT current_setting('cluster_name')").fetchone()
    if row is None or row[0] != CLUSTER_NAME:
        raise StoreError("vectors are loaded into the embedded server only; a user's database is never written to.")


def _present(connection: Connection, name: str) -> tuple[int, int] | None:
    row = connection.execute(
        "SELECT obj_description(to_regclass(%s), 'pg_class')", (sql.Identifier(name).as_string(connection),)
    ).fetchone()
    if row is None or row[0] is None:
        return None
    count = connection.execute(sql.SQL("SELECT count(embedding) FROM {}").format(sql.Identifier(name))).fetchone()
    return None if count is None else (int(count[0]), int(json.loads(row[0])["dimensions"]))


def _create(connection: Connection, table: sql.Identifier, width: int, documents: bool) -> None:
    document = sql.SQL("document_id text NOT NULL, ") if documents else sql.SQL("")
    connection.execute(
        sql.SQL("CREATE TABLE {} (id text NOT NULL, {}embedding vector({}) NOT NULL)").format(
            table, document, sql.Literal(width)
        )
    )
    if width <= PLAIN_WIDTH:
        # The default sends wide vectors to a side table: scans then take three times as long.
        connection.execute(sql.SQL("ALTER TABLE {} ALTER embedding SET STORAGE PLAIN").format(table))


def _copy(
    connection: Connection,
    table: sql.Identifier,
    doc_ids: Sequence[str],
    array: Floats32,
    document_ids: Sequence[str] | None,
    progress: Progress | None,
) -> None:
    columns = [doc_ids] if document_ids is None else [doc_ids, document_ids]
    names = sql.SQL("id, embedding") if document_ids is None else sql.SQL("id, document_id, embedding")
    query = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(table, names)
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        copy.write(COPY_HEADER)
        for start in range(0, len(array), BLOCK_ROWS):
            piece = slice(start, start + BLOCK_ROWS)
            texts = [[str(text).encode() for text in column[piece]] for column in columns]
            copy.write(copy_rows(texts, encode(array[piece])))
            if progress is not None:
                progress(min(start + BLOCK_ROWS, len(array)), len(array))
        copy.write(COPY_END)
