"""The bands: what must survive, what a floor exists to refuse, and what it can hardly help with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..labels import Labels
from .table import Scores

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ENOUGH_OFF_TOPIC = 20
"""Labelled off-topic queries from which they, rather than probes, are the far noise."""
LABELLED, PROBES, JUDGED = "labelled off-topic queries", "probe queries", "judged passages"
"""Sources of far noise."""


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
        """Give n, values without a score, and quantiles (None when nothing was scored)."""
        scored = self.scored
        quantiles = {
            f"p{round(q * 100):02d}": float(np.quantile(scored, q)) if len(scored) else None for q in QUANTILES
        }
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
        return self.far_noise_source in (LABELLED, PROBES)


def find_bands(scores: Scores, labels: Labels, table: pd.DataFrame) -> Bands:
    """Sort similarities into bands and decide which of them is the far noise.

    Labelled off-topic queries when there are at least 20, else probes, else fewer labelled ones, else the best judged
    non-relevant passage per answerable query, which is near noise and is said to be. Questions whose answer is missing
    are reported and choose nothing.

    Parameters
    ----------
    table : DataFrame
        The query table.
    """
    kind, probe = table["answerability"], table["probe"]
    answerable, missing = table[kind == "answerable"], table[kind == "missing_answer"]
    on_topic = table[kind.isin(["answerable", "missing_answer"])]
    off_topic = _per_query(table[(kind == "off_topic") & ~probe], "top", "off-topic queries, best match")
    probes = _per_query(table[probe], "top", "probe queries, best match")
    stand_in = _per_query(_having(answerable, "best_judged_noise"), "best_judged_noise", "near noise")
    far, source = _far_noise(off_topic, probes, stand_in)
    bands = {
        "relevant": _relevant(scores, labels, table),
        "best_relevant": _per_query(answerable, "best_relevant", "best relevant per query"),
        "near_noise": _per_query(_having(on_topic, "best_judged_noise"), "best_judged_noise", "near noise"),
        "unjudged_top": _per_query(_having(on_topic, "best_unjudged"), "best_unjudged", "best unjudged passage"),
        "off_topic": off_topic,
        "probes": probes,
        "missing_answer": _per_query(missing, "top", "missing answer, best match"),
        "far_noise": replace(far, label=f"far noise ({source})"),
    }
    return Bands({name: replace(band, name=name) for name, band in bands.items()}, source)


def _far_noise(off_topic: Band, probes: Band, stand_in: Band) -> tuple[Band, str]:
    if len(off_topic) >= ENOUGH_OFF_TOPIC or (len(off_topic) and not len(probes)):
        return off_topic, LABELLED
    if len(probes):
        return probes, PROBES
    return (stand_in, JUDGED) if len(stand_in) else (off_topic, "none")


def _having(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    return rows[rows[value].notna()]


def _per_query(rows: pd.DataFrame, value: str, label: str) -> Band:
    doc = rows[f"{value}_doc"]
    similarity = rows["top_similarity" if value == "top" else value]
    return Band(
        value,
        label,
        similarity.fillna(-np.inf).to_numpy(dtype=np.float64),
        rows["query_id"].to_numpy(dtype=np.str_),
        rows["group"].to_numpy(dtype=np.str_),
        doc.astype(object).where(doc.notna(), None).to_numpy(dtype=object),
    )


def _relevant(scores: Scores, labels: Labels, table: pd.DataFrame) -> Band:
    rows = scores.judged[scores.judged["relevance"] >= labels.rel_level]
    rows = rows[rows["similarity"].notna()].merge(table[["query_id", "group"]], on="query_id", how="left")
    return Band(
        "relevant",
        "relevant passages",
        rows["similarity"].to_numpy(dtype=np.float64),
        rows["query_id"].to_numpy(dtype=np.str_),
        rows["group"].to_numpy(dtype=np.str_),
        rows["doc_id"].to_numpy(dtype=object),
    )
