"""Facts measured in a table before anything is scored, and the proof that a plan reads all of it."""

from typing import Any

from psycopg import sql

from ...errors import StoreError
from ..base import NORM_TOLERANCE, SHOWN_IDS, Preflight, needs_direction
from ..facts import (
    duplicate_problems,
    index_problems,
    invalid_problems,
    model_problems,
    norm_problems,
    width_problems,
)
from .catalog import Target
from .connect import Connection, explained

EXACT_SETTINGS = {
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
    "enable_seqscan": "on",
    # A cursor is planned for its first tenth by default; we read to the end.
    "cursor_tuple_fraction": "1",
}
"""In force during a pull, read back each time."""

UNPROVABLE = {
    "Limit": "holds a LIMIT, in the view or in the filter, so rows are left out. "
    "Pull from the table itself, with a filter that says which rows are meant",
    "Sample Scan": "takes a TABLESAMPLE, so rows are left out. Pull from the table itself",
    "Foreign Scan": "asks another server, whose own plan is out of sight. Connect to the server that holds the table",
}
"""Plan node -> why a plan with it is no exact pull, and what to do."""

EXACT_INDEX_KINDS = ("btree", "hash", "gin", "gist", "spgist", "brin")


def measure(connection: Connection, target: Target, metric: str, model: str | None) -> Preflight:
    """Measure all facts of a table in the open transaction."""
    with explained(f"measure {target.names.table}"):
        rows, nulls, missing_ids, widths = _counts(connection, target)
        zeros = sum(zero for _, zero, *_ in widths.values())
        null_ids = _ids(connection, target, sql.SQL("{} IS NULL").format(target.vector)) if nulls else []
        zero_ids = _ids(connection, target, _norm(target) + sql.SQL(" = 0")) if zeros else []
        repeated = [] if target.unique_ids else _repeated(connection, target)
        models = _models(connection, target)
    lows = [low for _, _, low, _, _ in widths.values()]
    highs = [high for _, _, _, high, _ in widths.values()]
    not_unit = sum(off for *_, off in widths.values()) - zeros
    total = rows - nulls
    scorable = total - (zeros if needs_direction(metric) else 0)
    dimensions = {width: found[0] for width, found in widths.items()}
    low, high = min(lows, default=None), max(highs, default=None)
    blocking, notes = invalid_problems(nulls, null_ids, zeros, zero_ids, scorable, metric)
    blocking += width_problems(target.names.vector_column, dimensions)
    blocking += duplicate_problems(repeated, missing_ids, target.names.id_column)
    blocking += model_problems(models, model)
    notes += norm_problems(metric, not_unit, total, low, high)
    notes += index_problems(target.indexes, metric, target.column_type)
    if target.hides_rows:
        notes.append("row-level security is on: only the rows this role may see are counted and pulled")
    return Preflight(
        rows=rows,
        null_vectors=nulls,
        zero_vectors=zeros,
        null_ids=null_ids,
        zero_ids=zero_ids,
        dimensions=dimensions,
        norm_min=low,
        norm_max=high,
        not_unit=not_unit,
        metric=metric,
        indexes=target.indexes,
        models=models,
        problems=blocking + notes,
        blocking=blocking,
        server_version=target.server_version,
        pgvector_version=target.pgvector_version,
        table=target.names.table,
        filter=target.names.where,
    )


