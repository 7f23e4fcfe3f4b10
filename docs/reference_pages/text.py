"""Markdown and words that several pages need."""

import inspect
import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

NONE = "–"
JSON = dict[str, Any]


def type_words(schema: JSON) -> str:
    """Say what a value may be, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
    several = schema.get("anyOf") or schema.get("type")
    if isinstance(several, list):
        alternatives = several if "anyOf" in schema else [{**schema, "type": one} for one in several]
        words = [type_words(one) for one in alternatives if one.get("type") != "null"]
        return " or ".join(words + ["null"] * (len(words) < len(alternatives)))
    kind = "anything" if several is None else str(several)
    name = {"boolean": "true or false", "string": "text", "array": "list"}.get(kind, kind)
    if several == "array":
        inner = type_words(schema["items"]) if schema.get("items") else "anything"
        return f"list of ({inner})" if " or " in inner else f"list of {inner}"
    if several == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_words(schema['additionalProperties'])}"
    ends = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {schema[key]:g}" for key, sign in ends.items() if key in schema]
    return f"{name} {', '.join(limits)}".strip()


def paragraph(text: str) -> list[str]:
    """Wrap a paragraph; an empty line follows."""
    return [*textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False), ""]


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a table, with an empty line behind it; nothing without rows."""
    body = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if body:
        yield from [f"| {' | '.join(header)} |", "| --- " * len(header) + "|", *body, ""]


def first(thing: Any) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
