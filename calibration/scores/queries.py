"""The query table: one row per query with everything a floor and a cap decide about it."""

import numpy as np
import pandas as pd

from ..labels import Labels
from .table import Scores

COLUMNS = [
    "query_id", "kind", "answerability", "group", "must", "probe", "n_relevant", "top_similarity", "top_doc",
    "best_relevant", "best_relevant_rank", "best_relevant_doc", "best_judged_noise", "best_judged_noise_doc",
    "best_unjudged", "best_unjudged_doc",
]  # fmt: skip
_PAIR = ["query_id", "doc_id", "similarity"]


def judged_top(scores: Scores, labels: Labels) -> pd.DataFrame:
    """Give the top of every query with its grades.

    Returns
    -------
    DataFrame
        query_id, doc_id, similarity, rank, relevance (NA = unjudged), state: "relevant", "noise" or "unjudged". With
        `unjudged="nonrelevant"` the unjudged passages of queries that have judgements, or a known answerability, are
        noise; of a query nobody has looked at, and of a probe, nothing is known.
    """
    top = scores.top.merge(labels.qrels, on=["query_id", "doc_id"], how="left")
    judged = top["relevance"].notna().to_numpy()
    grade = top["relevance"].fillna(-1).to_numpy(dtype=np.int64)
    noise = judged
    if labels.unjudged == "nonrelevant":
        noise = judged | top["query_id"].isin(looked_at(labels)).to_numpy()
    state = np.where(grade >= labels.rel_level, "relevant", np.where(noise, "noise", "unjudged"))
    return top.assign(relevance=top["relevance"].astype("Int64"), state=pd.Series(state, dtype="str"))


def looked_at(labels: Labels) -> set[str]:
    """Give the queries of which somebody has said something: judgements, or whether there is an answer."""
    queries = labels.queries
    return {*queries.loc[queries["answerability"] != "unknown", "query_id"], *labels.qrels["query_id"]}


def query_table(scores: Scores, labels: Labels, probes: pd.DataFrame | None = None) -> pd.DataFrame:
    """Build the query table; labelled queries first in their own order, then the probes.

    Parameters
    ----------
    probes : DataFrame, optional
        Probe queries with query_id, kind, subject, language.

    Returns
    -------
    DataFrame
        `COLUMNS`. Similarities are NaN, ranks NA and documents NA where there is none. `n_relevant` counts relevant
        judgements, scored or not: recall is measured against labels, never against what came back.
    """
    queries = labels.queries[["query_id", "kind", "answerability", "group", "must"]].assign(probe=False)
    if probes is not None and len(probes):
        queries = pd.concat([queries, _as_queries(probes)], ignore_index=True)
    top = judged_top(scores, labels)
    judged = scores.judged
    relevant = judged[judged["relevance"] >= labels.rel_level]
    noise = pd.concat([judged[judged["relevance"] < labels.rel_level][_PAIR], top.loc[top["state"] == "noise", _PAIR]])
    found = (
        _best(top, "top_similarity", "top_doc"),
        _best(relevant, "best_relevant", "best_relevant_doc", "best_relevant_rank"),
        _best(noise, "best_judged_noise", "best_judged_noise_doc"),
        _best(top[top["state"] == "unjudged"], "best_unjudged", "best_unjudged_doc"),
    )
    table = queries
    for best in found:
        table = table.merge(best, on="query_id", how="left")
    counts = relevant.groupby("query_id").size()
    table["n_relevant"] = table["query_id"].map(counts).fillna(0).astype("int64")
    return table[COLUMNS]


def _as_queries(probes: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "query_id": probes["query_id"],
            "kind": probes["kind"],
            "answerability": "off_topic",
            "group": probes["query_id"],
            "must": "-",
            "probe": True,
        }
    )


def _best(rows: pd.DataFrame, similarity: str, doc: str, rank: str | None = None) -> pd.DataFrame:
    """Best row per query, by rank where it is asked for, then similarity, then doc_id; queries without one are absent.

    Among near ties the first in rank is the one a cap keeps, though another may score higher by less than rounding.
    """
    scored = rows[rows["similarity"].notna()]
    if rank is None:  # only the highest of each query need sorting
        scored = scored[scored["similarity"] == scored.groupby("query_id")["similarity"].transform("max")]
    by = ["similarity", "doc_id"] if rank is None else ["rank", "similarity", "doc_id"]
    ordered = scored.sort_values(by, ascending=[name != "similarity" for name in by], na_position="last")
    best = ordered.drop_duplicates("query_id")
    names = {"similarity": similarity, "doc_id": doc} | ({} if rank is None else {"rank": rank})
    return best[["query_id", *names]].rename(columns=names)
