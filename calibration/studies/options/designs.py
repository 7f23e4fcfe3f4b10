"""The five designs: in which order each shows passages, and at which floors it lets them pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...choose import NoFloor
from ...contract import ScoreContract
from ...retrieval import LEXICAL, SIMILARITY, Floor, gate
from ...scores import Histogram, Scores
from ..hybrid.candidates import places
from ..hybrid.designs import EITHER, NO_GATE, TOGETHER, alone, possible_gates
from ..hybrid.measure import RRF
from ..rates import Outcome, outcome
from .bench import Bench
from .floors import Calibrated, Contexts, calibrate_signal, context_floors, contexts_of
from .reranked import RERANK

Flags = npt.NDArray[np.bool_]

GLOBAL, CONTEXT, TOP_K, RERANKED, HYBRID = "global_floor", "context_floors", "top_k", "rerank", "hybrid"
TITLES = {
    GLOBAL: "global floor",
    CONTEXT: "floor per context",
    TOP_K: "top-K alone",
    RERANKED: "rerank",
    HYBRID: "hybrid",
}
FloorsOf = Callable[[str, int | None], tuple[Floor, ...]]
"""The floors that a query meets, by its id and fold; None for the fold gives those to deploy."""


@dataclass(frozen=True)
class Threshold:
    """A number that somebody has to maintain."""

    signal: str
    context: str | None
    value: float
    contract: ScoreContract
    status: str


@dataclass(frozen=True)
class Design:
    """One of the options, before it is measured.

    Attributes
    ----------
    order : str
        The signal by which passages are shown.
    floors : callable or None
        None lets everything pass.
    thresholds : tuple of Threshold
    held_out : bool
        Whether each query's floors were chosen without it; True where there are none to choose.
    note : str
        What the reader must know of it.
    missing : str
        Why it cannot be measured; empty where it can.
    """

    name: str
    title: str
    order: str
    floors: FloorsOf | None
    thresholds: tuple[Threshold, ...]
    held_out: bool = True
    note: str = ""
    missing: str = ""


def designs(bench: Bench, no_reranker: str) -> tuple[Design, ...]:
    """Calibrate all five; one that cannot be measured says why."""
    near = calibrate_signal(bench, SIMILARITY)
    return (
        _one_floor(near),
        _per_context(bench, near),
        Design(TOP_K, TITLES[TOP_K], SIMILARITY, None, (), note="cannot return nothing"),
        _reranked(bench, no_reranker),
        _hybrid(bench, near, calibrate_signal(bench, LEXICAL)),
    )


def shown(bench: Bench, design: Design, *, held_out: bool) -> pd.DataFrame:
    """Give what a design lets pass, in its order: query_id, doc_id, rank."""
    rows = bench.candidates.rows
    place = places(bench.candidates, design.order)
    passed = np.isfinite(bench.candidates.values(design.order)[:, 0])
    if design.order == SIMILARITY and design.floors is not None:
        passed[:] = True  # a candidate without a similarity follows the contract's policy
    if design.floors is not None:
        passed &= _gated(bench, design.floors, held_out=held_out)
    frame = rows.loc[passed, ["query_id", "doc_id"]].assign(place=place[passed])
    frame = frame.sort_values(["query_id", "place"], kind="stable", ignore_index=True)
    return frame.assign(rank=frame.groupby("query_id").cumcount() + 1)[["query_id", "doc_id", "rank"]]


def judged(bench: Bench, passed: pd.DataFrame, best: pd.DataFrame) -> Outcome:
    """Give the rates of what a design shows within the cap, by the definitions of every report.

    Parameters
    ----------
    best : DataFrame
        The query table with `best_relevant` and `best_relevant_rank` of this design.
    """
    k = bench.top_k.value
    within = passed[passed["rank"] <= k]
    accepted = Scores(
        contract=ScoreContract("score"),
        query_ids=bench.table["query_id"].tolist(),
        top=within.assign(similarity=1.0 / within["rank"].astype("float64")),
        judged=pd.DataFrame(columns=["query_id", "doc_id", "relevance", "similarity", "rank"]),
        histogram=Histogram(np.array([0.0, 1.0]), np.zeros((len(best), 1), dtype=np.int64)),
        everything=None,
        n_documents=None,
        exact=True,
        depth=k,
    )
    return outcome(accepted, bench.source.labels, best, None, k, seed=bench.params.seed)


def first_relevant(bench: Bench, passed: pd.DataFrame) -> pd.Series:
    """Give the rank of the first relevant passage that passes, by query."""
    relevant = bench.source.labels.relevant_pairs()
    return passed.merge(relevant, on=["query_id", "doc_id"]).groupby("query_id")["rank"].min()


def _gated(bench: Bench, floors_of: FloorsOf, *, held_out: bool) -> Flags:
    """Ask the gate once for every set of floors that some query meets."""
    met: dict[tuple[Floor, ...], set[str]] = {}
    for query in bench.table["query_id"]:
        met.setdefault(floors_of(query, bench.folds[query] if held_out else None), set()).add(query)
    passed = np.zeros(len(bench.candidates.rows), dtype=np.bool_)
    for floors, queries in met.items():
        own = bench.candidates.rows["query_id"].isin(queries).to_numpy()
        passed |= own & (gate(bench.candidates, floors, exempt=bench.source.exempt).passed if floors else True)
    return passed


def _one_floor(near: Calibrated) -> Design:
    missing = _no_floor(near)
    return Design(
        GLOBAL,
        TITLES[GLOBAL],
        SIMILARITY,
        lambda query, fold: near.at(fold),
        _thresholds([near]),
        near.held_out,
        missing=missing and f"{missing}: it would be top-K alone",
    )


def _per_context(bench: Bench, near: Calibrated) -> Design:
    found = contexts_of(bench.source.labels, bench.table)
    missing = _no_floor(near)
    if found is None:
        missing = "the queries have no two kinds, and no two collections are named"
    elif not missing and not near.held_out:
        missing = "too few queries for more than one floor"
    if missing or found is None:
        return Design(CONTEXT, TITLES[CONTEXT], SIMILARITY, None, (), missing=missing)
    contexts = context_floors(bench, near, *found)
    own = tuple(
        Threshold(SIMILARITY, name, value, near.contract, "uncertified") for name, value in contexts.floors.items()
    )
    rest = len(set(contexts.of_query.values()) - set(contexts.floors))
    if not own:
        return Design(
            CONTEXT, TITLES[CONTEXT], SIMILARITY, None, (),
            missing=f"no {contexts.what} has queries enough for a floor of its own",
        )  # fmt: skip
    return Design(
        CONTEXT,
        f"floor per {contexts.what}",
        SIMILARITY,
        contexts.at,
        own + (_thresholds([near]) if rest else ()),
        near.held_out,
        note=_context_note(contexts),
    )


def _context_note(contexts: Contexts) -> str:
    said = f"the application has to know the {contexts.what} of every query"
    if contexts.n_drawn:
        said += f"; {contexts.n_drawn} off-topic queries name none and were given one in proportion to the answerable"
    return said


def _reranked(bench: Bench, no_reranker: str) -> Design:
    if no_reranker:
        return Design(RERANKED, TITLES[RERANKED], RERANK, None, (), missing=no_reranker)
    found = calibrate_signal(bench, RERANK)
    none = _no_floor(found)
    note = f"reads the best {bench.params.rerank_depth} by similarity"
    return Design(
        RERANKED,
        TITLES[RERANKED],
        RERANK,
        None if none else lambda query, fold: found.at(fold),
        _thresholds([found]),
        found.held_out or bool(none),
        note=f"{note}; cannot return nothing: {none}" if none else note,
    )


def _hybrid(bench: Bench, near: Calibrated, words: Calibrated) -> Design:
    """Gate by either leg, with the two floors chosen together where queries can be held out."""
    legs = {leg.signal: leg for leg in (near, words) if not isinstance(leg.choice, NoFloor)}
    gates = possible_gates(
        bench.candidates,
        {name: leg.chosen for name, leg in legs.items()},
        bench.table,
        bench.far,
        bench.params,
        bench.source.legs,
    )
    name = next(name for name in (TOGETHER, EITHER, *map(alone, legs), NO_GATE) if name in gates)
    gate_of = gates[name]

    def floors(query: str, fold: int | None) -> tuple[Floor, ...]:
        return gate_of.floors if fold is None or not gate_of.by_fold else gate_of.by_fold[fold]

    return Design(
        HYBRID,
        TITLES[HYBRID],
        RRF,
        floors if legs else None,
        tuple(
            Threshold(one.signal, None, one.value, one.contract, _status(one, legs[one.signal]))
            for one in gate_of.floors
            if one.value is not None
        ),
        bool(gate_of.by_fold) or not legs,
        note=_hybrid_note(gate_of.floors, (near, words)),
    )


def _status(floor: Floor, leg: Calibrated) -> str:
    """Say what a floor of a gate promises: only the one that a signal's own calibration chose can be certified."""
    return leg.choice.status if floor.value == leg.choice.floor else "uncertified"


