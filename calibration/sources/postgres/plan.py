"""How the server would run the query that is deployed: asked of the planner, never run."""

from typing import Any

from psycopg import sql

from ...contract import ScoreContract
from ...contract.deploy import OPERATORS, pgvector_sql
from ...errors import StoreError
from .catalog import Target
from .connect import Connection, explained, set_local

OPCLASSES = {"<=>": "cosine_ops", "<->": "l2_ops", "<#>": "ip_ops"}


def search_plan(connection: Connection, target: Target, metric: str, limit: int) -> dict[str, Any]:
    """Give EXPLAIN's lines for the search with a cut outside, with the question and the cut as parameters.

    The lines are without costs, so that they are the same for the same data. The open transaction is not to be used
    for anything else afterwards, since a query that cannot be planned ends it.

    Returns
    -------
    dict
        lines (empty where the server refuses), reason (of a refusal, or None), column_type, uses_index (the approximate
        index in the plan, or None), fitting (names of approximate indexes for this operator), operator.
    """
    operator = OPERATORS[metric]
    fitting = [
        index.name
        for index in target.indexes
        if index.kind in ("hnsw", "ivfflat") and index.opclass.endswith(OPCLASSES[operator])
    ]
    found: dict[str, Any] = {
        "lines": [],
        "reason": None,
        "column_type": target.column_type,
        "uses_index": None,
        "fitting": fitting,
        "operator": operator,
    }
    try:
        found["lines"] = _explained(connection, target, metric, limit)
    except StoreError as error:
        found["reason"] = str(error)
    text = "\n".join(found["lines"])
    found["uses_index"] = next((name for name in fitting if f"using {name} " in text), None)
    return found


def _explained(connection: Connection, target: Target, metric: str, limit: int) -> list[str]:
    names = target.names
    query = pgvector_sql(
        ScoreContract(metric),
        table=target.relation.as_string(connection),
        key=sql.Identifier(names.id_column).as_string(connection),
        vector=target.vector.as_string(connection),
        top_k=limit,
        limit=("<=", "$2"),
        where=() if names.where is None else (names.where,),
        column_type=target.column_type,
    )
    kind = target.function(target.column_type).as_string(connection)
    with explained(f"plan the search in {names.table}"):
        # a plan for any question, not one for a question that happens to be known
        set_local(connection, {"plan_cache_mode": "force_generic_plan"})
        connection.execute(f"PREPARE calibration_search({kind}, double precision) AS {query}".encode())
        try:
            rows = connection.execute("EXPLAIN (COSTS OFF) EXECUTE calibration_search(NULL, NULL)").fetchall()
        finally:
            if connection.info.transaction_status.name != "INERROR":
                connection.execute("DEALLOCATE calibration_search")
    return [str(row[0]) for row in rows]
