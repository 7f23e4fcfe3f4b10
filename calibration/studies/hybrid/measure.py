"""What each signal and each fusion is worth: its range, how it tells off-topic queries, the floor it may carry."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from ...choose import NoFloor, Rate, Recommendation, proportion
from ...contract import Decision
from ...labels import Labels
from ...retrieval import (
    FUSIONS,
    LEXICAL,
    SIMILARITY,
    Candidates,
    Leg,
    adaptive_divisor,
    max_possible,
    minmax_per_query,
    rrf,
    weighted_sum,
)
from .candidates import Far, best_of_query, far_queries, with_relevance
from .floors import Chosen, choose_own_floor
from .params import HybridParams

Floats = npt.NDArray[np.float64]

RRF, MINMAX, WEIGHTED, ADAPTIVE = "rrf", "minmax_sum", "weighted_sum", "adaptive_divisor"
RESAMPLES = 1000
FUSED = frozenset(contract.metric for contract in FUSIONS.values())
"""Metrics that a fusion makes of other scores."""


@dataclass(frozen=True)
class Measured:
    """One signal or fusion.

    Attributes
    ----------
    name, kind : str
        "signal" or "fusion".
    summary : dict
        n (scored candidates), not_scored, min, p05, p25, p50, p75, p95, max of all candidates.
    relevant, off_topic : dict
        The same of the best relevant candidate per answerable query, and of the best candidate per off-topic query.
    auc : float or None
        Chance that the best candidate of an on-topic query scores above that of an off-topic one; `low` and `high` are
        its 95 % bootstrap interval over query groups.
    refused : str
        Why it can carry no floor; empty where it can.
    chosen : Chosen or None
        Its own floor, on its own scale, and the bands it was chosen on; None where it is refused one.
    kept : Rate or None
        Relevant candidates at or above the proposed threshold; None where a threshold is refused.
    hits : Rate or None
        Answerable queries that keep one of them.
    pass_through : float or None
        The permissive gate on this scale: at or below every relevant candidate; None without any, or without a floor.
    kept_at_gate : Rate or None
        Relevant candidates at or above it.
    """

    name: str
    kind: str
    metric: str
    summary: Mapping[str, float | int | None]
    relevant: Mapping[str, float | int | None]
    off_topic: Mapping[str, float | int | None]
    auc: float | None
    low: float | None
    high: float | None
    refused: str
    chosen: Chosen | None
    kept: Rate | None
    hits: Rate | None
    pass_through: float | None
    kept_at_gate: Rate | None

    @property
    def floor(self) -> Recommendation | NoFloor | None:
        """Its own floor, or why there is none; None where it is refused one."""
        return None if self.chosen is None else self.chosen.choice


def fused(candidates: Candidates, params: HybridParams) -> tuple[Candidates, dict[str, Any]]:
    """Add the fusions of the two legs that the candidates do not hold yet, and say what they were made with.

    The lexical score is divided by the highest one observed, once for all queries, so that it reaches up to 1.
    """
    if not {SIMILARITY, LEXICAL} <= set(candidates.contracts):
        return candidates, {}
    near, words = candidates.values(SIMILARITY)[:, 0], candidates.values(LEXICAL)[:, 0]
    scale = float(np.nanmax(words)) if np.isfinite(words).any() else 1.0
    scaled = words / (scale if scale > 0 else 1.0)
    queries = candidates.rows["query_id"].to_numpy(dtype=object)
    weights = [params.vector_weight, 1.0 - params.vector_weight]
    stretched = np.column_stack([minmax_per_query(near, queries), minmax_per_query(words, queries)])
    both = np.column_stack([near, scaled])
    divisors = max_possible({SIMILARITY: 1.0, LEXICAL: 1.0})
    made = {
        RRF: rrf(candidates.ranks(SIMILARITY, LEXICAL), k=params.rrf_k),
        WEIGHTED: weighted_sum(both, weights),
        ADAPTIVE: adaptive_divisor({SIMILARITY: near, LEXICAL: scaled}, queries, divisors),
        MINMAX: weighted_sum(stretched, weights),
    }
    for name, values in made.items():
        if name not in candidates.contracts:
            candidates = candidates.with_signal(name, values, FUSIONS[name])
    about = {
        "rrf_k": params.rrf_k,
        "weights": {SIMILARITY: weights[0], LEXICAL: weights[1]},
        "lexical_divided_by": scale,
        "divisors": {"+".join(sorted(active)): value for active, value in divisors.items()},
    }
    return candidates, about


def measure(
    candidates: Candidates,
    labels: Labels,
    table: pd.DataFrame,
    params: HybridParams,
    legs: Mapping[str, Leg] = MappingProxyType({}),
) -> list[Measured]:
    """Measure every signal and fusion on the same candidates."""
    relevant = with_relevance(candidates, labels)
    far = far_queries(table)
    return [_measure(name, candidates, relevant, far, table, params, legs) for name in candidates.signals]


def auc(above: Floats, below: Floats) -> float | None:
    """Chance that a value of `above` exceeds one of `below`, ties half; None when either is empty.

    Examples
    --------
    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0])), auc(np.array([]), np.array([1.0]))
    (0.875, None)
    """
    if len(above) == 0 or len(below) == 0:
        return None
    ranks = rankdata(np.concatenate([above, below]))[: len(above)]
    return float(ranks.sum() - len(above) * (len(above) + 1) / 2) / (len(above) * len(below))


def pass_through(values: Floats) -> float | None:
    """Round down, to one digit, to a number at or below every relevant value; None where nothing was scored.

    A new relevant passage falls below the lowest of n with a chance of about 1 in n + 1.

    Examples
    --------
    >>> pass_through(np.array([0.127, 0.4])), pass_through(np.array([-0.0331, 0.4])), pass_through(np.array([0.0]))
    (0.1, -0.04, 0.0)
    """
    scored = values[np.isfinite(values)]
    if len(scored) == 0:
        return None
    lowest = float(scored.min())
    if abs(lowest) < 1e-300:  # its power of ten would overflow
        return min(lowest, 0.0)
    digits = -int(np.floor(np.log10(abs(lowest))))
    return round(float(np.floor(lowest * 10.0**digits)) / 10.0**digits, digits)


def _measure(
    name: str,
    candidates: Candidates,
    relevant: npt.NDArray[np.bool_],
    far: Far,
    table: pd.DataFrame,
    params: HybridParams,
    legs: Mapping[str, Leg],
) -> Measured:
    contract = candidates.contracts[name]
    metric = contract.definition
    values = candidates.values(name)[:, 0]
    answerable = table[table["answerability"] == "answerable"]
    on_topic = table[table["answerability"].isin(["answerable", "missing_answer"])]
    off_topic = table[table["query_id"].isin(far.query_ids)]
    every = np.ones(len(values), dtype=np.bool_)
    best = best_of_query(candidates, name, answerable["query_id"], relevant)
    noise = best_of_query(candidates, name, off_topic["query_id"], every)
    tops = best_of_query(candidates, name, on_topic["query_id"], every)
    low, high = _auc_interval(tops, on_topic["group"], noise, off_topic["group"], seed=params.seed)
    chosen = kept = hits = gate = kept_at_gate = None
    if metric.carries_floor:
        chosen = choose_own_floor(candidates, name, relevant, table, far, params, legs)
        asked = relevant & candidates.rows["query_id"].isin(set(answerable["query_id"])).to_numpy()
        known = values[asked & np.isfinite(values)]
        decided = contract.decide(values, params.proposed_threshold) == Decision.ACCEPTED
        kept = proportion(int(decided[asked].sum()), len(known))
        answered = set(candidates.rows.loc[asked & decided, "query_id"])
        hits = proportion(int(answerable["query_id"].isin(answered).sum()), len(answerable))
        gate = pass_through(known)
        kept_at_gate = None if gate is None else proportion(int(contract.accept(known, gate).sum()), len(known))
    return Measured(
        name=name,
        kind="fusion" if metric.name in FUSED else "signal",
        metric=metric.name,
        summary=summary(values),
        relevant=summary(best),
        off_topic=summary(noise),
        auc=auc(tops, noise),
        low=low,
        high=high,
        refused="" if metric.carries_floor else metric.reason,
        chosen=chosen,
        kept=kept,
        hits=hits,
        pass_through=gate,
        kept_at_gate=kept_at_gate,
    )


def summary(values: Floats) -> dict[str, float | int | None]:
    """Give n, how many are not scored, and quantiles (None when nothing was scored)."""
    scored = values[np.isfinite(values)]
    names = {"min": 0.0, "p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}
    quantiles = {name: float(np.quantile(scored, q)) if len(scored) else None for name, q in names.items()}
    return {"n": len(scored), "not_scored": len(values) - len(scored), **quantiles}


def _auc_interval(
    above: Floats, groups: pd.Series, below: Floats, far_groups: pd.Series, *, seed: int
) -> tuple[float | None, float | None]:
    """Give the bootstrap interval over groups; none where a side has fewer than two."""
    ours, theirs = _members(groups), _members(far_groups)
    if len(ours) < 2 or len(theirs) < 2:
        return None, None
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(RESAMPLES):
        a = np.concatenate([ours[i] for i in rng.integers(0, len(ours), len(ours))])
        b = np.concatenate([theirs[i] for i in rng.integers(0, len(theirs), len(theirs))])
        found.append(auc(above[a], below[b]))
    low, high = np.quantile(np.array(found, dtype=np.float64), [0.025, 0.975])
    return float(low), float(high)


def _members(groups: pd.Series) -> list[npt.NDArray[np.int64]]:
    _, codes = np.unique(groups.to_numpy(dtype=str), return_inverse=True)
    return [np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1)]
