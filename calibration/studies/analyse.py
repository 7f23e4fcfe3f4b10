"""From Scores and labels to a Calibration: bands, gap, floor, cap, rates, policies; no file, database or model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..choose import (
    POLICIES,
    PRESETS,
    Costs,
    HeldOut,
    NoFloor,
    Recommendation,
    TopK,
    as_chooser,
    choose_floor,
    choose_top_k,
    covering,
    cross_fit,
    empirical_cost,
    folds_along,
    folds_by_group,
    held_out_cost,
    low_in_the_gap,
)
from ..choose.heldout import FOLDS, Chooser
from ..labels import Labels
from ..params import RunParams
from ..scores import Bands, Scores, find_bands, judged_top, query_table
from .caveats import caveats_of
from .curves import curves, surface
from .growth import ceiling_of
from .model import Calibration
from .rates import outcome
from .segments import segments_of
from .suspects import suspects

POLICY_COLUMNS = [
    "policy", "floor", "hits", "n_answerable", "false_answers", "n_far_noise", "cost", "cost_held_out", "offers",
]  # fmt: skip


def analyse(
    scores: Scores,
    labels: Labels,
    probes: pd.DataFrame | None,
    params: RunParams,
    *,
    name: str,
    facts: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> Calibration:
    """Find the bands, choose the floor and the cap, and measure what they do."""
    table = query_table(scores, labels, probes)
    bands = find_bands(scores, labels, table)
    costs = costs_of(params)
    choice = _choose(scores, table, bands, costs, params)
    top_k = _cap(scores, table, choice, params)
    top = judged_top(scores, labels)
    apply = partial(outcome, scores, labels, table, top_k=top_k.value, seed=params.seed, top=top)
    in_sample = apply(choice.floor)
    held_out = None
    if choice.floor is not None and choice.held_out is not None:
        unseen = apply(held_out_floors(table, bands, choice.held_out, seed=params.seed))
        rates = {name: covering(in_sample.rates[name], rate) for name, rate in unseen.rates.items()}
        held_out = replace(unseen, rates=rates)
    return Calibration(
        name=name,
        params=params,
        labels=labels,
        scores=scores,
        table=table,
        bands=bands,
        costs=costs,
        choice=choice,
        top_k=top_k,
        in_sample=in_sample,
        held_out=held_out,
        old=None if params.old_floor is None else apply(params.old_floor),
        curves=curves(scores, labels, table, top_k.value, top=top),
        surface=surface(scores, labels, table, params.k_max, top=top),
        policies=compare_policies(table, bands, choice, top_k, costs, params),
        ceiling=ceiling_of(scores, bands, seed=params.seed),
        segments=segments_of(
            best_within(table, fixed_cap(params)), table, bands, choice.floor, costs, seed=params.seed
        ),
        suspects=suspects(scores, labels, bands),
        texts=texts or {},
        facts=facts,
        caveats=caveats_of(scores, labels, table, bands, choice, top_k, params, facts),
    )


def costs_of(params: RunParams) -> Costs:
    """Give the costs of the preset, with the user's own numbers over them."""
    preset = PRESETS[params.preset]
    return Costs(
        preset.miss if params.miss_cost is None else params.miss_cost,
        preset.false_answer if params.false_cost is None else params.false_cost,
        params.off_topic_share,
    )


def best_within(table: pd.DataFrame, k: int) -> pd.DataFrame:
    """Give the answerable queries with `value`: best relevant similarity, minus infinity beyond `k` or unscored."""
    answerable = table[table["answerability"] == "answerable"]
    rank = answerable["best_relevant_rank"].astype("Float64")
    reachable = (rank <= k).fillna(False).to_numpy(dtype=bool) & answerable["best_relevant"].notna().to_numpy()
    value = np.where(reachable, answerable["best_relevant"].to_numpy(dtype=np.float64), -np.inf)
    return answerable.assign(value=value)


def fixed_cap(params: RunParams) -> int:
    """Cap that stands before any label is looked at: the user's budget, else the largest that is considered."""
    return params.k_max if params.top_k is None else params.top_k


def _choose(
    scores: Scores, table: pd.DataFrame, bands: Bands, costs: Costs, params: RunParams
) -> Recommendation | NoFloor:
    answerable = best_within(table, fixed_cap(params))
    far = bands["far_noise"]
    return choose_floor(
        answerable["value"],
        far.similarity,
        miss_cost=costs.miss,
        false_cost=costs.false_answer,
        off_topic_share=costs.off_topic_share,
        groups=answerable["group"].to_numpy(dtype=str),
        noise_groups=far.groups,
        observed=scores.top["similarity"],
        target=params.target,
        confidence=params.confidence,
        top_k=fixed_cap(params),
        seed=params.seed,
    )


