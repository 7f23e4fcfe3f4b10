"""What a rank-only score cannot tell apart: the best score of every query, and two queries that tie."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..retrieval import SIMILARITY, Candidates
from .hybrid_gate import places
from .hybrid_measure import RRF, far_queries


@dataclass(frozen=True)
class Pair:
    """Two queries whose best candidates have the same fused score: one is an answer, the other cannot be.

    Attributes
    ----------
    score : float
        The RRF score of both.
    on_topic, off_topic : str
        Query ids.
    on_similarity, off_similarity : float
        Raw similarities of the two candidates.
    """

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


def tied_pair(candidates: Candidates, relevant: npt.NDArray[np.bool_], table: pd.DataFrame) -> Pair | None:
    """Find an answered and an off-topic query whose best candidates tie in RRF and differ most in similarity."""
    if not {RRF, SIMILARITY} <= set(candidates.contracts):
        return None
    rows = candidates.rows.assign(relevant=relevant, place=places(candidates, RRF))
    first = rows[rows["place"] == 1].merge(table[["query_id", "answerability", "probe"]], on="query_id")
    first = first[first[RRF].notna() & first[SIMILARITY].notna()].assign(key=first[RRF].round(12))
    on = first[(first["answerability"] == "answerable") & first["relevant"]]
    off = first[first["answerability"] == "off_topic"]
    off = off[~off["probe"]] if len(on.merge(off[~off["probe"]], on="key")) else off
    both = on.merge(off, on="key", suffixes=("_on", "_off"))
    if both.empty:
        return None
    apart = (both[f"{SIMILARITY}_on"] - both[f"{SIMILARITY}_off"]).to_numpy()
    best = both.to_dict("records")[int(np.argmax(apart))]
    return Pair(
        score=best["key"],
        on_topic=best["query_id_on"],
        on_doc=best["doc_id_on"],
        on_similarity=best[f"{SIMILARITY}_on"],
        off_topic=best["query_id_off"],
        off_doc=best["doc_id_off"],
        off_similarity=best[f"{SIMILARITY}_off"],
    )
