"""python.md: the public names, with signatures from the source."""

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

import calibration
from calibration import errors, pytest_plugin, testing

from .text import first, paragraph, table


def python() -> Iterator[str]:
    """Write the page."""
    yield from paragraph(
        "`import calibration` loads no numpy; names are looked up when they are used. What is not on this page may"
        " change without notice."
    )
    yield from ["## calibration", ""]
    for name in sorted(calibration.__all__, key=str.lower):
        yield from _public(f"calibration.{name}", getattr(calibration, name))
    yield from ["## calibration.testing", "", *paragraph(first(testing))]
    for name in testing.__all__:
        yield from _public(f"calibration.testing.{name}", getattr(testing, name))
    yield from ["## calibration.pytest_plugin", ""]
    yield from paragraph(f"{first(pytest_plugin)} [ci.md](../ci.md#pytest) has an example.")
    fixtures = [
        ("`calibration_check`", "fixture: the whole check of the baseline; `.ok`, `.failures`, `.changes`"),
        ("`must_query`", "parameter: one query after the other that must hit or be refused; `.text`, `.verify(ids)`"),
        (f"`{pytest_plugin.BASELINE}`", "setting: the baseline, by default `baseline`"),
        (f"`{pytest_plugin.CONFIG}`", "setting: calibration.toml of the live system, without a run.json"),
    ]
    yield from table(("name", "meaning"), fixtures)
    yield from ["## Errors", "", *paragraph("All derive from `calibration.CalibrationError`, in `calibration.errors`.")]
    kinds = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, Exception)]
    yield from table(("error", "when"), [(f"`{kind.__name__}`", first(kind)) for kind in kinds])


def _public(name: str, thing: Any) -> Iterator[str]:
    yield from [f"### {name.rsplit('.', 1)[1]}", "", first(thing), ""]
    if inspect.isclass(thing) and issubclass(thing, BaseModel):
        yield from ["The fields are in [parameters](parameters.md).", ""]
    elif inspect.isclass(thing) and issubclass(thing, Enum):
        yield from [", ".join(f"`{one.name} = {one.value}`" for one in thing), ""]
    elif not (inspect.isclass(thing) and issubclass(thing, Exception)):
        yield from ["```python", signature(name, thing), "```", ""]


def signature(name: str, thing: Any) -> str:
    """Write a signature as it stands in the source, plain constants by their value, an argument a line where long."""
    known = vars(sys.modules[thing.__module__])
    node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    result = ""
    if isinstance(node, ast.FunctionDef):
        parts = _arguments(node.args, known)
        result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    elif isinstance(node, ast.ClassDef):
        fields = [line for line in node.body if isinstance(line, ast.AnnAssign)]
        parts = [_argument(ast.unparse(one.target), one.annotation, one.value, known) for one in fields]
    else:
        raise TypeError(f"{name} is neither a function nor a class")
    line = f"{name}({', '.join(parts)}){result}"
    return line if len(line) <= 100 else "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){result}"])


def _arguments(found: ast.arguments, known: Mapping[str, Any]) -> list[str]:
    missing = len(found.args) - len(found.defaults)
    pairs = zip(found.args, [*[None] * missing, *found.defaults], strict=True)
    positional = [_argument(one.arg, one.annotation, default, known) for one, default in pairs]
    named = zip(found.kwonlyargs, found.kw_defaults, strict=True)
    rest = [_argument(one.arg, one.annotation, default, known) for one, default in named]
    return [*positional, *(["*", *rest] if rest else [])]


def _argument(name: str, kind: ast.expr | None, default: ast.expr | None, known: Mapping[str, Any]) -> str:
    said = name if kind is None else f"{name}: {ast.unparse(kind)}"
    if default is None:
        return said.replace("'", '"')
    value = known.get(default.id) if isinstance(default, ast.Name) else None
    shown = json.dumps(value) if isinstance(value, int | float | str) else ast.unparse(default)
    return f"{said} = {shown if not isinstance(value, Mapping) else '{}'}".replace("'", '"')
