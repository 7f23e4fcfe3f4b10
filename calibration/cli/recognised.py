"""What `calibrate init` makes of a database: the sections of calibration.toml, and the questions that are left."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from ..errors import ParameterError, listed

if TYPE_CHECKING:
    from ..sources.postgres.matchfunctions import MatchFunction
    from ..sources.postgres.recognise import VectorTable

API_WIDTHS = {1536: ("openai:text-embedding-3-small",), 3072: ("openai:text-embedding-3-large",)}
"""Dimensions -> models behind an API that give them by default; others may as well."""


@dataclass(frozen=True)
class Given:
    """What the command line said."""

    dsn: str | None
    service: str | None
    table: str | None = None
    collection: str | None = None
    id_column: str | None = None
    vector_column: str | None = None
    model: str | None = None


class Asker:
    """Asks in a terminal; elsewhere, and with --yes, says which option was lacking."""

    def __init__(self, yes: bool) -> None:
        self.silent = yes or not sys.stdin.isatty()

    def choose(self, what: str, option: str, names: Sequence[str], shown: Sequence[str]) -> int:
        """Let one of several be chosen; a single one is."""
        if len(names) == 1:
            return 0
        if self.silent:
            raise ParameterError(f"{len(names)} {what}; choose one with {option}:\n" + listed(list(shown)))
        typer.echo(f"{len(names)} {what}:")
        for number, line in enumerate(shown, 1):
            typer.echo(f"  {number}. {line}")
        number = 0
        while not 1 <= number <= len(names):
            number = int(typer.prompt(f"Which one (1 to {len(names)})", type=int))
        return number - 1

    def ask(self, question: str, option: str, default: str | None = None) -> str:
        """Ask for a word."""
        if self.silent:
            raise ParameterError(f"cannot see {question}; say it with {option}.")
        return str(typer.prompt(question[0].upper() + question[1:], default=default))


def sections(given: Given, asker: Asker) -> tuple[str, str, str]:
    """Look at the database and give the sections models, table and old_floor of calibration.toml.

    Raises
    ------
    ParameterError
        There is no such table, or something must be said that nobody can be asked.
    """
    from ..sources.postgres.recognise import recognise
    from ..studies.machine import detach_password

    dsn = None if given.dsn is None else detach_password(given.dsn)
    tables = recognise(dsn, given.service)
    table = _table(given, tables, asker)
    typer.echo(f"found: {table.described}")
    lines = [f"service = {_text(given.service)}"] if dsn is None else [f"dsn = {_text(dsn)}"]
    lines += [
        f"table = {_text(table.name)}" + " " * 4 + f"# {_comment(table.described)}",
        f"id_column = {_text(_id(given, table, asker))}",
        f"vector_column = {_text(_vector(given, table, asker))}",
        *_where(given, table, asker),
        *(f"# {name} = {_text(column)}    # there is such a column" for name, column in table.hints.items()),
    ]
    old_floor = _old_floor(table.functions)
    model = f"models = [{_text(_model(given, table, asker))}]    # made the vectors; it embeds the queries"
    return model, "\n".join(lines), old_floor


def _table(given: Given, tables: Sequence["VectorTable"], asker: Asker) -> "VectorTable":
    if not tables:
        raise ParameterError("no table with a pgvector column can be read there. GRANT SELECT, or another database?")
    if given.table is None:
        shown = [table.described for table in tables]
        return tables[asker.choose("tables hold vectors", "--table", [table.name for table in tables], shown)]
    wanted = given.table.replace('"', "")
    found = [table for table in tables if wanted in (table.name.replace('"', ""), "public." + table.name)]
    if not found:
        raise ParameterError(
            f"no readable table {given.table} with vectors; there are:\n"
            + listed([table.described for table in tables])
        )
    return found[0]


def _id(given: Given, table: "VectorTable", asker: Asker) -> str:
    if given.id_column is not None:
        return given.id_column
    return table.id_column or asker.ask(f"the column of {table.name} with the passages' ids", "--id-column")


def _vector(given: Given, table: "VectorTable", asker: Asker) -> str:
    if given.vector_column is not None:
        return given.vector_column
    names = table.vector_columns
    return names[asker.choose(f"columns of {table.name} hold vectors", "--vector-column", names, names)]


def _where(given: Given, table: "VectorTable", asker: Asker) -> list[str]:
    """Keep to one of LangChain's collections, where there are several."""
    found = table.collections
    if given.collection is not None:
        chosen = [one for one in found if given.collection in (one.name, one.id)]
        if not chosen:
            names = [one.name for one in found]
            raise ParameterError(f"{table.name} has no collection {given.collection}; there are: {', '.join(names)}.")
    elif len(found) < 2:
        return []
    else:
        shown = [f"{one.name}: {one.rows:,} rows" for one in found]
        names = [one.name for one in found]
        chosen = [found[asker.choose(f"collections in {table.name}", "--collection", names, shown)]]
    condition = f"collection_id = '{chosen[0].id}'"
    return [f"where = {_text(condition)}    # the collection {_comment(chosen[0].name)}"]


def _model(given: Given, table: "VectorTable", asker: Asker) -> str:
    if given.model is not None:
        return given.model
    from ..embed import MODELS

    fitting = [spec.name for spec in MODELS.values() if spec.dimensions == table.dimensions]
    fitting += API_WIDTHS.get(table.dimensions or 0, ())
    question = f"the model that made the vectors of {table.dimensions} dimensions"
    if fitting:
        question += f" (with as many: {', '.join(fitting)})"
    return asker.ask(question, "--model", fitting[0] if len(fitting) == 1 else None)


def _old_floor(functions: Sequence["MatchFunction"]) -> str:
    """Name every function with a threshold, and take over the default of the first that is a cosine's."""
    lines, taken = [], False
    for one in functions:
        floor = one.similarity
        what = f"default of {one.parameter} in {one.name}"
        if one.default is None:
            said = f"{one.name} takes {one.parameter} from its callers: look there for the floor in use"
        elif floor is None:
            said = f"{what} is {one.default:g} ({one.scale.replace('_', ' ')}): say what it is on the cosine scale"
        else:
            kept = "kept" if one.inclusive else "rejected"
            distance = "" if floor == one.default else f" ({one.default:g}, a distance)"
            said = f"{what}{distance}; a score equal to it is {kept}"
        typer.echo(f"found: {said}")
        if floor is not None and not taken:
            lines.append(f"old_floor = {floor!r}    # {_comment(said)}")
            taken = True
        else:
            lines.append(f"# {_comment(said)}")
    return (
        "\n".join(lines)
        if taken
        else "\n".join([*lines, "# old_floor = 0.78                  # the floor in use today"])
    )


def _text(value: object) -> str:
    """Write a TOML string."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """Keep foreign text on the line of its comment."""
    return "".join(character if character.isprintable() else " " for character in text)
