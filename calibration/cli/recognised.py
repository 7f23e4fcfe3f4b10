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
    from ..sources.postgres.vectortable import Collection, Found, VectorColumn, VectorTable

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
    table = _table(given, recognise(dsn, given.service), asker)
    typer.echo(f"found: {table.described}")
    if table.trouble:
        raise ParameterError(f"the rows of {table.name} cannot be read: {table.trouble}")
    column, collection = _vector(given, table, asker), _collection(given, table, asker)
    dimensions = column.dimensions if collection is None else collection.dimensions
    lines = [f"service = {_text(given.service)}"] if dsn is None else [f"dsn = {_text(dsn)}"]
    lines += [
        f"table = {_text(table.name)}" + " " * 4 + f"# {_comment(table.described)}",
        f"id_column = {_text(_id(given, table, asker))}",
        f"vector_column = {_text(column.name)}",
        *_where(table, collection),
    ]
    model = _model(given, table, dimensions, asker)
    lines += [
        *_model_column(table, model),
        *(
            f"# {name} = {_text(column)}    # there is such a column"
            for name, column in table.hints.items()
            if name != "model_column" or not table.models
        ),
    ]
    old_floor = _old_floor(table.functions)
    return f"models = [{_text(model)}]    # made the vectors; it embeds the queries", "\n".join(lines), old_floor


def _table(given: Given, found: "Found", asker: Asker) -> "VectorTable":
    if not found.tables:
        raise ParameterError(_nothing(found))
    named = found.tables
    if given.table is not None:
        named = [table for table in found.tables if table.is_named(given.table)]
        if not named and given.table.replace('"', "") in (name.replace('"', "") for name in found.hidden):
            raise ParameterError(_may_not(found, [given.table]))
        if not named:
            raise ParameterError(
                f"no readable table {given.table} with vectors; there are:\n"
                + listed([table.described for table in found.tables])
                + _also_hidden(found)
            )
    elif found.hidden:
        typer.echo(f"not readable by {found.role}, and left out: {', '.join(found.hidden)}")
    shown = [table.described for table in named]
    return named[asker.choose("tables hold vectors", "--table", [table.name for table in named], shown)]


def _nothing(found: "Found") -> str:
    """Say why a database has no table to calibrate."""
    if found.hidden:
        return _may_not(found, found.hidden)
    if not found.has_pgvector:
        return f"the database {found.database} has no pgvector, so no table there holds vectors. Another database?"
    return f"no table of the database {found.database} has a column of type vector or halfvec. Another database?"


def _may_not(found: "Found", names: Sequence[str]) -> str:
    return (
        f"the role {found.role} may not read the vectors of {', '.join(names)}. Their owner can allow it: GRANT SELECT "
        f"ON {', '.join(names)} TO {found.role} (and USAGE on the schema)."
    )


def _also_hidden(found: "Found") -> str:
    return f"\nnot readable by {found.role}: {', '.join(found.hidden)}" if found.hidden else ""


def _id(given: Given, table: "VectorTable", asker: Asker) -> str:
    if given.id_column is not None:
        return _known(given.id_column, table.columns, table)
    if table.id_column is not None:
        return table.id_column
    question = f"the column of {table.name} with the passages' ids (it has {', '.join(table.columns)})"
    return _known(asker.ask(question, "--id-column"), table.columns, table)


def _vector(given: Given, table: "VectorTable", asker: Asker) -> "VectorColumn":
    names = [one.name for one in table.vectors]
    if given.vector_column is not None:
        return table.vectors[names.index(_known(given.vector_column, names, table, " with vectors"))]
    shown = [one.described for one in table.vectors]
    return table.vectors[asker.choose(f"columns of {table.name} hold vectors", "--vector-column", names, shown)]


def _known(name: str, names: Sequence[str], table: "VectorTable", what: str = "") -> str:
    if name not in names:
        raise ParameterError(f"{table.name} has no readable column {name}{what}; there are: {', '.join(names)}.")
    return name


def _collection(given: Given, table: "VectorTable", asker: Asker) -> "Collection | None":
    """Keep to one of LangChain's collections, where there are several."""
    found = table.collections
    if given.collection is not None:
        chosen = [one for one in found if given.collection in (one.name, one.id)]
        if not chosen:
            there = f"there are: {', '.join(one.name for one in found)}" if found else "it has none"
            raise ParameterError(f"{table.name} has no collection {given.collection}; {there}.")
        return chosen[0]
    if len(found) < 2:
        return None
    names, shown = [one.name for one in found], [one.described for one in found]
    return found[asker.choose(f"collections in {table.name}", "--collection", names, shown)]


def _where(table: "VectorTable", collection: "Collection | None") -> list[str]:
    if collection is None:
        # the next collection somebody adds would otherwise be measured as well
        if len(table.collections) != 1:
            return []
        [collection] = table.collections
    condition = f"collection_id = '{collection.id}'"
    return [f"where = {_text(condition)}    # the collection {_comment(collection.name)}"]


def _model(given: Given, table: "VectorTable", dimensions: int | None, asker: Asker) -> str:
    from ..embed import MODELS

    widths = {spec.name: spec.dimensions for spec in MODELS.values()}
    fitting = [name for name, width in widths.items() if width == dimensions]
    fitting += API_WIDTHS.get(dimensions or 0, ())
    also = f" (with as many: {', '.join(fitting)})" if fitting else ""
    said = f"; {table.hints['model_column']} says {', '.join(table.models)}" if table.models else ""
    name = given.model
    if name is None:
        # what the table itself says of its vectors is no guess
        known = [one for one in table.models if one in fitting]
        default = known[0] if len(table.models) == len(known) == 1 else None
        if default is not None and asker.silent:
            return default
        question = f"the model that made the vectors of {dimensions or 'unknown'} dimensions{also}{said}"
        name = asker.ask(question, "--model", default or (fitting[0] if len(fitting) == 1 else None))
    if dimensions is not None and widths.get(name, dimensions) != dimensions:
        raise ParameterError(
            f"{name} gives {widths[name]} dimensions, the vectors have {dimensions}: another model made "
            f"them{also}{said}."
        )
    return name


def _model_column(table: "VectorTable", model: str) -> list[str]:
    """Declare the column that names the model, so that rows of another are refused rather than mixed in."""
    if not table.models:
        return []
    lines = [f"model_column = {_text(table.hints['model_column'])}    # says {_comment(', '.join(table.models))}"]
    if len(table.models) == 1:
        return lines + ([] if table.models[0] == model else [f"model_value = {_text(table.models[0])}"])
    return [*lines, '# model_value = "…"                # its words for that model; then keep to them with `where`']


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
