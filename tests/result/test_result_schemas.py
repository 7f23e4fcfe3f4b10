"""The schemas that ship: each is one, and a document that is none of it is refused."""

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest
from handmade import bands_of, calibration_of

from calibration.result import (
    comparison_schema,
    hybrid_schema,
    migration_schema,
    options_schema,
    recommendation_schema,
)
from calibration.studies.compare import carry_over, comparison_document

Schema = Callable[[], dict[str, Any]]
OPEN = {"source"}
"""Facts of a source, whose keys differ from one kind to the next."""


def objects(schema: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "if" not in schema:
            yield name, schema
        for key, value in schema.items():
            yield from objects(value, key)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value, name)


@pytest.mark.parametrize(
    "schema", [recommendation_schema, comparison_schema, hybrid_schema, options_schema, migration_schema]
)
def test_every_schema_is_one_and_says_its_version(schema: Schema) -> None:
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["properties"]["schema_version"] == {"const": 1}
    assert found["additionalProperties"] is False


@pytest.mark.parametrize("schema", [comparison_schema, hybrid_schema])
def test_a_schema_names_every_key_but_those_of_a_source(schema: Schema) -> None:
    loose = [name for name, one in objects(schema()) if "additionalProperties" not in one and name not in OPEN]
    assert loose == []


def comparison() -> dict[str, Any]:
    near, far = bands_of([0.47, 0.52, 0.45], [0.18, 0.12, 0.20]), bands_of([0.2, 0.3], [0.8, 0.9])
    both = (calibration_of(*near, name="near"), calibration_of(*far, name="none"))
    return comparison_document(carry_over(both))


def test_a_comparison_keeps_to_its_schema() -> None:
    document = comparison()
    assert {one["floor"] is None for one in document["models"]} == {True, False}
    jsonschema.Draft202012Validator(comparison_schema()).validate(document)


@pytest.mark.parametrize("change", [{"pairs": []}, {"models": []}, {"schema_version": 2}, {"texts": ["q"]}])
def test_a_document_that_is_no_comparison_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(comparison_schema()).validate(comparison() | change)
