"""hybrid.json: what each score of a hybrid search means, for whoever calls it."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..choose import NoFloor, Rate
from ..retrieval import SIMILARITY
from ..studies.hybrid.measure import Measured
from ..studies.hybrid.study import Hybrid
from .document import strip_nan
from .files import dumps, write_text

HYBRID = "hybrid.json"
HYBRID_VERSION = 1


def save_hybrid(found: Hybrid, folder: Path | str) -> dict[str, Any]:
    """Write hybrid.json into a folder and return what it says."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document = hybrid_document(found)
    write_text(folder / HYBRID, dumps(document) + "\n")
    return document


def hybrid_document(found: Hybrid) -> dict[str, Any]:
    """Say ranges of signals and fusions for whoever calls the search, the gate, and what collapses; ids, no texts.

    Keys and types are those of `hybrid_schema`.
    """
    document: dict[str, Any] = strip_nan(
        {
            "schema_version": HYBRID_VERSION,
            "order": found.order,
            "top_k": found.top_k.value,
            "top_k_chosen_by": found.top_k.chosen_by,
            "depth": found.params.candidate_depth,
            "queries": _counts(found),
            "signals": [_ranges(one, found) for one in found.measured if one.kind == "signal"],
            "fusions": [_ranges(one, found) for one in found.measured if one.kind == "fusion"],
            "fusion": dict(found.facts["fusion"]),
            "gate": _gate(found),
            "collapse": [_collapse(one, found.params.proposed_threshold) for one in found.measured],
            "recall_by_depth": found.depth.to_dict("records"),
            "by_kind": found.kinds.to_dict("records"),
            "pair": None if found.pair is None else asdict(found.pair),
            "caveats": list(found.caveats),
            "source": {name: found.facts.get(name) for name in ("source", "model", "text_search", "rerank")},
            "date": found.facts.get("date"),
            "versions": dict(found.facts.get("versions", {})),
        }
    )
    return document


def _counts(found: Hybrid) -> dict[str, int]:
    table = found.source.table
    labelled = table.loc[~table["probe"], "answerability"].value_counts()
    names = ("answerable", "off_topic", "missing_answer", "unknown")
    return {**{name: int(labelled.get(name, 0)) for name in names}, "probes": int(table["probe"].sum())}


def _ranges(one: Measured, found: Hybrid) -> dict[str, Any]:
    """Describe one score for those who call the search: what it is, where it lies, and whether it may be cut."""
    contract = found.candidates.contracts[one.name]
    floor = one.floor
    return {
        "name": one.name,
        "metric": one.metric,
        "contract": contract.to_dict(),
        "carries_floor": not one.refused,
        "refused": one.refused or None,
        "range": dict(one.summary),
        "best_relevant": dict(one.relevant),
        "off_topic": {**one.off_topic, "source": found.far.source},
        "auc_on_topic_against_off_topic": {"value": one.auc, "low": one.low, "high": one.high},
        "floor": None if floor is None else floor.floor,
        "floor_status": None if floor is None else floor.status,
        "no_floor_because": floor.reason if isinstance(floor, NoFloor) else None,
        "pass_through": one.pass_through,
    }


def _collapse(one: Measured, threshold: float) -> dict[str, Any]:
    return {
        "name": one.name,
        "threshold": threshold,
        "refused": one.refused or None,
        "relevant_kept": None if one.kept is None else asdict(one.kept),
        "answerable_kept": None if one.hits is None else asdict(one.hits),
        "pass_through": one.pass_through,
        "relevant_kept_at_pass_through": None if one.kept_at_gate is None else asdict(one.kept_at_gate),
    }


def _gate(found: Hybrid) -> dict[str, Any]:
    near = found.get(SIMILARITY)
    return {
        "pass_through": {
            "signal": SIMILARITY,
            "where": "before fusion",
            "value": None if near is None else near.pass_through,
            "relevant_kept": None if near is None or near.kept_at_gate is None else asdict(near.kept_at_gate),
        },
        "accept": [
            {"signal": name, "floor": floor.value, "contract": floor.contract.to_dict()}
            for name, floor in found.accept.items()
        ],
        "rule": "a candidate passes that meets any of these floors; without one that does, the result is empty",
        "unscored": found.params.unscored,
        "unscored_means_without": found.gated.judge or None,
        "candidates": found.gated.counts,
        "strong_lexical": {"meaning": found.strong, "n": found.n_strong},
        "recommended": found.recommended,
        "designs": {
            name: {
                "floors": {floor.signal: floor.value for floor in found.gates[name].floors},
                "expected_cost": found.costs[name],
                "rates": _plain(rates),
                "unseen_rates": _plain(found.unseen[name]) if found.unseen else None,
            }
            for name, rates in found.designs.items()
        },
        "rates_are": "of the floors above, on the queries that chose them; unseen_rates of floors chosen without the "
        "queries they meet, which expected_cost weighs where there are any",
        "gated_after_fusion": found.gated_after,
    }


def _plain(rates: Mapping[str, Rate]) -> dict[str, Any]:
    return {name: asdict(rate) for name, rate in rates.items()}
