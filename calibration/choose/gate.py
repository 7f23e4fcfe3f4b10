"""The permutation gate: no floor unless its cross-fitted gain beats what relabelled bands give by luck."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .heldout import FOLDS, cross_fit, folds_by_group
from .outcome import Costs, Gate
from .rule import empirical_cost
from .smooth import Floats

PERMUTATIONS = 199


def permutation_gate(
    relevant: Floats,
    noise: Floats,
    costs: Costs,
    *,
    relevant_groups: Sequence[object] | npt.ArrayLike,
    noise_groups: Sequence[object] | npt.ArrayLike,
    seed: int,
    permutations: int = PERMUTATIONS,
) -> tuple[Gate, tuple[float | None, ...]]:
    """Compare the cross-fitted gain over the better of accept-all and refuse-all with its distribution under relabelling.

    Queries without a score on either side keep their side: they say nothing about where scores lie.

    Returns
    -------
    gate, floors
        Floors of the folds of the true labels, for the held-out rates.
    """
    rng = np.random.default_rng(seed)
    relevant_folds = folds_by_group(relevant_groups, FOLDS, rng)
    noise_folds = folds_by_group(noise_groups, FOLDS, rng)
    cost, floors = cross_fit(relevant, noise, relevant_folds, noise_folds, costs)
    baseline = _better_constant(relevant, noise, costs)
    gain = baseline - cost
    scored_relevant = np.flatnonzero(np.isfinite(relevant))
    scored_noise = np.flatnonzero(np.isfinite(noise))
    pool = np.concatenate([relevant[scored_relevant], noise[scored_noise]])
    gains = np.empty(permutations)
    for i in range(permutations):
        shuffled = rng.permutation(pool)
        fake_relevant, fake_noise = relevant.copy(), noise.copy()
        fake_relevant[scored_relevant] = shuffled[: len(scored_relevant)]
        fake_noise[scored_noise] = shuffled[len(scored_relevant) :]
        fake_cost, _ = cross_fit(fake_relevant, fake_noise, relevant_folds, noise_folds, costs)
        gains[i] = baseline - fake_cost
    bar = float(np.quantile(gains, 0.95, method="higher"))
    return Gate(float(gain), bar, permutations, bool(gain > max(bar, 0.0))), floors


def _better_constant(relevant: Floats, noise: Floats, costs: Costs) -> float:
    accept_all = empirical_cost(relevant, noise, None, costs)
    return min(accept_all, costs.miss_weight)
