"""One floor as each consumer needs it: the number, the side of the boundary it lies on, and the line to copy."""

from collections.abc import Sequence
from typing import Any

from ..errors import ContractError
from .consumers import CONSUMERS, Consumer
from .convert import Converted, convert
from .metrics import OPERATORS as METRIC_OF
from .model import ScoreContract

OPERATORS = {
    "cosine_distance": "<=>",
    "cosine_similarity": "<=>",
    "l2": "<->",
    "squared_l2": "<->",
    "inner_product": "<#>",
    "negative_inner_product": "<#>",
}
"""pgvector's operator behind a metric, the one its index serves."""
NORMS = {"vector": "vector_norm", "halfvec": "l2_norm"}


def deployments(floor: float, contract: ScoreContract, *, top_k: int, clear: bool) -> list[dict[str, Any]]:
    """Give one row per consumer.

    The number is the floor itself where the consumer compares as the contract does. Where it is strict and the contract
    inclusive, or the other way round, and where observed similarities lie on the boundary (`clear` is False), it is the
    end of the boundary: every passage then falls on the same side as in this package, whatever rounding did to it.

    Returns
    -------
    list of dict
        system, setting, score, comparison, inclusive, value (None where no number works), why_not, missing, evidence,
        link, snippet.

    Examples
    --------
    >>> rows = deployments(0.8, ScoreContract(), top_k=5, clear=True)
    >>> [(row["comparison"], row["value"]) for row in rows[:2]]
    [('>=', 0.8), ('<=', 0.2)]
    >>> next(row["value"] for row in rows if row["system"] == "Qdrant, Cosine")
    0.799999
    """
    contract.check_carries_floor()
    return [_row(consumer, floor, contract, top_k, clear) for consumer in CONSUMERS]


def bound(floor: float, contract: ScoreContract, metric: str, *, clear: bool) -> tuple[str, float]:
    """Give the comparison and the number of a filter that the reader writes, on scores of one metric.

    Examples
    --------
    >>> bound(0.8, ScoreContract(), "cosine_distance", clear=True)
    ('<=', 0.2)
    """
    found = _converted(floor, contract, metric, "none")
    return found.comparison, _number(found, contract, same=clear)


def pgvector_sql(
    contract: ScoreContract,
    *,
    table: str,
    key: str,
    vector: str,
    top_k: int,
    limit: tuple[str, object] | None,
    where: Sequence[str] = (),
    column_type: str = "vector",
) -> str | None:
    """Write the query that searches by the index and cuts outside of it; None where no operator gives the score.

    Parameters
    ----------
    table, key, vector : str
        Names as SQL needs them, quoted where necessary.
    limit : (str, object) or None
        Comparison and number on the operator's distance; None accepts the `top_k` best.
    where : sequence of str
        The user's conditions, kept unchanged.

    Examples
    --------
    >>> print(pgvector_sql(ScoreContract(), table="t", key="id", vector="e", top_k=3, limit=("<=", 0.2)))
    SELECT id, distance
    FROM (
        SELECT id, e <=> $1 AS distance
        FROM t
        WHERE vector_norm(e) > 0
        ORDER BY e <=> $1
        LIMIT 3
    ) AS nearest
    WHERE distance <= 0.2
    ORDER BY distance;
    """
    operator = OPERATORS.get(contract.metric)
    if operator is None or contract.score_transform != "none" or not contract.on_cosine_scale:
        return None
    order = f"{vector} {operator} $1"
    # a zero vector has no cosine, and its distances stand for none; NaN is the largest number in PostgreSQL
    conditions = [f"{NORMS[column_type]}({vector}) > 0"]
    # a comment may end a condition
    conditions += [f"({one}\n    )" if "--" in one else f"({one})" for one in where]
    inner = (
        f"SELECT {key}, {order} AS distance\n    FROM {table}\n"  # noqa: S608 - names are quoted, the filter is the user's
        f"    WHERE {' AND '.join(conditions)}\n    ORDER BY {order}\n    LIMIT {top_k}"
    )
    if limit is None:
        return inner.replace("\n    ", "\n") + ";"
    comparison, number = limit
    return (
        f"SELECT {key}, distance\nFROM (\n    {inner}\n) AS nearest\n"
        f"WHERE distance {comparison} {number}\nORDER BY distance;"
    )


def operator_metric(contract: ScoreContract) -> str | None:
    """Give the metric whose values pgvector's operator returns for this contract; None where there is no operator."""
    return METRIC_OF.get(OPERATORS.get(contract.metric, ""))


def _row(consumer: Consumer, floor: float, contract: ScoreContract, top_k: int, clear: bool) -> dict[str, Any]:
    value, why, own = None, consumer.refusal, contract.threshold_inclusive
    inclusive = own if consumer.inclusive is None else consumer.inclusive
    comparison = None
    if not why:
        try:
            found = _converted(floor, contract, consumer.metric, consumer.transform)
            comparison = found.comparison[0] + ("=" if inclusive else "")
            value = _number(found, contract, same=clear and inclusive == own)
        except ContractError as error:
            why = str(error)
    return {
        "system": consumer.system,
        "setting": consumer.setting,
        "score": consumer.score,
        "comparison": comparison,
        "inclusive": inclusive,
        "value": value,
        "why_not": why or None,
        "missing": consumer.missing,
        "evidence": consumer.evidence,
        "link": consumer.link,
        "snippet": None
        if value is None
        else consumer.snippet.format(value=repr(value), comparison=comparison, k=top_k),
    }


def _converted(floor: float, contract: ScoreContract, metric: str, transform: str) -> Converted:
    new = ScoreContract(
        metric,
        normalisation=contract.normalisation,
        embedding_version=contract.embedding_version,
        score_transform=transform,
    )
    return convert(contract.raw(floor), contract, new)


def _number(found: Converted, contract: ScoreContract, *, same: bool) -> float:
    """Take the threshold itself, or the end of its boundary behind which everything that counts as equal lies."""
    if same:
        return found.value
    low, high = found.boundary
    higher_is_better = found.comparison.startswith(">")
    return low if higher_is_better == contract.threshold_inclusive else high
