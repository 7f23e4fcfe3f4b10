"""What a committed baseline has to hold: strict models of a frozen query and of the parts of a recommendation."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from ...labels.rows import Answerability, Must


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class FrozenQuery(_Part):
    """One line of queries.jsonl."""

    query_id: str
    answerability: Answerability
    group: str
    must: Must
    probe: bool = False  # probes were not frozen by the first versions
    accepted: list[str]
    hit: bool | None
    boundary: bool
    top_similarity: FiniteFloat | None


COLUMNS = list(FrozenQuery.model_fields)
"""What is known of a query in a baseline and today."""


class Claim(_Part):
    """A rate as a recommendation states it."""

    numerator: FiniteFloat
    denominator: int


class _InSample(_Part):
    hit_rate: Claim
    empty_context_rate: Claim | None = None
    coverage: Claim | None = None
    false_answer_rate_off_topic: Claim | None = None
    false_answer_rate_probes: Claim | None = None
    false_answer_rate_missing_answer: Claim | None = None


class _Rates(_Part):
    in_sample: _InSample


class _Ceiling(_Part):
    corpus_size: int | None


class FrozenDocument(_Part):
    """The parts of a recommendation.json that a comparison reads."""

    model: str
    floor: FiniteFloat | None
    top_k: int = Field(ge=1)
    contract: dict[str, Any]
    fingerprint: dict[str, Any]
    rates: _Rates
    bands: dict[str, Any]
    ceiling: _Ceiling


Part = TypeVar("Part", bound=_Part)


def problems_of(model: type[Part], value: Any) -> tuple[Part | None, list[str], list[str]]:
    """Check a JSON value: the part (None where it is none), names that are missing, and values that cannot be.

    Examples
    --------
    >>> problems_of(Claim, {"numerator": "3"})
    (None, ['denominator'], ["numerator is '3': input should be a valid number"])
    """
    try:
        return model.model_validate(value), [], []
    except ValidationError as error:
        items = error.errors(include_url=False)
    missing = [_place(item["loc"]) for item in items if item["type"] == "missing"]
    wrong = [
        f"{_place(item['loc'])} is {item['input']!r}: {_expected(item['msg'])}"
        for item in items
        if item["type"] != "missing"
    ]
    return None, missing, wrong


def _expected(said: str) -> str:
    """Leave out what pydantic says for programmers."""
    said = said.split(" or instance of ")[0]
    return said[:1].lower() + said[1:]


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(map(str, loc))
