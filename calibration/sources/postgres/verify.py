"""A spot check: the server's operator against numpy on the same stored vectors."""

from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg import sql
from psycopg.types.string import ByteaBinaryLoader

from ...errors import StoreError
from ..base import Floats32, Floats64, needs_direction
from .catalog import Target
from .connect import Connection
from .wire import decode, vector_text

QUERIES = 4


def largest_difference(
    connection: Connection, target: Target, metric: str, query_vectors: Floats32, sample: int
) -> float:
    """Return the largest absolute difference between the server's and numpy's scores of a few pairs.

    Raises
    ------
    StoreError
        There is nothing to compare.
    """
    usable = sql.SQL("{} IS NOT NULL").format(target.vector)
    order = sql.SQL(" ORDER BY md5({}) LIMIT {}").format(target.id, sql.Literal(sample))
    worst, compared = 0.0, 0
    for query in np.asarray(query_vectors, dtype=np.float32)[:QUERIES]:
        text = vector_text(query)
        columns = sql.SQL("{}, {}").format(target.vector, target.score(metric))
        with connection.cursor(binary=True) as cursor:
            cursor.adapters.register_loader(target.type_oid, ByteaBinaryLoader)
            rows: list[tuple[Any, ...]] = cursor.execute(target.select(columns, usable) + order, (text,)).fetchall()
        for raw, score in rows:
            document = decode([raw], len(query), target.column_type)
            if needs_direction(metric) and not document.any():
                continue
            worst = max(worst, float(np.abs(scores(document, query, metric)[0] - score)))
            compared += 1
    if compared == 0:
        raise StoreError(f"{target.names.table} has no vector to verify scores with.")
    return worst


def scores(documents: Floats32, query: Floats32, metric: str) -> Floats64:
    """Score documents against one query in double precision, in the metric's own unit.

    Examples
    --------
    >>> one = np.array([1, 0], dtype=np.float32)
    >>> scores(np.array([[0, 2], [3, 0]], dtype=np.float32), one, "cosine_distance").tolist()
    [1.0, 0.0]
    """
    rows: npt.NDArray[np.float64] = documents.astype(np.float64)
    one = query.astype(np.float64)
    product: Floats64 = rows @ one
    if metric in ("inner_product", "negative_inner_product"):
        return product if metric == "inner_product" else -product
    if metric in ("l2", "squared_l2"):
        squared: Floats64 = ((rows - one) ** 2).sum(axis=1)
        return squared if metric == "squared_l2" else np.sqrt(squared)
    cosine: Floats64 = product / (np.linalg.norm(rows, axis=1) * np.linalg.norm(one))
    return cosine if metric == "cosine_similarity" else 1.0 - cosine
