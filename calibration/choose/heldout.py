"""Cross-fitting by group: the same procedure on folds, judged on what it did not see."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from .outcome import Costs
from .rule import MIN_NOISE, MIN_RELEVANT, empirical_cost, pick
from .smooth import Floats

FOLDS = 5


def folds_by_group(groups: Sequence[object] | npt.ArrayLike, n_folds: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Assign every query to a fold so that no group is torn and folds are as even as groups allow.

    Groups are shuffled, then go largest first to the emptiest fold.

    Examples
    --------
    >>> sorted(folds_by_group(["a", "b", "c", "d"], 2, np.random.default_rng(0)).tolist())
    [0, 0, 1, 1]
    """
    names, codes, sizes = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    n_folds = max(1, min(n_folds, len(names)))
    order = rng.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    load = np.zeros(n_folds, dtype=np.int64)
    fold_of = np.empty(len(names), dtype=np.int64)
    for name in order:
        fold = int(np.argmin(load))
        fold_of[name] = fold
        load[fold] += sizes[name]
    assigned: npt.NDArray[np.int64] = fold_of[codes]
    return assigned


def cross_fit(
    relevant: Floats,
    noise: Floats,
    relevant_folds: npt.NDArray[np.int64],
    noise_folds: npt.NDArray[np.int64],
    costs: Costs,
    choose: Callable[[Floats, Floats, Costs], float | None] | None = None,
) -> tuple[float, tuple[float | None, ...]]:
    """Choose on all folds but one, pay on that one.

    Returns
    -------
    mean cost, floors
        Cost per query over all held-out queries; one floor per fold, None where the rest was too small to choose.
    """
    choose = choose or pick_or_none
    floors: list[float | None] = []
    miss = kept = 0.0
    n_folds = int(max(relevant_folds.max(), noise_folds.max())) + 1
    for fold in range(n_folds):
        out_relevant, out_noise = relevant_folds == fold, noise_folds == fold
        floor = choose(relevant[~out_relevant], noise[~out_noise], costs)
        floors.append(floor)
        only_miss = Costs(costs.miss, costs.false_answer, 0.0)
        only_false = Costs(costs.miss, costs.false_answer, 1.0)
        if out_relevant.any():
            miss += out_relevant.sum() * empirical_cost(relevant[out_relevant], noise[:1], floor, only_miss)
        if out_noise.any():
            kept += out_noise.sum() * empirical_cost(relevant[:1], noise[out_noise], floor, only_false)
    share = costs.off_topic_share
    return (1.0 - share) * miss / len(relevant) + share * kept / len(noise), tuple(floors)


def pick_or_none(relevant: Floats, noise: Floats, costs: Costs) -> float | None:
    """`pick`, or None where a side is too small to smooth."""
    if np.isfinite(relevant).sum() < MIN_RELEVANT or np.isfinite(noise).sum() < MIN_NOISE:
        return None
    return pick(relevant, noise, costs)[0]
