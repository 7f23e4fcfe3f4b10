"""files.md: what commands write, from the JSON Schemas; what a field means stands in reference/fields.toml."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from calibration.contract.files import contract_schema
from calibration.result import migration_schema, options_schema, recommendation_schema

from .text import JSON, paragraph, table, type_words

FIELDS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).resolve().parents[1] / "reference" / "fields.toml").read_text(encoding="utf-8")
)


def files() -> Iterator[str]:
    """Write the page."""
    yield from paragraph(
        "JSON files hold ids and numbers, no text of queries or passages, and no password. A number that does not exist"
        " is null. `rate`, `band` and other parts that several files share are [at the end](#parts-that-files-share)."
    )
    listed: Mapping[str, tuple[str, str, str | None]] = {
        "recommendation.json": ("`calibrate run`", "recommendation", "result/recommendation.schema.json"),
        "queries.jsonl": ("`calibrate run`", "queries_jsonl", None),
        "scores.parquet": ("`calibrate run`", "scores_parquet", None),
        "run.json": ("`calibrate run`", "run_json", None),
        "comparison.json": ("`calibrate run` with several models", "comparison_json", "result/comparison.schema.json"),
        "check --json": ("`calibrate check --json`", "check_json", None),
        "compare.json": ("`calibrate compare`", "compare_json", None),
        "options.json": ("`calibrate options`", "options", "result/options.schema.json"),
        "hybrid.json": ("`calibrate hybrid`", "hybrid_json", "result/hybrid.schema.json"),
        "migration.json": ("`calibrate migrate`", "migration", "result/migration.schema.json"),
        "carried.json": ("`calibrate carry-labels`", "carried_json", None),
        "Contract file": ("you, for `calibrate migrate`", "contract", "contract/contract.schema.json"),
    }
    for title, (maker, key, schema) in listed.items():
        link = "" if schema is None else f" [JSON Schema](../../calibration/{schema})."
        yield from [f"## {title}", "", f"Written by {maker}.{link}", ""]
        yield from _fields(key)
    yield from ["## Parts that files share", ""]
    whole = {key for _, key, _ in listed.values()}
    for name in schemas():
        if name not in whole:
            yield from [f"### {name}", "", *_fields(name)]


def _fields(key: str) -> Iterator[str]:
    schema = schemas().get(key)
    if schema is None:
        yield from table(("field", "meaning"), [(f"`{name}`", said) for name, said in FIELDS[key].items()])
        return
    meanings = FIELDS.get(key, {})
    rows = [
        (f"`{path}`", type_words(one), meanings.get(path) or one.get("description") or "")
        for path, one in field_paths(schema)
    ]
    yield from table(("field", "type", "meaning"), rows)


def schemas() -> dict[str, JSON]:
    """Schemas by the name they have in fields.toml: of whole files, then of the parts that they share."""
    whole = {
        "recommendation": recommendation_schema(),
        "options": options_schema(),
        "migration": migration_schema(),
    }
    parts = {name: part for schema in whole.values() for name, part in schema.get("$defs", {}).items()}
    return {**whole, **parts, "contract": contract_schema()}


def field_paths(schema: JSON, prefix: str = "") -> Iterator[tuple[str, JSON]]:
    """Walk through a schema: dotted path and schema of every field but those behind a reference."""
    for one in [schema, *schema.get("anyOf", [])]:
        for name, field in one.get("properties", {}).items():
            path = f"{prefix}.{name}" if prefix else name
            yield path, field
            yield from field_paths(field, path)
        if isinstance(one.get("items"), dict):
            yield from field_paths(one["items"], f"{prefix}[]")
