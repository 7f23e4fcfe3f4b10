"""The hybrid study: several signals on the same candidates, and where a gate belongs among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...choose import NoFloor, Rate, Recommendation, TopK, choose_top_k
from ...errors import ParameterError
from ...retrieval import LEXICAL, SIMILARITY, Candidates, Floor, Gated, HttpReranker, LateInteraction, rerank
from ...retrieval import gate as apply_gate
from ...retrieval.gate import ACCEPTED
from ...scores.bands import LABELLED
from ..analyse import costs_of
from ..progress import SILENT, Reporter
from .candidates import Far, far_queries, places, with_relevance
from .designs import Gate, measure_gates, possible_gates
from .floors import folds_of
from .gate import Asked, by_kind, depth_curve, expected_cost, gate_curve, strong_words
from .measure import ADAPTIVE, FUSED, RRF, Measured, fused, measure
from .params import LATE_INTERACTION, HybridParams
from .source import Source, open_source, texts_of
from .ties import Pair, best_scores, rank_only, tied_pair

FEW_FOUND = 0.5
"""Share of queries with a lexical candidate below which the reader is told."""


@dataclass(frozen=True)
class Hybrid:
    """Everything one hybrid study found out.

    Attributes
    ----------
    candidates : Candidates
        With every signal and fusion; `order` names the fusion that orders them.
    measured : tuple of Measured
    floors : mapping of signal to Floor
        Of the signals that may gate and whose labels support one: similarity, lexical.
    gated : Gated
        What the recommended gate says of every candidate.
    designs : mapping of design to rates
        "no gate", each floor alone, "either floor", and "either, chosen together" (see `choose_together`); on the
        queries that chose the floors.
    unseen : mapping of design to rates
        The same with floors chosen without the queries they meet; empty where too few could be held out. `costs` weighs
        the errors of these (else of `designs`), `recommended` names the gate that costs least (None where that cannot
        be said), and `accept` holds its floors.
    gated_after : str or None
        The fused score that a gate after the fusion is tried on.
    gates : mapping of design to Gate
        Their floors.
    before, after : DataFrame
        The gate on the raw similarity and on the fused score; see `gate_curve`. Empty where there is no such score.
    depth : DataFrame
        See `depth_curve`.
    kinds : DataFrame
        See `by_kind`.
    strong : str
        What a strong lexical candidate is here.
    tops : DataFrame
        query_id, band ("on-topic" or "off-topic"), and the best score of each query by similarity and by RRF (or,
        without one, by what orders the candidates).
    """

    params: HybridParams
    source: Source
    candidates: Candidates
    order: str
    top_k: TopK
    far: Far
    measured: tuple[Measured, ...]
    floors: Mapping[str, Floor]
    gated: Gated
    designs: Mapping[str, Mapping[str, Rate]]
    unseen: Mapping[str, Mapping[str, Rate]]
    costs: Mapping[str, float | None]
    recommended: str | None
    accept: Mapping[str, Floor]
    gates: Mapping[str, Gate]
    gated_after: str | None
    before: pd.DataFrame
    after: pd.DataFrame
    depth: pd.DataFrame
    kinds: pd.DataFrame
    strong: str
    n_strong: int
    tops: pd.DataFrame
    pair: Pair | None
    texts: Mapping[str, str]
    facts: Mapping[str, Any]
    caveats: tuple[str, ...]

    def get(self, name: str) -> Measured | None:
        """Find a signal or fusion by name."""
        return next((one for one in self.measured if one.name == name), None)


def hybrid(params: HybridParams, report: Reporter = SILENT) -> Hybrid:
    """Study the signals of a hybrid search.

    Raises
    ------
    CalibrationError
        Parameters, labels, model, store or log are wrong. That a score carries no floor is a result.
    """
    return study(open_source(params, report), params, report)


def study(source: Source, params: HybridParams, report: Reporter = SILENT) -> Hybrid:
    """Measure a source that is open already."""
    candidates, about = fused(source.candidates, params)
    order = _order(candidates, source.candidates.signals if params.from_log else ())
    candidates, reranked = _reranked(candidates, source, params, order, report)
    measured = tuple(measure(candidates, source.labels, source.table, params, source.legs))
    relevant = with_relevance(candidates, source.labels)
    place = places(candidates, order)
    top_k = _cap(candidates, relevant, place, source.table, params)
    asked = Asked(candidates, relevant, place, source.table, top_k.value, source.exempt)
    floors = {
        one.name: Floor(one.name, one.floor.floor, candidates.contracts[one.name])
        for one in measured
        if one.name in (SIMILARITY, LEXICAL) and isinstance(one.floor, Recommendation)
    }
    strong, words = strong_words(asked, floors[LEXICAL].value if LEXICAL in floors else None)
    gated_on = _gate_after(candidates, order)
    fused_order = asked if gated_on is None else replace(asked, place=places(candidates, gated_on))
    far = far_queries(source.table)
    chosen = {one.name: one.chosen for one in measured if one.chosen is not None}
    possible = possible_gates(candidates, chosen, source.table, far, params, source.legs)
    compared, unseen = measure_gates(asked, possible, folds_of(source.table, far, params.seed))
    judged = unseen or compared
    costs = {name: expected_cost(rates, costs_of(params), _false_rate(far)) for name, rates in judged.items()}
    best = _cheapest(costs)
    accept = floors if best is None else {floor.signal: floor for floor in possible[best].floors}
    pass_through = {one.name: one.pass_through for one in measured}
    empty = pd.DataFrame()

    def curve(score: str) -> pd.DataFrame:
        return gate_curve(fused_order, score, strong, (params.proposed_threshold, pass_through[score]))

    return Hybrid(
        params=params,
        source=source,
        candidates=candidates,
        order=order,
        top_k=top_k,
        far=far,
        measured=measured,
        floors=floors,
        gated=_gated(candidates, list(accept.values()), source),
        designs=compared,
        unseen=unseen,
        costs=costs,
        recommended=best,
        accept=accept,
        gates=possible,
        gated_after=gated_on,
        before=curve(SIMILARITY) if SIMILARITY in candidates.contracts else empty,
        after=curve(gated_on) if gated_on is not None else empty,
        depth=depth_curve(source.legs, source.table, source.labels.relevant_pairs(), _depths(source, params, top_k)),
        kinds=by_kind(asked),
        strong=words,
        n_strong=int(strong.sum()),
        tops=best_scores(candidates, source.table, rank_only(candidates) or order),
        pair=tied_pair(candidates, relevant, source.table, far),
        texts=_texts(source) if params.show_text else {},
        facts={**source.facts, "fusion": about, "rerank": reranked, "depth": params.candidate_depth},
        caveats=_caveats(source, measured, floors, params, top_k),
    )


def _gated(candidates: Candidates, floors: Sequence[Floor], source: Source) -> Gated:
    """Ask the gate; where there is none, everything passes."""
    if floors:
        return apply_gate(candidates, floors, exempt=source.exempt)
    n = len(candidates.rows)
    return Gated(np.full(n, ACCEPTED), np.ones(n, dtype=np.bool_))


def _cheapest(costs: Mapping[str, float | None]) -> str | None:
    known = {name: cost for name, cost in costs.items() if cost is not None}
    return min(known, key=lambda name: known[name]) if known else None


def _false_rate(far: Far) -> str:
    return f"false_answer_rate_{'off_topic' if far.source == LABELLED else 'probes'}"


def _order(candidates: Candidates, logged: Sequence[str]) -> str:
    """Name what orders the candidates: the log's own fusion, else RRF, else the last signal."""
    own = [name for name in logged if name == "fused" or candidates.contracts[name].metric in FUSED]
    return next(iter(own), RRF if RRF in candidates.contracts else candidates.signals[-1])


