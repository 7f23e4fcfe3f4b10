"""Judgements that survive re-chunking: carried from old passages to the new ones that hold the same content."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from ..errors import LabelError, listed
from .align import Mask
from .carried import FATE_COLUMNS, Carried
from .match import ALL, MOSTLY, Match, Matcher
from .model import KEPT, LEFT_OUT, Labels
from .tables import counted, enumerated

Pair = tuple[str, str]
Judged = tuple[str, str, int]
Grades = dict[tuple[str, int], int]
"""(query_id, row of the new corpus) -> grade."""

NO_ANSWERS: Mapping[Pair, str] = MappingProxyType({})


def carry_labels(labels: Labels, new_corpus: pd.DataFrame, *, answers: Mapping[Pair, str] = NO_ANSWERS) -> Carried:
    """Carry judgements to the passages of a corpus that was cut, merged, moved or edited anew.

    Parameters
    ----------
    labels : Labels
        With the corpus that was judged.
    new_corpus : DataFrame
        doc_id, text, perhaps title and document_id.
    answers : mapping
        (query_id, doc_id) -> the words of the old passage that answer; the judgement then goes where they went.

    Returns
    -------
    Carried
        Labels on the new corpus, and the fate of every judgement. A query that lost all its relevant judgements is
        "unknown" and no must-hit query any more, so that what could not be carried is never counted as a miss.

    Raises
    ------
    LabelError
        The labels hold no old corpus, ids of the new one repeat, or marked answers are not in their passages.

    Notes
    -----
    Every new passage with a substantial share of the judged text gets the grade, unless some hold all of it: then only
    those do. Where several judgements of a query meet in one new passage, the highest grade stands. A grade 0 goes to a
    passage only when at least half of that passage was judged for its query. Judgements of whole documents stay.

    Examples
    --------
    >>> from calibration.labels import Labels
    >>> halves = ["refunds are paid within fourteen days of", "your request and only to the card you used"]
    >>> old = pd.DataFrame({"doc_id": ["p"], "text": [" ".join(halves)]})
    >>> queries = pd.DataFrame({"query_id": ["q"], "answerability": ["answerable"], "must": ["-"]})
    >>> qrels = pd.DataFrame({"query_id": ["q"], "doc_id": ["p"], "relevance": [1]})
    >>> new = pd.DataFrame({"doc_id": ["p1", "p2"], "text": halves})
    >>> found = carry_labels(Labels(queries, qrels, old, 1, "unknown"), new)
    >>> found.fates.loc[0, ["fate", "carried_to"]].tolist()
    ['split', ('p1', 'p2')]
    """
    if labels.corpus is None:
        raise LabelError("the labels come without the corpus that was judged; give it, since labels go by content.")
    _check_ids(new_corpus)
    rows = {name: row for row, name in enumerate(labels.corpus["doc_id"])}
    matcher = Matcher(labels.corpus, new_corpus)
    judged: list[Judged] = list(labels.qrels[["query_id", "doc_id", "relevance"]].itertuples(index=False, name=None))
    _check_answers(judged, rows, matcher, answers)
    ids = new_corpus["doc_id"].tolist()
    documents = _names(labels.corpus), _names(new_corpus)
    matches = [
        matcher.match(rows[doc], relevant=grade > 0, answer=answers.get((query, doc)))
        if doc in rows
        else _without_passage(doc, *documents)
        for query, doc, grade in judged
    ]
    grades = _grades(judged, matches, matcher)
    fates = [_fate(one, match, ids, grades, answers) for one, match in zip(judged, matches, strict=True)]
    frame = pd.DataFrame(fates, columns=list(FATE_COLUMNS))
    carried, bereft = _labels(labels, new_corpus, _qrels(judged, matches, ids, grades))
    return Carried(carried, frame, bereft)


def _without_passage(doc: str, old_documents: Collection[str], new_documents: Collection[str]) -> Match:
    """Match a judgement that names no old passage: a whole document stays, the rest has no content to go by."""
    if doc not in old_documents:
        return Match("orphaned", reason="not in the corpus that was judged")
    if doc not in new_documents:
        return Match("orphaned", reason="a whole document, which the new corpus does not name")
    return Match("kept", found=1.0)


def _grades(judged: Iterable[Judged], matches: Iterable[Match], matcher: Matcher) -> Grades:
    """Give each query's new passages their highest grade, but no 0 where most of the text was never judged for it."""
    grades: Grades = {}
    filled: dict[tuple[str, int], Mask] = {}
    for (query, _, grade), match in zip(judged, matches, strict=True):
        for part in match.parts:
            key = (query, part.row)
            grades[key] = max(grade, grades.get(key, grade))
            filled[key] = filled[key] | part.filled if key in filled else part.filled
    return {
        key: grade for key, grade in grades.items() if grade > 0 or matcher.filled_share(key[1], filled[key]) >= MOSTLY
    }


