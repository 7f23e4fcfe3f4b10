"""How to get the same result again: command, parameters, versions, fingerprints. Never a secret."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..params import RunParams
from ..studies.model import Calibration
from .base import TableDisplay, style
from .tables import table_html, templates
from .texts import shorten, without_passwords

_SECRET = re.compile(r"passw(or)?d|secret|token|api_?key|credential", re.IGNORECASE)
_SOCKET = re.compile(r"\bhost=(?:/\S+|'/[^']*')")
_SKIPPED = ("date", "parameters", "ceiling", "search_plan")
_MANY = 24
"""Entries of a fact beyond which only their number is shown."""


class ReproduceDisplay(TableDisplay):
    """Everything that was put in, and where it came from."""

    title = "Where this comes from"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per fact: what (dotted), value."""
        rows = [(f"parameters.{name}", value) for name, value in self._parameters().items()]
        rows += list(_flat({name: value for name, value in self.calibration.facts.items() if name not in _SKIPPED}))
        return pd.DataFrame(
            [(what, _public(what, value)) for what, value in rows], columns=["what", "value"], dtype="object"
        )

    @property
    def caption(self) -> str:
        """What the tables hold."""
        return "Run this again with the command below; secrets come from the environment and are not part of it."

    def command(self) -> str:
        """Give the command line that repeats this run."""
        given = self.calibration.facts.get("command")
        if isinstance(given, str):
            return without_passwords(given)
        words = ["calibrate", "run"]
        for name, value in self._parameters().items():
            words += _option(name, value)
        return without_passwords(shlex.join(words))

    def _parameters(self) -> dict[str, Any]:
        return self.calibration.params.model_dump(mode="json", exclude_defaults=True)

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        part = frame["what"].str.split(".").str[0]
        tables = []
        for name in dict.fromkeys(part):
            rows = frame[part == name]
            shown = rows.assign(what=rows["what"].str.removeprefix(f"{name}.").str.replace("_", " "))
            tables.append(table_html(shown, name.replace("_", " ").capitalize(), headers={"what": "", "value": ""}))
        return tables

    def _repr_html_(self) -> str:
        return (
            templates()
            .get_template("reproduce.html")
            .render(style=style(), command=shorten(self.command(), 2000), lead=self.caption, tables=self._tables())
        )


def _flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        key = f"{prefix}{shorten(name, 60)}"
        if isinstance(value, Mapping) and 0 < len(value) <= _MANY:
            yield from _flat(value, f"{key}.")
        elif isinstance(value, Mapping):
            yield key, f"{len(value)} entries"
        else:
            yield key, value


def _public(what: str, value: Any) -> str:
    if _SECRET.search(what.rsplit(".", 1)[-1]):
        return "***"
    if isinstance(value, (list, tuple)) and len(value) > _MANY:
        return f"{len(value)} values"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    # a socket's path names folders, and often people, of the machine that ran this
    return shorten(_SOCKET.sub("host=(local socket)", without_passwords(text)), 300)


def _option(name: str, value: Any) -> list[str]:
    option = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [option if value else f"--no-{name.replace('_', '-')}"]
    if value is None:
        return [] if RunParams.model_fields[name].default is None else [option, "none"]
    if isinstance(value, list):
        return [word for item in value for word in (option, str(item))]
    if isinstance(value, dict):
        return [option, json.dumps(value)]
    return [option, str(value)]