def _hybrid_note(floors: Sequence[Floor], legs: tuple[Calibrated, Calibrated]) -> str:
    lacking = "; ".join(_no_floor(leg) for leg in legs if isinstance(leg.choice, NoFloor))
    if lacking and floors:
        return f"{lacking}, so only the {floors[0].signal} lets a passage pass"
    if lacking:
        return f"cannot return nothing: {lacking}"
    if len(floors) == 1:
        return f"only the {floors[0].signal} lets a passage pass: a second floor would cost more than it brings"
    own = {leg.signal: leg.choice.floor for leg in legs}
    beside = [floor.signal for floor in floors if floor.value != own[floor.signal]]
    if not beside:
        return "passes with either floor, each as it was chosen alone"
    first = next(floor.signal for floor in floors if floor.signal != beside[0])
    return f"passes with either floor; the {beside[0]} floor is chosen on what the {first} floor leaves"


def _no_floor(one: Calibrated) -> str:
    if not isinstance(one.choice, NoFloor):
        return ""
    return f"these labels support no floor on the {one.signal} ({one.choice.reason})"


def _thresholds(signals: Sequence[Calibrated]) -> tuple[Threshold, ...]:
    return tuple(
        Threshold(one.signal, None, one.choice.floor, one.contract, one.choice.status)
        for one in signals
        if one.choice.floor is not None
    )
