"""Whether a query has an answer: what its row says, else its kind, else its judgements."""

from collections.abc import Mapping
from typing import cast

from ..errors import ParameterError
from .rows import ANSWERABILITY, Answerability, ScoredQuery

BY_KIND: Mapping[str, Answerability] = {
    "unanswerable": "off_topic",
    "out_of_scope": "off_topic",
    "oos": "off_topic",
    "off_topic": "off_topic",
    "no_link": "missing_answer",
    "no_answer": "missing_answer",
    "missing_answer": "missing_answer",
}
"""Words of a `kind` that say whether a query has an answer; `answerability_by_kind` adds to them and overrides them."""


def kind_table(overrides: Mapping[str, str]) -> dict[str, Answerability]:
    """Merge the user's table into the default one, lower case.

    Raises
    ------
    ParameterError
        A value is no answerability.

    Examples
    --------
    >>> kind_table({"Chitchat": "off_topic"})["chitchat"]
    'off_topic'
    """
    bad = [f"{kind} = {value!r}" for kind, value in overrides.items() if value not in ANSWERABILITY]
    if bad:
        raise ParameterError(
            f"answerability_by_kind: {', '.join(bad)}; expected one of {', '.join(ANSWERABILITY)} for each kind."
        )
    return {**BY_KIND, **{kind.strip().lower(): cast(Answerability, value) for kind, value in overrides.items()}}


def said_by_kind(kind: str, table: Mapping[str, Answerability]) -> Answerability | None:
    """Look a kind up as a whole, then by its tokens (split on "|" and blanks).

    Raises
    ------
    ValueError
        Its tokens contradict each other.

    Examples
    --------
    >>> said_by_kind("wikitexts|no_link", BY_KIND), said_by_kind("question", BY_KIND)
    ('missing_answer', None)
    """
    lower = kind.strip().lower()
    if lower in table:
        return table[lower]
    found = {token: table[token] for token in lower.replace("|", " ").split() if token in table}
    if len(set(found.values())) > 1:
        said = " and ".join(f"{token} = {value}" for token, value in found.items())
        raise ValueError(f"kind {kind!r} says {said}; state the answerability")
    return next(iter(found.values()), None)


def settle(query: ScoredQuery, *, relevant: bool, table: Mapping[str, Answerability]) -> Answerability:
    """Settle one query's answerability.

    Parameters
    ----------
    relevant : bool
        Whether the query has a judgement of at least the relevance level.

    Raises
    ------
    ValueError
        The query is said to be off-topic or without an answer, and has a relevant judgement.

    Examples
    --------
    >>> settle(ScoredQuery(query_id="q1", kind="oos"), relevant=False, table=BY_KIND)
    'off_topic'
    """
    said = query.answerability if query.answerability is not None else said_by_kind(query.kind, table)
    if said in ("off_topic", "missing_answer") and relevant:
        source = "is said" if query.answerability is not None else f"is said by its kind {query.kind!r}"
        raise ValueError(
            f"query {query.query_id!r} {source} to be {said} and has a relevant judgement; correct one of the two"
        )
    if said is None or said == "unknown":
        return "answerable" if relevant else "unknown"
    return said
