"""Cross-fitting by group: the same procedure on folds, judged on what it did not see."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from .outcome import Costs
from .rule import pick
from .smooth import Floats

FOLDS = 5

Folds = npt.NDArray[np.int64]
Chooser = Callable[[Floats, Floats, Costs], float | None]


def folds_by_group(groups: Sequence[object] | npt.ArrayLike, n_folds: int, rng: np.random.Generator) -> Folds:
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
    assigned: Folds = fold_of[codes]
    return assigned


def folds_along(
    groups: Sequence[object] | npt.ArrayLike,
    others: Sequence[object] | npt.ArrayLike,
    folds_of_others: Folds,
    n_folds: int,
    rng: np.random.Generator,
) -> Folds:
    """Assign queries to folds where some of their groups already have one: a group stays whole across both sides.

    Examples
    --------
    >>> folds_along(["b", "c"], ["a", "b"], np.array([0, 1]), 2, np.random.default_rng(0)).tolist()[0]
    1
    """
    names = np.asarray(groups, dtype=str)
    known = dict(zip(np.asarray(others, dtype=str).tolist(), folds_of_others.tolist(), strict=True))
    folds = np.array([known.get(name, -1) for name in names.tolist()], dtype=np.int64)
    new = folds < 0
    if new.any():
        folds[new] = folds_by_group(names[new], n_folds, rng)
    return folds


def cross_fit(
    relevant: Floats,
    noise: Floats,
    relevant_folds: Folds,
    noise_folds: Folds,
    costs: Costs,
    choose: Chooser | None = None,
) -> tuple[float, tuple[float | None, ...]]:
    """Choose on all folds but one, pay on that one.

    Returns
    -------
    mean cost, floors
        Cost per query over all held-out queries; one floor per fold, None where the rest gave nothing to choose on.
    """
    choose = choose or pick_or_none
    n_folds = int(max(relevant_folds.max(), noise_folds.max())) + 1
    floors = tuple(
        choose(relevant[relevant_folds != fold], noise[noise_folds != fold], costs) for fold in range(n_folds)
    )
    return held_out_cost(relevant, noise, relevant_folds, noise_folds, floors, costs), floors


def held_out_cost(
    relevant: Floats,
    noise: Floats,
    relevant_folds: Folds,
    noise_folds: Folds,
    floors: Sequence[float | None],
    costs: Costs,
) -> float:
    """Cost per query when each pays at the floor of its fold; None accepts every query that has a score.

    Examples
    --------
    >>> one = np.array([0])
    >>> held_out_cost(np.array([0.5]), np.array([0.1]), one, one, [0.3], Costs()), Costs().miss_weight
    (0.0, 1.5)
    """
    bars = np.array([-np.inf if floor is None else floor for floor in floors])
    # minus infinity never had a score: no floor, not even none, accepts it
    kept = (relevant >= bars[relevant_folds]) & np.isfinite(relevant)
    answered = (noise >= bars[noise_folds]) & np.isfinite(noise)
    return costs.miss_weight * (1.0 - float(kept.mean())) + costs.false_weight * float(answered.mean())


def pick_or_none(relevant: Floats, noise: Floats, costs: Costs) -> float | None:
    """`pick`, or None where a side has no score. Folds of a sample that may be smoothed are smoothed, too."""
    if not np.isfinite(relevant).any() or not np.isfinite(noise).any():
        return None
    return pick(relevant, noise, costs)[0]
