"""The metrics a backend may return, and what they say about cosine similarity.

For unit vectors and s = cosine similarity: cosine distance = 1 - s, squared L2 = 2 - 2 s, L2 = sqrt(2 - 2 s), inner
product = s. The last three hold for unit vectors only.
"""

import difflib
import math
from dataclasses import dataclass

from ..errors import ContractError
from .numbers import Formula, negated, root, same, square


@dataclass(frozen=True)
class Metric:
    """One named metric.

    Attributes
    ----------
    needs_unit_vectors : bool
        Whether the conversion to cosine similarity holds for unit vectors only.
    to_cosine, from_cosine : callable or None
        Exact conversions; None where no algebra leads to a cosine.
    carries_floor : bool
        Whether a floor on this score means anything; `reason` says why not.
    reason : str
        Why there is no floor, or no way to a cosine; empty where there are both.
    family : str
        Metrics of one family convert into each other for vectors of any length.
    low, high : float
        The values the metric can take on any vectors.
    symbol : str
        How formulas call its value.
    to_distance, from_distance : callable or None
        Conversions to cosine distance, which keep the digits of nearly equal vectors; distances have them.
    """

    name: str
    higher_is_better: bool
    needs_unit_vectors: bool = False
    to_cosine: Formula | None = None
    from_cosine: Formula | None = None
    carries_floor: bool = True
    reason: str = ""
    family: str = ""
    low: float = -math.inf
    high: float = math.inf
    symbol: str = "x"
    to_distance: Formula | None = None
    from_distance: Formula | None = None


def _distance(name: str, to: Formula, back: Formula, *, family: str, high: float = math.inf) -> Metric:
    return Metric(
        name,
        higher_is_better=False,
        needs_unit_vectors=family != "cosine",
        to_cosine=lambda d: 1 - to(d),
        from_cosine=lambda s: back(1 - s),
        family=family,
        low=0.0,
        high=high,
        symbol="d",
        to_distance=to,
        from_distance=back,
    )


def _own(name: str, what: str) -> Metric:
    """Name a score on a scale of its own: it may carry a floor of its own, and no cosine follows from it."""
    reason = f"it {what}; it may carry a floor of its own, calibrated on it, but no formula leads to a cosine or back"
    return Metric(name, True, reason=reason, family=name)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("cosine_similarity", True, False, same, same, family="cosine", low=-1.0, high=1.0, symbol="cos"),
        _distance("cosine_distance", same, same, family="cosine", high=2.0),
        _distance("l2", lambda d: square(d) / 2, lambda c: root(2 * c), family="l2"),
        _distance("squared_l2", lambda d: d / 2, lambda c: 2 * c, family="l2"),
        Metric("inner_product", True, True, same, same, family="inner_product", symbol="dot"),
        Metric("negative_inner_product", False, True, negated, negated, family="inner_product", symbol="d"),
        Metric(
            "score",
            True,
            reason="a score of undeclared kind says nothing about a cosine. Declare the metric the backend returns",
            family="score",
        ),
        Metric(
            "reranker_logit",
            True,
            reason="a reranker reads both texts and has a scale of its own, on which it may carry a floor of its own; "
            "no formula leads from it to a cosine or back. Calibrate on the reranker's scores",
            family="reranker_logit",
            symbol="logit",
        ),
        Metric(
            "vendor_relevance",
            True,
            reason="a vendor defines its relevance score and may change it; it may carry a floor of its own, but no "
            "formula leads from it to a cosine or back. Calibrate on it, or convert the raw metric behind it",
            family="vendor_relevance",
        ),
        _own("ts_rank", "counts the words a passage shares with the query"),
        _own("ts_rank_cd", "adds up how closely the query's words stand together"),
        _own("word_similarity", "compares letters, not meanings"),
        _own("maxsim", "is a mean over the query's tokens, not the cosine of two texts"),
        _own("weighted_sum", "mixes several signals, and a passage that only one of them knows is diluted"),
        _own("adaptive_divisor", "divides by what the query's signals could have given, so its range varies"),
        Metric(
            "rrf",
            True,
            carries_floor=False,
            reason="a reciprocal-rank-fusion score depends on ranks only: the first hit of an off-topic query gets the "
            "same value as a perfect match. Put the floor on the raw similarity that travels beside it",
        ),
        Metric(
            "minmax_per_query",
            True,
            carries_floor=False,
            reason="a score normalised within each query's own list gives the best hit of an off-topic query the top "
            "value too. Put the floor on the raw similarity before normalisation",
        ),
    )
}

OPERATORS = {"<=>": "cosine_distance", "<->": "l2", "<#>": "negative_inner_product"}
"""pgvector's operator -> the metric it returns."""


def metric_named(name: str) -> Metric:
    """Look a metric up by its exact name; unknown names are refused, never guessed.

    Examples
    --------
    >>> metric_named("squared_l2").higher_is_better
    False
    >>> metric_named("<#>")
    Traceback (most recent call last):
    calibration.errors.ContractError: '<#>' is an operator, not a metric; it returns 'negative_inner_product'.
    """
    try:
        return METRICS[name]
    except (KeyError, TypeError):
        raise ContractError(_unknown(str(name))) from None


def _unknown(name: str) -> str:
    if name in OPERATORS:
        return f"{name!r} is an operator, not a metric; it returns {OPERATORS[name]!r}."
    if name == "<+>":
        return (
            "'<+>' returns the taxicab distance (L1), which no algebra turns into a cosine. "
            "Search with <=>, <-> or <#>, whose metrics are cosine_distance, l2 and negative_inner_product."
        )
    if name.lower() in ("cosine", "cos"):
        return f"unknown metric {name!r}; say which: 'cosine_similarity' (higher is better) or 'cosine_distance'."
    close = difflib.get_close_matches(name, METRICS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"unknown metric {name!r}{hint} Known metrics: {', '.join(METRICS)}."
