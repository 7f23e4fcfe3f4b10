"""Judgements that look wrong: worth a second reading before anything is concluded from them."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..labels import Labels
from ..scores import Bands, Scores

COLUMNS = ["query_id", "doc_id", "relevance", "similarity", "why"]
MOST = 50


def suspects(scores: Scores, labels: Labels, bands: Bands) -> pd.DataFrame:
    """Name suspected label errors.

    A passage judged not relevant that scores far above the query's every relevant passage and like a typical answer; a
    query whose best answer scores like noise (below the median far noise); an off-topic query that scores like a
    typical answer. Scores can only raise a suspicion: nothing is changed or left out.

    Returns
    -------
    DataFrame
        query_id, doc_id, relevance (of the judgement in doubt, else NA), similarity, why; the most glaring first, at
        most 50.
    """
    best, far = bands["best_relevant"].scored, bands["far_noise"].scored
    parts = []
    if len(best) >= 5:
        typical = float(np.median(best))
        parts += [_noise_like_answers(scores, labels, best), _off_topic_like_answers(bands, typical)]
    if len(far) >= 5 and bands.far_noise_measured:
        parts.append(_answers_like_noise(bands, float(np.median(far))))
    known = [part for part in parts if len(part)]
    if not known:
        return pd.DataFrame({name: [] for name in COLUMNS})
    found = pd.concat(known, ignore_index=True)
    return found.sort_values("excess", ascending=False, kind="stable")[COLUMNS].head(MOST).reset_index(drop=True)


def _noise_like_answers(scores: Scores, labels: Labels, best: npt.NDArray[np.float64]) -> pd.DataFrame:
    judged = scores.judged[scores.judged["similarity"].notna()]
    relevant = judged[judged["relevance"] >= labels.rel_level].groupby("query_id")["similarity"].max()
    noise = judged[judged["relevance"] < labels.rel_level]
    # near-misses outscore answers by a little all the time; half the spread of answers is more than a little
    lower, typical, upper, high = np.quantile(best, [0.25, 0.5, 0.75, 0.95])
    own = relevant.reindex(noise["query_id"]).to_numpy(dtype=np.float64)
    # a question whose answer is missing finds similar passages as a rule, so its bar is the highest answers'
    bar = np.where(np.isnan(own), high, np.maximum(own + (upper - lower) / 2.0, typical))
    excess = noise["similarity"].to_numpy(dtype=np.float64) - bar
    rows = noise[excess > 0]
    suspected: pd.DataFrame = rows.assign(
        why="judged wrong, scores far above every answer",
        excess=excess[excess > 0],
    ).astype({"relevance": "Int64"})
    return suspected


def _answers_like_noise(bands: Bands, typical: float) -> pd.DataFrame:
    band = bands["best_relevant"]
    low = np.isfinite(band.similarity) & (band.similarity < typical)
    return pd.DataFrame(
        {
            "query_id": band.query_ids[low],
            "doc_id": band.doc_ids[low],
            "relevance": pd.array([pd.NA] * int(low.sum()), dtype="Int64"),
            "similarity": band.similarity[low],
            "why": "best answer, scores below the median noise",
            "excess": typical - band.similarity[low],
        }
    )


def _off_topic_like_answers(bands: Bands, typical: float) -> pd.DataFrame:
    band = bands["off_topic"]
    high = band.similarity > typical
    return pd.DataFrame(
        {
            "query_id": band.query_ids[high],
            "doc_id": band.doc_ids[high],
            "relevance": pd.array([pd.NA] * int(high.sum()), dtype="Int64"),
            "similarity": band.similarity[high],
            "why": "off-topic, scores like a typical answer",
            "excess": band.similarity[high] - typical,
        }
    )
