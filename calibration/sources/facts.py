"""Which measured facts are problems, and which of those stop a pull: one wording for every source."""

from ..contract import metric_named
from .base import SHOWN_IDS, IndexFact, counted, needs_direction

OPCLASS = {
    "cosine_similarity": "cosine",
    "cosine_distance": "cosine",
    "l2": "l2",
    "squared_l2": "l2",
    "inner_product": "ip",
    "negative_inner_product": "ip",
}
"""Metric -> the middle word of pgvector's operator class."""


def width_problems(column: str, dimensions: dict[int, int]) -> list[str]:
    """Name the widths when a column holds more than one.

    Examples
    --------
    >>> width_problems("e", {2: 1, 3: 1})
    ['column e holds 2 dimensions: 2 (1 row), 3 (1 row)']
    """
    if len(dimensions) < 2:
        return []
    parts = ", ".join(f"{width} ({counted(rows, 'row')})" for width, rows in sorted(dimensions.items()))
    return [f"column {column} holds {len(dimensions)} dimensions: {parts}"]


def model_problems(models: dict[str, int] | None, declared: str | None) -> list[str]:
    """Name the rows that were embedded with another model than the declared one.

    Examples
    --------
    >>> model_problems({"m-a": 3, "m-b": 2}, "m-a")
    ['2 of 5 rows were embedded with m-b']
    """
    if models is None:
        return []
    total = sum(models.values())
    if declared is None:
        if len(models) < 2:
            return []
        parts = ", ".join(f"{name} ({counted(rows, 'row')})" for name, rows in sorted(models.items()))
        return [f"{total} rows were embedded with {len(models)} models: {parts}; declare one and filter on it"]
    return [
        f"{rows} of {total} rows were embedded with {name}" for name, rows in sorted(models.items()) if name != declared
    ]


def invalid_problems(
    nulls: int, null_ids: list[str], zeros: int, zero_ids: list[str], scored: int, metric: str
) -> tuple[list[str], list[str]]:
    """Split the lines about rows without a usable vector into (blocking, worth knowing).

    Examples
    --------
    >>> invalid_problems(1, ["4"], 1, ["2"], 3, "cosine_distance")
    ([], ['1 row without a vector: 4', '1 row with a zero vector: 2 (it has no cosine and is left out)'])
    """
    blocking = [] if scored > 0 else ["0 documents with a usable vector"]
    notes = []
    if nulls:
        notes.append(f"{counted(nulls, 'row')} without a vector: {_shown(null_ids, nulls)}")
    if zeros:
        fate = " (it has no cosine and is left out)" if needs_direction(metric) else ""
        notes.append(f"{counted(zeros, 'row')} with a zero vector: {_shown(zero_ids, zeros)}{fate}")
    return blocking, notes


def norm_problems(metric: str, not_unit: int, total: int, low: float | None, high: float | None) -> list[str]:
    """Say when a metric needs unit vectors and some are not.

    Examples
    --------
    >>> norm_problems("inner_product", 1, 2, 1.0, 10.0)
    ['1 of 2 document vectors not unit length (norms 1 to 10): no cosine floor follows from inner_product']
    """
    if not metric_named(metric).needs_unit_vectors or not_unit == 0 or low is None or high is None:
        return []
    return [
        f"{not_unit} of {total} document vectors not unit length (norms {low:.6g} to {high:.6g}): "
        f"no cosine floor follows from {metric}"
    ]


def index_problems(indexes: list[IndexFact], metric: str, column_type: str) -> list[str]:
    """Name the vector indexes whose operator class does not serve the declared metric.

    Examples
    --------
    >>> index_problems([IndexFact("f_h", "hnsw", "vector_l2_ops")], "cosine_distance", "vector")
    ['index f_h (hnsw) has vector_l2_ops, but cosine_distance needs vector_cosine_ops: searches cannot use it']
    """
    wanted = f"{column_type}_{OPCLASS[metric]}_ops"
    return [
        f"index {index.name} ({index.kind}) has {index.opclass}, but {metric} needs {wanted}: searches cannot use it"
        for index in indexes
        if index.kind in ("hnsw", "ivfflat") and index.opclass != wanted
    ]


def duplicate_problems(repeated: list[tuple[str, int]], null_ids: int, column: str) -> list[str]:
    """Name repeated and missing ids.

    Examples
    --------
    >>> duplicate_problems([("7", 2)], 1, "id")
    ['column id repeats ids: 7 (2 rows)', 'column id is NULL in 1 row']
    """
    lines = []
    if repeated:
        shown = ", ".join(f"{name} ({count} rows)" for name, count in repeated[:SHOWN_IDS])
        lines.append(f"column {column} repeats ids: {shown}{', …' if len(repeated) > SHOWN_IDS else ''}")
    if null_ids:
        lines.append(f"column {column} is NULL in {counted(null_ids, 'row')}")
    return lines


def _shown(ids: list[str], total: int) -> str:
    rest = total - len(ids)
    return ", ".join(ids) + (f" and {rest} more" if rest > 0 else "")