def _fate(one: Judged, match: Match, ids: list[str], grades: Grades, answers: Mapping[Pair, str]) -> tuple[object, ...]:
    query, doc, grade = one
    received = [part.row for part in match.parts if (query, part.row) in grades]
    fate = "diluted" if match.parts and not received else match.fate
    whole_document = match.fate == "kept" and not match.parts
    carried_to = (doc,) if whole_document else tuple(ids[row] for row in received)
    overruled = any(grades[query, row] > grade for row in received)
    review = ""
    if grade > 0 and carried_to and match.found < ALL:
        review = f"{match.found:.0%} of the judged text is here: does it still answer?"
    elif grade > 0 and fate == "split" and (query, doc) not in answers:
        review = "which of these passages answers? Mark the answer"
    elif grade > 0 and match.scattered:
        review = "which of its many pieces answers? Mark the answer"
    nearest = None if match.nearest is None else ids[match.nearest]
    return (query, doc, grade, fate, carried_to, match.found, overruled, review, match.reason, nearest)


def _qrels(judged: Iterable[Judged], matches: Iterable[Match], ids: list[str], grades: Grades) -> pd.DataFrame:
    """Make the carried judgements, in the order of the old ones; each pair once."""
    pairs: dict[Pair, int] = {}
    for (query, doc, grade), match in zip(judged, matches, strict=True):
        if match.fate == "kept" and not match.parts:
            pairs[query, doc] = grade
        for part in match.parts:
            if (query, part.row) in grades:
                pairs[query, ids[part.row]] = grades[query, part.row]
    return pd.DataFrame(
        {
            "query_id": pd.Series([query for query, _ in pairs], dtype="str"),
            "doc_id": pd.Series([doc for _, doc in pairs], dtype="str"),
            "relevance": np.array(list(pairs.values()), dtype=np.int64),
        }
    )


def _labels(labels: Labels, corpus: pd.DataFrame, qrels: pd.DataFrame) -> tuple[Labels, tuple[str, ...]]:
    """Put carried judgements in place, and say which queries lost every relevant one."""
    carried = replace(labels, qrels=qrels, corpus=corpus, warnings=carried_warnings(labels))
    lost = set(labels.relevant_pairs()["query_id"]) - set(carried.relevant_pairs()["query_id"])
    queries = labels.queries.copy()
    bereft = queries["query_id"].isin(lost)
    queries.loc[bereft, "answerability"] = "unknown"
    queries.loc[bereft & (queries["must"] == "hit"), "must"] = "-"
    names = tuple(queries.loc[bereft, "query_id"])
    if not names:
        return carried, ()
    said = f"{counted(len(names), 'query', 'queries')} lost every relevant judgement in the new corpus, now unknown"
    return replace(carried, queries=queries, warnings=(*carried.warnings, f"{said}: {enumerated(names)}")), names


def carried_warnings(labels: Labels) -> tuple[str, ...]:
    """Give the warnings of labels as they hold once they are carried: what names no passage is orphaned, not kept."""
    return tuple(
        f"{said.removesuffix(KEPT)}{LEFT_OUT}" if said.endswith(f"; {KEPT}") else said for said in labels.warnings
    )


def _check_ids(corpus: pd.DataFrame) -> None:
    repeated = corpus.loc[corpus["doc_id"].duplicated(), "doc_id"].unique().tolist()
    if repeated:
        raise LabelError(f"{counted(len(repeated), 'id')} more than once in the new corpus: {enumerated(repeated)}")


def _check_answers(
    judged: Iterable[Judged], rows: Mapping[str, int], matcher: Matcher, answers: Mapping[Pair, str]
) -> None:
    """Refuse marked answers of no judgement, and those whose words are not in the judged passage."""
    pairs = {(query, doc) for query, doc, _ in judged}
    problems = []
    for (query, doc), answer in answers.items():
        if (query, doc) not in pairs:
            problems.append(f"{query}/{doc}: no such judgement")
        elif doc not in rows:
            problems.append(f"{query}/{doc}: the passage is not in the corpus that was judged")
        elif matcher.position(rows[doc], answer) is None:
            problems.append(f"{query}/{doc}: {answer[:60]!r} is not in the passage; copy its words from there")
    if problems:
        raise LabelError(f"{counted(len(problems), 'marked answer')} cannot be used:\n{listed(problems)}")


def _names(corpus: pd.DataFrame) -> set[str]:
    """Ids of the documents that passages were cut from."""
    return set(corpus["document_id"].dropna()) if "document_id" in corpus else set()
