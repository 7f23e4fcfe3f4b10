"""recommendation.json: the product for machines."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ..choose import Certificate, Gap, NoFloor, Rate, Recommendation
from ..contract import conversions
from ..studies.facts import fingerprint
from ..studies.model import Calibration
from ..studies.rates import Outcome

SCHEMA_VERSION = 1
BANDS = ("relevant", "best_relevant", "near_noise", "unjudged_top", "far_noise", "off_topic", "probes", "missing_answer")
HIDDEN_RATES = ("precision_low", "unjudged_share")
"""Rates of the report that recommendation.json keeps under `unjudged`."""


def recommendation_document(calibration: Calibration) -> dict[str, Any]:
    """Everything a deployment, a check or a reviewer needs, as plain JSON values; no text of queries or passages.

    Keys and types are fixed by the JSON Schema that ships beside this module (`recommendation_schema`).
    """
    choice, scores = calibration.choice, calibration.scores
    contract = scores.contract.to_dict()
    facts = calibration.facts
    return {
        "schema_version": SCHEMA_VERSION,
        "model": calibration.name,
        "status": choice.status,
        "reason": _reason(choice),
        "floor": choice.floor,
        "top_k": calibration.top_k.value,
        "top_k_chosen_by": calibration.top_k.chosen_by,
        "policy": {
            "name": calibration.params.preset,
            "miss_cost": calibration.costs.miss,
            "false_cost": calibration.costs.false_answer,
            "off_topic_share": calibration.costs.off_topic_share,
            "smoothed": choice.smoothed if isinstance(choice, Recommendation) else False,
            "expected_cost": choice.expected_cost if isinstance(choice, Recommendation) else None,
            "variability": list(choice.variability) if isinstance(choice, Recommendation) and choice.variability else None,
            "gate": None if choice.gate is None else asdict(choice.gate),
        },
        "rates": {
            "in_sample": _rates(calibration.in_sample),
            "held_out": None if calibration.held_out is None else _rates(calibration.held_out),
        },
        "certificate": _certificate(choice.certificate),
        "bands": {
            "far_noise_source": calibration.bands.far_noise_source,
            **{name: calibration.bands[name].summary() for name in BANDS},
        },
        "gap": _gap(choice.gap, calibration),
        "ceiling": _ceiling(calibration),
        "queries": {**calibration.labels.counts_by_answerability(), "probes": int(calibration.table["probe"].sum())},
        "contract": contract,
        "fingerprint": fingerprint(facts, contract, scores.n_documents),
        "labels_needed": _labels_needed(choice),
        "conversions": [] if choice.floor is None else conversions(choice.floor, scores.contract),
        "policies": _policies(calibration.policies),
        "old_floor": _old(calibration),
        "caveats": list(calibration.caveats),
        "exact": scores.exact,
        "level": scores.level,
        "date": facts.get("date"),
        "versions": dict(facts.get("versions", {})),
    }


def queries_records(calibration: Calibration) -> list[dict[str, Any]]:
    """One record per labelled query, without text: the baseline of a later check."""
    rows = calibration.in_sample.queries
    rows = rows[~rows["probe"]]
    return [
        {
            "query_id": row.query_id,
            "kind": row.kind,
            "answerability": row.answerability,
            "group": row.group,
            "must": row.must,
            "best_relevant": _number(row.best_relevant),
            "best_relevant_rank": None if pd.isna(row.best_relevant_rank) else int(row.best_relevant_rank),
            "top_similarity": _number(row.top_similarity),
            "accepted": list(row.accepted),
            "hit": bool(row.hit) if row.answerability == "answerable" else None,
            "cause": row.cause,
            "boundary": bool(row.boundary),
        }
        for row in rows.itertuples()
    ]


def scores_frame(calibration: Calibration) -> pd.DataFrame:
    """Scores as stored: query_id, doc_id, similarity (float32, null = not scored), rank, relevance, band."""
    scores, labels, table = calibration.scores, calibration.labels, calibration.table
    rows = scores.observed[["query_id", "doc_id", "similarity", "rank"]].astype({"rank": "Int64"})
    unscored = scores.judged[scores.judged["similarity"].isna()][["query_id", "doc_id", "similarity", "rank"]]
    parts = [part for part in (rows, unscored.astype({"rank": "Int64"})) if len(part)]
    frame = pd.concat(parts, ignore_index=True) if parts else rows
    frame = frame.merge(labels.qrels, on=["query_id", "doc_id"], how="left")
    frame["relevance"] = frame["relevance"].astype("Int64")
    answerability = frame["query_id"].map(dict(zip(table["query_id"], table["answerability"], strict=True)))
    relevant = (frame["relevance"] >= labels.rel_level).fillna(False).to_numpy(dtype=bool)
    judged = frame["relevance"].notna().to_numpy() | (labels.unjudged == "nonrelevant")
    band = np.where(judged, "near_noise", "unjudged")
    band = np.where((answerability == "missing_answer").to_numpy(), "missing_answer", band)
    band = np.where((answerability == "off_topic").to_numpy(), "far_noise", band)
    band = np.where(relevant, "relevant", band)
    return frame.assign(similarity=frame["similarity"].astype("float32"), band=pd.Series(band, dtype="str"))


def _reason(choice: Recommendation | NoFloor) -> str:
    if isinstance(choice, NoFloor):
        return f"{choice.reason}."
    certificate = choice.certificate
    if certificate.certified:
        return (
            f"With {certificate.confidence:.0%} confidence at least {certificate.target:.0%} of such queries keep a relevant passage "
            f"within the first {certificate.top_k} at this floor ({certificate.n} query groups)."
        )
    return (
        f"Least smoothed expected cost; a hit rate of {certificate.target:.0%} is not certified by {certificate.n} query groups."
        if choice.smoothed
        else "Too few labels to smooth: a quarter up the gap between the extremes."
    )


def _rates(outcome: Outcome) -> dict[str, Any]:
    rates: dict[str, Any] = {name: asdict(rate) for name, rate in outcome.rates.items()}
    unjudged = {name: rates.pop(name) for name in HIDDEN_RATES}
    rates["recall_by_grade"] = {str(grade): asdict(rate) for grade, rate in outcome.recall_by_grade.items()}
    return {**rates, "unjudged": unjudged}


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    return None if certificate is None else asdict(certificate)


def _gap(gap: Gap, calibration: Calibration) -> dict[str, Any]:
    choice = calibration.choice
    blocking: dict[str, list[str]] = {"noise": [], "relevant": []}
    if isinstance(choice, NoFloor):
        far, best = calibration.bands["far_noise"], calibration.bands["best_relevant"]
        blocking["noise"] = [str(far.query_ids[i]) for i in choice.blocking_noise]
        blocking["relevant"] = [str(best.query_ids[i]) for i in choice.blocking_relevant]
    return {**asdict(gap), "blocking": blocking}


def _ceiling(calibration: Calibration) -> dict[str, Any]:
    """Where the far noise ends today; how it grows with the corpus is not yet measured and says so by null."""
    noise = calibration.bands["far_noise"].scored
    measured = calibration.bands.far_noise_measured and len(noise) > 0
    return {
        "value": float(np.quantile(noise, 0.95)) if measured else None,
        "corpus_size": calibration.scores.n_documents,
        "growth": None,
        "holds_until": None,
    }


def _labels_needed(choice: Recommendation | NoFloor) -> dict[str, Any]:
    certificate = choice.certificate
    short = 0 if certificate is None else max(0, certificate.needed - certificate.n)
    return {
        "answerable_for_certificate": short,
        "needed": choice.needed if isinstance(choice, NoFloor) else None,
    }


def _policies(policies: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {key: _plain(value) for key, value in row.items()}
        for row in policies.to_dict("records")
    ]


def _old(calibration: Calibration) -> dict[str, Any] | None:
    if calibration.old is None:
        return None
    return {"floor": calibration.params.old_floor, "rates": _rates(calibration.old)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def strip_nan(value: Any) -> Any:
    """Replace NaN and infinities by null and numpy scalars by plain ones, all the way down."""
    if isinstance(value, Mapping):
        return {key: strip_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_nan(item) for item in value]
    return _plain(value)
