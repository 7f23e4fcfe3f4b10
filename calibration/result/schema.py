"""The JSON Schema of recommendation.json."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def recommendation_schema() -> dict[str, Any]:
    """Return the schema as a dictionary (JSON Schema, draft 2020-12)."""
    text = (Path(__file__).parent / "recommendation.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
