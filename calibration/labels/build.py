"""Raw tables -> labels: what must hold between rows and between files, then the frames."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from .answerability import settle
from .cells import clean_id
from .model import HOW_TO_ALLOW, KEPT, Labels, dangling
from .options import Options
from .rows import Answerability, Document, Judgement, Located, Query, Row, ScoredQuery, checked
from .tables import CORPUS, QRELS, QUERIES, Findings, Table, counted, enumerated, fields_of

QUERY_COLUMNS = ("query_id", "text", "kind", "answerability", "group", "must")


def build(
    queries: Table | None, qrels: Table | None, corpus: Table | None, options: Options, findings: Findings
) -> Labels:
    """Check three raw tables and make labels of them.

    Parameters
    ----------
    queries, qrels, corpus : Table or None
        None where a file could not be read (the reason is among the findings) or, for the corpus, does not exist.

    Raises
    ------
    LabelError
        Every problem of every file, by line.
    """
    asked = fields_of(queries, QUERIES, findings, required=("query_id", "text"), noun="queries")
    judged = fields_of(qrels, QRELS, findings, required=("query_id", "doc_id", "relevance"), noun="judgements")
    passages = fields_of(corpus, CORPUS, findings, required=("doc_id", "text"), noun="documents")
    located = rows_of(asked, Query, "query_id", findings) if asked is not None else {}
    documents = rows_of(passages, Document, "doc_id", findings) if passages is not None else {}
    judgements = _judgements(judged, findings) if judged is not None else {}
    if asked is not None and judged is not None:
        known = ids_in(asked.columns["query_id"])
        findings.problems.extend(
            f"{judged.at(index)}: unknown query {row.query_id!r}; add it to {asked.name} or remove the judgement"
            for index, row in judgements.items()
            if row.query_id not in known
        )
    if passages is not None and judged is not None:
        _check_dangling(passages, judged, judgements, options, findings)
    if asked is None or judged is None:
        raise findings.error()
    placed = [(asked.at(index), row) for index, row in located.items()]
    frame = _corpus_frame(list(documents.values())) if passages is not None else None
    return assemble(placed, list(judgements.values()), frame, options, findings)


def build_corpus(corpus: Table | None, findings: Findings) -> pd.DataFrame:
    """Check one raw table of passages and make the frame of it.

    Raises
    ------
    LabelError
        Every problem of the file, by line.
    """
    passages = fields_of(corpus, CORPUS, findings, required=("doc_id", "text"), noun="documents")
    documents = rows_of(passages, Document, "doc_id", findings) if passages is not None else {}
    findings.stop_on_problems()
    return _corpus_frame(list(documents.values()))


def assemble(
    queries: Sequence[tuple[str, ScoredQuery]],
    judgements: Sequence[Judgement],
    corpus: pd.DataFrame | None,
    options: Options,
    findings: Findings,
) -> Labels:
    """Settle the relevance level and each query's answerability, then make the frames.

    Parameters
    ----------
    queries : sequence of (str, ScoredQuery)
        Where each query was read, and the query.

    Raises
    ------
    LabelError
        Every problem found here or before.
    """
    intact = not findings.problems
    level = _level(judgements, options, findings)
    relevant = {row.query_id for row in judgements if row.relevance >= level}
    if intact and not relevant:
        highest = f", the highest grade is {max(row.relevance for row in judgements)}" if judgements else ""
        findings.problems.append(
            f"no relevant judgements: {counted(len(judgements), 'judgement')}{highest}, and a passage is relevant from "
            f"grade {level} up. Recall is undefined and no floor can be chosen; label relevant passages"
        )
    kinds = options.kinds()
    settled: list[Answerability] = []
    for place, query in queries:
        try:
            settled.append(settle(query, relevant=query.query_id in relevant, table=kinds))
        except ValueError as error:
            findings.problems.append(f"{place}: {error}")
    findings.stop_on_problems()
    rows = [query for _, query in queries]
    _warn_of_gaps(rows, settled, judgements, relevant, findings)
    return Labels(
        _query_frame(rows, settled),
        _qrels_frame(judgements),
        corpus,
        level,
        options.unjudged,
        tuple(dict.fromkeys(findings.warnings)),
    )


def rows_of(table: Table, model: type[Row], key: str, findings: Findings) -> Located[Row]:
    """Check a table's rows and that their `key` is unique."""
    noun = {"query_id": "query", "doc_id": "document"}[key]
    rows = checked(table, model, findings.problems)
    places: dict[str, list[int]] = {}
    for index, cell in enumerate(table.columns[key]):
        for value in ids_in([cell]):
            places.setdefault(value, []).append(index)
    findings.problems.extend(
        f"{table.at(*indices)}: {noun} id {value!r} more than once; ids must be unique"
        for value, indices in places.items()
        if len(indices) > 1
    )
    return rows


