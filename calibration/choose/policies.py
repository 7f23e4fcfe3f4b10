"""What other tools would have chosen on the same queries."""

from collections.abc import Callable

import numpy as np

from .counts import count_at_thresholds, survival
from .outcome import Costs
from .smooth import Floats

Policy = Callable[[Floats, Floats], float | None]


def max_f(beta: float) -> Policy:
    """Threshold of the largest F-beta of "an answerable query keeps its answer" against noise."""

    def choose(relevant: Floats, noise: Floats) -> float | None:
        table = count_at_thresholds(np.concatenate([relevant, noise]), [True] * len(relevant) + [False] * len(noise))
        if len(table.thresholds) == 0:
            return None
        weight = beta * beta
        score = (
            (1 + weight)
            * table.true_positives
            / (weight * table.positives + table.true_positives + table.false_positives)
        )
        return float(table.thresholds[int(np.argmax(score))])

    return choose


def equal_error_rate(relevant: Floats, noise: Floats) -> float | None:
    """Threshold at which as large a share of answers is lost as of noise is kept."""
    thresholds = _candidates(relevant, noise)
    if thresholds is None:
        return None
    lost = 1 - survival(relevant, thresholds) / len(relevant)
    kept = survival(noise, thresholds) / len(noise)
    return float(thresholds[int(np.argmin(np.abs(lost - kept)))])


def youden(relevant: Floats, noise: Floats) -> float | None:
    """Threshold of the largest hit rate minus false-answer rate."""
    thresholds = _candidates(relevant, noise)
    if thresholds is None:
        return None
    margin = survival(relevant, thresholds) / len(relevant) - survival(noise, thresholds) / len(noise)
    return float(thresholds[int(np.argmax(margin))])


def target_recall(share: float) -> Policy:
    """Largest threshold that keeps at least `share` of the labelled answers."""

    def choose(relevant: Floats, noise: Floats) -> float | None:
        ordered = np.sort(relevant)
        value = ordered[int(np.floor((1.0 - share) * len(ordered) + 1e-9))] if len(ordered) else -np.inf
        return float(value) if np.isfinite(value) else None

    return choose


def conformal(share: float) -> Policy:
    """Split-conformal threshold: the (n + 1)-corrected lower quantile of best relevant."""

    def choose(relevant: Floats, noise: Floats) -> float | None:
        at = int(np.floor((1.0 - share) * (len(relevant) + 1) + 1e-9))
        if at < 1:
            return None
        value = float(np.sort(relevant)[at - 1])
        return value if np.isfinite(value) else None

    return choose


def up_the_extreme_gap(share: float) -> Policy:
    """Threshold some way up from the strongest noise to the weakest scored answer; None when they overlap."""

    def choose(relevant: Floats, noise: Floats) -> float | None:
        top = float(np.max(noise, initial=-np.inf))
        bottom = float(np.min(relevant[np.isfinite(relevant)], initial=np.inf))
        return top + share * (bottom - top) if -np.inf < top < bottom < np.inf else None

    return choose


low_in_the_gap = up_the_extreme_gap(0.25)
"""What samples too small to smooth get."""


def fixed(value: float) -> Policy:
    """Use a number copied from elsewhere."""
    return lambda relevant, noise: value


POLICIES: dict[str, Policy] = {
    "top-K only": lambda relevant, noise: None,
    "fixed 0.78": fixed(0.78),
    "fixed 0.5": fixed(0.5),
    "max F0.5": max_f(0.5),
    "max F1": max_f(1.0),
    "max F2": max_f(2.0),
    "equal error rate": equal_error_rate,
    "Youden": youden,
    "target recall 95 %": target_recall(0.95),
    "conformal 90 %": conformal(0.9),
    "middle of the extreme gap": up_the_extreme_gap(0.5),
    "low in the extreme gap": low_in_the_gap,
}
"""By the name shown. None means "no floor": accept everything within the cap."""


LARGEST_GAP = "largest gap per query"
"""Name of the one policy that is no floor (see `largest_gap`)."""


def largest_gap(similarity: Floats, cap: int) -> int:
    """How many passages of one query are kept when its list is cut at its largest drop (Adaptive-k, arXiv 2506.08479).

    At least one always is, so it cannot refuse a question; without the paper's buffer of further passages.

    Parameters
    ----------
    similarity : ndarray
        Of the query's passages in order of rank, those beyond `cap` included: the drop after the last one is unknown.

    Examples
    --------
    >>> largest_gap(np.array([0.9, 0.85, 0.4, 0.35, 0.1]), 3), largest_gap(np.array([0.2]), 3)
    (2, 1)
    """
    drops = -np.diff(similarity[: cap + 1])
    return int(np.argmax(drops)) + 1 if len(drops) else len(similarity)


def as_chooser(policy: Policy) -> Callable[[Floats, Floats, Costs], float | None]:
    """Let a policy be cross-fitted like our own rule; it does not know costs."""
    return lambda relevant, noise, costs: policy(relevant, noise)


def _candidates(relevant: Floats, noise: Floats) -> Floats | None:
    if len(relevant) == 0 or len(noise) == 0:
        return None
    pooled = np.concatenate([relevant, noise])
    pooled = np.unique(pooled[np.isfinite(pooled)])
    return pooled if len(pooled) else None