def plan_of(connection: Connection, query: sql.Composed, parameters: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Plan of a query as the cursor that streams it will run it."""
    explain = sql.SQL("EXPLAIN (FORMAT JSON) DECLARE planned CURSOR FOR ") + query
    row = connection.execute(explain, parameters).fetchone()
    plan: dict[str, Any] = row[0][0]["Plan"] if row is not None else {}
    return plan


def node_types(plan: dict[str, Any]) -> list[str]:
    """All node types of a plan, from the top.

    Examples
    --------
    >>> node_types({"Node Type": "Sort", "Plans": [{"Node Type": "Seq Scan"}]})
    ['Sort', 'Seq Scan']
    """
    return [str(plan["Node Type"])] + [name for child in plan.get("Plans", []) for name in node_types(child)]


def prove_exact(connection: Connection, plan: dict[str, Any]) -> list[str]:
    """Return the node types of a plan that reads every row; refuse what can leave rows out.

    Raises
    ------
    StoreError
        The plan holds a LIMIT, a sample, another server's table or an approximate index, anywhere.
    """
    types = node_types(plan)
    reasons = [reason for node, reason in UNPROVABLE.items() if node in types]
    if reasons:
        raise StoreError(f"the pull is not exact: its plan {reasons[0]}.")
    used = index_names(plan)
    rows = connection.execute(
        "SELECT c.relname, am.amname FROM pg_class c JOIN pg_am am ON am.oid = c.relam"
        " WHERE c.relkind IN ('i', 'I') AND c.relname = ANY(%s) AND NOT am.amname = ANY(%s)",
        (used, list(EXACT_INDEX_KINDS)),
    ).fetchall()
    if rows:
        shown = ", ".join(f"{name} ({kind})" for name, kind in rows)
        raise StoreError(
            f"the pull is not exact: its plan ({' > '.join(types)}) uses the approximate index {shown}, which leaves "
            "rows out. Pull from the table itself rather than from a view that orders by distance."
        )
    return types


def index_names(plan: dict[str, Any]) -> list[str]:
    """All indexes a plan uses.

    Examples
    --------
    >>> index_names({"Node Type": "Index Scan", "Index Name": "f_h"})
    ['f_h']
    """
    own = [str(plan["Index Name"])] if "Index Name" in plan else []
    return own + [name for child in plan.get("Plans", []) for name in index_names(child)]


def _norm(target: Target) -> sql.Composed:
    # halfvec has no vector_norm of its own; the cast is exact.
    return sql.SQL("{}({}::{})").format(target.function("vector_norm"), target.vector, target.function("vector"))


def _counts(
    connection: Connection, target: Target
) -> tuple[int, int, int, dict[int, tuple[int, int, float, float, int]]]:
    """Count (rows, NULL vectors, NULL ids, width -> (rows, zero, shortest, longest, not of unit length))."""
    columns = sql.SQL("{} AS id, {}({}) AS width, {} AS norm").format(
        sql.Identifier(target.names.id_column), target.function("vector_dims"), target.vector, _norm(target)
    )
    # OFFSET 0 keeps the planner from writing the norm, the costly part, into each of the aggregates.
    query = sql.SQL(
        "SELECT width, count(*), count(*) - count(id), count(*) FILTER (WHERE norm = 0), min(norm), max(norm),"
        " count(*) FILTER (WHERE abs(norm - 1) > {}) FROM ({} OFFSET 0) AS measured GROUP BY width"
    ).format(sql.Literal(NORM_TOLERANCE), target.select(columns))
    found = connection.execute(query, ()).fetchall()
    widths = {
        int(width): (int(rows), int(zero), float(low), float(high), int(off))
        for width, rows, _, zero, low, high, off in found
        if width is not None
    }
    nulls = sum(int(rows) for width, rows, *_ in found if width is None)
    return sum(int(row[1]) for row in found), nulls, sum(int(row[2]) for row in found), dict(sorted(widths.items()))


def _ids(connection: Connection, target: Target, condition: sql.Composed) -> list[str]:
    query = target.select(target.id, condition) + sql.SQL(" ORDER BY {} LIMIT {}").format(
        sql.Identifier(target.names.id_column), sql.Literal(SHOWN_IDS)
    )
    return [str(row[0]) for row in connection.execute(query, ()).fetchall()]


def _repeated(connection: Connection, target: Target) -> list[tuple[str, int]]:
    columns = sql.SQL("{} AS name, count(*)").format(target.id)
    present = sql.SQL("{} IS NOT NULL").format(sql.Identifier(target.names.id_column))
    query = target.select(columns, present) + sql.SQL(" GROUP BY name HAVING count(*) > 1 ORDER BY name LIMIT 6")
    return [(str(name), int(count)) for name, count in connection.execute(query, ()).fetchall()]


def _models(connection: Connection, target: Target) -> dict[str, int] | None:
    if target.names.model_column is None:
        return None
    columns = sql.SQL("coalesce({}::text, 'NULL') AS name, count(*)").format(sql.Identifier(target.names.model_column))
    present = sql.SQL("{} IS NOT NULL").format(target.vector)
    query = target.select(columns, present) + sql.SQL(" GROUP BY name ORDER BY name")
    return {str(name): int(count) for name, count in connection.execute(query, ()).fetchall()}