def _gate_after(candidates: Candidates, order: str) -> str | None:
    """Name the fused score to try a gate on: the one that orders, where it may carry one, else the adaptive divisor."""
    metric = candidates.contracts[order].definition
    if metric.name in FUSED and metric.carries_floor:
        return order
    return ADAPTIVE if ADAPTIVE in candidates.contracts else None


def _reranked(
    candidates: Candidates, source: Source, params: HybridParams, order: str, report: Reporter
) -> tuple[Candidates, dict[str, Any] | None]:
    if params.rerank is None:
        return candidates, None
    passages = texts_of(source.labels)
    if not passages:
        raise ParameterError("a reranker reads texts: give a corpus file with the labels.")
    reader = LateInteraction() if params.rerank == LATE_INTERACTION else HttpReranker(params.rerank)
    n = int(min(params.rerank_depth, params.candidate_depth) * len(candidates.query_ids))
    with report.bar(f"rerank ({reader.name})", n, "pairs") as step:
        found = rerank(
            candidates, reader, _query_texts(source), passages, by=order, depth=params.rerank_depth, progress=step
        )
    return found, {"name": reader.name, "depth": params.rerank_depth, "contract": reader.contract.to_dict()}


def _query_texts(source: Source) -> dict[str, str]:
    probes = source.table.loc[source.table["probe"], "query_id"].tolist()
    labelled = source.labels.queries
    texts = dict(zip(labelled["query_id"], labelled["text"], strict=True))
    known = source.probe_texts
    return texts | {query_id: known[query_id] for query_id in probes}


