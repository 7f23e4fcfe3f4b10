"""The permutation gate: no floor unless its cross-fitted gain beats what relabelled bands give by luck."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .heldout import FOLDS, cross_fit, folds_along, folds_by_group
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

    Whole groups change places, so that paraphrases of one need count as the one piece of evidence they are. Queries
    without a score on either side stay: they say nothing about where scores lie.

    Returns
    -------
    gate, held out
        The floors of the folds of the true labels, and the folds, for the held-out rates.
    """
    rng = np.random.default_rng(seed)
    folds = folds_by_group(relevant_groups, FOLDS, rng)
    noise_folds = folds_along(noise_groups, relevant_groups, folds, FOLDS, rng)
    accept_all, refuse_all = empirical_cost(relevant, noise, None, costs), costs.miss_weight
    baseline = min(accept_all, refuse_all)
    cost, floors = cross_fit(relevant, noise, folds, noise_folds, costs)
    places = _Places(relevant, noise, relevant_groups, noise_groups)
    fakes = (cross_fit(*places.shuffled(rng), folds, noise_folds, costs)[0] for _ in range(permutations))
    gains = np.array([baseline - fake for fake in fakes])
    bar = float(np.quantile(gains, 0.95, method="higher"))
    gate = Gate(baseline - cost, bar, permutations, bool(baseline - cost > max(bar, 0.0)))
    return gate, HeldOut(floors, tuple(folds.tolist()), tuple(noise_folds.tolist()))


class _Places:
    """The groups of both bands as places that any group's values can take.

    A place keeps its size. A larger group that takes it leaves some values out, a smaller one repeats its own, as
    paraphrases do.
    """

    def __init__(
        self,
        relevant: Floats,
        noise: Floats,
        relevant_groups: Sequence[object] | npt.ArrayLike,
        noise_groups: Sequence[object] | npt.ArrayLike,
    ) -> None:
        self.bands = (relevant, noise)
        self.scored = (np.isfinite(relevant), np.isfinite(noise))
        ours, theirs = self.scored
        _, left = np.unique(np.asarray(relevant_groups, dtype=str)[ours], return_inverse=True)
        _, right = np.unique(np.asarray(noise_groups, dtype=str)[theirs], return_inverse=True)
        self.place = np.concatenate([left, right + int(left.max()) + 1])
        order = np.argsort(self.place, kind="stable")
        self.values = np.concatenate([relevant[ours], noise[theirs]])[order]
        self.sizes = np.bincount(self.place)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.within = np.empty(len(order), dtype=np.int64)
        self.within[order] = np.arange(len(order)) - np.repeat(self.starts, self.sizes)

    def shuffled(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Bands after every place was taken by a random group."""
        group = rng.permutation(len(self.sizes))[self.place]
        first = rng.integers(0, self.sizes.max(), len(self.sizes))[self.place]
        values = self.values[self.starts[group] + (first + self.within) % self.sizes[group]]
        relevant, noise = (band.copy() for band in self.bands)
        ours, theirs = self.scored
        relevant[ours], noise[theirs] = np.split(values, [int(ours.sum())])
        return relevant, noise
