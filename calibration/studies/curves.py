"""Curves over every threshold, under the chosen cap, from sorted scores and cumulative counts."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..choose.counts import Counts, count_at_thresholds, survival
from ..contract import ScoreContract
from ..labels import Labels
from ..scores import Scores, judged_top

POINTS = 400

Floats = npt.NDArray[np.float64]


def curves(
    scores: Scores, labels: Labels, table: pd.DataFrame, top_k: int, *, top: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Give counts and rates at the thresholds at which anything changes, thinned to a readable number of rows.

    Each row is what `outcome` says of that floor: the same comparison and the same tolerance.

    Parameters
    ----------
    top : DataFrame, optional
        `judged_top` of the same scores and labels, where it is at hand.

    Returns
    -------
    DataFrame
        threshold ascending; counts `hits`, `covered`, `off_topic_kept`, `missing_kept`, `answered_answerable`,
        `relevant`, `noise`, `accepted`, and the rates hit_rate, coverage, recall, precision_judged, precision_low,
        false_answer_rate, false_answer_rate_missing, risk_low, risk_high. A rate without denominator is NaN. Far noise
        is that of labelled off-topic queries, else of probes.
    """
    top = judged_top(scores, labels) if top is None else top
    top = top[top["rank"] <= top_k]
    labelled = table[~table["probe"]]
    kind = labelled["answerability"]
    answerable, off_topic = labelled[kind == "answerable"], labelled[kind == "off_topic"]
    missing = labelled[kind == "missing_answer"]
    far = off_topic if len(off_topic) else table[table["probe"]]
    own = top[top["query_id"].isin(set(answerable["query_id"]))]
    relevant, noise = own[own["state"] == "relevant"], own[own["state"] == "noise"]
    thresholds = _thresholds(top["similarity"])
    bars = _bars(thresholds, scores.contract)
    best = top.groupby("query_id")["similarity"].max()

    def answered(queries: pd.DataFrame) -> Counts:
        return survival(queries["query_id"].map(best).astype("float64"), bars)

    frame = pd.DataFrame(
        {
            "threshold": thresholds,
            "hits": survival(relevant.groupby("query_id")["similarity"].max(), bars),
            "covered": answered(labelled),
            "off_topic_kept": answered(far),
            "missing_kept": answered(missing),
            "answered_answerable": answered(answerable),
            "relevant": survival(relevant["similarity"], bars),
            "noise": survival(noise["similarity"], bars),
            "accepted": survival(own["similarity"], bars),
        }
    )
    wrong = answered(off_topic) + frame["missing_kept"]
    known = (frame["answered_answerable"] + wrong).replace(0, np.nan)
    return frame.assign(
        hit_rate=_rate(frame["hits"], len(answerable)),
        coverage=_rate(frame["covered"], len(labelled)),
        recall=_rate(frame["relevant"], int(answerable["n_relevant"].sum())),
        precision_judged=frame["relevant"] / (frame["relevant"] + frame["noise"]).replace(0, np.nan),
        precision_low=frame["relevant"] / frame["accepted"].replace(0, np.nan),
        false_answer_rate=_rate(frame["off_topic_kept"], len(far)),
        false_answer_rate_missing=_rate(frame["missing_kept"], len(missing)),
        risk_high=(frame["answered_answerable"] - frame["hits"] + wrong) / known,
        risk_low=(_surely_without(own, bars) + wrong) / known,
    )


def surface(
    scores: Scores,
    labels: Labels,
    table: pd.DataFrame,
    k_max: int,
    *,
    points: int = 40,
    top: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Give the hit rate at every pair of threshold and K.

    Returns
    -------
    DataFrame
        Long: threshold, top_k, hits, n, hit_rate, accepted, passages (mean accepted per answerable query).
    """
    top = judged_top(scores, labels) if top is None else top
    answerable = table.loc[(table["answerability"] == "answerable") & ~table["probe"], "query_id"]
    queries = pd.Index(answerable).get_indexer(pd.Index(top["query_id"]))
    rank, similarity = top["rank"].to_numpy(), top["similarity"].to_numpy(dtype=np.float64)
    relevant = (top["state"] == "relevant").to_numpy()
    thresholds = _thresholds(top.loc[queries >= 0, "similarity"], points=points)
    bars = _bars(thresholds, scores.contract)
    best = np.full(len(answerable), -np.inf)
    accepted = np.zeros(len(bars), dtype=np.int64)
    rows = []
    for k in range(1, k_max + 1):  # one rank more at a time: each passage is looked at once
        here = (rank == k) & (queries >= 0)
        accepted = accepted + survival(similarity[here], bars)
        np.maximum.at(best, queries[here & relevant], similarity[here & relevant])
        hits = survival(best, bars)
        rows.append(pd.DataFrame({"threshold": thresholds, "top_k": k, "hits": hits, "accepted": accepted}))
    frame = pd.concat(rows, ignore_index=True)
    n = len(answerable)
    return frame.assign(n=n, hit_rate=_rate(frame["hits"], n), passages=_rate(frame["accepted"], n))


def pair_counts(scores: Scores, labels: Labels) -> pd.DataFrame:
    """Precision and recall over judged pairs at every distinct threshold: threshold, precision, recall, counts."""
    # judged pairs without a score stay in: recall is measured against the labels
    counts = count_at_thresholds(scores.judged["similarity"], scores.judged["relevance"] >= labels.rel_level)
    return pd.DataFrame(
        {
            "threshold": counts.thresholds,
            "true_positives": counts.true_positives,
            "false_positives": counts.false_positives,
            "precision": counts.precision,
            "recall": counts.recall,
        }
    )


def _surely_without(own: pd.DataFrame, bars: Floats) -> Counts:
    """Count answerable queries answered with judged noise only.

    A query is answered from its best passage down; it is surely without an answer until the first relevant or unjudged
    passage is accepted too.
    """
    best = own.groupby("query_id")["similarity"].max()
    saving = own[own["state"] != "noise"].groupby("query_id")["similarity"].max()
    return survival(best, bars) - survival(saving, bars)


def _thresholds(similarity: pd.Series, *, points: int = POINTS) -> Floats:
    distinct = np.unique(similarity.to_numpy(dtype=np.float64))
    if len(distinct) <= points:
        return distinct
    return np.unique(np.quantile(distinct, np.linspace(0, 1, points), method="nearest"))


def _bars(thresholds: Floats, contract: ScoreContract) -> Floats:
    return np.array([contract.lowest_accepted(float(threshold)) for threshold in thresholds], dtype=np.float64)


def _rate(counts: pd.Series, n: int) -> pd.Series:
    return counts / n if n > 0 else counts * np.nan
