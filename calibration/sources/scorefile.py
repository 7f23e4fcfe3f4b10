"""Scores from a file: somebody else's search has run, here are its candidates, with or without judgements."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from pydantic import ValidationError

from ..contract import metric_named
from ..labels import Labels, Unjudged
from ..labels.build import assemble, rows_of
from ..labels.cells import NOT_SCORED, clean_id, grade, has_decimal_comma, is_absent, number, shown
from ..labels.files import read_table
from ..labels.options import NO_KINDS, Options
from ..labels.rows import Judgement, Query, ScoredQuery, messages
from ..labels.tables import PER_QUERY, QUERIES, SCORES, Findings, Names, Table, enumerated, fields_of, spelling

Value = TypeVar("Value")
Statements = dict[str, dict[str, tuple[Any, str]]]
"""Query -> what is said of it: field -> the cell and where it was read."""

_REMEMBERED = 100_000


def read_scores(
    path: Path,
    *,
    metric: str = "cosine_similarity",
    rel_level: int | None = None,
    unjudged: Unjudged = "unknown",
    queries: Path | None = None,
    answerability_by_kind: Mapping[str, str] = NO_KINDS,
    column: str = "score",
) -> tuple[pd.DataFrame, Labels]:
    """Read raw scores and the labels that come with them; the scores are not converted.

    Parameters
    ----------
    path : Path
        .csv, .tsv, .jsonl or .parquet with query_id, doc_id, score and perhaps relevance, document_id and, alike in all
        rows of a query, text, kind, answerability, group, must. An empty score is "not scored", an empty relevance
        "unjudged", an empty doc_id a query that returned nothing.
    metric : str
        What the scores are; only checked to exist.
    queries : Path, optional
        A queries file; its queries that are not among the scores returned nothing.
    column : str
        The column of the scores, where a file has several.

    Returns
    -------
    DataFrame
        query_id, doc_id, score (float64, NaN = not scored), document_id (NA where none), in file order. A score that
        says NaN is invalid: it counts as not scored, and `attrs["invalid_scores"]` is their number.
    Labels
        Without a corpus.

    Raises
    ------
    LabelError
        Every problem by line.
    ContractError
        Unknown metric.
    """
    metric_named(metric)
    options = Options(rel_level, unjudged, answerability_by_kind)
    findings = Findings(what="score file")
    names = {**SCORES, "score": (spelling(column),)}
    return scores_of_table(read_table(Path(path), names, findings), options, findings, queries=queries, names=names)


def scores_of_table(
    raw: Table | None,
    options: Options,
    findings: Findings,
    *,
    queries: Path | None = None,
    names: Names = SCORES,
) -> tuple[pd.DataFrame, Labels]:
    """Make what `read_scores` returns of a raw table, wherever it came from; None says it could not be read."""
    table = fields_of(raw, names, findings, required=("query_id", "doc_id", "score"), noun="scores")
    asked = _asked(queries, findings)
    if table is None:
        raise findings.error()
    pairs = Pairs(table, findings)
    stated = _statements(table, pairs.query_ids, asked, findings)
    rows = _queries(stated, Query if queries is not None else ScoredQuery, findings)
    judgements = [
        Judgement.model_construct(query_id=query, doc_id=doc, relevance=relevance)
        for query, doc, relevance in zip(pairs.query_ids, pairs.doc_ids, pairs.relevance, strict=True)
        if query is not None and doc is not None and relevance is not None
    ]
    documents = _documents(table, pairs.doc_ids, findings)
    labels = assemble(rows, judgements, None, options, findings)
    return pairs.frame(documents), labels


class Pairs:
    """Candidates of a score file, cell by cell; None where a cell is empty or wrong."""

    def __init__(self, table: Table, findings: Findings) -> None:
        problems = findings.problems
        self.query_ids = _read(table, "query_id", clean_id, problems)
        self.doc_ids = _read(table, "doc_id", _optional(clean_id), problems)
        self.scores = _read(table, "score", _score, problems)
        self.relevance = _read(table, "relevance", _judged, problems)
        self._check_commas(table, findings)
        self._check_doubles(table, problems)
        self._check_empty(table, problems)
        self.invalid = [i for i, score in enumerate(self.scores) if score is not None and math.isnan(score)]
        if self.invalid:
            are = "score is" if len(self.invalid) == 1 else "scores are"
            findings.warnings.append(f"{table.at(*self.invalid)}: {len(self.invalid)} {are} NaN; invalid, not scored")
        if not problems and not any(score is not None and score == score for score in self.scores):
            problems.append(f"{table.name}: no row has a score")

    def frame(self, documents: Mapping[str, str]) -> pd.DataFrame:
        """Give the candidates of `read_scores`, each with its document where one is named."""
        rows = [i for i, doc in enumerate(self.doc_ids) if doc is not None]
        docs = [self.doc_ids[i] for i in rows]
        frame = pd.DataFrame(
            {
                "query_id": pd.Series([self.query_ids[i] for i in rows], dtype="str"),
                "doc_id": pd.Series(docs, dtype="str"),
                "score": np.array([self.scores[i] for i in rows], dtype=np.float64),
                "document_id": pd.Series([documents.get(doc) for doc in docs if doc is not None], dtype="str"),
            }
        )
        frame.attrs["invalid_scores"] = len(self.invalid)
        return frame

    def _check_commas(self, table: Table, findings: Findings) -> None:
        cells = table.columns["score"]
        commas = [i for i, cell in enumerate(cells) if has_decimal_comma(cell)]
        points = [i for i, cell in enumerate(cells) if isinstance(cell, str) and "." in cell] if commas else []
        if points:
            findings.problems.append(
                f"{table.at(commas[0], points[0])}: scores {shown(cells[commas[0]])} and {shown(cells[points[0]])} mix "
                "decimal commas and points; write all alike"
            )
        elif commas:
            findings.warnings.append(f"{table.name}: scores read with decimal commas, {cells[commas[0]]} for one")

    def _check_doubles(self, table: Table, problems: list[str]) -> None:
        pairs = list(zip(self.query_ids, self.doc_ids, strict=True))
        if len(set(pairs)) == len(pairs):
            return
        seen: dict[tuple[str, str], list[int]] = {}
        for i, (query, doc) in enumerate(pairs):
            if query is not None and doc is not None:
                seen.setdefault((query, doc), []).append(i)
        problems += [
            f"{table.at(*rows)}: {query}/{doc} is scored more than once; keep one row"
            for (query, doc), rows in seen.items()
            if len(rows) > 1
        ]

    def _check_empty(self, table: Table, problems: list[str]) -> None:
        scored = {query for query, doc in zip(self.query_ids, self.doc_ids, strict=True) if doc is not None}
        for i, cell in enumerate(table.columns["doc_id"]):
            if not is_absent(cell):
                continue
            if self.scores[i] is not None or self.relevance[i] is not None:
                problems.append(f"{table.at(i)}: a score or a relevance without doc_id")
            elif self.query_ids[i] in scored:
                problems.append(
                    f"{table.at(i)}: query {self.query_ids[i]!r} returned nothing here and candidates elsewhere"
                )


def _read(table: Table, name: str, read: Callable[[object], Value | None], problems: list[str]) -> list[Value | None]:
    """Read a column cell by cell; a column that is not there is all None."""
    values: list[Value | None] = []
    known: dict[str, Value | None] = {}  # ids and grades repeat; a million cells hold few different ones
    for i, cell in enumerate(table.columns[name] if name in table.columns else [None] * table.size):
        if isinstance(cell, str) and cell in known:
            values.append(known[cell])
            continue
        try:
            value = read(cell)
        except ValueError as error:
            values.append(None)
            problems.append(f"{table.at(i)}: {name} {error}")
            continue
        values.append(value)
        if isinstance(cell, str) and len(known) < _REMEMBERED:
            known[cell] = value
    return values


def _optional(read: Callable[[object], Value]) -> Callable[[object], Value | None]:
    return lambda cell: None if is_absent(cell) else read(cell)


def _score(cell: object) -> float | None:
    score = number(cell)
    if score is not None and math.isinf(score):
        raise ValueError(f"is {shown(cell)}, expected a finite number, or nothing for a candidate that was not scored")
    return score


def _judged(cell: object) -> int | None:
    unjudged = is_absent(cell) or (isinstance(cell, str) and cell.strip().lower() in NOT_SCORED | {"nan"})
    return None if unjudged else grade(cell)


def _asked(path: Path | None, findings: Findings) -> Table | None:
    raw = read_table(Path(path), QUERIES, findings) if path is not None else None
    table = fields_of(raw, QUERIES, findings, required=("query_id", "text"), noun="queries")
    if table is not None:
        rows_of(table, Query, "query_id", findings)
    return table


def _statements(table: Table, query_ids: Sequence[str | None], asked: Table | None, findings: Findings) -> Statements:
    """Gather what both files say of each query, in the order of the queries file when there is one."""
    stated: Statements = {}
    if asked is not None:
        ids = [None if is_absent(cell) else str(cell) for cell in asked.columns["query_id"]]
        _gather(asked, ids, stated, findings)
    known = set(stated)
    _gather(table, query_ids, stated, findings)
    if asked is not None:
        findings.problems.extend(
            f"{place}: unknown query {query!r}; add it to {asked.name} or remove its rows"
            for query, said in stated.items()
            if query not in known
            for _, place in [said["query_id"]]
        )
    return stated


def _gather(table: Table, query_ids: Sequence[str | None], stated: Statements, findings: Findings) -> None:
    for i, query in enumerate(query_ids):
        if query is not None and query not in stated:
            stated[query] = {"query_id": (query, table.at(i))}
    for name in (name for name in PER_QUERY if name in table.columns):
        refused = set[str]()
        for i, (query, cell) in enumerate(zip(query_ids, table.columns[name], strict=True)):
            if query is None or query in refused or is_absent(cell):
                continue
            first, place = stated[query].setdefault(name, (cell, table.at(i)))
            if _plain(first) != _plain(cell):
                refused.add(query)
                findings.problems.append(
                    f"query {query!r} has {name} {shown(first)} in {place} and {shown(cell)} in {table.at(i)}; keep one"
                )


def _plain(cell: object) -> object:
    return cell.strip() if isinstance(cell, str) else cell


def _queries(stated: Statements, model: type[ScoredQuery], findings: Findings) -> list[tuple[str, ScoredQuery]]:
    rows: list[tuple[str, ScoredQuery]] = []
    for said in stated.values():
        place = said["query_id"][1]
        try:
            rows.append((place, model.model_validate({name: cell for name, (cell, _) in said.items()})))
        except ValidationError as error:
            findings.problems.extend(f"{place}: {message}" for message in messages(error))
    return rows


def _documents(table: Table, doc_ids: Sequence[str | None], findings: Findings) -> dict[str, str]:
    """Map each passage to the document it was cut from, where the file says so."""
    parents = _read(table, "document_id", _optional(clean_id), findings.problems)
    found: dict[str, tuple[str, int]] = {}
    for i, (doc, parent) in enumerate(zip(doc_ids, parents, strict=True)):
        if doc is None or parent is None:
            continue
        first, row = found.setdefault(doc, (parent, i))
        if first != parent:
            findings.problems.append(
                f"{table.at(row, i)}: passage {doc!r} belongs to {enumerated([first, parent])}; keep one document_id"
            )
    return {doc: parent for doc, (parent, _) in found.items()}
