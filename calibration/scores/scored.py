"""Scores from a table of scored candidates: a score file of any backend, or the full table of a small pull."""

import numpy as np
import pandas as pd

from ..contract import ScoreContract
from ..errors import ContractError
from ..labels import Labels
from .summary import BINS, Histogram
from .rank import ranked
from .table import Scores, duplicate_free, with_ranks


def scores_from_candidates(
    candidates: pd.DataFrame, labels: Labels, contract: ScoreContract, *, depth: int
) -> Scores:
    """Make Scores of candidate lists.

    Parameters
    ----------
    candidates : DataFrame
        query_id, doc_id, score (raw; NaN = not scored), document_id (NA, or the document a passage belongs to: then
        judgements are per document and the best passage speaks for it).
    labels : Labels
        Its queries are all there are; one without candidates got nothing back and stays.

    Raises
    ------
    ContractError
        The metric cannot carry a floor; values outside a cosine's range; or the labels contradict the direction.
    """
    frame = candidates.assign(similarity=contract.similarity(candidates["score"].to_numpy(dtype=np.float64)))
    level = "passage"
    if "document_id" in frame and frame["document_id"].notna().any():
        level = "document"
        frame = frame.assign(doc_id=frame["document_id"].fillna(frame["doc_id"]))
    frame = duplicate_free(frame[["query_id", "doc_id", "similarity"]])
    scored = frame[frame["similarity"].notna()]
    everything = _ranked_frame(scored, labels.queries["query_id"].tolist(), contract.tolerance)
    judged = with_ranks(labels.qrels, frame, everything)
    check_direction(judged, labels.rel_level, contract)
    return Scores(
        contract=contract,
        query_ids=labels.queries["query_id"].tolist(),
        top=everything[everything["rank"] <= depth].reset_index(drop=True),
        judged=judged,
        histogram=_histogram(scored, labels.queries["query_id"].tolist(), contract),
        everything=everything,
        n_documents=None,
        exact=False,
        depth=depth,
        n_missing=int(frame["similarity"].isna().sum()),
        level=level,
    )


def check_direction(judged: pd.DataFrame, rel_level: int, contract: ScoreContract, *, most: float = 0.95) -> None:
    """Refuse scores whose declared direction the labels contradict.

    Within a query, a relevant passage scored below a judged non-relevant one in nearly all pairs means that the direction or
    the transform is wrong, not that the model is bad. At least two such pairs are needed to say so.
    """
    scored = judged[judged["similarity"].notna()]
    relevant = scored[scored["relevance"] >= rel_level][["query_id", "similarity"]]
    noise = scored[scored["relevance"] < rel_level][["query_id", "similarity"]]
    pairs = relevant.merge(noise, on="query_id", suffixes=("_relevant", "_noise"))
    if len(pairs) < 2:
        return
    below = int((pairs["similarity_relevant"] < pairs["similarity_noise"]).sum())
    if below / len(pairs) >= most:
        direction = "higher is better" if contract.definition.higher_is_better else "lower is better"
        raise ContractError(
            f"the labels contradict the declared direction: {contract.metric!r} means {direction}, but relevant scores are "
            f"worse than noise in {below} of {len(pairs)} pairs ({below / len(pairs):.0%}). The direction or a transform "
            "is wrong; declare the metric the backend really returns."
        )


def _ranked_frame(scored: pd.DataFrame, query_ids: list[str], tolerance: float) -> pd.DataFrame:
    position = {query_id: i for i, query_id in enumerate(query_ids)}
    parts = []
    for query_id, rows in scored.groupby("query_id", sort=False):
        order = ranked(
            rows["similarity"].to_numpy(dtype=np.float64), rows["doc_id"].to_numpy(dtype=object), tolerance=tolerance
        )
        parts.append((position[str(query_id)], rows.iloc[order].assign(rank=np.arange(1, len(order) + 1, dtype=np.int64))))
    if not parts:
        return scored.assign(rank=pd.Series(dtype="int64")).reset_index(drop=True)
    return pd.concat([part for _, part in sorted(parts, key=lambda pair: pair[0])], ignore_index=True)


def _histogram(scored: pd.DataFrame, query_ids: list[str], contract: ScoreContract) -> Histogram:
    low, high = -1.0, 1.0
    values = scored["similarity"].to_numpy(dtype=np.float64)
    if not contract.on_cosine_scale and len(values):
        low, high = float(values.min()), float(values.max())
        high = high if high > low else low + 1.0
    edges = np.linspace(low, high, BINS + 1)
    rows = pd.Index(query_ids).get_indexer(pd.Index(scored["query_id"]))
    bins = np.clip(((values - low) * (BINS / (high - low))).astype(np.int64), 0, BINS - 1)
    counts = np.bincount(rows * BINS + bins, minlength=len(query_ids) * BINS).reshape(len(query_ids), BINS)
    return Histogram(edges, counts)
