"""Tables as HTML: escaped, captioned, numbers to the right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from .texts import LONG, is_missing, short, shorten

LONG_TEXT = 28
"""Characters from which a column keeps a width of its own on a phone."""


@cache
def templates() -> jinja2.Environment:
    """Build the environment whose templates escape everything."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )


@dataclass(frozen=True)
class Cell:
    """One cell: text, whether it is a number, a smaller line under it, and the place of the query it names."""

    text: str
    number: bool
    detail: str = ""
    query: int | None = None

    @property
    def pieces(self) -> list[str]:
        """The detail, cut before an interval: a line breaks there, never within one.

        Examples
        --------
        >>> Cell("86.6%", True, "97 of 112 [79–92%]").pieces
        ['97 of 112', '[79–92%]']
        """
        before, bracket, inside = self.detail.partition(" [")
        return [before, f"[{inside}"] if self.number and bracket else [self.detail]


def table_html(
    frame: pd.DataFrame,
    caption: str,
    *,
    headers: Mapping[str, str] | None = None,
    note: str = "",
    limit: int = LONG,
    code: Sequence[str] = (),
) -> Markup:
    """Render a frame; its first column heads the rows.

    Parameters
    ----------
    headers : mapping, optional
        Column to heading; by default the name with spaces.
    note : str
        Said under the table, for instance that rows were left out.
    limit : int
        Longest text of a cell.
    code : sequence of str
        Columns set in a fixed-width font, to be copied.
    """
    headers = headers or {}
    columns = [str(column) for column in frame.columns]
    rows = [[cell(value, limit) for value in row] for row in frame.itertuples(index=False, name=None)]
    numeric = [bool(rows) and all(row[i].number or row[i].text == "–" for row in rows) for i in range(len(columns))]
    long = [
        any(len(row[i].text) > LONG_TEXT or len(row[i].detail) > LONG_TEXT for row in rows) for i in range(len(columns))
    ]
    heads = [shorten(headers.get(column, column.replace("_", " ")), limit) for column in columns]
    html = (
        templates()
        .get_template("table.html")
        .render(
            caption=caption,
            heads=heads,
            rows=rows,
            numeric=numeric,
            long=long,
            note=note,
            code=[column in code for column in columns],
        )
    )
    return Markup(html)  # noqa: S704 - rendered with autoescape


def folded(summary: str, *tables: Markup) -> Markup:
    """Put tables behind a line to click: there for whoever asks, and on paper."""
    opened = Markup('<details class="cal-fold"><summary>{}</summary>').format(summary)
    return opened + Markup("").join(tables) + Markup("</details>")


def cell(value: Any, limit: int = LONG) -> Cell:
    """Turn a value into a cell; missing is a dash, 0.0 is a value.

    Examples
    --------
    >>> cell(0.0), cell(None).text, cell(True).text
    (Cell(text='0', number=True, detail='', query=None), '–', 'yes')
    """
    if isinstance(value, Cell):
        return value
    if is_missing(value):
        return Cell("–", False)
    if isinstance(value, (bool, np.bool_)):
        return Cell("yes" if value else "no", False)
    if isinstance(value, (int, np.integer)):
        return Cell(f"{int(value):,}".replace("-", "−"), True)
    if isinstance(value, (float, np.floating)):
        return Cell({np.inf: "∞", -np.inf: "not scored"}.get(float(value)) or short(float(value)), True)
    if isinstance(value, (list, tuple)):
        return Cell(shorten(", ".join(str(item) for item in value[:20]), limit), False)
    text = shorten(value, limit)
    return Cell(text, _looks_numeric(text))


def _looks_numeric(text: str) -> bool:
    return (
        bool(text) and (text[0].isdigit() or text[0] in "−-") and not any(c.isalpha() for c in text.replace("of", ""))
    )
