"""What a rank-only score cannot tell apart: the best score of every query, and two queries that tie."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...retrieval import SIMILARITY, Candidates
from .candidates import Far, far_queries, places
from .measure import RRF


@dataclass(frozen=True)
class Pair:
    """Two queries whose best candidates have the same rank-only score: one is an answer, the other cannot be.

    Attributes
    ----------
    signal : str
        The score in which they tie.
    score : float
        Its value for both.
    on_topic, off_topic : str
        Query ids.
    on_similarity, off_similarity : float
        Raw similarities of the two candidates.
    """

    signal: str
    score: float
    on_topic: str
    on_doc: str
    on_similarity: float
    off_topic: str
    off_doc: str
    off_similarity: float


def best_scores(candidates: Candidates, table: pd.DataFrame, order: str) -> pd.DataFrame:
    """Give the best score of every on-topic query and of every query of the far noise, by similarity and by `order`."""
    known = table[table["answerability"] != "unknown"]
    far = set(far_queries(table).query_ids)
    off = (known["answerability"] == "off_topic").to_numpy()
    known = known[~off | known["query_id"].isin(far).to_numpy()]
    band = np.where(known["answerability"] == "off_topic", "off-topic", "on-topic")
    frame = pd.DataFrame({"query_id": known["query_id"].to_numpy(), "band": band})
    for name in dict.fromkeys((SIMILARITY, order)):
        if name in candidates.contracts:
            best = pd.Series(candidates.values(name)[:, 0]).groupby(candidates.rows["query_id"].to_numpy()).max()
            frame[name] = frame["query_id"].map(best).astype("float64")
    return frame


def rank_only(candidates: Candidates) -> str | None:
    """Name the score that is made of ranks: the log's own, else ours; None without any."""
    return next((name for name, contract in candidates.contracts.items() if contract.metric == RRF), None)


def tied_pair(candidates: Candidates, relevant: npt.NDArray[np.bool_], table: pd.DataFrame, far: Far) -> Pair | None:
    """Find an answered query and one of the far noise whose best candidates tie in ranks, far apart in similarity."""
    ranks = rank_only(candidates)
    if ranks is None or SIMILARITY not in candidates.contracts:
        return None
    rows = candidates.rows[["query_id", "doc_id"]].assign(
        relevant=relevant,
        key=candidates.values(ranks)[:, 0].round(12),
        similarity=candidates.values(SIMILARITY)[:, 0],
    )
    first = rows[(places(candidates, ranks) == 1) & rows["key"].notna() & rows["similarity"].notna()]
    answerable = table.loc[table["answerability"] == "answerable", "query_id"]
    on = first[first["relevant"] & first["query_id"].isin(answerable)]
    off = first[first["query_id"].isin(far.query_ids)]
    both = on.merge(off, on="key", suffixes=("_on", "_off"))
    if both.empty:
        return None
    apart = (both["similarity_on"] - both["similarity_off"]).to_numpy()
    best = both.to_dict("records")[int(np.argmax(apart))]
    return Pair(
        signal=ranks,
        score=best["key"],
        on_topic=best["query_id_on"],
        on_doc=best["doc_id_on"],
        on_similarity=best["similarity_on"],
        off_topic=best["query_id_off"],
        off_doc=best["doc_id_off"],
        off_similarity=best["similarity_off"],
    )
