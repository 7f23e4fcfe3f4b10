"""pgvector's operators: the metric each gives, and the statements that search and score with them."""

from psycopg import sql

from ...contract.metrics import OPERATORS
from ...errors import StoreError
from .catalog import SCORES, Target

REFUSED = {
    "<+>": "it gives the L1 (taxicab) distance, from which no algebra leads to a cosine, whatever the vectors' length",
    "<~>": "it gives the Hamming distance of bit vectors, which is a different score altogether",
    "<%>": "it gives the Jaccard distance of bit vectors, which is a different score altogether",
}


def metric_of_operator(operator: str) -> str:
    """Name the metric that an operator of pgvector gives.

    Raises
    ------
    StoreError
        L1 and the bit operators, each with its reason; anything unknown.

    Examples
    --------
    >>> metric_of_operator("<#>")
    'negative_inner_product'
    """
    if operator in OPERATORS:
        return OPERATORS[operator]
    known = ", ".join(f"{name} ({metric})" for name, metric in OPERATORS.items())
    if operator in REFUSED:
        raise StoreError(f"the operator {operator} is refused: {REFUSED[operator]}. Expected {known}.")
    raise StoreError(f"unknown operator {operator!r}; expected {known}.")


def distance(target: Target, metric: str) -> sql.Composable:
    """Give the operator alone, as an index serves it."""
    return target.score(OPERATORS[SCORES[metric][0]])


def search_query(target: Target, metric: str, k: int) -> sql.Composed:
    """Search as an application does: id and raw score of the first k, by one vector given twice."""
    columns = sql.SQL("{}, {} AS raw").format(target.id, target.score(metric))
    order = sql.SQL(" ORDER BY {} LIMIT {}").format(distance(target, metric), sql.Literal(k))
    return target.select(columns) + order


def pair_query(target: Target, metric: str) -> sql.Composed:
    """Score given pairs: rows of the query, places, ids and the queries' vectors; gives row, place and raw score."""
    before, after = SCORES[metric][1].split("{}")
    # in a sub-select, so that the user's filter sees the table's columns only
    stored = target.select(
        sql.SQL("{} AS id, {} AS vector").format(target.id, target.vector),
        sql.SQL("{} IS NOT NULL").format(target.vector),
    )
    return sql.SQL(
        "SELECT pair.query, pair.place, {before}(stored.vector OPERATOR({schema}.{operator}) asked.vector){after}"
        " FROM unnest({row}::int[], {place}::int[], {name}::text[]) AS pair(query, place, id)"
    ).format(
        before=sql.SQL(before),
        after=sql.SQL(after),
        schema=sql.Identifier(target.extension_schema),
        operator=sql.SQL(SCORES[metric][0]),
        row=sql.Placeholder(),
        place=sql.Placeholder(),
        name=sql.Placeholder(),
    ) + sql.SQL(
        # OFFSET 0: each query is read once, not once for every pair
        " JOIN (SELECT ordinality - 1 AS row, text::{kind} AS vector FROM unnest({texts}::text[]) WITH ORDINALITY"
        " AS given(text, ordinality) OFFSET 0) AS asked ON asked.row = pair.query"
        " JOIN ({stored}) AS stored ON stored.id = pair.id"
    ).format(kind=target.function(target.column_type), texts=sql.Placeholder(), stored=stored)
