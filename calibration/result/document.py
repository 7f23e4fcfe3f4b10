"""recommendation.json: the product for machines."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ..choose import Certificate, Gap, NoFloor, Recommendation
from ..contract import conversions
from ..scores.queries import looked_at
from ..studies.fingerprint import fingerprint
from ..studies.model import Calibration
from ..studies.rates import Outcome
from .deploy import deploy_document

SCHEMA_VERSION = 1
BANDS = (
    "relevant",
    "best_relevant",
    "near_noise",
    "unjudged_top",
    "far_noise",
    "off_topic",
    "probes",
    "missing_answer",
)
HIDDEN_RATES = ("precision_low", "unjudged_share")
"""Rates of the report that recommendation.json keeps under `unjudged`."""
AS_THEY_ARE = (
    "query_id", "kind", "answerability", "group", "must", "best_relevant", "top_similarity", "accepted",
    "cause", "boundary", "probe",
)  # fmt: skip
"""Columns of the query table that queries.jsonl takes over."""


def recommendation_document(calibration: Calibration) -> dict[str, Any]:
    """Everything a deployment, a check or a reviewer needs, as plain JSON values; no text of queries or passages.

    Keys and types are fixed by the JSON Schema that ships beside this module (`recommendation_schema`).
    """
    choice, scores = calibration.choice, calibration.scores
    contract = scores.contract.to_dict()
    facts = calibration.facts
    document = {
        "schema_version": SCHEMA_VERSION,
        "model": calibration.name,
        "status": choice.status,
        "reason": _reason(choice),
        "floor": choice.floor,
        "top_k": calibration.top_k.value,
        "top_k_chosen_by": calibration.top_k.chosen_by,
        "top_k_price": _price(calibration),
        "unjudged_top_k": asdict(calibration.unjudged),
        "policy": {
            "name": calibration.params.preset,
            "miss_cost": calibration.costs.miss,
            "false_cost": calibration.costs.false_answer,
            "off_topic_share": calibration.costs.off_topic_share,
            "smoothed": choice.smoothed if isinstance(choice, Recommendation) else False,
            "expected_cost": choice.expected_cost if isinstance(choice, Recommendation) else None,
            "variability": list(choice.variability)
            if isinstance(choice, Recommendation) and choice.variability
            else None,
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
        "fingerprint": fingerprint(facts, contract, scores.n_documents, calibration.params),
        "labels_needed": _labels_needed(choice),
        "conversions": [] if choice.floor is None else conversions(choice.floor, scores.contract),
        "deploy": deploy_document(calibration),
        "policies": calibration.policies.to_dict("records"),
        "segments": _segments(calibration),
        "old_floor": _old(calibration),
        "caveats": list(calibration.caveats),
        "exact": scores.exact,
        "level": scores.level,
        "date": facts.get("date"),
        "versions": dict(facts.get("versions", {})),
    }
    plain: dict[str, Any] = strip_nan(document)
    return plain


def queries_records(calibration: Calibration) -> list[dict[str, Any]]:
    """Make one record per query, probes last, without text: the baseline of a later check."""
    rows = calibration.in_sample.queries.astype({"best_relevant_rank": "float64"})
    return [
        strip_nan(
            {
                **{name: row[name] for name in AS_THEY_ARE},
                "best_relevant_rank": None if math.isnan(row["best_relevant_rank"]) else int(row["best_relevant_rank"]),
                "hit": row["hit"] if row["answerability"] == "answerable" else None,
            }
        )
        for row in rows.to_dict("records")
    ]


def scores_frame(calibration: Calibration) -> pd.DataFrame:
    """Give the scores as stored: query_id, doc_id, similarity (float32, null = not scored), rank, relevance, band."""
    scores, labels, table = calibration.scores, calibration.labels, calibration.table
    rows = scores.observed[["query_id", "doc_id", "similarity", "rank"]].astype({"rank": "Int64"})
    unscored = scores.judged[scores.judged["similarity"].isna()][["query_id", "doc_id", "similarity", "rank"]]
    parts = [part for part in (rows, unscored.astype({"rank": "Int64"})) if len(part)]
    frame = pd.concat(parts, ignore_index=True) if parts else rows
    frame = frame.merge(labels.qrels, on=["query_id", "doc_id"], how="left")
    frame["relevance"] = frame["relevance"].astype("Int64")
    answerability = frame["query_id"].map(dict(zip(table["query_id"], table["answerability"], strict=True)))
    relevant = (frame["relevance"] >= labels.rel_level).fillna(False).to_numpy(dtype=bool)
    judged = frame["relevance"].notna().to_numpy()
    if labels.unjudged == "nonrelevant":
        judged = judged | frame["query_id"].isin(looked_at(labels)).to_numpy()
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
            f"With {certificate.confidence:.0%} confidence at least {certificate.target:.0%} of such queries keep a "
            f"relevant passage within the first {certificate.top_k} at this floor ({certificate.n} query groups)."
        )
    if not choice.smoothed:
        return "Too few labels to smooth: a quarter up the gap between the extremes."
    return (
        f"Least smoothed expected cost; a hit rate of {certificate.target:.0%} is not certified by {certificate.n} "
        "query groups."
    )


def _rates(outcome: Outcome) -> dict[str, Any]:
    rates: dict[str, Any] = {name: asdict(rate) for name, rate in outcome.rates.items()}
    unjudged = {name: rates.pop(name) for name in HIDDEN_RATES}
    rates["recall_by_grade"] = {str(grade): asdict(rate) for grade, rate in outcome.recall_by_grade.items()}
    return {**rates, "unjudged": unjudged}


def _price(calibration: Calibration) -> dict[str, Any]:
    """Say what the cap costs an answerable query, and what the next smaller one would lose and save."""
    price, top_k = calibration.price, calibration.top_k
    passages, tokens = price.at(top_k.value)
    smaller = top_k.next_smaller
    less, fewer = (None, None) if smaller is None else price.at(smaller)
    return {
        "passages_per_query": passages,
        "tokens_per_query": tokens,
        "tokens_counted_by": price.counted_by,
        "queries": price.n,
        "cap_binds": asdict(price.binds),
        "next_smaller": None
        if smaller is None
        else {
            "top_k": smaller,
            "hits_lost": top_k.hits[top_k.value - 1] - top_k.hits[smaller - 1],
            "passages_saved": None if passages is None or less is None else passages - less,
            "tokens_saved": None if tokens is None or fewer is None else tokens - fewer,
        },
    }


def _segments(calibration: Calibration) -> dict[str, Any]:
    """Give the floors of kinds of queries and of collections; null where there is nothing to compare."""
    both = {"kind": calibration.segments, "collection": calibration.collections}
    return {by: None if found is None else [asdict(one) for one in found.segments] for by, found in both.items()}


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    return None if certificate is None else asdict(certificate)


def _gap(gap: Gap, calibration: Calibration) -> dict[str, Any]:
    """Give the gap and the queries that stand in it."""
    choice, bands = calibration.choice, calibration.bands
    blocking = {
        "noise": [bands["far_noise"].query_ids[i] for i in choice.blocking_noise],
        "relevant": [bands["best_relevant"].query_ids[i] for i in choice.blocking_relevant],
    }
    return {**asdict(gap), "blocking": blocking}


def _ceiling(calibration: Calibration) -> dict[str, Any]:
    """Say where the far noise ends today, its rise per tenfold corpus, and the size at which it meets the floor."""
    ceiling, floor = calibration.ceiling, calibration.floor
    return {
        "value": None if ceiling is None else ceiling.value,
        "corpus_size": calibration.scores.n_documents,
        "growth": None if ceiling is None else ceiling.growth,
        "growth_low": None if ceiling is None else ceiling.growth_low,
        "growth_high": None if ceiling is None else ceiling.growth_high,
        "holds_until": None if ceiling is None or floor is None else ceiling.holds_until(floor),
    }


def _labels_needed(choice: Recommendation | NoFloor) -> dict[str, Any]:
    certificate = choice.certificate
    short = 0 if certificate is None else max(0, certificate.needed - certificate.n)
    return {
        "answerable_for_certificate": short,
        "needed": choice.needed if isinstance(choice, NoFloor) else None,
    }


def _old(calibration: Calibration) -> dict[str, Any] | None:
    if calibration.old is None:
        return None
    return {"floor": calibration.params.old_floor, "rates": _rates(calibration.old)}


def strip_nan(value: Any) -> Any:
    """Replace NaN and infinities by null and numpy scalars by plain ones, all the way down."""
    if isinstance(value, Mapping):
        return {key: strip_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_nan(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
