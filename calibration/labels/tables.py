"""A table as it was read, before anything is checked: columns of raw cells and the line each row came from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import LabelError, listed

Names = Mapping[str, tuple[str, ...]]
"""Field of this package -> the spellings of a column that may hold it."""

PER_QUERY: Names = {name: (name,) for name in ("text", "kind", "answerability", "group", "must", "collection")}
QUERIES: Names = {"query_id": ("query_id", "_id", "id"), **PER_QUERY}
QRELS: Names = {
    "query_id": ("query_id",),
    "doc_id": ("doc_id", "corpus_id", "docid"),
    "relevance": ("relevance", "score", "label"),
}
CORPUS: Names = {
    "doc_id": ("doc_id", "corpus_id", "docid", "_id", "id"),
    "title": ("title",),
    "text": ("text",),
    "document_id": ("document_id", "parent_id"),
    "collection": ("collection",),
}
SCORES: Names = {
    "query_id": QRELS["query_id"],
    "doc_id": QRELS["doc_id"],
    "score": ("score",),
    "relevance": ("relevance", "label"),
    "document_id": CORPUS["document_id"],
    # a row of scores names the passage's collection as a rule, not the query's
    **{name: names for name, names in PER_QUERY.items() if name != "collection"},
}
PROBES: Names = {
    "query_id": QUERIES["query_id"],
    **{name: (name,) for name in ("text", "language", "subject", "kind")},
}
ANSWERS: Names = {"query_id": QRELS["query_id"], "doc_id": QRELS["doc_id"], "answer": ("answer",)}
_GENERIC = {"_id", "id"}


@dataclass(frozen=True)
class Findings:
    """What reading has found so far: problems, raised together at the end, and warnings that travel with the labels.

    Attributes
    ----------
    what : str
        What is read, as the error calls it.
    """

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    what: str = "labels"

    def stop_on_problems(self) -> None:
        """Raise LabelError with every problem, when there is one."""
        if self.problems:
            raise self.error()

    def error(self) -> LabelError:
        """Make the one error of all problems."""
        return LabelError(f"{counted(len(self.problems), 'problem')} in the {self.what}:\n{listed(self.problems)}")


@dataclass(frozen=True)
class Table:
    """Raw cells by column.

    Attributes
    ----------
    name : str
        What messages call it: a file name, or the name of a query's parameter.
    columns : dict
        Name as written (or field, after `fields_of`) -> cells, all of one length.
    lines : sequence of int
        Line (files of text) or row (parquet, database) each row starts on, from 1.
    unit : str
        "line" or "row".
    unread : tuple of str
        Columns that were seen and not loaded.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int]
    unit: str = "line"
    unread: tuple[str, ...] = field(default=())

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def at(self, *rows: int) -> str:
        """Say where rows are: "qrels.tsv line 4", "qrels.tsv lines 4 and 5"."""
        if len(rows) == 1:
            return f"{self.name} {self.unit} {self.lines[rows[0]]}"
        return f"{self.name} {self.unit}s {enumerated([str(self.lines[row]) for row in rows])}"


def enumerated(items: Sequence[str], *, limit: int = 10) -> str:
    """Join items for a sentence, the first `limit` of them with the count of the rest.

    Examples
    --------
    >>> enumerated(["4", "5"]), enumerated(["1", "2", "3"], limit=1)
    ('4 and 5', '1 and 2 more')
    """
    if not items:
        return "none"
    shown = list(items[:limit])
    if len(items) > limit:
        shown.append(f"{len(items) - limit} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Say a count with its noun: "1 query", "0 queries"."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def spelling(column: str) -> str:
    """Reduce a column name to what is compared: "Query-ID " and "query_id" are one.

    Examples
    --------
    >>> spelling(" Query-ID")
    'query_id'
    """
    return column.strip().lower().replace("-", "_")


def known_columns(columns: Iterable[str], names: Names) -> list[str]:
    """List the columns whose spelling is one of `names`."""
    spellings = {alias for aliases in names.values() for alias in aliases}
    return [column for column in columns if spelling(column) in spellings]


def fields_of(
    table: Table | None, names: Names, findings: Findings, *, required: Sequence[str], noun: str
) -> Table | None:
    """Rename a table's columns to fields; None, with problems said, when it is empty or no table of such rows (`noun`).

    A generic `id` gives way to a column that names what it identifies. Other columns are named in one warning.
    """
    if table is None:
        return None
    if not table.size:
        findings.problems.append(f"{table.name}: 0 {noun}")
        return None
    problems: list[str] = []
    chosen: dict[str, str] = {}
    for name, aliases in names.items():
        hits = [column for column in table.columns if spelling(column) in aliases]
        if len(hits) > 1:
            hits = [column for column in hits if spelling(column) not in _GENERIC] or hits
        if len(hits) > 1:
            problems.append(f"{table.name}: {enumerated(hits)} could each be the {name}; leave one of them")
        if hits:
            chosen[name] = hits[0]
        elif name in required:
            found = enumerated([*table.columns, *table.unread], limit=20)
            problems.append(f"{table.name}: no column {' or '.join(names[name])}; columns found: {found}")
    findings.problems.extend(problems)
    if problems:
        return None
    used = set(chosen.values())
    unused = [column for column in (*table.columns, *table.unread) if column not in used]
    if unused:
        findings.warnings.append(f"{table.name}: columns not used: {enumerated(unused, limit=20)}")
    return Table(table.name, {name: table.columns[column] for name, column in chosen.items()}, table.lines, table.unit)
