"""The proof that a search went through an index, or that it did not: read from the plan, not from the settings."""

from typing import Any

from psycopg import sql

from ...errors import StoreError
from .catalog import SCORES, Target
from .connect import Connection
from .preflight import EXACT_INDEX_KINDS, node_types
from .settings import IndexUse

Named = list[tuple[str, str]]
"""Indexes: name and kind."""


def plan_of_search(connection: Connection, query: sql.Composed, text: str) -> dict[str, Any]:
    """Plan of a search for one vector, which the query takes twice."""
    row = connection.execute(sql.SQL("EXPLAIN (VERBOSE, FORMAT JSON) ") + query, (text, text)).fetchone()
    plan: dict[str, Any] = row[0][0]["Plan"] if row is not None else {}
    return plan


def vector_indexes(connection: Connection, plan: dict[str, Any]) -> Named:
    """Indexes of a plan that may miss rows."""
    used = _used(plan)
    # by schema too: another schema may hold an index of the same name and another kind
    rows = connection.execute(
        "SELECT DISTINCT c.relname, am.amname FROM unnest(%s::text[], %s::text[]) AS used(schema, name)"
        " JOIN pg_class c ON c.relname = used.name JOIN pg_am am ON am.oid = c.relam"
        " WHERE c.relkind IN ('i', 'I') AND coalesce(c.relnamespace = to_regnamespace(quote_ident(used.schema)), true)"
        " AND NOT am.amname = ANY(%s) ORDER BY 1",
        ([schema for schema, _ in used], [name for _, name in used], list(EXACT_INDEX_KINDS)),
    ).fetchall()
    return [(str(name), str(kind)) for name, kind in rows]


def refuse_index(connection: Connection, plan: dict[str, Any]) -> None:
    """Refuse an exact side whose plan uses an index that may miss rows."""
    used = vector_indexes(connection, plan)
    if used:
        shown = ", ".join(f"{name} ({kind})" for name, kind in used)
        raise StoreError(f"exact side ran as {' > '.join(node_types(plan))} on {shown}: it is not exact.")


def prove_used(target: Target, metric: str, wanted: IndexUse, plan: dict[str, Any], used: Named) -> None:
    """Refuse an approximate side that did not go through the index it is meant to."""
    if any(wanted.name in (None, name) and wanted.kind in (None, kind) for name, kind in used):
        return
    there = [index.name for index in target.indexes if index.kind not in EXACT_INDEX_KINDS]
    ran = node_types(plan)[-1] + "".join(f" on {name} ({kind})" for name, kind in used)
    expected = wanted.name or (f"index {' or '.join(there)}" if there else f"{wanted.kind or 'vector'} index")
    raise StoreError(
        f"approximate side ran as {ran}, {expected} not used - comparison means nothing. "
        + ("The table has no vector index. " if not there else "")
        + f"An index serves ORDER BY column {SCORES[metric][0]} vector LIMIT k with an operator class of the same "
        'metric, on a table large enough for the planner; if the application too runs exactly, say "index": null.'
    )


def _used(plan: dict[str, Any], schema: str | None = None) -> list[tuple[str | None, str]]:
    schema = plan.get("Schema", schema)  # a bitmap scan's index stands below the scan that names the schema
    own = [(schema, str(plan["Index Name"]))] if "Index Name" in plan else []
    return own + [one for child in plan.get("Plans", []) for one in _used(child, schema)]
