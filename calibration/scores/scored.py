"""Scores from a table of scored candidates: a score file of any backend, or the full table of a small pull."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ..contract import ScoreContract
from ..errors import ContractError, LabelError, listed
from ..labels import Labels
from .rank import rank_within, ranked
from .summary import BINS, Histogram
from .table import Scores, duplicate_free, with_ranks

MOSTLY = 0.95
"""Share of pairs in the wrong order from which the direction, not the model, is to blame."""


def scores_from_candidates(candidates: pd.DataFrame, labels: Labels, contract: ScoreContract, *, depth: int) -> Scores:
    """Make Scores of candidate lists.

    Parameters
    ----------
    candidates : DataFrame
        query_id, doc_id, score (raw; NaN = not scored), document_id (NA, or the document a passage belongs to).
        Where the judgements name documents, the best passage speaks for its document.
    labels : Labels
        Its queries are all there are; one without candidates got nothing back and stays.

    Raises
    ------
    ContractError
        The metric cannot carry a floor; values outside a cosine's range; or the labels contradict the direction.
    LabelError
        Candidates of queries that are not in the labels.
    """
    query_ids = labels.queries["query_id"].tolist()
    _check_known(candidates, query_ids)
    frame = candidates.assign(similarity=contract.similarity(candidates["score"].to_numpy(dtype=np.float64)))
    level = "passage"
    if _names_documents(labels, frame):
        level = "document"
        frame = frame.assign(doc_id=frame["document_id"].fillna(frame["doc_id"]))
    frame = duplicate_free(frame[["query_id", "doc_id", "similarity"]])
    scored = frame[np.isfinite(frame["similarity"])]
    everything = _ranked_frame(scored, query_ids, contract.tolerance)
    histogram = _histogram(scored, query_ids, contract)
    judged = with_ranks(labels.qrels, scored, everything)
    lengths = {str(query_id): int(n) for query_id, n in everything["query_id"].value_counts().items()}
    check_direction(judged, labels.rel_level, contract, lengths)
    return Scores(
        contract=contract,
        query_ids=query_ids,
        top=everything[everything["rank"] <= depth].reset_index(drop=True),
        judged=judged,
        histogram=histogram,
        everything=everything,
        n_documents=None,
        exact=False,
        depth=depth,
        n_missing=len(frame) - len(scored),
        level=level,
    )


def document_labels(labels: Labels, candidates: pd.DataFrame) -> Labels:
    """Lift judgements of passages to the documents they belong to; the best grade among its passages is a document's.

    Parameters
    ----------
    candidates : DataFrame
        With doc_id and document_id (NA where a passage is its own document).
    """
    if "document_id" not in candidates or not candidates["document_id"].notna().any():
        return labels
    parents = candidates.dropna(subset=["document_id"]).drop_duplicates("doc_id").set_index("doc_id")["document_id"]
    qrels = labels.qrels.assign(doc_id=labels.qrels["doc_id"].map(parents).fillna(labels.qrels["doc_id"]).astype("str"))
    lifted = qrels.groupby(["query_id", "doc_id"], sort=False)["relevance"].max().reset_index()
    return replace(labels, qrels=lifted)


def check_direction(
    judged: pd.DataFrame, rel_level: int, contract: ScoreContract, lengths: Mapping[str, int] | None = None
) -> None:
    """Refuse scores whose declared direction the labels contradict.

    Within a query, a relevant passage scored below a judged non-relevant one in nearly all pairs means that the
    direction or the transform is wrong. Not so where the relevant passages stand in the upper half of their lists: then
    the others are hard negatives that beat a weak model. At least two such pairs are needed to say anything.

    Parameters
    ----------
    judged : DataFrame
        Judgements with similarities and ranks.
    lengths : mapping of query_id to int, optional
        How many passages were scored for each query; without it every contradiction counts.
    """
    scored = judged[judged["similarity"].notna()]
    relevant = scored[scored["relevance"] >= rel_level]
    noise = scored[scored["relevance"] < rel_level]
    pairs = relevant.merge(noise, on="query_id", suffixes=("_relevant", "_noise"))
    below = int((pairs["similarity_relevant"] < pairs["similarity_noise"]).sum())
    if len(pairs) < 2 or below / len(pairs) < MOSTLY or _stand_high(relevant, lengths):
        return
    direction = "higher is better" if contract.higher_is_better else "lower is better"
    raise ContractError(
        f"the labels contradict the declared direction: {contract.metric!r} means {direction}, but relevant scores are "
        f"worse than noise in {below} of {len(pairs)} pairs ({below / len(pairs):.0%}). The direction or a transform "
        "is wrong; declare the metric the backend really returns."
    )


def _stand_high(relevant: pd.DataFrame, lengths: Mapping[str, int] | None) -> bool:
    """Tell whether relevant passages stand, on average, in the upper half of the lists they are in."""
    if lengths is None:
        return False
    # 0 is first and 1 is last; who is alone in a list is first
    places = relevant["query_id"].map(lengths).astype("float64") - 1.0
    standing = (relevant["rank"].astype("float64") - 1.0) / places.clip(lower=1.0)
    return bool(standing.fillna(1.0).mean() <= 0.5)


def _check_known(candidates: pd.DataFrame, query_ids: list[str]) -> None:
    unknown = candidates.loc[~candidates["query_id"].isin(set(query_ids)), "query_id"].unique().tolist()
    if unknown:
        names = [f"query {name!r}" for name in unknown]
        raise LabelError(f"candidates of {len(unknown)} queries that are not among the labels:\n" + listed(names))


def _names_documents(labels: Labels, candidates: pd.DataFrame) -> bool:
    """Tell whether judgements are of documents: passages have parents, and no judgement names a passage."""
    if "document_id" not in candidates or not candidates["document_id"].notna().any():
        return False
    passages = set(candidates["doc_id"]) - set(candidates["document_id"].dropna())
    return not labels.qrels["doc_id"].isin(passages).any()


def _ranked_frame(scored: pd.DataFrame, query_ids: list[str], tolerance: float) -> pd.DataFrame:
    queries = pd.Index(query_ids).get_indexer(pd.Index(scored["query_id"])).astype(np.int64)
    order = ranked(
        scored["similarity"].to_numpy(dtype=np.float64),
        scored["doc_id"].to_numpy(dtype=object),
        queries,
        tolerance=tolerance,
    )
    return scored.iloc[order].assign(rank=rank_within(queries[order])).reset_index(drop=True)


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
