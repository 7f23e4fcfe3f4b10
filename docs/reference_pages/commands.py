"""commands.md: every command with its arguments and options, from the command line itself."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typer.models import ArgumentInfo, OptionInfo

from calibration import HybridParams, OptionsParams, RunParams
from calibration.choose import plan
from calibration.cli import app
from calibration.cli.plan import CONFIDENCE, TARGET
from calibration.studies.migrate import study

from .text import NONE, paragraph, table

READS: dict[str, type[BaseModel]] = {
    "run": RunParams, "inspect": RunParams, "doctor": RunParams, "hybrid": HybridParams, "options": OptionsParams,
}  # fmt: skip
"""Commands whose options are parameters: what is not given is read from calibration.toml, else has its default."""
OTHER_NAMES = {"exclude_subject": "exclude_subjects", "language": "languages", "answerability": "answerability_by_kind"}
"""Options whose parameter is named otherwise."""
SAID: dict[tuple[str, str], str] = {
    **{(name, "model"): "`minilm`" for name in READS},
    **{(name, "out"): "`reports/runs/` and the name of labels, file or table" for name in READS},
    **{(name, "labels"): "the sample" for name in READS},
    **{("check", name): "the baseline's" for name in RunParams.model_fields},
    ("check", "config"): "the baseline's `run.json`",
    ("run", "model"): "`minilm`; for the sample, all three offline models",
    ("run", "config"): "`calibration.toml`, if it is here",
    ("check", "tolerance"): "what is within noise",
    ("plan", "n"): ", ".join(f"`{n}`" for n in plan.SIZES),
    ("plan", "target"): f"`{TARGET}`",
    ("plan", "confidence"): f"`{CONFIDENCE}`",
    ("migrate", "top_k"): f"`{study.TOP_K}`",
    ("lab", "folder"): "`notebooks`, else the bundled ones",
}
"""Defaults that follow from more than one value."""


class Row(NamedTuple):
    """One option or argument of a command."""

    name: str
    value: str
    default: str
    meaning: str
    is_option: bool
    required: bool


def commands() -> Iterator[str]:
    """Write the page."""
    yield from paragraph(
        "Options win over `--set`, and that over calibration.toml. An option that is not given has the default of its"
        " [parameter](parameters.md) (– is none). Data goes to stdout, progress and messages to stderr. `--help` of"
        " each command says the same as this page. Exit codes are [here](README.md#exit-codes)."
    )
    for command in app.registered_commands:
        name, call = str(command.name), command.callback
        if call is None:
            raise TypeError(f"{name} calls nothing")
        rows = command_rows(name, call)
        summary, *rest = inspect.cleandoc(call.__doc__ or "").split("\n\n")
        needed = [f"{row.name} {row.value.strip('`')}" for row in rows if row.is_option and row.required]
        given = [row.name if row.required else f"[{row.name}]" for row in rows if not row.is_option]
        yield from [f"## calibrate {name}", "", f"**{summary}** {' '.join(' '.join(rest).split())}".rstrip(), ""]
        yield from ["```", " ".join(["calibrate", name, *given, *needed, "[OPTIONS]"]), "```", ""]
        for title, chosen in (("argument", False), ("option", True)):
            found = [row for row in rows if row.is_option == chosen]
            cells = [(f"`{row.name}`", row.value, row.default, row.meaning) for row in found]
            yield from table((title, "value", "default", "meaning"), cells)


def command_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """List arguments, then options, of a command."""
    hints = get_type_hints(call, include_extras=True)
    rows = []
    for parameter in inspect.signature(call).parameters.values():
        kind, info = get_args(hints[parameter.name])[:2]
        option = isinstance(info, OptionInfo)
        if not option and not isinstance(info, ArgumentInfo):
            raise TypeError(f"{name}: {parameter.name} is neither an option nor an argument")
        required = parameter.default is inspect.Parameter.empty
        decls = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
        shown = ", ".join(decls) if option else info.metavar or parameter.name.upper()
        default = "required" if required else _default(name, parameter.name, parameter.default)
        rows.append(Row(shown, _value(kind, info), default, info.help or "", option, required))
    return sorted(rows, key=lambda row: row.is_option)


def _default(command: str, name: str, default: object) -> str:
    if isinstance(default, bool):
        return "off" if not default else "on"
    if default is not None:
        return f"`{default}`"
    if (command, name) in SAID:
        return SAID[command, name]
    model = READS.get(command)
    field = model.model_fields.get(OTHER_NAMES.get(name, name)) if model is not None else None
    value = None if field is None else field.get_default(call_default_factory=True)
    return NONE if value is None or value == [] or value == {} else f"`{value}`"


def _value(kind: Any, info: OptionInfo | ArgumentInfo) -> str:
    """Show what an option takes: its choices, its placeholder, or nothing for a flag."""
    kinds = [one for one in _alternatives(kind) if one is not type(None)]
    repeated = [get_args(one)[0] for one in kinds if get_origin(one) is list]
    choices = [str(choice) for one in kinds if get_origin(one) is Literal for choice in get_args(one)]
    if kinds == [bool]:
        return ""
    said = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}[(repeated or kinds)[0]] if not choices else ""
    shown = " ".join(f"`{choice}`" for choice in choices) or f"`{info.metavar or said}`"
    limits = [f"from {info.min}" if info.min is not None else "", f"to {info.max}" if info.max is not None else ""]
    return " ".join(filter(None, [shown, *limits, "…" if repeated else ""]))


def _alternatives(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _alternatives(part)]
    return [kind]
