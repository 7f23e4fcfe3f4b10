"""The permutation gate: no floor unless it gains more than relabelled bands give by luck."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .heldout import FOLDS, cross_fit, folds_along, folds_by_group
from .outcome import Costs, Gate, HeldOut
from .rule import NOISE_SHAPE, NOISE_WORTH, RELEVANT_SHAPE, RELEVANT_WORTH
from .smooth import EPANECHNIKOV_FACTOR, Floats, Shape, bandwidth, kernel_steps, shape_weight

PERMUTATIONS = 499
FEWEST = 19
LEVEL = 0.02
"""Share of draws without a signal in which a floor is offered: below the one in twenty that is promised, so that who
counts in a hundred draws finds no more than five. With fewer than 49 relabellings none of them may gain as much."""
GRID = 160


def permutation_gate(
    relevant: Floats,
    noise: Floats,
    costs: Costs,
    *,
    relevant_groups: Sequence[object] | npt.ArrayLike,
    noise_groups: Sequence[object] | npt.ArrayLike,
    seed: int,
    permutations: int = PERMUTATIONS,
) -> tuple[Gate, HeldOut]:
    """Compare the gain over the better of accept-all and refuse-all with what relabelled bands give.

    The gain is that of the smoothed bands at their best threshold, with one bandwidth and one shape per side: what the
    rule adds at the upper end of the noise would be drawn anew for every labelling. A cross-fitted gain would be no
    better protected, since relabelled bands are chosen on and paid on in the same way, and it finds less. Whole groups
    change sides, so that paraphrases of one need count as the one piece of evidence they are. Queries without a score
    on either side keep their side: they say nothing about where scores lie.

    Where a false answer weighs more than a miss, refusing everything is the better constant while no floor accepts
    everything, the dearest of all. There the gain is the mean of that at the asked and that at equal weights, which
    sees bands that differ where next to nothing can be saved over refusing everything.

    Returns
    -------
    gate, held out
        The floors of the folds, and the folds, for the held-out rates.
    """
    rng = np.random.default_rng(seed)
    relevant_folds = folds_by_group(relevant_groups, FOLDS, rng)
    noise_folds = folds_along(noise_groups, relevant_groups, relevant_folds, FOLDS, rng)
    _, floors = cross_fit(relevant, noise, relevant_folds, noise_folds, costs)
    sides = _relabelled(relevant, noise, relevant_groups, noise_groups, permutations, rng)
    gains = _gains(relevant, noise, sides, costs)
    gain, luck = float(gains[0]), np.sort(gains[1:])
    strictest = max(1, int(LEVEL * (permutations + 1)))
    bar = float(luck[-strictest])
    # sums in another order differ by rounding, which must not decide; bands of one value gain nothing at all
    passed = gain > max(bar, 0.0) + 1e-9 * (costs.miss_weight + costs.false_weight)
    gate = Gate(gain, bar, permutations, bool(passed))
    return gate, HeldOut(floors, tuple(relevant_folds.tolist()), tuple(noise_folds.tolist()))


def _relabelled(
    relevant: Floats,
    noise: Floats,
    relevant_groups: Sequence[object] | npt.ArrayLike,
    noise_groups: Sequence[object] | npt.ArrayLike,
    permutations: int,
    rng: np.random.Generator,
) -> Floats:
    """1.0 where a scored value counts as relevant, shape (1 + permutations, values); the true labels come first."""
    ours, theirs = np.isfinite(relevant), np.isfinite(noise)
    _, left = np.unique(np.asarray(relevant_groups, dtype=str)[ours], return_inverse=True)
    _, right = np.unique(np.asarray(noise_groups, dtype=str)[theirs], return_inverse=True)
    n_left = int(left.max()) + 1
    unit = np.concatenate([left, right + n_left])
    is_relevant = (np.arange(int(unit.max()) + 1) < n_left).astype(np.float64)
    drawn = rng.permuted(np.tile(is_relevant, (permutations, 1)), axis=1)
    sides: Floats = np.vstack([is_relevant, drawn])[:, unit]
    return sides


def _gains(relevant: Floats, noise: Floats, sides: Floats, costs: Costs) -> Floats:
    """Smoothed gain of the best threshold over the better constant, for every labelling of the scored values.

    The two bandwidths come from the pooled values, so that they are the same for every labelling.
    """
    ours, theirs = np.isfinite(relevant), np.isfinite(noise)
    values = np.concatenate([relevant[ours], noise[theirs]])
    reach = float(np.ptp(values))
    grid = np.linspace(values.min() - 0.15 * reach, values.max() + 0.15 * reach, GRID)
    ordered = np.sort(values)
    n, m = int(ours.sum()), int(theirs.sum())
    answered, heard = n / len(relevant), m / len(noise)  # shares that have a score, which no labelling changes
    miss = _below(values, sides, grid, bandwidth(ordered, reach, n), RELEVANT_SHAPE, RELEVANT_WORTH)
    refused = _below(values, 1.0 - sides, grid, bandwidth(ordered, reach, m), NOISE_SHAPE, NOISE_WORTH)
    misses, false_answers = 1.0 - answered + answered * miss, heard * (1.0 - refused)

    def gains(false_weight: float) -> Floats:
        accept_all = costs.miss_weight * (1.0 - answered) + false_weight * heard
        least: Floats = (costs.miss_weight * misses + false_weight * false_answers).min(axis=1)
        return min(accept_all, costs.miss_weight) - least

    asked = gains(costs.false_weight)
    return asked if costs.false_weight <= costs.miss_weight else (asked + gains(costs.miss_weight)) / 2.0


def _below(values: Floats, members: Floats, grid: Floats, width: float, shape: Shape, worth: float) -> Floats:
    """Smoothed distribution functions of many subsets of the same values, shape (subsets, thresholds)."""
    size = members.sum(axis=1)
    kernel = (members @ kernel_steps(values, grid, width * EPANECHNIKOV_FACTOR)) / size[:, None]
    centred = values - values.mean()
    mean = members @ centred / size
    square = members @ centred**2 / size - mean**2
    spread = np.sqrt(np.maximum(square, 0.0) * size / np.maximum(size - 1.0, 1.0))
    z = (grid[None, :] - values.mean() - mean[:, None]) / np.maximum(spread, width)[:, None]
    weight = shape_weight(worth, float(size[0]))
    below: Floats = weight * shape(z) + (1.0 - weight) * kernel
    return below
