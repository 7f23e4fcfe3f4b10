"""The Scores of one model: what a pull or a score file says of every query, before any floor."""

from dataclasses import dataclass

import pandas as pd

from ..contract import ScoreContract
from .summary import Histogram


@dataclass(frozen=True)
class Sample:
    """Which blocks of the corpus the histogram of a sampled pull counts.

    Attributes
    ----------
    rows, of : int
        Passages in the histogram, and in the corpus.
    parts, of_parts : int
        Blocks read, and all of them.
    error : float
        How far the share of similarities above any threshold may lie from that of the whole corpus, at most over the
        thresholds: 1.96 standard errors between blocks. NaN with one block.
    """

    rows: int
    of: int
    parts: int
    of_parts: int
    error: float


@dataclass(frozen=True)
class Scores:
    """Similarities at threshold zero of one model, source and contract.

    Attributes
    ----------
    query_ids : list of str
        All queries that were asked, also those that got nothing back.
    top : DataFrame
        query_id, doc_id, similarity, rank: the best `depth` passages of every query.
    judged : DataFrame
        query_id, doc_id, relevance, similarity (NaN = not scored), rank (NA = not scored or beyond `depth`).
    histogram : Histogram
        All similarities, rows in the order of `query_ids`.
    everything : DataFrame or None
        Every score with its rank, where the corpus is small.
    n_documents : int or None
        Scored passages a query, also where the level is the document; None for a score file, which lists candidates.
    exact : bool
        Whether every passage was scored for every query.
    n_invalid, n_missing : int
        Passages with a zero or non-finite vector, and without any; both excluded and counted apart. Of a score file,
        `n_missing` counts candidates without a score, query by query.
    depth : int
    level : str
        "passage" or "document".
    sample : Sample or None
        What the histogram was counted on, where that is not everything; best passages and judged ones are exact.
    """

    contract: ScoreContract
    query_ids: list[str]
    top: pd.DataFrame
    judged: pd.DataFrame
    histogram: Histogram
    everything: pd.DataFrame | None
    n_documents: int | None
    exact: bool
    depth: int
    n_invalid: int = 0
    n_missing: int = 0
    level: str = "passage"
    sample: Sample | None = None

    @property
    def observed(self) -> pd.DataFrame:
        """All scores there are as rows: every one when kept, else the top and the judged ones."""
        if self.everything is not None:
            return self.everything
        rest = self.judged.loc[self.judged["similarity"].notna(), ["query_id", "doc_id", "similarity", "rank"]]
        both = pd.concat([self.top.astype({"rank": "Int64"}), rest.astype({"rank": "Int64"})], ignore_index=True)
        return both.drop_duplicates(["query_id", "doc_id"], ignore_index=True)


def with_ranks(judgements: pd.DataFrame, scored: pd.DataFrame, ranks: pd.DataFrame) -> pd.DataFrame:
    """Join judgements (query_id, doc_id, relevance) with their similarities and with the ranks of some table."""
    joined = judgements.merge(scored[["query_id", "doc_id", "similarity"]], on=["query_id", "doc_id"], how="left")
    joined = joined.merge(ranks[["query_id", "doc_id", "rank"]], on=["query_id", "doc_id"], how="left")
    return joined.assign(rank=joined["rank"].astype("Int64"))[["query_id", "doc_id", "relevance", "similarity", "rank"]]


def duplicate_free(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the best row per (query_id, doc_id): several chunks of one document count as that document's best chunk."""
    best = frame.sort_values("similarity", ascending=False, kind="stable", na_position="last")
    return best.drop_duplicates(["query_id", "doc_id"]).sort_index().reset_index(drop=True)
