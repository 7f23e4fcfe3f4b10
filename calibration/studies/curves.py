"""Curves over every threshold, under the chosen cap, from sorted scores and cumulative counts."""

import numpy as np
import pandas as pd

from ..choose.counts import count_at_thresholds, survival
from ..labels import Labels
from ..scores import Scores, judged_top

POINTS = 400


def curves(scores: Scores, labels: Labels, table: pd.DataFrame, top_k: int) -> pd.DataFrame:
    """Counts and rates at the thresholds at which anything changes, thinned to a readable number of rows.

    Returns
    -------
    DataFrame
        threshold ascending; counts `hits`, `covered`, `off_topic_kept`, `missing_kept`, `relevant`, `judged`, `accepted`,
        and the rates hit_rate, coverage, recall, precision_judged, precision_low, false_answer_rate, risk_low,
        risk_high. A rate without denominator is NaN. Far noise is that of labelled off-topic queries, else of probes.
    """
    top = judged_top(scores, labels)
    top = top[top["rank"] <= top_k]
    labelled = table[~table["probe"]]
    answerable = labelled[labelled["answerability"] == "answerable"]
    off_topic = labelled[labelled["answerability"] == "off_topic"]
    far = off_topic if len(off_topic) else table[table["probe"]]
    missing = labelled[labelled["answerability"] == "missing_answer"]
    own = top[top["query_id"].isin(set(answerable["query_id"]))]
    best_kept = _best_within(own[own["state"] == "relevant"], answerable)
    thresholds = _thresholds(top["similarity"].to_numpy(dtype=np.float64))
    n_relevant = int(answerable["n_relevant"].sum())
    counts = {
        "hits": survival(best_kept, thresholds),
        "covered": survival(labelled["top_similarity"].fillna(-np.inf), thresholds),
        "off_topic_kept": survival(far["top_similarity"].fillna(-np.inf), thresholds),
        "missing_kept": survival(missing["top_similarity"].fillna(-np.inf), thresholds),
        "answered_answerable": survival(answerable["top_similarity"].fillna(-np.inf), thresholds),
        "relevant": survival(own.loc[own["state"] == "relevant", "similarity"], thresholds),
        "noise": survival(own.loc[own["state"] == "noise", "similarity"], thresholds),
        "accepted": survival(own["similarity"], thresholds),
    }
    frame = pd.DataFrame({"threshold": thresholds, **counts})
    labelled_off = survival(off_topic["top_similarity"].fillna(-np.inf), thresholds)
    answered = frame["answered_answerable"] + labelled_off + frame["missing_kept"]
    refused_hits = answered - frame["hits"]
    surely = _surely_without(own, thresholds) + labelled_off + frame["missing_kept"]
    with np.errstate(invalid="ignore", divide="ignore"):
        return frame.assign(
            hit_rate=_rate(frame["hits"], len(answerable)),
            coverage=_rate(frame["covered"], len(labelled)),
            recall=_rate(frame["relevant"], n_relevant),
            precision_judged=frame["relevant"] / (frame["relevant"] + frame["noise"]).replace(0, np.nan),
            precision_low=frame["relevant"] / frame["accepted"].replace(0, np.nan),
            false_answer_rate=_rate(frame["off_topic_kept"], len(far)),
            false_answer_rate_missing=_rate(frame["missing_kept"], len(missing)),
            risk_high=refused_hits / answered.replace(0, np.nan),
            risk_low=surely / answered.replace(0, np.nan),
        )


def surface(scores: Scores, labels: Labels, table: pd.DataFrame, k_max: int, *, points: int = 40) -> pd.DataFrame:
    """Hit rate at every pair of threshold and K.

    Returns
    -------
    DataFrame
        Long: threshold, top_k, hits, n, hit_rate, passages (mean accepted per answerable query).
    """
    top = judged_top(scores, labels)
    answerable = table[(table["answerability"] == "answerable") & ~table["probe"]]
    own = top[top["query_id"].isin(set(answerable["query_id"]))]
    thresholds = _thresholds(own["similarity"].to_numpy(dtype=np.float64), points=points)
    rows = []
    for k in range(1, k_max + 1):
        within = own[own["rank"] <= k]
        hits = survival(_best_within(within[within["state"] == "relevant"], answerable), thresholds)
        accepted = survival(within["similarity"], thresholds)
        rows.append(pd.DataFrame({"threshold": thresholds, "top_k": k, "hits": hits, "accepted": accepted}))
    frame = pd.concat(rows, ignore_index=True)
    n = len(answerable)
    return frame.assign(n=n, hit_rate=_rate(frame["hits"], n), passages=_rate(frame["accepted"], n))


def pair_counts(scores: Scores, labels: Labels) -> pd.DataFrame:
    """Precision and recall over judged pairs at every distinct threshold: threshold, precision, recall, counts."""
    judged = scores.judged[scores.judged["similarity"].notna()]
    counts = count_at_thresholds(judged["similarity"], judged["relevance"] >= labels.rel_level)
    return pd.DataFrame(
        {
            "threshold": counts.thresholds,
            "true_positives": counts.true_positives,
            "false_positives": counts.false_positives,
            "precision": counts.precision,
            "recall": counts.recall,
        }
    )


def _best_within(relevant: pd.DataFrame, answerable: pd.DataFrame) -> np.ndarray:
    best = relevant.groupby("query_id")["similarity"].max()
    return answerable["query_id"].map(best).fillna(-np.inf).to_numpy(dtype=np.float64)


def _surely_without(own: pd.DataFrame, thresholds: np.ndarray) -> np.ndarray:
    """Answerable queries answered with judged noise only, at each threshold.

    A query is answered from its best passage down; it is surely without an answer until the first relevant or unjudged
    passage is accepted too.
    """
    best = own.groupby("query_id")["similarity"].max()
    saving = own[own["state"] != "noise"].groupby("query_id")["similarity"].max()
    saved_at = saving.reindex(best.index).fillna(-np.inf)
    return survival(best, thresholds) - survival(np.minimum(saved_at, best), thresholds)


def _thresholds(similarity: np.ndarray, *, points: int = POINTS) -> np.ndarray:
    distinct = np.unique(similarity[np.isfinite(similarity)])
    if len(distinct) <= points:
        return distinct
    return np.unique(np.quantile(distinct, np.linspace(0, 1, points), method="nearest"))


def _rate(counts: pd.Series, n: int) -> pd.Series:
    return counts / n if n else counts * np.nan
