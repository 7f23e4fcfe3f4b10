"""The floor of one signal on its own scale, chosen as a calibration of that signal alone would choose it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...choose import NoFloor, Recommendation, choose_floor, folds_along, folds_by_group
from ...choose.heldout import FOLDS
from ...params import RunParams
from ...retrieval import Candidates, Leg
from ..analyse import costs_of, fixed_cap
from .candidates import Far, best_of_query, places

Floats = npt.NDArray[np.float64]
Folds = npt.NDArray[np.int64]


class Chosen(NamedTuple):
    """A floor, or why there is none, and the two bands it was chosen on.

    Attributes
    ----------
    relevant, noise : ndarray
        In the order of the answerable queries and of the far noise; minus infinity where nothing counts.
    """

    choice: Recommendation | NoFloor
    relevant: Floats
    noise: Floats

    @property
    def by_fold(self) -> tuple[float | None, ...]:
        """The floor chosen without the queries of each fold; the floor itself where too few could be held out."""
        return floors_by_fold(self.choice)


def choose_own_floor(
    candidates: Candidates,
    signal: str,
    relevant: npt.NDArray[np.bool_],
    table: pd.DataFrame,
    far: Far,
    params: RunParams,
    legs: Mapping[str, Leg],
) -> Chosen:
    """Choose the floor of a signal: on the similarity, the one that `calibrate run` recommends for the same labels.

    A relevant passage counts when it stands within the cap in the order of this signal.

    Parameters
    ----------
    relevant : ndarray of bool
        One per candidate.
    legs : mapping of signal to Leg
        Where a signal's scores are known deeper than the candidates are.
    """
    answerable = table[table["answerability"] == "answerable"]
    off_topic = table[table["query_id"].isin(far.query_ids)]
    cap, costs = fixed_cap(params), costs_of(params)
    within = relevant & (places(candidates, signal) <= cap)
    best = best_of_query(candidates, signal, answerable["query_id"], within)
    noise = best_of_query(candidates, signal, off_topic["query_id"], np.ones(len(candidates.rows), dtype=np.bool_))
    choice = choose_floor(
        best,
        noise,
        miss_cost=costs.miss,
        false_cost=costs.false_answer,
        off_topic_share=costs.off_topic_share,
        groups=answerable["group"].to_numpy(dtype=str),
        noise_groups=off_topic["group"].to_numpy(dtype=str),
        observed=observed(candidates, signal, params, legs),
        target=params.target,
        confidence=params.confidence,
        top_k=cap,
        resamples=0,
        seed=params.seed,
    )
    return Chosen(choice, best, noise)


def observed(candidates: Candidates, signal: str, params: RunParams, legs: Mapping[str, Leg]) -> Floats:
    """Give the scores that a floor must not stand on: of a leg as many as a calibration looks at."""
    leg = legs.get(signal)
    if leg is None:
        values = candidates.values(signal)[:, 0]
    else:
        top = leg.rows["rank"].astype("float64") <= max(100, 2 * params.k_max)
        values = leg.rows.loc[top, "score"].to_numpy(dtype=np.float64)
    return values[np.isfinite(values)]


def floors_by_fold(choice: Recommendation | NoFloor) -> tuple[float | None, ...]:
    """Give a floor for each fold; the deployed one where too few queries could be held out."""
    floors = choice.held_out_floors or (choice.floor,) * FOLDS
    # fewer groups than folds give fewer floors; no query is in the others
    return (*floors, *([choice.floor] * (FOLDS - len(floors))))


def folds_of_bands(table: pd.DataFrame, far: Far, seed: int) -> tuple[Folds, Folds]:
    """Give the folds of the answerable queries and of the far noise, in the order of the bands."""
    folds = folds_of(table, far, seed)
    parts = (table[table["answerability"] == "answerable"], table[table["query_id"].isin(far.query_ids)])
    own, other = (np.array([folds[query] for query in part["query_id"]], dtype=np.int64) for part in parts)
    return own, other


def folds_of(table: pd.DataFrame, far: Far, seed: int) -> dict[str, int]:
    """Assign every query to a fold, as a calibration does: the same for all signals, and groups are never torn."""
    rng = np.random.default_rng(seed)
    answerable = table[table["answerability"] == "answerable"]
    noise = table[table["query_id"].isin(far.query_ids)]
    groups, noise_groups = answerable["group"].to_numpy(dtype=str), noise["group"].to_numpy(dtype=str)
    if len(answerable) == 0:
        return dict.fromkeys(table["query_id"], 0)
    folds = folds_by_group(groups, FOLDS, rng)
    noise_folds = folds_along(noise_groups, groups, folds, FOLDS, rng)
    found = dict(zip(noise["query_id"], noise_folds.tolist(), strict=True))
    found |= dict(zip(answerable["query_id"], folds.tolist(), strict=True))
    rest = table[~table["query_id"].isin(found)]
    if len(rest):
        known = np.concatenate([folds, noise_folds])
        names, of_rest = np.concatenate([groups, noise_groups]), rest["group"].to_numpy(dtype=str)
        rest_folds = folds_along(of_rest, names, known, FOLDS, np.random.default_rng(seed))
        found |= dict(zip(rest["query_id"], rest_folds.tolist(), strict=True))
    return found
