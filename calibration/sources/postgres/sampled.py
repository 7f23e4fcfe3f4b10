"""What a table says exactly without being read whole by us: each query's best passages, and those judged for it."""

from collections.abc import Iterator, Sequence

import numpy as np
from psycopg import sql

from ...errors import StoreError
from ..base import Block, Floats32
from .catalog import Target
from .connect import Connection
from .operators import distance, pair_query, search_query
from .preflight import index_names, node_types, plan_of, prove_exact
from .wire import vector_text


def exact_best(
    connection: Connection,
    target: Target,
    metric: str,
    queries: Floats32,
    depth: int,
    judged: Sequence[Sequence[str]],
) -> Iterator[Block]:
    """Yield two blocks of scores per query: its best `depth` passages of the whole table, and its judged ones.

    The server sorts every row, which takes it about as long as reading them; only the best cross the wire.
    """
    search = search_query(target, metric, depth)
    whole = target.select(target.id) + sql.SQL(" ORDER BY ") + distance(target, metric)
    for row, vector in enumerate(queries):
        text = vector_text(vector)
        if row == 0:
            prove_exact(connection, plan_of(connection, whole, (text,)))
            _refuse_indexes(connection, search, text)
        found = connection.execute(search, (text, text)).fetchall()
        yield _scores(found, row)
        names = list(judged[row])
        if names:
            places = list(range(len(names)))
            scored = connection.execute(
                pair_query(target, metric), ([0] * len(names), places, names, [text])
            ).fetchall()
            yield _scores([(names[place], score) for _, place, score in scored], row)


def _refuse_indexes(connection: Connection, search: sql.Composed, text: str) -> None:
    plan = plan_of(connection, search, (text, text))
    used = index_names(plan)
    if used:
        raise StoreError(f"the search is not exact: its plan ({' > '.join(node_types(plan))}) uses {', '.join(used)}.")


def _scores(rows: Sequence[tuple[str, float | None]], query_row: int) -> Block:
    usable = [(name, score) for name, score in rows if score is not None and np.isfinite(score)]
    return Block(
        [name for name, _ in usable],
        scores=np.array([score for _, score in usable], dtype=np.float64),
        query_row=query_row,
    )
