"""Numbers and foreign texts as people read them; nothing here trusts an id, a name or a passage."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..choose import Rate

JOINERS = "\u200c\u200d"
SHORT = 40
LONG = 300
_PASSWORD = (
    re.compile(r"(://[^/\s:@]*:)[^@\s]*(@)"),
    re.compile(r"(\bpass(?:word|wd)?\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s'&]+)()", re.IGNORECASE),
)


def shorten(text: object, limit: int = SHORT) -> str:
    r"""Make foreign text fit for a label: one line, no control or direction marks, an ellipsis beyond the limit.

    Examples
    --------
    >>> shorten("a\x00b\u202ec\nd"), shorten("x" * 100, 5)
    ('a�b�c d', 'xxxx…')
    """
    # a 100 kB word is cut before anything looks at each of its characters
    kept = str(text)[: limit * 4]
    cut = len(str(text)) > len(kept)
    line = "".join(" " if c.isspace() else c if _printable(c) else "�" for c in kept)
    line = " ".join(line.split())
    return line if len(line) <= limit and not cut else line[: limit - 1].rstrip() + "…"


def without_passwords(text: str) -> str:
    """Hide what stands where a connection string has its password.

    Examples
    --------
    >>> without_passwords("postgresql://u:S3cret@h/db"), without_passwords("host=h password=S3cret")
    ('postgresql://u:***@h/db', 'host=h password=***')
    """
    for pattern in _PASSWORD:
        text = pattern.sub(r"\1***\2", text)
    return text


def exact(value: float) -> str:
    """Give a number in full, so that it can be copied and deployed.

    Examples
    --------
    >>> exact(0.0), exact(0.30486), exact(1 / 3)
    ('0.0', '0.30486', '0.3333333333333333')
    """
    return repr(float(value))


def short(value: float) -> str:
    """Give a similarity or a cost in four digits.

    Examples
    --------
    >>> short(0.0), short(0.304861), short(-0.05)
    ('0', '0.3049', '−0.05')
    """
    return f"{value:.4g}".replace("-", "−")


def percent(value: float | None) -> str:
    """Give a rate as a percentage.

    Examples
    --------
    >>> percent(0.958), percent(1.0), percent(None)
    ('95.8%', '100%', 'undefined')
    """
    return "undefined" if value is None else f"{value * 100:.1f}".removesuffix(".0") + "%"


def percent_or_missing(value: float) -> str | None:
    """Give a rate as a percentage, NaN as missing."""
    return None if is_missing(value) else percent(value)


def interval(rate: Rate) -> str:
    """Give the 95% interval of a rate.

    Examples
    --------
    >>> interval(Rate(0.9, 43, 48, 0.778, 0.955)), interval(Rate(None, 0, 0, None, None))
    ('78–96%', '')
    """
    if rate.low is None or rate.high is None:
        return ""
    return f"{rate.low * 100:.0f}–{rate.high * 100:.0f}%"


def out_of(rate: Rate) -> str:
    """Give a rate's numerator and denominator.

    Examples
    --------
    >>> out_of(Rate(0.9, 45, 50, 0.8, 0.95)), out_of(Rate(0.905, 45.25, 50, 0.8, 0.95))
    ('45 of 50', 'mean of 50')
    """
    if rate.numerator != int(rate.numerator):
        return f"mean of {rate.denominator}"
    return f"{rate.numerator:g} of {rate.denominator}"


def counted(n: float, noun: str, plural: str | None = None) -> str:
    """Give a count with its noun.

    Examples
    --------
    >>> counted(1, "query", "queries"), counted(12000, "passage")
    ('1 query', '12,000 passages')
    """
    return f"{n:,g} {noun}" if n == 1 else f"{n:,.0f} {plural or noun + 's'}"


def listing(names: Sequence[object], limit: int = 5) -> str:
    """Enumerate some names and count the rest.

    Examples
    --------
    >>> listing(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = [shorten(name) for name in names[:limit]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def is_missing(value: object) -> bool:
    """Tell whether a cell is None, NaN or NA; 0.0, "" and False are values."""
    return value is None or value is pd.NA or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Give the rows of a frame one by one."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _printable(character: str) -> bool:
    return character in JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
