"""The metrics a backend may return, and what they say about cosine similarity.

For unit vectors and s = cosine similarity: cosine distance = 1 - s, squared L2 = 2 - 2 s, L2 = sqrt(2 - 2 s), inner
product = s. The last three hold for unit vectors only.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ContractError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """One named metric.

    Attributes
    ----------
    needs_unit_vectors : bool
        Whether the conversion to cosine similarity holds for unit vectors only.
    to_cosine, from_cosine : callable or None
        Exact conversions; None where no algebra leads to a cosine.
    cosine_range : bool
        Whether values are cosine similarities themselves, so anything outside [-1, 1] is an error.
    carries_floor : bool
        Whether a floor on this score means anything; `reason` says why not.
    """

    name: str
    higher_is_better: bool
    needs_unit_vectors: bool = False
    to_cosine: Callable[[Floats], Floats] | None = None
    from_cosine: Callable[[Floats], Floats] | None = None
    carries_floor: bool = True
    reason: str = ""


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("cosine_similarity", True, False, lambda s: s, lambda s: s),
        Metric("cosine_distance", False, False, lambda d: 1.0 - d, lambda s: 1.0 - s),
        Metric("l2", False, True, lambda d: 1.0 - d * d / 2.0, lambda s: np.sqrt(np.maximum(2.0 - 2.0 * s, 0.0))),
        Metric("squared_l2", False, True, lambda d: 1.0 - d / 2.0, lambda s: 2.0 - 2.0 * s),
        Metric("inner_product", True, True, lambda p: p, lambda s: s),
        Metric("negative_inner_product", False, True, lambda p: -p, lambda s: -s),
        Metric("score", True),
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


def metric_named(name: str) -> Metric:
    """Look a metric up by its exact name; unknown names are refused, never guessed.

    Examples
    --------
    >>> metric_named("squared_l2").higher_is_better
    False
    """
    try:
        return METRICS[name]
    except KeyError:
        close = difflib.get_close_matches(str(name), METRICS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ContractError(f"unknown metric {name!r}{hint} Known metrics: {', '.join(METRICS)}.") from None
