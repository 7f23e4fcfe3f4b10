"""`calibrate doctor`: what this machine and your database offer, before anything is scored."""

from typing import Any

import typer

from . import options as o
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
    config: o.Config = None,
    as_json: o.AsJson = False,
) -> None:
    """Examine packages, models, the cache, the embedded server, and your table (read only) when one is named."""
    given = {
        "dsn": dsn, "service": service, "table": table, "id_column": id_column, "vector_column": vector_column,
        "document_column": document_column, "where": where, "metric": metric,
    }  # fmt: skip
    params = o.run_parameters(given, config)[0]
    from ..result import dumps
    from ..studies.machine import examine

    found = examine(params)
    if as_json:
        typer.echo(dumps({**found.facts, "problems": list(found.problems)}))
    else:
        typer.echo("\n".join(_lines(found.facts)))
        for problem in found.problems:
            typer.echo(f"problem: {problem}")
        typer.echo("nothing stands in the way" if not found.problems else f"{len(found.problems)} problem(s)")
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
            lines.append(f"{indent}{label}: {'-' if value is None else value}")
    return lines
