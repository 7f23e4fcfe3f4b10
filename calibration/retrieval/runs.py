"""Run logs of other systems: what their legs, fusions and rerankers gave, as a source equal to our own searches."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..contract import ScoreContract, metric_named
from ..errors import LabelError, ParameterError
from ..labels import Labels, Unjudged
from ..labels.cells import clean_id, grade, is_absent, number
from ..labels.decode import decode
from ..labels.files import read_table
from ..labels.options import NO_KINDS, Options
from ..labels.tables import SCORES, Findings, Table, spelling
from ..scores.rank import rank_within, ranked
from ..sources.scorefile import scores_of_table
from .candidates import PAIR, Candidates

RUN, QRELS = ("query", "Q0", "passage", "rank", "score", "tag"), ("query", "0", "passage", "grade")
EXEMPT = "exempt"
"""Column of a run log that marks candidates which are there for another reason than a score."""
_TAKEN = frozenset(
    {
        "either",
        EXEMPT,
        *(spelling(word) for name, words in SCORES.items() if name != "score" for word in (name, *words)),
    }
)

Line = list[str]
"""The fields of one line of a TREC file."""


@dataclass(frozen=True)
class RunLog:
    """Candidates of another system with the labels they are judged by; the labels have no corpus.

    Attributes
    ----------
    exempt : ndarray of bool
        One per candidate, False where the log does not say.
    """

    candidates: Candidates
    labels: Labels
    exempt: npt.NDArray[np.bool_]


def read_signals(
    path: Path,
    metrics: Mapping[str, str],
    *,
    queries: Path | None = None,
    rel_level: int | None = None,
    unjudged: Unjudged = "unknown",
    answerability_by_kind: Mapping[str, str] = NO_KINDS,
) -> RunLog:
    """Read a table with one column a signal.

    Its columns are query_id, doc_id, the signals, and perhaps relevance, exempt (a graph link or a pin: yes or no) and
    what is known of each query, as in a score file. An empty cell of a signal is "not scored".

    Parameters
    ----------
    metrics : mapping of str
        Column to the name of its metric in the contract.
    queries : Path, optional
        A queries file; its queries without candidates stay.

    Raises
    ------
    LabelError
        Every problem by line.
    ContractError, ParameterError
        An unknown metric; no signal.
    """
    _check(metrics)
    options = Options(rel_level, unjudged, answerability_by_kind)
    findings = Findings(what="run log")
    names = {**SCORES, EXEMPT: (EXEMPT,), **{name: (spelling(name),) for name in metrics}}
    raw = read_table(Path(path), {name: names[name] for name in names if name != "score"}, findings)
    return _log(raw, metrics, options, findings, queries)


def read_trec(
    runs: Mapping[str, Path],
    qrels: Path,
    metrics: Mapping[str, str],
    *,
    queries: Path | None = None,
    rel_level: int | None = None,
    unjudged: Unjudged = "unknown",
    answerability_by_kind: Mapping[str, str] = NO_KINDS,
) -> RunLog:
    """Read TREC runs (query Q0 passage rank score tag), one a signal, and qrels (query 0 passage grade).

    Ranks are made of the scores, as TREC's own tools do; the rank column is not read. Which queries are off-topic a
    queries file must say: qrels cannot.

    Parameters
    ----------
    runs, metrics : mapping of signal
        To its file, and to the name of its metric in the contract.

    Raises
    ------
    LabelError
        Every line that is none.
    ContractError, ParameterError
        An unknown metric; a run without one, or one without a run.
    """
    _check(metrics)
    if set(runs) != set(metrics):
        raise ParameterError(
            f"runs are {', '.join(runs)}, metrics are given for {', '.join(metrics)}; name both alike."
        )
    options = Options(rel_level, unjudged, answerability_by_kind)
    findings = Findings(what="run log")
    judged = _lines(Path(qrels), QRELS, grade, findings)
    read = {name: _lines(Path(path), RUN, _finite, findings) for name, path in runs.items()}
    findings.stop_on_problems()
    log = _log(_wide(read, judged), metrics, options, findings, queries)
    # a pair that is only judged was returned by nobody
    returned = np.isfinite(log.candidates.values(*metrics)).any(axis=1)
    rows = log.candidates.rows.iloc[np.flatnonzero(returned)].reset_index(drop=True)
    return RunLog(replace(log.candidates, rows=rows), log.labels, log.exempt[returned])


def _check(metrics: Mapping[str, str]) -> None:
    if not metrics:
        raise ParameterError("no signal is named: say which scores there are, and the metric of each.")
    taken = [name for name in metrics if spelling(name) in _TAKEN or name.endswith("_rank") or not name.strip()]
    if taken:
        raise ParameterError(
            f"a signal cannot be called {', '.join(map(repr, taken))}: that column means something else here. Rename "
            "it in the log, or leave it out of signal_metrics."
        )
    for metric in metrics.values():
        metric_named(metric)


def _log(
    raw: Table | None, metrics: Mapping[str, str], options: Options, findings: Findings, queries: Path | None
) -> RunLog:
    """Read one signal after the other from the same raw table; what it says of queries is the same each time."""
    found, labels = {}, None
    for name in metrics:
        others = {other: (spelling(other),) for other in (*metrics, EXEMPT) if other != name}
        names = {**SCORES, **others, "score": (spelling(name),)}  # the others are known, if not read here
        own = Findings(list(findings.problems), [], findings.what)
        try:
            found[name], said = scores_of_table(raw, options, own, queries=queries, names=names)
        except LabelError as error:
            # of several columns of scores the reader must know which; what is wrong with the labels is of none of them
            own_fault = len(metrics) > 1 and " score" in str(error)
            raise LabelError(f"signal {name!r}: {error}") if own_fault else error from None
        labels = said if labels is None else labels
    if labels is None or raw is None:
        raise findings.error()
    rows = next(iter(found.values()))[PAIR].reset_index(drop=True)
    candidates = Candidates(labels.queries["query_id"].tolist(), rows, {})
    for name, metric in metrics.items():
        contract = ScoreContract(metric)
        raw_scores = found[name]["score"].to_numpy(dtype=np.float64)
        # a score that carries no floor has no similarity, and none is needed to show what it is worth
        values = contract.similarity(raw_scores) if contract.definition.carries_floor else raw_scores
        candidates = candidates.with_signal(name, values, contract)
        candidates = _with_ranks(candidates, name)
    return RunLog(candidates, labels, _exempt(raw, rows))


def _with_ranks(candidates: Candidates, name: str) -> Candidates:
    rows, values = candidates.rows, candidates.values(name)[:, 0]
    scored = np.flatnonzero(np.isfinite(values))
    which = pd.Index(candidates.query_ids).get_indexer(pd.Index(rows["query_id"])).astype(np.int64)[scored]
    order = ranked(values[scored], rows["doc_id"].to_numpy(dtype=object)[scored], which)
    ranks = np.full(len(rows), np.nan)
    ranks[scored[order]] = rank_within(which[order])
    return replace(candidates, rows=rows.assign(**{f"{name}_rank": ranks}))


def _exempt(raw: Table, rows: pd.DataFrame) -> npt.NDArray[np.bool_]:
    column = next((name for name in raw.columns if spelling(name) == EXEMPT), None)
    if column is None:
        return np.zeros(len(rows), dtype=np.bool_)
    findings, marked = Findings(what="run log"), set()
    ids = {spelling(name): cells for name, cells in raw.columns.items()}
    asked = next(ids[name] for name in SCORES["query_id"] if name in ids)
    docs = next(ids[name] for name in SCORES["doc_id"] if name in ids)
    for i, cell in enumerate(raw.columns[column]):
        try:
            if not is_absent(cell) and grade(cell) > 0 and not is_absent(docs[i]):
                marked.add((clean_id(asked[i]), clean_id(docs[i])))
        except ValueError as error:
            findings.problems.append(f"{raw.at(i)}: {EXEMPT} {error}")
    findings.stop_on_problems()
    pairs = zip(rows["query_id"], rows["doc_id"], strict=True)
    return np.array([pair in marked for pair in pairs], dtype=np.bool_)


def _wide(runs: Mapping[str, Sequence[Line]], judged: Sequence[Line]) -> Table:
    """Make one table of runs and judgements: a row a pair, a column a signal."""
    cells: dict[str, dict[tuple[str, str], str]] = {name: {} for name in (*runs, "relevance")}
    for name, lines in runs.items():
        cells[name] |= {(line[0], line[2]): line[4] for line in lines}
    cells["relevance"] |= {(line[0], line[2]): line[3] for line in judged}
    pairs = list(dict.fromkeys(pair for found in cells.values() for pair in found))
    columns: dict[str, list[Any]] = {name: [found.get(pair) for pair in pairs] for name, found in cells.items()}
    columns |= {"query_id": [query for query, _ in pairs], "doc_id": [doc for _, doc in pairs]}
    return Table("runs and qrels", columns, range(1, len(pairs) + 1), "pair")


def _lines(path: Path, words: tuple[str, ...], check: Callable[[str], object], findings: Findings) -> list[Line]:
    """Read the lines of a TREC file; the cell at 4 (a score) or 3 (a grade) is checked, and no pair comes twice."""
    try:
        text = decode(path.read_bytes(), path.name, findings.warnings)
    except OSError as error:
        findings.problems.append(f"{path.name}: {error.strerror} ({path})")
        return []
    lines: list[Line] = []
    first: dict[tuple[str, str], int] = {}
    for number_of_line, line in enumerate(text.split("\n"), start=1):
        cells = line.split()
        if not cells:
            continue
        place = f"{path.name} line {number_of_line}"
        if len(cells) != len(words):
            findings.problems.append(f"{place}: {len(cells)} fields, expected {len(words)}: {', '.join(words)}")
            continue
        value = words.index("score" if "score" in words else "grade")
        try:
            check(cells[value])
        except ValueError as error:
            findings.problems.append(f"{place}: {words[value]} {error}")
        before = first.setdefault((cells[0], cells[2]), number_of_line)
        if before != number_of_line:
            findings.problems.append(f"{place}: {cells[0]}/{cells[2]} stands in line {before} already; keep one")
        lines.append(cells)
    if not text.strip():
        findings.problems.append(f"{path.name}: 0 lines")
    return lines


def _finite(cell: str) -> float:
    value = number(cell)
    if value is None or not math.isfinite(value):
        raise ValueError(f"is {cell!r}, expected a finite number")
    return value
