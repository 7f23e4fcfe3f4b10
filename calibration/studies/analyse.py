"""From Scores and labels to a Calibration: bands, gap, floor, cap, rates, policies; no file, database or model."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..choose import (
    PRESETS,
    Costs,
    HeldOut,
    NoFloor,
    Recommendation,
    TopK,
    choose_floor,
    choose_top_k,
    covering,
    folds_along,
)
from ..labels import Labels
from ..params import RunParams
from ..scores import Bands, Scores, find_bands, judged_top, query_table
from .caveats import caveats_of
from .curves import curves, surface
from .grades import passages_by_grade
from .growth import ceiling_of
from .model import Calibration
from .policies import compare_policies, within_largest_gap
from .price import Lengths, price_of
from .rates import outcome, unjudged_share
from .segments import collections_of, kinds_of, segments_of
from .suspects import suspects


def analyse(
    scores: Scores,
    labels: Labels,
    probes: pd.DataFrame | None,
    params: RunParams,
    *,
    name: str,
    facts: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
    lengths: Lengths | None = None,
) -> Calibration:
    """Find the bands, choose the floor and the cap, and measure what they do.

    Parameters
    ----------
    texts : mapping of id to text, optional
        To be shown; none by default.
    lengths : Lengths, optional
        Tokens of the passages, to price the cap with.
    """
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
    answerable, kept = best_within(table, fixed_cap(params)), best_within(table, top_k.value)
    weigh = partial(segments_of, answerable, bands["far_noise"], choice.floor, costs, seed=params.seed)
    unjudged = unjudged_share(top, table, top_k.value)
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
        price=price_of(
            top, table, scores.contract, choice.floor, top_k=top_k.value, k_max=top_k.k_max, lengths=lengths
        ),
        grades=passages_by_grade(scores, labels, table, choice.floor, top_k.value),
        unjudged=unjudged,
        policies=compare_policies(
            answerable,
            kept,
            within_largest_gap(kept, top, top_k.value),
            bands["far_noise"],
            choice,
            costs,
            seed=params.seed,
        ),
        ceiling=ceiling_of(scores, bands, seed=params.seed),
        segments=weigh(kinds_of(table)),
        collections=weigh(collections_of(labels)),
        suspects=suspects(scores, labels, bands),
        texts=texts or {},
        facts=facts,
        caveats=caveats_of(scores, labels, table, bands, choice, top_k, unjudged, params, facts),
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