def ids_in(cells: Iterable[object]) -> set[str]:
    """Collect the readable ids of a column, also of rows that are wrong elsewhere, so that one error stays one."""
    found = set()
    for cell in cells:
        try:
            found.add(clean_id(cell))
        except ValueError:
            continue
    return found


def _judgements(table: Table, findings: Findings) -> Located[Judgement]:
    """Check judgements, collapse repeated ones and refuse contradictions."""
    rows = checked(table, Judgement, findings.problems)
    seen: dict[tuple[str, str], list[int]] = {}
    for index, row in rows.items():
        seen.setdefault((row.query_id, row.doc_id), []).append(index)
    repeated: list[int] = []
    for (query_id, doc_id), indices in seen.items():
        grades = dict.fromkeys(rows[index].relevance for index in indices)
        if len(grades) > 1:
            findings.problems.append(
                f"{table.at(*indices)}: {query_id}/{doc_id} has grades {enumerated([str(g) for g in grades])}; keep one"
            )
        repeated += indices[1:]
    if repeated:
        findings.warnings.append(f"{table.at(*sorted(repeated))}: the same judgement again; collapsed")
    gone = set(repeated)
    return {index: row for index, row in rows.items() if index not in gone}


def _check_dangling(
    corpus: Table, judged: Table, judgements: Located[Judgement], options: Options, findings: Findings
) -> None:
    known = ids_in(corpus.columns["doc_id"]) | ids_in(corpus.columns.get("document_id", ()))
    absent = [
        (f"{row.query_id}/{row.doc_id} ({judged.at(index)})", row.doc_id)
        for index, row in judgements.items()
        if row.doc_id not in known
    ]
    if absent and options.allow_dangling:
        findings.warnings.append(f"{dangling(absent)}; {KEPT}")
    elif absent:
        findings.problems.append(f"{dangling(absent)}. {HOW_TO_ALLOW}")


def _level(judgements: Sequence[Judgement], options: Options, findings: Findings) -> int:
    if options.rel_level is not None:
        return options.rel_level
    grades = sorted({row.relevance for row in judgements})
    if set(grades) <= {0, 1}:
        return 1
    findings.problems.append(
        f"grades {enumerated([str(grade) for grade in grades])} are found and rel_level is not set: say from which "
        "grade up a passage is relevant (rel_level 1 counts every grade above 0)"
    )
    return grades[-1]  # what is relevant at the highest grade is relevant at any level, so the checks that follow hold


def _warn_of_gaps(
    queries: Sequence[ScoredQuery],
    settled: Sequence[Answerability],
    judgements: Sequence[Judgement],
    relevant: set[str],
    findings: Findings,
) -> None:
    judged = {row.query_id for row in judgements}
    pairs = list(zip((query.query_id for query in queries), settled, strict=True))
    silent = [query for query, said in pairs if said == "unknown" and query not in judged]
    if silent:
        findings.warnings.append(
            f"{counted(len(silent), 'query', 'queries')} without judgements: {enumerated(silent)}; whether there is an "
            "answer is unknown"
        )
    hopeless = [query for query, said in pairs if said == "answerable" and query not in relevant]
    if hopeless:
        findings.warnings.append(
            f"{counted(len(hopeless), 'query', 'queries')} said to be answerable without a relevant judgement: "
            f"{enumerated(hopeless)}; a miss at every floor"
        )


def _query_frame(queries: Sequence[ScoredQuery], settled: Sequence[Answerability]) -> pd.DataFrame:
    cells = [
        (
            query.query_id,
            query.text,
            query.kind,
            said,
            query.query_id if query.group is None else query.group,
            query.must,
        )
        for query, said in zip(queries, settled, strict=True)
    ]
    frame = pd.DataFrame(cells, columns=list(QUERY_COLUMNS), dtype="str")
    return _with_collections(frame, [query.collection for query in queries])


def _qrels_frame(judgements: Sequence[Judgement]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "query_id": pd.Series([row.query_id for row in judgements], dtype="str"),
            "doc_id": pd.Series([row.doc_id for row in judgements], dtype="str"),
            "relevance": np.array([row.relevance for row in judgements], dtype=np.int64),
        }
    )


def _corpus_frame(documents: Sequence[Document]) -> pd.DataFrame:
    cells = [(row.doc_id, row.title, row.text, row.document_id) for row in documents]
    frame = pd.DataFrame(cells, columns=["doc_id", "title", "text", "document_id"], dtype="str")
    return _with_collections(frame, [row.collection for row in documents])


def _with_collections(frame: pd.DataFrame, collections: Sequence[str | None]) -> pd.DataFrame:
    """Add the column where a row has one; without any, labels and their hash are what they were before it existed."""
    if all(name is None for name in collections):
        return frame
    return frame.assign(collection=pd.Series(list(collections), dtype="str"))
