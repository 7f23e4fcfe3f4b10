"""The JSON Schemas of what a run leaves for machines; each lies beside this module as `<name>.schema.json`."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def recommendation_schema() -> dict[str, Any]:
    """Return the schema of recommendation.json as a dictionary (JSON Schema, draft 2020-12)."""
    return _read("recommendation")


@cache
def comparison_schema() -> dict[str, Any]:
    """Return the schema of comparison.json, several models on the same labels, as a dictionary."""
    return _read("comparison")


@cache
def hybrid_schema() -> dict[str, Any]:
    """Return the schema of hybrid.json as a dictionary."""
    return _read("hybrid")


@cache
def options_schema() -> dict[str, Any]:
    """Return the schema of options.json as a dictionary."""
    return _read("options")


@cache
def migration_schema() -> dict[str, Any]:
    """Return the schema of migration.json as a dictionary."""
    return _read("migration")


def _read(name: str) -> dict[str, Any]:
    text = (Path(__file__).parent / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
