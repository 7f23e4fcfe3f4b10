"""compare.json: what moved between two runs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..studies.check.baseline import Baseline
from ..studies.check.runs import RunsCompared
from .check_document import rate_document
from .document import strip_nan
from .files import dumps, write_text

COMPARE = "compare.json"


def save_runs_compared(compared: RunsCompared, folder: Path | str) -> dict[str, Any]:
    """Write compare.json into a folder and return what it says."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document = runs_compared_document(compared)
    write_text(folder / COMPARE, dumps(document) + "\n")
    return document


def runs_compared_document(compared: RunsCompared) -> dict[str, Any]:
    """Say what moved in plain JSON values; ids, no texts."""
    document: dict[str, Any] = strip_nan(
        {
            "schema_version": 1,
            "old": _run(compared.old),
            "new": _run(compared.new),
            "stale": compared.stale,
            "changes": [asdict(change) for change in compared.changes],
            "old_floor_on_new_scores": {rate.measure.name: rate_document(rate) for rate in compared.carried},
            "own_floors": {rate.measure.name: rate_document(rate) for rate in compared.own},
            "worse": compared.worse,
            "must": [asdict(must) for must in compared.musts],
            "accepted_sets": [asdict(change) for change in compared.accepted],
            "not_asked": list(compared.missing),
            "ceiling": None if compared.ceiling is None else asdict(compared.ceiling),
            "agreement": asdict(compared.agreement),
            "verdict": compared.verdict,
        }
    )
    return document


def _run(one: Baseline) -> dict[str, Any]:
    document = one.document
    return {
        "recommendation": str(one.path),
        "model": document["model"],
        "date": document.get("date"),
        "floor": document["floor"],
        "top_k": document["top_k"],
        "status": document.get("status"),
        "bands": {name: document["bands"].get(name) for name in ("best_relevant", "far_noise")},
        "fingerprint": document["fingerprint"].get("all"),
    }
