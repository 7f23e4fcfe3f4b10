"""The floor of each signal, whole and without each fold; and floors per context, pulled toward the global one."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...choose import NoFloor, Recommendation, between_scores, pick
from ...choose.heldout import FOLDS
from ...choose.rule import MIN_NOISE, MIN_RELEVANT, WINDOW, pooled_range
from ...choose.segments import POOLING
from ...contract import ScoreContract
from ...labels import Labels
from ...retrieval import SIMILARITY, Floor
from ..hybrid.floors import Chosen, choose_own_floor, observed
from ..segments import MOST, collections_of, kinds_of
from .bench import Bench

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Calibrated:
    """The floor of one signal.

    Attributes
    ----------
    chosen : Chosen
        The floor, or why there is none, and the two bands it was chosen on.
    """

    signal: str
    contract: ScoreContract
    chosen: Chosen

    @property
    def choice(self) -> Recommendation | NoFloor:
        """The floor, or why there is none."""
        return self.chosen.choice

    @property
    def by_fold(self) -> tuple[float | None, ...]:
        """Chosen without the queries of each fold; where too few could be held out, the floor itself."""
        return self.chosen.by_fold

    @property
    def held_out(self) -> bool:
        """Whether the floors of the folds were chosen without them."""
        return bool(self.choice.held_out_floors)

    def at(self, fold: int | None) -> tuple[Floor, ...]:
        """Give the floor that a query of this fold meets, or the one to deploy; empty where there is none."""
        value = self.choice.floor if fold is None else self.by_fold[fold]
        return () if self.choice.floor is None or value is None else (Floor(self.signal, value, self.contract),)


@dataclass(frozen=True)
class Contexts:
    """A floor for each kind of query, or for each collection.

    Attributes
    ----------
    what : str
        "kind" or "collection".
    of_query : mapping of query_id to context
        Of queries that name none, such as probes, drawn in proportion to the answerable ones.
    floors : mapping of context to float
        To deploy; a context too small for a floor of its own is absent.
    by_fold : tuple of mapping of context to float
        Chosen without the queries of each fold.
    near : Calibrated
        The global floor, for the contexts that are absent.
    n_drawn : int
        Off-topic queries that name no context.
    """

    what: str
    of_query: Mapping[str, str]
    floors: Mapping[str, float]
    by_fold: tuple[Mapping[str, float], ...]
    near: Calibrated
    n_drawn: int

    def at(self, query_id: str, fold: int | None) -> tuple[Floor, ...]:
        """Give the floor that a query meets."""
        own = (self.floors if fold is None else self.by_fold[fold]).get(self.of_query[query_id])
        return self.near.at(fold) if own is None else (Floor(SIMILARITY, own, self.near.contract),)


def calibrate_signal(bench: Bench, signal: str) -> Calibrated:
    """Choose a signal's floor on its own scale, and the floors of the folds."""
    found = choose_own_floor(
        bench.candidates, signal, bench.relevant, bench.table, bench.far, bench.params, bench.source.legs
    )
    return Calibrated(signal, bench.candidates.contracts[signal], found)


def contexts_of(labels: Labels, table: pd.DataFrame) -> tuple[str, dict[str, str]] | None:
    """Find what an application may know of a query: the collection it names, else its kind, else that of its answers.

    Returns
    -------
    what, names
        "collection" or "kind", and the name by query; None where the answerable queries have fewer than two names, or
        so many that they are ids.
    """
    answerable = table.loc[table["answerability"] == "answerable", "query_id"]
    found: list[tuple[str, dict[str, str]]] = []
    if "collection" in labels.queries:
        named = labels.queries.dropna(subset=["collection"])
        found.append(("collection", dict(zip(named["query_id"], named["collection"], strict=True))))
    kinds = {query: kind for query, kind in kinds_of(table).items() if kind != "probe"}
    found += [("kind", kinds), ("collection", collections_of(labels))]
    return next((one for one in found if 2 <= answerable.map(one[1]).nunique() <= MOST), None)


def context_floors(bench: Bench, near: Calibrated, what: str, names: Mapping[str, str]) -> Contexts:
    """Choose a floor for every context, pulled toward the global one as far as its queries are few."""
    answerable, off_topic = bench.answerable, bench.off_topic
    of_relevant = answerable["query_id"].map(names).fillna("").to_numpy(dtype=str)
    own_noise = off_topic["query_id"].map(names).fillna("").to_numpy(dtype=str)
    folds, noise_folds = (
        np.array([bench.folds[query] for query in part["query_id"]], dtype=np.int64) for part in (answerable, off_topic)
    )
    contexts = sorted(set(of_relevant.tolist()) - {""})

    def chosen(fold: int | None) -> dict[str, float]:
        overall = near.choice.floor if fold is None else near.by_fold[fold]
        found = {}
        for name in contexts:
            here = (of_relevant == name) & (folds != fold)
            there = own_noise == name
            far = (there if there.sum() >= MIN_NOISE else np.ones(len(there), dtype=np.bool_)) & (noise_folds != fold)
            own = _own(near.chosen.relevant[here], near.chosen.noise[far], bench)
            if own is not None and overall is not None:
                weight = int(here.sum()) / (int(here.sum()) + POOLING)
                found[name] = weight * own + (1.0 - weight) * overall
        return found

    seen = observed(bench.candidates, SIMILARITY, bench.params, bench.source.legs)
    window = WINDOW * pooled_range(near.chosen.relevant, near.chosen.noise)
    floors = {name: between_scores(value, seen, window=window) for name, value in chosen(None).items()}
    of_query, n_drawn = _drawn(bench, names, of_relevant[of_relevant != ""])
    return Contexts(what, of_query, floors, tuple(chosen(fold) for fold in range(FOLDS)), near, n_drawn)


def _own(relevant: Floats, noise: Floats, bench: Bench) -> float | None:
    if np.isfinite(relevant).sum() < MIN_RELEVANT or np.isfinite(noise).sum() < MIN_NOISE:
        return None
    return pick(relevant, noise, bench.costs)[0]


def _drawn(bench: Bench, names: Mapping[str, str], known: npt.NDArray[np.str_]) -> tuple[dict[str, str], int]:
    """Give every query a context: those without one go to any, as often as answerable queries do."""
    rest = [query for query in bench.table["query_id"] if query not in names]
    contexts, counts = np.unique(known, return_counts=True)
    # spread over the contexts and then shuffled, so that a few probes are no matter of luck
    spots = np.random.default_rng(bench.params.seed).permutation(len(rest)) + 0.5
    which = np.searchsorted(np.cumsum(counts) / counts.sum(), spots / max(len(rest), 1))
    drawn = dict(zip(rest, contexts[which].tolist(), strict=True))
    far = set(bench.far.query_ids)
    return {**drawn, **names}, sum(query in far for query in rest)
