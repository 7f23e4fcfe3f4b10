"""One cell of a label or score file: what it may hold, and the value it stands for. Every refusal is a ValueError."""

import math
import re
from decimal import Decimal
from uuid import UUID

GRADE_WORDS = {
    "yes": 1,
    "true": 1,
    "relevant": 1,
    "no": 0,
    "false": 0,
    "irrelevant": 0,
    "not relevant": 0,
    "non-relevant": 0,
    "nonrelevant": 0,
}
"""Words a relevance column may use instead of grades; case does not matter. Any other word is refused."""

NOT_SCORED = frozenset({"", "null", "none", "na", "n/a", r"\n"})
"""Texts (lower case) that say "no value" in a score or relevance column. NaN is not one: it is an invalid score."""

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_LARGEST_GRADE = 2**31


def shown(value: object) -> str:
    """Show a value in a message, at most 60 characters of it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def is_absent(value: object) -> bool:
    """Tell whether an optional text cell is empty: null, blank, or the NaN that stands for null in a text column.

    Examples
    --------
    >>> [is_absent(value) for value in (None, "", "  ", float("nan"), "0", 0)]
    [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def clean_text(value: object) -> str:
    r"""Return a text unchanged, or say why it cannot be embedded or stored.

    Examples
    --------
    >>> clean_text("two\u2028lines, one text")
    'two\u2028lines, one text'
    """
    if value is None:
        raise ValueError("is missing")
    if not isinstance(value, str):
        raise ValueError(f"is {shown(value)}, expected text")
    if not value.strip():
        raise ValueError("is empty or blank")
    return storable(value)


def storable(value: str) -> str:
    """Refuse what neither UTF-8 nor PostgreSQL can hold: null bytes and lone surrogates."""
    if "\x00" in value:
        raise ValueError(f"holds a null byte after {shown(value[: value.index(chr(0))][-20:])}; remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"holds half of a surrogate pair at character {error.start + 1}, which is no text; repair it"
        ) from None
    return value


def clean_id(value: object) -> str:
    """Return an id as text, never through a number: "007" and "1e5" stay as they are.

    Examples
    --------
    >>> clean_id("007"), clean_id("1e5"), clean_id(7)
    ('007', '1e5', '7')
    """
    if is_absent(value):
        raise ValueError("is missing")
    if isinstance(value, bool) or not isinstance(value, (str, int, UUID)):
        raise ValueError(f"is {shown(value)}, expected text: write ids as text, a number may lose its digits")
    text = str(value)
    if text != text.strip():
        raise ValueError(f"{shown(text)} begins or ends with a blank; remove it in every file")
    return storable(text)


def number(value: object) -> float | None:
    """Read a number; None when the cell is empty, NaN when it says NaN. A decimal comma counts as a point.

    Examples
    --------
    >>> number("0,82"), number("0.82"), number(""), number("null"), number("NaN"), number(0)
    (0.82, 0.82, None, None, nan, 0.0)
    """
    if value is None:
        return None
    if isinstance(value, float):
        return value
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return float(text.replace(",", "."))
        lower = text.lower()
        if lower in NOT_SCORED:
            return None
        if lower.lstrip("+-") == "nan":
            return math.nan
        if lower.lstrip("+-") in {"inf", "infinity"}:
            return -math.inf if lower.startswith("-") else math.inf
    elif isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    raise ValueError(f"is {shown(value)}, expected a number such as 0.82 (or 0,82), without a thousands separator")


def has_decimal_comma(value: object) -> bool:
    """Tell whether a cell was read as a number with a decimal comma."""
    return isinstance(value, str) and "," in value and _NUMBER.fullmatch(value.strip()) is not None


def grade(value: object) -> int:
    """Read a relevance grade: a whole number from 0 up, a boolean, or a word of `GRADE_WORDS`.

    Examples
    --------
    >>> grade("2"), grade("1,0"), grade("Relevant"), grade("no"), grade(True)
    (2, 1, 1, 0, 1)
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.strip().lower() in GRADE_WORDS:
        return GRADE_WORDS[value.strip().lower()]
    try:
        found = number(value)
    except ValueError:
        raise ValueError(
            f"is {shown(value)}, expected a grade: a whole number from 0 up, or one of {', '.join(GRADE_WORDS)}"
        ) from None
    if found is None:
        raise ValueError("is missing: a judgement needs a grade; leave the row out if nobody has judged the passage")
    if not math.isfinite(found) or found != int(found):
        raise ValueError(f"is {shown(value)}, expected a whole number")
    if found < 0:
        raise ValueError(f"is {shown(value)}: grades start at 0; map negative grades to 0, or leave the row out")
    if found > _LARGEST_GRADE:
        raise ValueError(f"is {shown(value)}, too large for a grade")
    return int(found)
