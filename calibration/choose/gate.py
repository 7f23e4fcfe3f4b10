"""The permutation gate: no floor unless its cross-fitted gain beats what relabelled bands give by luck."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .heldout import FOLDS, Folds, cross_fit, folds_along, folds_by_group
from .outcome import Costs, Gate, HeldOut
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
) -> tuple[Gate, HeldOut]:
    """Compare the cross-fitted gain over the better of accept-all and refuse-all with what relabelled bands give.

    Whole groups change sides, so that paraphrases of one need count as the one piece of evidence they are. Queries
    without a score on either side keep their side: they say nothing about where scores lie.

    Returns
    -------
    gate, held out
        The floors of the folds of the true labels, and the folds, for the held-out rates.
    """
    rng = np.random.default_rng(seed)
    relevant_folds = folds_by_group(relevant_groups, FOLDS, rng)
    noise_folds = folds_along(noise_groups, relevant_groups, relevant_folds, FOLDS, rng)
    gain, floors = _gain(relevant, noise, relevant_folds, noise_folds, costs)
    units = _Units(relevant, noise, relevant_groups, noise_groups, relevant_folds, noise_folds)
    gains = np.array([_gain(*units.shuffled(rng), costs)[0] for _ in range(permutations)])
    bar = float(np.quantile(gains, 0.95, method="higher"))
    gate = Gate(gain, bar, permutations, bool(gain > max(bar, 0.0)))
    return gate, HeldOut(floors, tuple(relevant_folds.tolist()), tuple(noise_folds.tolist()))


class _Units:
    """The scored values of both bands in the blocks that change sides together: the groups of each band."""

    def __init__(
        self,
        relevant: Floats,
        noise: Floats,
        relevant_groups: Sequence[object] | npt.ArrayLike,
        noise_groups: Sequence[object] | npt.ArrayLike,
        relevant_folds: Folds,
        noise_folds: Folds,
    ) -> None:
        ours, theirs = np.isfinite(relevant), np.isfinite(noise)
        self.stay = (relevant[~ours], noise[~theirs], relevant_folds[~ours], noise_folds[~theirs])
        self.values = np.concatenate([relevant[ours], noise[theirs]])
        _, left = np.unique(np.asarray(relevant_groups, dtype=str)[ours], return_inverse=True)
        _, right = np.unique(np.asarray(noise_groups, dtype=str)[theirs], return_inverse=True)
        n_left = int(left.max()) + 1
        self.unit = np.concatenate([left, right + n_left])
        self.fold = np.empty(int(self.unit.max()) + 1, dtype=np.int64)
        self.fold[self.unit] = np.concatenate([relevant_folds[ours], noise_folds[theirs]])
        self.is_relevant = np.arange(len(self.fold)) < n_left

    def shuffled(self, rng: np.random.Generator) -> tuple[Floats, Floats, Folds, Folds]:
        """Bands and folds after every unit took the side and the fold of a random other one."""
        place = rng.permutation(len(self.fold))[self.unit]
        side, fold = self.is_relevant[place], self.fold[place]
        relevant, noise, relevant_folds, noise_folds = self.stay
        return (
            np.concatenate([self.values[side], relevant]),
            np.concatenate([self.values[~side], noise]),
            np.concatenate([fold[side], relevant_folds]),
            np.concatenate([fold[~side], noise_folds]),
        )


def _gain(
    relevant: Floats, noise: Floats, relevant_folds: Folds, noise_folds: Folds, costs: Costs
) -> tuple[float, tuple[float | None, ...]]:
    """Measure what the cross-fitted floors save over the better of accepting and refusing everything."""
    cost, floors = cross_fit(relevant, noise, relevant_folds, noise_folds, costs)
    accept_all, refuse_all = empirical_cost(relevant, noise, None, costs), costs.miss_weight
    return min(accept_all, refuse_all) - cost, floors
