"""The rule that picks a threshold: least smoothed expected cost, its low end, never on an observed score."""

import numpy as np
import numpy.typing as npt

from .outcome import Costs
from .smooth import Floats, Smoothed, heavy_tailed, left_skewed
from .tail import FarNoise

GRID = 512
RELEVANT_SHAPE, RELEVANT_WORTH = left_skewed, 20.0
"""Answers fail by a long tail to the left; the fitted shape is worth twenty queries beside the kernel."""
NOISE_SHAPE, NOISE_WORTH = heavy_tailed, 100.0
"""The best of many scores now and then comes out far above the others; worth a hundred off-topic queries. In half of it
the upper third follows the scores that lie there (`tail`)."""
FLAT = 0.001
"""Of what a miss weighs more than a false answer: costs within it of the least are the flat part, whose low end is
taken."""
BELIEVED, LOW_IN_GAP = 5.0, 0.1
"""A gap of this / (this + queries) of the distance between the medians is believed; a floor stands a tenth up in it."""
NEAR = 0.05
"""Of the same difference, or of twice the weight of a false answer if that is less: what a promise may cost before the
floor is left where it is. It is at most what ten false answers in a hundred off-topic queries cost."""
MARGIN = 1e-5
"""Distance kept from observed scores, ten times the tolerance of the contract."""
WINDOW = 0.02
"""Share of the pooled range within which a floor may be moved down to stand between scores."""
MIN_RELEVANT = 5
MIN_NOISE = 20


def smoothed_cost(relevant: npt.ArrayLike, noise: npt.ArrayLike, thresholds: Floats, costs: Costs) -> Floats:
    """Give the expected cost per query at each threshold, from smoothed bands.

    Parameters
    ----------
    relevant : array_like
        Best relevant similarity per answerable query; minus infinity where none could be accepted.
    noise : array_like
        Best similarity per off-topic query; minus infinity where nothing was scored.
    """
    relevant = np.asarray(relevant, dtype=np.float64)
    noise = np.asarray(noise, dtype=np.float64)
    width = pooled_range(relevant, noise)
    miss = Smoothed.fit(relevant, pooled_range=width, shape=RELEVANT_SHAPE, worth=RELEVANT_WORTH).held(thresholds)
    kept = 1.0 - FarNoise.fit(noise, pooled_range=width, shape=NOISE_SHAPE, worth=NOISE_WORTH).held(thresholds)
    return costs.miss_weight * miss + costs.false_weight * kept


def empirical_cost(relevant: npt.ArrayLike, noise: npt.ArrayLike, threshold: float | None, costs: Costs) -> float:
    """Cost per query of one threshold on given bands; None accepts everything.

    Examples
    --------
    >>> empirical_cost([0.5, 0.2], [0.1, 0.3], 0.25, Costs(miss=3, false_answer=1))
    1.0
    """
    relevant = np.asarray(relevant, dtype=np.float64)
    noise = np.asarray(noise, dtype=np.float64)
    bar = -np.inf if threshold is None else threshold
    # minus infinity never had a score: no floor, not even none, accepts it
    miss = 1.0 - float(np.mean((relevant >= bar) & np.isfinite(relevant)))
    kept = float(np.mean((noise >= bar) & np.isfinite(noise)))
    return costs.miss_weight * miss + costs.false_weight * kept


def pick(relevant: npt.ArrayLike, noise: npt.ArrayLike, costs: Costs) -> tuple[float, float]:
    """Pick the threshold of least smoothed cost.

    Where a miss weighs more than a false answer, the lowest threshold of the flat part around the minimum is taken. In
    a gap that is wide for the number of queries, the threshold stands in the gap whatever the smoothed tails say.

    Returns
    -------
    threshold, expected cost
        The threshold is not yet moved away from observed scores.
    """
    relevant = np.asarray(relevant, dtype=np.float64)
    noise = np.asarray(noise, dtype=np.float64)
    low, high = _ends(relevant, noise)
    reach = 0.15 * (high - low)
    grid = np.linspace(low - reach, high + reach, GRID)
    cost = smoothed_cost(relevant, noise, grid, costs)
    best = int(np.argmin(cost))
    slack = FLAT * (costs.miss_weight - costs.false_weight)
    if slack > 0:
        outside = np.flatnonzero(cost[:best] > cost[best] + slack)
        best = int(outside[-1]) + 1 if len(outside) else 0
    lowest = _lowest_in_gap(relevant, noise)
    if lowest is None or lowest <= grid[best]:
        return float(grid[best]), float(cost[best])
    return lowest, float(smoothed_cost(relevant, noise, np.array([lowest]), costs)[0])


