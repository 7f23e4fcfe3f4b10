"""What every other policy would have chosen on the same queries, and what each costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..choose import (
    LARGEST_GAP,
    POLICIES,
    Costs,
    NoFloor,
    Recommendation,
    as_chooser,
    cross_fit,
    empirical_cost,
    folds_along,
    folds_by_group,
    held_out_cost,
    largest_gap,
    low_in_the_gap,
)
from ..choose.heldout import FOLDS, Chooser
from ..scores import Band

COLUMNS = [
    "policy", "floor", "hits", "n_answerable", "false_answers", "n_far_noise", "cost", "hits_held_out",
    "false_answers_held_out", "cost_held_out", "offers",
]  # fmt: skip

Floats = npt.NDArray[np.float64]
Folds = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Judge:
    """The queries every policy is judged on: best relevant similarity within the recommended cap, and far noise."""

    kept: Floats
    noise: Floats
    folds: Folds
    noise_folds: Folds
    costs: Costs

    def row(self, name: str, floor: float | None, floors: Sequence[float | None]) -> dict[str, Any]:
        """Count what a floor does, and what those chosen without each query's fold do."""
        hits, false_answers = self._counts(np.full(len(self.kept), _bar(floor)), np.full(len(self.noise), _bar(floor)))
        bars = np.array([_bar(one) for one in floors])
        unseen = self._counts(bars[self.folds], bars[self.noise_folds])
        return {
            "policy": name,
            "floor": np.nan if floor is None else floor,
            "hits": hits,
            "n_answerable": len(self.kept),
            "false_answers": false_answers,
            "n_far_noise": len(self.noise),
            "cost": empirical_cost(self.kept, self.noise, floor, self.costs),
            "hits_held_out": unseen[0],
            "false_answers_held_out": unseen[1],
            "cost_held_out": held_out_cost(self.kept, self.noise, self.folds, self.noise_folds, floors, self.costs),
            "offers": floor is not None,
        }

    def _counts(self, bars: Floats, noise_bars: Floats) -> tuple[int, int]:
        kept = (self.kept >= bars) & np.isfinite(self.kept)
        answered = (self.noise >= noise_bars) & np.isfinite(self.noise)
        return int(kept.sum()), int(answered.sum())


def compare_policies(
    answerable: pd.DataFrame,
    kept: pd.DataFrame,
    cut: Floats,
    far: Band,
    choice: Recommendation | NoFloor,
    costs: Costs,
    *,
    seed: int,
) -> pd.DataFrame:
    """Compare with what every other policy would have chosen on the same queries, and what each costs.

    Every policy chooses on the scores that ours saw, and is judged at the recommended cap.

    Parameters
    ----------
    answerable, kept : DataFrame
        The answerable queries with `value`: best relevant similarity within the cap that stood before any label was
        looked at, and within the recommended one.
    cut : ndarray
        The same within the cut at each query's largest drop (see `within_largest_gap`).

    Returns
    -------
    DataFrame
        policy, floor (NaN = accept everything within the cap), hit and false-answer counts and `cost` in-sample, and
        held out (the policy cross-fitted on the same folds); ours first. Empty without both bands.
    """
    relevant, noise = answerable["value"].to_numpy(dtype=np.float64), far.similarity
    if not np.isfinite(relevant).any() or not np.isfinite(noise).any():
        return pd.DataFrame(columns=COLUMNS)
    folds = _folds(choice, answerable["group"].to_numpy(dtype=str), far.groups, seed=seed)
    judge = _Judge(kept["value"].to_numpy(dtype=np.float64), noise, *folds, costs)

    def fitted(choose: Chooser) -> tuple[float | None, ...]:
        return cross_fit(relevant, noise, *folds, costs, choose)[1]

    rows = [judge.row("recommended", choice.floor, _own_floors(choice) or fitted(as_chooser(low_in_the_gap)))]
    rows += [judge.row(name, policy(relevant, noise), fitted(as_chooser(policy))) for name, policy in POLICIES.items()]
    # it learns nothing from labels, so unseen queries are like seen ones; of noise it keeps at least the best match
    rows.append(_Judge(cut, noise, *folds, costs).row(LARGEST_GAP, None, (None,) * FOLDS))
    return pd.DataFrame(rows, columns=COLUMNS)


def within_largest_gap(kept: pd.DataFrame, top: pd.DataFrame, cap: int) -> Floats:
    """Give each query's `value` where its passage stands before the largest drop of its list, else minus infinity.

    Parameters
    ----------
    kept : DataFrame
        Answerable queries with best_relevant_rank and `value` within the cap.
    top : DataFrame
        query_id, similarity, rank: passages of every query, one more than the cap where there are as many.
    """
    first = top[top["rank"] <= cap + 1].sort_values(["query_id", "rank"])
    lists = first.groupby("query_id")["similarity"].agg(lambda values: largest_gap(values.to_numpy(np.float64), cap))
    most = kept["query_id"].map(lists).astype("float64")
    before = (kept["best_relevant_rank"].astype("float64") <= most).to_numpy(dtype=bool)
    return np.where(before, kept["value"].to_numpy(dtype=np.float64), -np.inf)


def _bar(floor: float | None) -> float:
    return -np.inf if floor is None else floor


def _own_floors(choice: Recommendation | NoFloor) -> tuple[float | None, ...]:
    """Floors of the folds; a refusal accepts everything, and pays for it. Empty where too few queries chose."""
    return (None,) * FOLDS if choice.floor is None else choice.held_out_floors


def _folds(
    choice: Recommendation | NoFloor, groups: npt.NDArray[np.str_], noise_groups: npt.NDArray[np.str_], *, seed: int
) -> tuple[Folds, Folds]:
    """Folds of the two bands: those our own floor was cross-fitted on, if it was."""
    if choice.held_out is not None:
        return np.array(choice.held_out.relevant_folds), np.array(choice.held_out.noise_folds)
    rng = np.random.default_rng(seed)
    folds = folds_by_group(groups, FOLDS, rng)
    return folds, folds_along(noise_groups, groups, folds, FOLDS, rng)