def _texts(source: Source) -> dict[str, str]:
    texts = {query: text for query, text in _query_texts(source).items() if isinstance(text, str)}
    return texts | texts_of(source.labels)


def _cap(candidates: Candidates, relevant: Any, place: Any, table: pd.DataFrame, params: HybridParams) -> TopK:
    """Choose K on the order that the fusion gives, before any gate."""
    answerable = table.loc[table["answerability"] == "answerable", "query_id"]
    ranks = pd.Series(place[relevant]).groupby(candidates.rows["query_id"].to_numpy()[relevant]).min()
    best = answerable.map(ranks).astype("float64").fillna(np.inf).to_numpy(dtype=np.float64)
    return choose_top_k(best, np.ones(len(best), dtype=np.bool_), k_max=params.k_max, budget=params.top_k)


def _depths(source: Source, params: HybridParams, top_k: TopK) -> list[int]:
    deepest = max(
        (int(leg.rows["rank"].astype("float64").max()) for leg in source.legs.values() if len(leg.rows)), default=1
    )
    usual = [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000]
    wanted = {*usual, top_k.value, 4 * top_k.value, params.candidate_depth}
    return sorted(depth for depth in wanted if depth <= max(deepest, params.candidate_depth))


def _caveats(
    source: Source, measured: tuple[Measured, ...], floors: Mapping[str, Floor], params: HybridParams, top_k: TopK
) -> tuple[str, ...]:
    said = []
    said += [f"No floor on {one.name}: {one.floor.reason}." for one in measured if isinstance(one.floor, NoFloor)]
    if far_queries(source.table).source == "none":
        said.append(
            "No off-topic query is labelled and no probe was asked, so nothing here says what a gate would refuse."
        )
    if 4 * top_k.value > params.candidate_depth:
        said.append(
            f"The depth of {params.candidate_depth} candidates a leg is less than four times K = {top_k.value}: set "
            f"depth to {4 * top_k.value} or more and look at recall by depth again."
        )
    said += _few_words(source.candidates)
    if SIMILARITY not in source.candidates.contracts:
        said.append("The log holds no similarity, so no gate before fusion could be measured. Log it beside the score.")
    if not floors:
        said.append("No signal that may gate has a floor on these labels: this design cannot return nothing.")
    return (*said, *source.labels.warnings)


def _few_words(candidates: Candidates) -> list[str]:
    if LEXICAL not in candidates.contracts:
        return []
    found = candidates.rows.loc[np.isfinite(candidates.values(LEXICAL)[:, 0]), "query_id"].nunique()
    n = len(candidates.query_ids)
    if found >= FEW_FOUND * n:
        return []
    return [
        f"Words find a candidate for only {found} of {n} queries. PostgreSQL splits at blanks: for a language written "
        "without them, such as Japanese, the lexical leg needs another parser."
    ]
