"""What all options are measured on: the same candidates, folds, cap, costs and off-topic queries."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...choose import Costs, TopK, choose_top_k
from ...retrieval import SIMILARITY, Candidates
from ...scores.bands import LABELLED
from ..analyse import costs_of
from ..hybrid.candidates import Far, far_queries, places, with_relevance
from ..hybrid.floors import folds_of
from ..hybrid.measure import fused
from ..hybrid.source import Source
from .params import OptionsParams

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Bench:
    """Candidates, and what is known of them and of their queries.

    Attributes
    ----------
    candidates : Candidates
        Similarity, lexical, RRF, and the reranker's score where there is one.
    relevant : ndarray of bool
        One per candidate.
    top_k : TopK
        The one cap of all options, chosen on the order by similarity.
    folds : mapping of query_id to fold
        The same for every option; groups are never torn.
    """

    params: OptionsParams
    source: Source
    candidates: Candidates
    relevant: Flags
    costs: Costs
    far: Far
    top_k: TopK
    folds: Mapping[str, int]

    @property
    def table(self) -> pd.DataFrame:
        """One row per query, probes included."""
        return self.source.table

    @property
    def answerable(self) -> pd.DataFrame:
        """The answerable queries."""
        return self.table[self.table["answerability"] == "answerable"]

    @property
    def off_topic(self) -> pd.DataFrame:
        """The queries that a floor exists to refuse."""
        return self.table[self.table["query_id"].isin(self.far.query_ids)]

    @property
    def far_rate(self) -> str:
        """Name of the rate of those that are answered all the same."""
        return f"false_answer_rate_{'off_topic' if self.far.source == LABELLED else 'probes'}"

    @property
    def probes_beside(self) -> pd.DataFrame:
        """Probe queries, where labelled off-topic ones are what counts; empty otherwise."""
        return self.table[self.table["probe"] & (self.far.source == LABELLED)]

    @property
    def missing_answer(self) -> pd.DataFrame:
        """On-topic questions whose answer is not in the corpus."""
        return self.table[self.table["answerability"] == "missing_answer"]


def set_up(source: Source, candidates: Candidates, params: OptionsParams) -> Bench:
    """Fix everything that no option may differ in."""
    candidates, _ = fused(candidates, params.search)
    far, table = far_queries(source.table), source.table
    relevant = with_relevance(candidates, source.labels)
    answerable = table[table["answerability"] == "answerable"]
    place = places(candidates, SIMILARITY)
    ranks = pd.Series(place[relevant]).groupby(candidates.rows["query_id"].to_numpy()[relevant]).min()
    best = answerable["query_id"].map(ranks).astype("float64").fillna(np.inf).to_numpy(dtype=np.float64)
    return Bench(
        params=params,
        source=source,
        candidates=candidates,
        relevant=relevant,
        costs=costs_of(params),
        far=far,
        top_k=choose_top_k(best, np.ones(len(best), dtype=np.bool_), k_max=params.k_max, budget=params.top_k),
        folds=folds_of(table, far, params.seed),
    )
