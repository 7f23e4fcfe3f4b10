"""`calibrate doctor`: what this machine and your database offer, before anything is scored."""

from typing import Any

import typer

from . import options as o
from .config import run_parameters
from .errors import ERROR


def doctor(
    dsn: o.Dsn = None,
    service: o.Service = None,
    table: o.TableName = None,
    id_column: o.IdColumn = None,
    vector_column: o.VectorColumn = None,
    document_column: o.DocumentColumn = None,
    where: o.Where = None,
    metric: o.Metric = None,
    settings: o.Set = None,
    config: o.Config = None,
    as_json: o.AsJson = False,
) -> None:
    """Examine this machine and your table.

    Looks at packages, models, the cache, the embedded server, and (read only) at your table when one is named. The exit
    code is 1 when something stands in the way of a run.
    """
    given = {
        "dsn": dsn, "service": service, "table": table, "id_column": id_column, "vector_column": vector_column,
        "document_column": document_column, "where": where, "metric": metric,
    }  # fmt: skip
    params = run_parameters(given, config, settings or ())[0]
    from ..result import dumps
    from ..studies.machine import examine

    found = examine(params)
    if as_json:
        typer.echo(dumps({**found.facts, "problems": list(found.problems)}))
    else:
        typer.echo("\n".join(_lines(found.facts)))
        for problem in found.problems:
            typer.echo(f"problem: {problem}")
        if not found.problems:
            typer.echo("nothing stands in the way")
    if found.problems:
        raise typer.Exit(ERROR)


def _lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    lines = []
    for name, value in facts.items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            lines.append(f"{indent}{label}:")
            lines += _lines(value, indent + "  ")
        elif isinstance(value, list):
            lines.append(f"{indent}{label}: {'none' if not value else ''}")
            lines += [f"{indent}  - {item}" for item in value]
        else:
            lines.append(f"{indent}{label}: {_shown(name, value)}")
    return lines


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value / 1e6:.1f} MB" if name == "bytes" else str(value)
