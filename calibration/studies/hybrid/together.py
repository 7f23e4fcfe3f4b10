"""Two floors for a gate that passes with either, chosen together: two chosen apart add up their false answers."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...choose import Costs, between_scores, pick
from ...choose.heldout import FOLDS
from ...choose.rule import MIN_RELEVANT, WINDOW, pooled_range
from ...contract import ScoreContract
from ...params import RunParams
from ..analyse import costs_of
from .candidates import Far
from .floors import Chosen, Floats, folds_of_bands

Floors = Mapping[str, float]
"""Floor by signal."""


class Beside(NamedTuple):
    """The floor of a second signal where a first one gates already: whole, and without each fold; None for no floor."""

    value: float | None
    by_fold: tuple[float | None, ...]


def choose_beside(
    first: Chosen,
    contract: ScoreContract,
    second: Chosen,
    seen: Floats,
    table: pd.DataFrame,
    far: Far,
    params: RunParams,
) -> Beside:
    """Choose a second floor for a gate that passes with either: on the queries that the first floor leaves.

    Two floors that were chosen alone each answer off-topic queries of their own, and those add up. Here the second one
    pays only for what it adds: answers the first loses, against off-topic queries the first refuses. On the sample with
    MiniLM (queries no floor has seen) two floors chosen alone keep 110 of 112 answers and answer 11 of 25 off-topic
    and 50 of 200 probe queries; `choose_together` keeps 108 and answers 8 and 20.

    Parameters
    ----------
    contract : ScoreContract
        Of the first signal.
    seen : array
        Scores of the second signal that its floor must not stand on.
    """
    costs = costs_of(params)
    own, other = folds_of_bands(table, far, params.seed)

    def chosen(value: float | None, fold: int | None) -> float | None:
        if value is None:
            return None
        lost = ~contract.accept(first.relevant, value) & (own != fold)
        refused = ~contract.accept(first.noise, value) & (other != fold)
        relevant, noise = second.relevant[lost], second.noise[refused]
        if np.isfinite(relevant).sum() < MIN_RELEVANT or np.isfinite(noise).sum() < MIN_RELEVANT:
            return None
        n, m = int((own != fold).sum()), int((other != fold).sum())
        # shares of all queries, not of those that are left
        weights = Costs(costs.miss * len(relevant) / n, costs.false_answer * len(noise) / m, costs.off_topic_share)
        return pick(relevant, noise, weights)[0]

    value = chosen(first.choice.floor, None)
    if value is not None:
        value = between_scores(value, seen, window=WINDOW * pooled_range(second.relevant, second.noise))
    return Beside(value, tuple(chosen(floor, fold) for fold, floor in enumerate(first.by_fold)))


def choose_together(
    chosen: Mapping[str, Chosen],
    contracts: Mapping[str, ScoreContract],
    seen: Mapping[str, Floats],
    table: pd.DataFrame,
    far: Far,
    params: RunParams,
) -> tuple[Floors, tuple[Floors, ...]]:
    """Choose the floors of two signals whose gate passes with either.

    The signal of less smoothed cost alone keeps its floor, and the other's is chosen beside it. Where too few queries
    are left for that, the cheapest by count is taken of the first alone, the other way round, and both as they were
    chosen apart. All of it is asked anew for every fold, without the fold's queries, so that no query has a say in the
    floors it is measured at.

    Parameters
    ----------
    chosen : mapping of signal to Chosen
        Two signals.
    seen : mapping of signal to array
        Scores that a signal's floor must not stand on.

    Returns
    -------
    whole, by_fold
        A signal without a floor is absent: a second floor would cost more than it brings, or too few queries are left.
    """
    first, second = chosen
    besides = {
        added: choose_beside(chosen[kept], contracts[kept], chosen[added], seen[added], table, far, params)
        for kept, added in ((first, second), (second, first))
    }
    costs = costs_of(params)
    own, noise = folds_of_bands(table, far, params.seed)

    def cost(floors: Floors, fold: int | None) -> float:
        kept, answered = np.zeros(len(own), dtype=np.bool_), np.zeros(len(noise), dtype=np.bool_)
        for name, value in floors.items():
            kept |= contracts[name].accept(chosen[name].relevant, value)
            answered |= contracts[name].accept(chosen[name].noise, value)
        kept, answered = kept[own != fold], answered[noise != fold]
        if not floors or not len(kept) or not len(answered):
            return np.inf
        return float(costs.miss_weight * (1.0 - kept.mean()) + costs.false_weight * answered.mean())

    def smoothed(name: str, fold: int | None) -> float:
        relevant, far_noise = chosen[name].relevant[own != fold], chosen[name].noise[noise != fold]
        scored = np.isfinite(relevant).any() and np.isfinite(far_noise).any()
        return pick(relevant, far_noise, costs)[1] if scored else np.inf

    def best(fold: int | None) -> Floors:
        at = {name: one.choice.floor if fold is None else one.by_fold[fold] for name, one in chosen.items()}
        beside = {name: one.value if fold is None else one.by_fold[fold] for name, one in besides.items()}
        kept, added = sorted(at, key=lambda name: smoothed(name, fold))
        usual = _known({**at, added: beside[added]})
        if len(usual) == 2:
            return usual
        ways = (_known({kept: at[kept]}), _known({**at, kept: beside[kept]}), _known(at))
        return min(ways, key=lambda floors: cost(floors, fold))

    return best(None), tuple(best(fold) for fold in range(FOLDS))


def _known(floors: Mapping[str, float | None]) -> Floors:
    return {name: value for name, value in floors.items() if value is not None}
