"""The bands: what must survive, what a floor exists to refuse, and what it can hardly help with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..labels import Labels
from .queries import judged_top
from .table import Scores

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ENOUGH_OFF_TOPIC = 20
"""Labelled off-topic queries from which they, rather than probes, are the far noise."""


@dataclass(frozen=True)
class Band:
    """Similarities of one band, each with the query it belongs to.

    Attributes
    ----------
    name, label : str
        For machines and for people.
    similarity : ndarray
        Minus infinity where a best-of-query band has no scored passage.
    query_ids, groups : ndarray of str
    doc_ids : ndarray of object
        None where there is no passage.
    """

    name: str
    label: str
    similarity: npt.NDArray[np.float64]
    query_ids: npt.NDArray[np.str_]
    groups: npt.NDArray[np.str_]
    doc_ids: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.similarity)

    @property
    def scored(self) -> npt.NDArray[np.float64]:
        """The finite similarities."""
        return self.similarity[np.isfinite(self.similarity)]

    def summary(self) -> dict[str, Any]:
        """n, values without a score, and quantiles (None when nothing was scored)."""
        scored = self.scored
        quantiles = {f"p{round(q * 100):02d}": float(np.quantile(scored, q)) if len(scored) else None for q in QUANTILES}
        return {
            "n": len(self),
            "not_scored": len(self) - len(scored),
            "min": float(scored.min()) if len(scored) else None,
            **quantiles,
            "max": float(scored.max()) if len(scored) else None,
        }


@dataclass(frozen=True)
class Bands:
    """All bands of one model and the choice of far noise.

    Attributes
    ----------
    bands : mapping of name to Band
        relevant, best_relevant, near_noise, unjudged_top, off_topic, probes, missing_answer, and far_noise.
    far_noise_source : str
        "labelled off-topic queries", "probe queries", "judged passages" (near noise standing in: far noise was not
        measured) or "none".
    """

    bands: Mapping[str, Band]
    far_noise_source: str

    def __getitem__(self, name: str) -> Band:
        return self.bands[name]

    @property
    def far_noise_measured(self) -> bool:
        """Whether the noise comes from queries about something else."""
        return self.far_noise_source in ("labelled off-topic queries", "probe queries")


def find_bands(scores: Scores, labels: Labels, table: pd.DataFrame) -> Bands:
    """Sort similarities into bands and decide which of them is the far noise.

    Labelled off-topic queries when there are at least 20, else probes, else fewer labelled ones, else the best judged
    non-relevant passage per on-topic query, which is near noise and is said to be.

    Parameters
    ----------
    table : DataFrame
        The query table.
    """
    answerable = table[(table["answerability"] == "answerable")]
    on_topic = table[table["answerability"].isin(["answerable", "missing_answer"])]
    off_topic = table[(table["answerability"] == "off_topic") & ~table["probe"]]
    probes = table[table["probe"]]
    missing = table[table["answerability"] == "missing_answer"]
    bands = {
        "relevant": _relevant(scores, labels, table),
        "best_relevant": _per_query(answerable, "best_relevant", "best_relevant_doc", "best relevant per query"),
        "near_noise": _per_query(
            on_topic[on_topic["best_judged_noise"].notna()], "best_judged_noise", "best_judged_noise_doc", "near noise"
        ),
        "unjudged_top": _unjudged(scores, labels, on_topic),
        "off_topic": _per_query(off_topic, "top_similarity", "top_doc", "off-topic queries, best match"),
        "probes": _per_query(probes, "top_similarity", "top_doc", "probe queries, best match"),
        "missing_answer": _per_query(missing, "top_similarity", "top_doc", "missing answer, best match"),
    }
    name, source = _far_noise(bands)
    far = bands[name]
    bands["far_noise"] = Band(
        "far_noise", f"far noise ({source})", far.similarity, far.query_ids, far.groups, far.doc_ids
    )
    named = {key: Band(key, band.label, band.similarity, band.query_ids, band.groups, band.doc_ids) for key, band in bands.items()}
    return Bands(named, source)


def _far_noise(bands: Mapping[str, Band]) -> tuple[str, str]:
    if len(bands["off_topic"]) >= ENOUGH_OFF_TOPIC:
        return "off_topic", "labelled off-topic queries"
    if len(bands["probes"]):
        return "probes", "probe queries"
    if len(bands["off_topic"]):
        return "off_topic", "labelled off-topic queries"
    if len(bands["near_noise"]):
        return "near_noise", "judged passages"
    return "off_topic", "none"


def _per_query(rows: pd.DataFrame, value: str, doc: str, label: str) -> Band:
    return Band(
        value,
        label,
        rows[value].fillna(-np.inf).to_numpy(dtype=np.float64),
        rows["query_id"].to_numpy(dtype=np.str_),
        rows["group"].to_numpy(dtype=np.str_),
        rows[doc].astype(object).where(rows[doc].notna(), None).to_numpy(dtype=object),
    )


def _relevant(scores: Scores, labels: Labels, table: pd.DataFrame) -> Band:
    rows = scores.judged[scores.judged["relevance"] >= labels.rel_level]
    rows = rows[rows["similarity"].notna()].merge(table[["query_id", "group"]], on="query_id", how="left")
    return _rows(rows, "relevant", "relevant passages")


def _unjudged(scores: Scores, labels: Labels, on_topic: pd.DataFrame) -> Band:
    top = judged_top(scores, labels)
    rows = top[(top["state"] == "unjudged") & top["query_id"].isin(on_topic["query_id"])]
    rows = rows.drop_duplicates("query_id").merge(on_topic[["query_id", "group"]], on="query_id", how="left")
    return _rows(rows, "unjudged_top", "best unjudged passage")


def _rows(rows: pd.DataFrame, name: str, label: str) -> Band:
    return Band(
        name,
        label,
        rows["similarity"].to_numpy(dtype=np.float64),
        rows["query_id"].to_numpy(dtype=np.str_),
        rows["group"].to_numpy(dtype=np.str_),
        rows["doc_id"].to_numpy(dtype=object),
    )
