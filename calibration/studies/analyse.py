"""From Scores and labels to a Calibration: bands, gap, floor, cap, rates, policies. No file, database or model is touched."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..choose import (
    POLICIES,
    PRESETS,
    Costs,
    NoFloor,
    Recommendation,
    TopK,
    as_chooser,
    choose_floor,
    choose_top_k,
    cross_fit,
    empirical_cost,
    folds_by_group,
)
from ..choose.heldout import FOLDS
from ..labels import Labels
from ..params import RunParams
from ..scores import Bands, Scores, find_bands, query_table
from .caveats import caveats_of
from .curves import curves, surface
from .model import Calibration
from .rates import outcome


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
    in_sample = outcome(scores, labels, table, choice.floor, top_k.value, seed=params.seed)
    held_out = None
    if choice.floor is not None:
        floors = held_out_floors(table, bands, choice, params)
        held_out = outcome(scores, labels, table, floors, top_k.value, seed=params.seed)
    old = None
    if params.old_floor is not None:
        old = outcome(scores, labels, table, params.old_floor, top_k.value, seed=params.seed)
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
        old=old,
        curves=curves(scores, labels, table, top_k.value),
        surface=surface(scores, labels, table, params.k_max),
        policies=compare_policies(table, bands, choice, costs, params),
        texts=texts or {},
        facts=facts,
        caveats=caveats_of(scores, labels, table, bands, choice, top_k, params, facts),
    )


def costs_of(params: RunParams) -> Costs:
    """Costs of the preset, with the user's own numbers over them."""
    preset = PRESETS[params.preset]
    return Costs(
        preset.miss if params.miss_cost is None else params.miss_cost,
        preset.false_answer if params.false_cost is None else params.false_cost,
        params.off_topic_share,
    )


def best_within(table: pd.DataFrame, k: int) -> pd.DataFrame:
    """Answerable queries with `value`: best relevant similarity, minus infinity where it ranks beyond `k` or has no score."""
    answerable = table[table["answerability"] == "answerable"]
    rank = answerable["best_relevant_rank"].astype("Float64")
    reachable = (rank <= k).fillna(False).to_numpy(dtype=bool) & answerable["best_relevant"].notna().to_numpy()
    value = np.where(reachable, answerable["best_relevant"].to_numpy(dtype=np.float64), -np.inf)
    return answerable.assign(value=value)


def _choose(
    scores: Scores, table: pd.DataFrame, bands: Bands, costs: Costs, params: RunParams
) -> Recommendation | NoFloor:
    answerable = best_within(table, params.top_k or params.k_max)
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
        top_k=params.top_k or params.k_max,
        seed=params.seed,
    )


def _cap(scores: Scores, table: pd.DataFrame, choice: Recommendation | NoFloor, params: RunParams) -> TopK:
    answerable = table[table["answerability"] == "answerable"]
    ranks = answerable["best_relevant_rank"].astype("Float64").fillna(np.inf).to_numpy(dtype=np.float64)
    survives = scores.contract.accept(answerable["best_relevant"], choice.floor)
    return choose_top_k(ranks, survives, k_max=params.k_max, budget=params.top_k)


def held_out_floors(
    table: pd.DataFrame, bands: Bands, choice: Recommendation | NoFloor, params: RunParams
) -> dict[str, float | None]:
    """Give each query the floor that was chosen without its fold.

    Queries that chose nothing (missing answer, unknown, and labelled off-topic ones when probes stand for the noise) get
    folds of their own, so that their rates are held out in the same sense.
    """
    rng = np.random.default_rng(params.seed)
    answerable = table[table["answerability"] == "answerable"]
    far = bands["far_noise"]
    floors = choice.held_out_floors or (choice.floor,)
    fold_of: dict[str, int] = {}
    # the same generator and order as the permutation gate, so the folds are the ones that made these floors
    for ids, groups in (
        (answerable["query_id"].to_numpy(dtype=str), answerable["group"].to_numpy(dtype=str)),
        (far.query_ids, far.groups),
    ):
        if len(ids):
            folds = folds_by_group(groups, FOLDS, rng)
            fold_of.update({query_id: int(fold) for query_id, fold in zip(ids, folds, strict=True) if query_id not in fold_of})
    rest = table[~table["query_id"].isin(fold_of)]
    if len(rest):
        folds = folds_by_group(rest["group"].to_numpy(dtype=str), FOLDS, rng)
        fold_of.update(zip(rest["query_id"], (int(fold) for fold in folds), strict=True))
    return {query_id: floors[fold % len(floors)] for query_id, fold in fold_of.items()}


def compare_policies(
    table: pd.DataFrame, bands: Bands, choice: Recommendation | NoFloor, costs: Costs, params: RunParams
) -> pd.DataFrame:
    """What every other policy would have chosen on the same queries, and what each costs.

    Returns
    -------
    DataFrame
        policy, floor (NaN = accept everything within the cap), hit and false-answer counts in-sample, `cost` in-sample
        and `cost_held_out` (the policy cross-fitted on the same folds); ours first. Empty without both bands.
    """
    answerable = best_within(table, params.top_k or params.k_max)
    relevant = answerable["value"].to_numpy(dtype=np.float64)
    noise = bands["far_noise"].similarity
    columns = ["policy", "floor", "hits", "n_answerable", "false_answers", "n_far_noise", "cost", "cost_held_out", "offers"]
    if not np.isfinite(relevant).any() or not np.isfinite(noise).any():
        return pd.DataFrame(columns=columns)
    rng = np.random.default_rng(params.seed)
    relevant_folds = folds_by_group(answerable["group"].to_numpy(dtype=str), FOLDS, rng)
    noise_folds = folds_by_group(bands["far_noise"].groups, FOLDS, rng)
    rows = []
    for name in ("recommended", *POLICIES):
        if name == "recommended":
            floor = choice.floor
            _, folds = cross_fit(relevant, noise, relevant_folds, noise_folds, costs)
            held_out, _ = cross_fit(relevant, noise, relevant_folds, noise_folds, costs)
        else:
            policy = POLICIES[name]
            floor = policy(relevant, noise)
            held_out, folds = cross_fit(relevant, noise, relevant_folds, noise_folds, costs, as_chooser(policy))
        bar = -np.inf if floor is None else floor
        rows.append(
            {
                "policy": name,
                "floor": np.nan if floor is None else floor,
                "hits": int(((relevant >= bar) & np.isfinite(relevant)).sum()),
                "n_answerable": len(relevant),
                "false_answers": int(((noise >= bar) & np.isfinite(noise)).sum()),
                "n_far_noise": len(noise),
                "cost": empirical_cost(relevant, noise, floor, costs),
                "cost_held_out": held_out,
                "offers": floor is not None,
            }
        )
    return pd.DataFrame(rows, columns=columns)
