"""One table in parts: ranges of its pages on a fixed grid, read from one snapshot by any number of connections."""

import math
from collections.abc import Mapping
from typing import Any

from psycopg import sql

from ..base import Part, Preflight
from .catalog import Target
from .connect import Connection, explained, set_local

PART_ROWS = 100_000
"""Rows in a part, about; few enough to repeat one, enough to make up for a connection of its own."""

WAITING = {"idle_in_transaction_session_timeout": "0"}
"""The snapshot's own connection waits while others read from it."""


def export_snapshot(connection: Connection) -> str:
    """Give the open transaction's snapshot a name under which other connections see what it sees, while it is open."""
    with explained("share the snapshot"):
        set_local(connection, WAITING)
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
    return str(row[0]) if row is not None else ""


def grid(connection: Connection, target: Target, facts: Preflight, part_rows: int) -> list[tuple[int, int | None]]:
    """Cut the table's pages into ranges [low, high) of about `part_rows` rows; the last has no end.

    Returns
    -------
    list of (int, int or None)
        One range without an end for a small table, and for whatever has no pages of its own: a view, a foreign or
        partitioned table.
    """
    row = connection.execute(
        "SELECT relkind IN ('r', 'm') AND NOT relhassubclass, pg_relation_size(oid),"
        " current_setting('block_size')::int FROM pg_class WHERE oid = to_regclass(%s)",
        (target.relation.as_string(connection),),
    ).fetchone()
    if row is None or not row[0] or facts.rows <= part_rows:
        return [(0, None)]
    pages = max(1, int(row[1]) // int(row[2]))
    step = max(1, math.ceil(pages * part_rows / facts.rows))
    lows = list(range(0, pages, step))
    return [(low, high) for low, high in zip(lows, [*lows[1:], None], strict=True)]


def within(part: Part) -> sql.Composable | None:
    """Condition that keeps a part's rows; None when it is the whole table."""
    _, low, high, *_ = part.token
    bounds = [sql.SQL("ctid >= {}::tid").format(sql.Literal(f"({low},0)"))] if low else []
    if high is not None:
        bounds.append(sql.SQL("ctid < {}::tid").format(sql.Literal(f"({high},0)")))
    return sql.SQL(" AND ").join(bounds) if bounds else None


def state(connection: Connection, target: Target, facts: Preflight, parts: int) -> dict[str, Any]:
    """Describe what the parts hold, so that a later look can prove that they still hold it."""
    row = connection.execute(
        "SELECT pg_relation_filenode(to_regclass(%s)), pg_snapshot_xmin(pg_current_snapshot())::xid::text",
        (target.relation.as_string(connection),),
    ).fetchone()
    filenode, oldest = row if row is not None else (None, None)
    return {
        "filenode": filenode,
        "oldest": oldest,
        "rows": facts.rows,
        "scorable": facts.scorable,
        "parts": parts,
        "part_rows": PART_ROWS,
    }


def unchanged(connection: Connection, target: Target, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Prove that no row came, went or changed since `before`: same file, same count, and no row of a later transaction.

    A deleted row lowers the count, a new or changed one carries a transaction number that was not yet settled then, and
    a table rewritten by VACUUM FULL or CLUSTER lies in another file.
    """
    names = ("filenode", "rows", "scorable", "parts", "part_rows")
    if before.get("oldest") is None or now["filenode"] is None or any(before.get(n) != now[n] for n in names):
        return False
    later = sql.SQL("age(xmin) <= age({}::xid)").format(sql.Literal(str(before["oldest"])))
    query = target.select(sql.SQL("1"), later) + sql.SQL(" LIMIT 1")
    return connection.execute(query, ()).fetchone() is None
