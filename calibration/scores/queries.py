"""The query table: one row per query with everything a floor and a cap decide about it."""

import numpy as np
import pandas as pd

from ..labels import Labels
from .table import Scores

COLUMNS = [
    "query_id", "kind", "answerability", "group", "must", "probe", "n_relevant", "top_similarity", "top_doc",
    "best_relevant", "best_relevant_rank", "best_relevant_doc", "best_judged_noise", "best_judged_noise_doc",
    "best_unjudged",
]  # fmt: skip


def judged_top(scores: Scores, labels: Labels) -> pd.DataFrame:
    """Give the top of every query with its grades.

    Returns
    -------
    DataFrame
        query_id, doc_id, similarity, rank, relevance (NA = unjudged), state: "relevant", "noise" or "unjudged".
        With `unjudged="nonrelevant"` the unjudged passages of queries that have judgements, or a known answerability, are noise.
    """
    top = scores.top.merge(labels.qrels, on=["query_id", "doc_id"], how="left")
    top["relevance"] = top["relevance"].astype("Int64")
    state = np.where(top["relevance"].isna(), "unjudged", "noise").astype(object)
    state[(top["relevance"] >= labels.rel_level).fillna(False).to_numpy(dtype=bool)] = "relevant"
    if labels.unjudged == "nonrelevant":
        state[state == "unjudged"] = "noise"
    return top.assign(state=pd.Series(state, dtype="str"))


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
    noise = judged[judged["relevance"] < labels.rel_level]
    table = queries.merge(_best(top, "top_similarity", "top_doc"), on="query_id", how="left")
    table = table.merge(
        _best(relevant, "best_relevant", "best_relevant_doc", "best_relevant_rank"), on="query_id", how="left"
    )
    noise_rows = pd.concat(
        [noise[["query_id", "doc_id", "similarity"]], top.loc[top["state"] == "noise", ["query_id", "doc_id", "similarity"]]],
        ignore_index=True,
    )
    table = table.merge(_best(noise_rows, "best_judged_noise", "best_judged_noise_doc"), on="query_id", how="left")
    unjudged = top[top["state"] == "unjudged"]
    table = table.merge(_best(unjudged, "best_unjudged", "_doc"), on="query_id", how="left")
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
    """Best row per query, by similarity then doc_id; queries without a scored row are absent."""
    scored = rows[rows["similarity"].notna()]
    ordered = scored.sort_values(["similarity", "doc_id"], ascending=[False, True], kind="stable")
    best = ordered.drop_duplicates("query_id")
    names = {"similarity": similarity, "doc_id": doc}
    if rank is not None:
        names["rank"] = rank
    return best[["query_id", *names]].rename(columns=names)
