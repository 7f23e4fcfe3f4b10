"""Labels from files, and from a database."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .build import build, build_corpus, ids_in
from .files import SUFFIXES, read_table
from .folder import Files, find_files
from .model import Labels, Unjudged
from .options import NO_KINDS, Options
from .rows import MarkedAnswer, checked
from .tables import ANSWERS, CORPUS, QRELS, QUERIES, Findings, Names, Table, counted, fields_of, known_columns

if TYPE_CHECKING:
    import pandas as pd
    import psycopg


def read_labels(
    folder: Path | None = None,
    *,
    queries: Path | None = None,
    qrels: Path | None = None,
    corpus: Path | None = None,
    rel_level: int | None = None,
    unjudged: Unjudged = "unknown",
    answerability_by_kind: Mapping[str, str] = NO_KINDS,
    allow_dangling: bool = False,
    require_corpus: bool = False,
) -> Labels:
    """Read queries, judgements and perhaps the corpus from files.

    Parameters
    ----------
    folder : Path, optional
        Holds `queries`, `qrels` (or `qrels/test` and other splits) and perhaps `corpus`, each as .jsonl, .csv, .tsv or
        .parquet.
    queries, qrels, corpus : Path, optional
        Single files; each takes the place of the folder's.
    rel_level : int, optional
        relevance >= rel_level is relevant; needed when grades go beyond 0 and 1.
    answerability_by_kind : mapping
        Word of a `kind` -> answerability, on top of `BY_KIND`.
    allow_dangling : bool
        Keep judgements of documents that are not in the corpus, with a warning.
    require_corpus : bool
        Refuse labels without a corpus.

    Raises
    ------
    LabelError
        Every problem of every file, with file name and line number.
    ParameterError
        An option is out of range.
    """
    options = Options(rel_level, unjudged, answerability_by_kind, allow_dangling)
    findings = Findings()
    found = find_files(Path(folder), findings) if folder is not None else Files(None, None, None)
    paths = {
        "queries": found.queries if queries is None else Path(queries),
        "qrels": found.qrels if qrels is None else Path(qrels),
        "corpus": found.corpus if corpus is None else Path(corpus),
    }
    needed = ("queries", "qrels", "corpus") if require_corpus else ("queries", "qrels")
    if not findings.problems:
        where = "no folder given" if folder is None else Path(folder).name
        findings.problems.extend(
            f"{where}: no {name} file; expected {name} with one of {', '.join(SUFFIXES)}"
            for name in needed
            if paths[name] is None
        )
    others = found.other_splits if qrels is None else ()
    names: dict[str, Names] = {"queries": QUERIES, "qrels": QRELS, "corpus": CORPUS}
    tables = {
        name: read_table(path, names[name], findings, label=_label(path)) if path is not None else None
        for name, path in paths.items()
    }
    kept = _without_other_splits(tables["queries"], tables["qrels"], others, findings)
    return build(kept, tables["qrels"], tables["corpus"], options, findings)


def read_corpus(path: Path) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """Read one file of passages: doc_id, title, text, document_id; and what was corrected or is doubtful.

    Raises
    ------
    LabelError
        Every problem of the file, by line.
    """
    findings = Findings(what="corpus")
    table = read_table(Path(path), CORPUS, findings)
    return build_corpus(table, findings), tuple(dict.fromkeys(findings.warnings))


def read_answers(path: Path) -> dict[tuple[str, str], str]:
    """Read a file of marked answers (query_id, doc_id, answer); rows without an answer are still to be marked.

    Raises
    ------
    LabelError
        Every problem of the file, by line.
    """
    findings = Findings(what="marked answers")
    table = fields_of(read_table(Path(path), ANSWERS, findings), ANSWERS, findings, required=(*ANSWERS,), noun="rows")
    rows = checked(table, MarkedAnswer, findings.problems) if table is not None else {}
    findings.stop_on_problems()
    return {(row.query_id, row.doc_id): row.answer for row in rows.values() if row.answer is not None}


def read_database(
    connection: "psycopg.Connection[Any]",
    *,
    queries_sql: str,
    qrels_sql: str,
    corpus_sql: str | None = None,
    rel_level: int | None = None,
    unjudged: Unjudged = "unknown",
    answerability_by_kind: Mapping[str, str] = NO_KINDS,
    allow_dangling: bool = False,
) -> Labels:
    """Read labels with the user's own queries; columns go by the same names as in files.

    Parameters
    ----------
    connection : psycopg.Connection
        Open; making it read-only is its owner's part. It is left open, in the transaction state it came in.
    queries_sql, qrels_sql, corpus_sql : str
        Run as they are, without parameters, so a "%" needs no doubling.

    Raises
    ------
    LabelError
        A statement failed or returned no rows, and every problem of the rows ("queries_sql row 3: …").
    """
    options = Options(rel_level, unjudged, answerability_by_kind, allow_dangling)
    findings = Findings()
    statements = {"queries_sql": queries_sql, "qrels_sql": qrels_sql, "corpus_sql": corpus_sql}
    tables = {
        name: _table(connection, name, statement, findings) if statement is not None else None
        for name, statement in statements.items()
    }
    return build(tables["queries_sql"], tables["qrels_sql"], tables["corpus_sql"], options, findings)


def _table(connection: "psycopg.Connection[Any]", name: str, statement: str, findings: Findings) -> Table | None:
    import psycopg
    from psycopg.rows import tuple_row

    try:
        # A block of its own, so that a failing statement neither hides the next one's errors nor leaves its owner's
        # transaction aborted.
        with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(statement)
            if cursor.description is None:
                findings.problems.append(f"{name}: returns no rows; expected a SELECT")
                return None
            columns = [column.name for column in cursor.description]
            rows = cursor.fetchall()
    except psycopg.Error as error:
        findings.problems.append(f"{name}: {str(error).strip() or type(error).__name__}")
        return None
    doubled = sorted({column for column in columns if columns.count(column) > 1})
    if doubled:
        findings.problems.append(f"{name}: column {', '.join(doubled)} comes twice; name the columns apart with AS")
        return None
    cells = {column: [row[index] for row in rows] for index, column in enumerate(columns)}
    return Table(name, cells, range(1, len(rows) + 1), "row")


def _label(path: Path) -> str:
    return f"qrels/{path.name}" if path.parent.name == "qrels" else path.name


def _without_other_splits(
    queries: Table | None, qrels: Table | None, others: tuple[Path, ...], findings: Findings
) -> Table | None:
    """Leave out queries that only another split judges: they are that split's, not queries nobody has judged."""
    if queries is None or qrels is None or not others:
        return queries
    elsewhere = set[str]()
    for path in others:
        table = read_table(path, QRELS, findings, label=_label(path))
        elsewhere |= _query_ids(table, QRELS) if table is not None else set()
    elsewhere -= _query_ids(qrels, QRELS)
    column = known_columns(queries.columns, {"query_id": QUERIES["query_id"]})
    if not column:
        return queries
    keep = [i for i, cell in enumerate(queries.columns[column[0]]) if not ids_in([cell]) & elsewhere]
    if len(keep) < queries.size:
        left_out = counted(queries.size - len(keep), "query", "queries")
        findings.warnings.append(f"{queries.name}: {left_out} of other splits left out")
    columns = {name: [cells[i] for i in keep] for name, cells in queries.columns.items()}
    return Table(queries.name, columns, [queries.lines[i] for i in keep], queries.unit, queries.unread)


def _query_ids(table: Table, names: Names) -> set[str]:
    columns = known_columns(table.columns, {"query_id": names["query_id"]})
    return {value for column in columns for value in ids_in(table.columns[column])}