def _cap(scores: Scores, table: pd.DataFrame, choice: Recommendation | NoFloor, params: RunParams) -> TopK:
    answerable = table[table["answerability"] == "answerable"]
    ranks = answerable["best_relevant_rank"].astype("Float64").fillna(np.inf).to_numpy(dtype=np.float64)
    survives = scores.contract.accept(answerable["best_relevant"], choice.floor)
    return choose_top_k(ranks, survives, k_max=params.k_max, budget=params.top_k)


def held_out_floors(table: pd.DataFrame, bands: Bands, held_out: HeldOut, *, seed: int) -> dict[str, float | None]:
    """Give each query the floor that was chosen without its group.

    Queries that chose nothing (missing answer, unknown, and labelled off-topic ones when probes stand for the noise) go
    with their group, or into folds of their own, so that their rates vary in the same way.
    """
    answerable, far = table[table["answerability"] == "answerable"], bands["far_noise"]
    fold_of = dict(zip(far.query_ids.tolist(), held_out.noise_folds, strict=True))
    fold_of |= dict(zip(answerable["query_id"], held_out.relevant_folds, strict=True))
    rest = table[~table["query_id"].isin(fold_of)]
    if len(rest):
        groups = np.concatenate([answerable["group"].to_numpy(dtype=str), far.groups])
        known = np.array([*held_out.relevant_folds, *held_out.noise_folds], dtype=np.int64)
        n_folds, rng = len(held_out.floors), np.random.default_rng(seed)
        folds = folds_along(rest["group"].to_numpy(dtype=str), groups, known, n_folds, rng)
        fold_of |= dict(zip(rest["query_id"], folds.tolist(), strict=True))
    return {query_id: held_out.floors[fold] for query_id, fold in fold_of.items()}


def compare_policies(
    table: pd.DataFrame,
    bands: Bands,
    choice: Recommendation | NoFloor,
    top_k: TopK,
    costs: Costs,
    params: RunParams,
) -> pd.DataFrame:
    """Compare with what every other policy would have chosen on the same queries, and what each costs.

    Every policy chooses on the scores that ours saw, and is judged at the recommended cap.

    Returns
    -------
    DataFrame
        policy, floor (NaN = accept everything within the cap), hit and false-answer counts in-sample, `cost` in-sample
        and `cost_held_out` (the policy cross-fitted on the same folds); ours first. Empty without both bands.
    """
    answerable, far = best_within(table, fixed_cap(params)), bands["far_noise"]
    relevant = answerable["value"].to_numpy(dtype=np.float64)
    kept = best_within(table, top_k.value)["value"].to_numpy(dtype=np.float64)
    noise = far.similarity
    if not np.isfinite(relevant).any() or not np.isfinite(noise).any():
        return pd.DataFrame(columns=POLICY_COLUMNS)
    folds = _folds(choice, answerable["group"].to_numpy(dtype=str), far.groups, seed=params.seed)

    def row(name: str, floor: float | None, floors: Sequence[float | None]) -> dict[str, Any]:
        bar = -np.inf if floor is None else floor
        return {
            "policy": name,
            "floor": np.nan if floor is None else floor,
            "hits": int(((kept >= bar) & np.isfinite(kept)).sum()),
            "n_answerable": len(kept),
            "false_answers": int(((noise >= bar) & np.isfinite(noise)).sum()),
            "n_far_noise": len(noise),
            "cost": empirical_cost(kept, noise, floor, costs),
            "cost_held_out": held_out_cost(kept, noise, *folds, floors, costs),
            "offers": floor is not None,
        }

    def fitted(choose: Chooser) -> tuple[float | None, ...]:
        return cross_fit(relevant, noise, *folds, costs, choose)[1]

    rows = [row("recommended", choice.floor, _own_floors(choice) or fitted(as_chooser(low_in_the_gap)))]
    rows += [row(name, policy(relevant, noise), fitted(as_chooser(policy))) for name, policy in POLICIES.items()]
    return pd.DataFrame(rows, columns=POLICY_COLUMNS)


def _own_floors(choice: Recommendation | NoFloor) -> tuple[float | None, ...]:
    """Floors of the folds; a refusal accepts everything, and pays for it. Empty where too few queries chose."""
    return (None,) * FOLDS if choice.floor is None else choice.held_out_floors


def _folds(
    choice: Recommendation | NoFloor, groups: npt.NDArray[np.str_], noise_groups: npt.NDArray[np.str_], *, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Folds of the two bands: those our own floor was cross-fitted on, if it was."""
    if choice.held_out is not None:
        return np.array(choice.held_out.relevant_folds), np.array(choice.held_out.noise_folds)
    rng = np.random.default_rng(seed)
    folds = folds_by_group(groups, FOLDS, rng)
    return folds, folds_along(noise_groups, groups, folds, FOLDS, rng)
