"""migration.json: what a migration does to the accepted sets, and the receipt from which it can be told again."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .document import strip_nan
from .files import dumps, write_text

if TYPE_CHECKING:
    import pandas as pd

    from ..studies.migrate.study import Migration

MIGRATION = "migration.json"
MIGRATION_VERSION = 1
RECEIPT = ("exact_candidates", "exact_scores", "exact_accepted", "candidates", "scores", "accepted")


def migration_document(migration: "Migration") -> dict[str, Any]:
    """Everything a reviewer or a later comparison needs, as plain JSON values; no text of queries or passages.

    Keys and types are fixed by the JSON Schema that ships beside this module (`migration_schema`).
    """
    from ..studies.facts import versions

    found = migration
    conversion = None
    if found.conversion is not None:
        conversion = {**found.conversion.to_dict(), "boundary": list(found.conversion.boundary)}
    document = {
        "schema_version": MIGRATION_VERSION,
        "verdict": found.verdict,
        "findings": list(found.findings),
        "conversion": conversion,
        "refused": found.refused,
        "queries": len(found.query_ids),
        "best_candidate": {**found.near, "margin": found.margin},
        "agreement": {
            name: {key: value for key, value in asdict(one).items() if key != "step"}
            for name, one in found.agreement.items()
        },
        "recall": {side: {name: asdict(rate) for name, rate in rates.items()} for side, rates in found.recall.items()},
        "missing_candidates": found.missing,
        "causes": found.causes,
        "flips": found.flips.to_dict("records"),
        "wrong_migrations": found.wrong.to_dict("records"),
        "rates": {
            column: {name: asdict(rate) for name, rate in rates.items()} for column, rates in found.rates.items()
        },
        "receipt": receipt(found),
        "versions": versions(),
    }
    plain: dict[str, Any] = strip_nan(document)
    return plain


def receipt(migration: "Migration") -> dict[str, Any]:
    """Give what was compared: facts of both sides, and each query's candidates with raw scores and accepted ids."""
    listed = {name: _listed(migration.pairs, name, side.k) for name, side in migration.sides.items()}
    nothing: dict[str, list[Any]] = {name: [] for name in RECEIPT}
    return {
        "sides": {name: side.describe() for name, side in migration.sides.items()},
        "queries": [
            {"query_id": query, **{name: rows.get(query, nothing) for name, rows in listed.items()}}
            for query in migration.query_ids
        ],
    }


def save_migration(migration: "Migration", folder: Path | str) -> dict[str, Any]:
    """Write migration.json into a folder and return what it says."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document = migration_document(migration)
    write_text(folder / MIGRATION, dumps(document) + "\n")
    return document


def _listed(pairs: "pd.DataFrame", side: str, k: int) -> dict[str, dict[str, list[Any]]]:
    """Give one side's candidates, raw scores and accepted ids, best first, by query."""
    found: dict[str, dict[str, list[Any]]] = {}
    for prefix, rank in (("exact_", "exact_rank"), ("", "rank")):
        rows = pairs[pairs[f"{side}_{rank}"] <= k].sort_values(f"{side}_{rank}", kind="stable")
        columns = ("query_id", "doc_id", f"{side}_score", f"{side}_{prefix}accepted")
        for query, doc, score, accepted in zip(*(rows[name].tolist() for name in columns), strict=True):
            one = found.setdefault(query, {name: [] for name in RECEIPT})
            one[f"{prefix}candidates"].append(doc)
            one[f"{prefix}scores"].append(score)
            if accepted:
                one[f"{prefix}accepted"].append(doc)
    return found