def _lowest_in_gap(relevant: Floats, noise: Floats) -> float | None:
    """Least threshold in a gap between the scored extremes that is wide enough to be believed; None without one.

    Twenty queries have to be apart by a fifth of the distance between the medians, fifty by a tenth.
    """
    answers, far = relevant[np.isfinite(relevant)], noise[np.isfinite(noise)]
    if len(answers) == 0 or len(far) == 0:
        return None
    gap = float(answers.min() - far.max())
    if gap <= 0:
        return None
    apart = float(np.median(answers) - np.median(far))
    if gap < BELIEVED / (BELIEVED + len(answers)) * apart:
        return None
    return float(far.max()) + LOW_IN_GAP * gap


def lowered(
    threshold: float, bound: float | None, relevant: npt.ArrayLike, noise: npt.ArrayLike, costs: Costs
) -> float:
    """Go down to the bound of the certificate where that costs next to nothing; else stay.

    Only where a miss weighs more than a false answer, and within `NEAR` of what it weighs more, but at most of twice
    the weight of a false answer.

    Examples
    --------
    >>> lowered(0.3, 0.29, [0.29, 0.5, 0.6], [0.1, 0.2], Costs()), lowered(0.3, None, [0.29], [0.1], Costs())
    (0.29, 0.3)
    """
    if bound is None or not -np.inf < bound < threshold or costs.miss_weight <= costs.false_weight:
        return threshold
    here, there = smoothed_cost(relevant, noise, np.array([threshold, bound]), costs).tolist()
    allowed = NEAR * min(costs.miss_weight - costs.false_weight, 2.0 * costs.false_weight)
    return bound if there <= here + allowed else threshold


def between_scores(
    threshold: float, observed: npt.ArrayLike, *, window: float = np.inf, margin: float = MARGIN
) -> float:
    """Move a threshold off observed scores, downward, to the shortest decimal that keeps its distance.

    A floor equal to an observed score drops or keeps that passage by the rounding of whoever computes it.

    Parameters
    ----------
    window : float
        How far down to look for a space between scores that is wide enough for the margin on both sides. Where millions
        of scores leave none, the middle of the widest space in the window is taken.

    Examples
    --------
    >>> between_scores(0.31274, [0.2, 0.3, 0.31274, 0.5])
    0.312
    >>> between_scores(0.31274, [0.2, 0.3, 0.5])
    0.312
    """
    scores = np.unique(np.asarray(observed, dtype=np.float64))
    scores = scores[np.isfinite(scores)]
    above = int(np.searchsorted(scores, threshold + margin, side="right"))
    bottom = threshold - window
    below = int(np.searchsorted(scores, bottom, side="left"))
    # the spaces under `threshold`, highest first: each ends at a score (the first at the threshold itself)
    highs = np.append(scores[below:above], np.inf)[::-1]
    lows = np.append(scores[below:above][::-1], scores[below - 1] if below > 0 else -np.inf)
    top = np.minimum(highs - margin, threshold)
    low = np.maximum(lows + margin, bottom)
    wide = np.flatnonzero(top >= low)
    if len(wide) == 0:
        at = int(np.argmax(np.minimum(highs, threshold) - np.maximum(lows, bottom)))
        ends = max(float(lows[at]), bottom), min(float(highs[at]), threshold)
        quarter = (ends[1] - ends[0]) / 4.0
        return _shortest(ends[0] + quarter, ends[1] - quarter)
    return _shortest(float(low[wide[0]]), float(top[wide[0]]))


def _shortest(low: float, high: float) -> float:
    """Shortest decimal in [low, high], from three places on, rounded down from `high`."""
    for digits in range(3, 12):
        candidate = float(np.floor(high * 10.0**digits) / 10.0**digits)
        if low <= candidate <= high:  # rounding may lift a number an ulp above `high`
            return candidate
    return (low + high) / 2.0


def pooled_range(relevant: Floats, noise: Floats) -> float:
    """Distance between the lowest and the highest finite value of both bands; 0 without any."""
    low, high = _ends(relevant, noise)
    return high - low


def _ends(relevant: Floats, noise: Floats) -> tuple[float, float]:
    finite = np.concatenate([relevant[np.isfinite(relevant)], noise[np.isfinite(noise)]])
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
