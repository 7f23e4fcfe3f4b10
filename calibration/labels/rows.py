"""One strict model per kind of row, and the check of a whole table against one."""

from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from .cells import clean_id, clean_text, grade, is_absent, shown, storable
from .tables import Table

Answerability = Literal["answerable", "off_topic", "missing_answer", "unknown"]
ANSWERABILITY: tuple[Answerability, ...] = get_args(Answerability)
Must = Literal["hit", "refuse", "-"]


def _word(allowed: tuple[str, ...], *, absent: str | None) -> BeforeValidator:
    def check(value: object) -> str | None:
        if is_absent(value):
            return absent
        if isinstance(value, str) and value.strip() in allowed:
            return value.strip()
        raise ValueError(f"is {shown(value)}, expected one of {', '.join(allowed)}, or nothing")

    return BeforeValidator(check)


def _optional_id(value: object) -> str | None:
    return None if is_absent(value) else clean_id(value)


def _optional_text(value: object) -> str | None:
    return None if is_absent(value) else clean_text(value)


def _storable(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"is {shown(value)}, expected text")
    return storable(value)


def _optional_name(value: object) -> str | None:
    text = _optional_text(value)
    return None if text is None else text.strip()


def _kind(value: object) -> str:
    name = _optional_name(value)
    return "-" if name is None else name


Id = Annotated[str, BeforeValidator(clean_id)]
OptionalId = Annotated[str | None, BeforeValidator(_optional_id)]
Text = Annotated[str, BeforeValidator(clean_text)]
OptionalText = Annotated[str | None, BeforeValidator(_optional_text)]
OptionalName = Annotated[str | None, BeforeValidator(_optional_name)]


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class ScoredQuery(_Row):
    """A query as a score file may state it: its text may be missing."""

    query_id: Id
    text: OptionalText = None
    kind: Annotated[str, BeforeValidator(_kind)] = "-"
    answerability: Annotated[Answerability | None, _word(ANSWERABILITY, absent=None)] = None
    group: OptionalId = None
    must: Annotated[Must, _word(get_args(Must), absent="-")] = "-"
    collection: OptionalName = None


class Query(ScoredQuery):
    """A query of a queries file: it has a text."""

    text: Text


class Judgement(_Row):
    """What somebody said of one passage for one query."""

    query_id: Id
    doc_id: Id
    relevance: Annotated[int, BeforeValidator(grade)]


class Document(_Row):
    """A passage of the corpus; `document_id` is the document it was cut from. A title alone is a passage too."""

    doc_id: Id
    title: Annotated[str, BeforeValidator(_storable)] = ""
    text: Annotated[str, BeforeValidator(_storable)]
    document_id: OptionalId = None
    collection: OptionalName = None

    @model_validator(mode="after")
    def _not_blank(self) -> Self:
        if is_absent(self.text) and is_absent(self.title):
            raise ValueError("text is empty or blank, and there is no title")
        return self


class MarkedAnswer(_Row):
    """The words of a passage that answer a query; None where nobody has marked them yet."""

    query_id: Id
    doc_id: Id
    answer: OptionalText = None


class Probe(_Row):
    """A generic question that is off-topic almost everywhere."""

    query_id: Id
    text: Text
    language: Text
    subject: Text
    kind: Text


Row = TypeVar("Row", bound=_Row)
Located = dict[int, Row]
"""Row number in the table (from 0) -> the checked row."""


def checked(table: Table, model: type[Row], problems: list[str]) -> Located[Row]:
    """Check every row; the good ones are returned, every problem of the others is said by line."""
    names = list(table.columns)
    good: Located[Row] = {}
    for index, cells in enumerate(zip(*table.columns.values(), strict=True)):
        try:
            good[index] = model.model_validate(dict(zip(names, cells, strict=True)))
        except ValidationError as error:
            problems += [f"{table.at(index)}: {message}" for message in messages(error)]
    return good


def messages(error: ValidationError) -> list[str]:
    """Turn pydantic's findings into this package's sentences: "text is empty or blank".

    Examples
    --------
    >>> try:
    ...     Query.model_validate({"query_id": "q1", "text": " ", "must": "win"})
    ... except ValidationError as error:
    ...     messages(error)
    ['text is empty or blank', "must is 'win', expected one of hit, refuse, -, or nothing"]
    """
    found = []
    for item in error.errors(include_url=False):
        cause: Any = item.get("ctx", {}).get("error", item["msg"])
        found.append(f"{item['loc'][0]} {cause}" if item["loc"] else str(cause))
    return found
