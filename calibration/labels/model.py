"""Labelled queries as the rest of the package sees them."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from ..errors import LabelError
from .rows import ANSWERABILITY
from .tables import counted, enumerated

Unjudged = Literal["unknown", "nonrelevant"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Queries, judgements and perhaps the corpus, checked.

    Attributes
    ----------
    queries : DataFrame
        query_id, text (NA where a score file has none), kind, answerability, group, must; in file order. Where one
        is named, `collection` too: the part of the corpus a query is about (NA: not said).
    qrels : DataFrame
        query_id, doc_id, relevance (int64 grade from 0 up); one row a pair, in file order.
    corpus : DataFrame or None
        doc_id, title, text, document_id (NA, or the document the passage was cut from); None when it lies elsewhere.
        Where a passage names one, `collection` too.
    rel_level : int
        relevance >= rel_level is relevant.
    unjudged : str
        Whether a passage without a judgement is "unknown" or counts as "nonrelevant".
    warnings : tuple of str
        What was corrected or is doubtful, to be said once to the user.
    """

    queries: pd.DataFrame
    qrels: pd.DataFrame
    corpus: pd.DataFrame | None
    rel_level: int
    unjudged: Unjudged
    warnings: tuple[str, ...] = ()

    def relevant_pairs(self) -> pd.DataFrame:
        """Return query_id and doc_id of the judgements of at least `rel_level`, numbered from 0."""
        relevant = self.qrels[self.qrels["relevance"] >= self.rel_level]
        return relevant[["query_id", "doc_id"]].reset_index(drop=True)

    def counts_by_answerability(self) -> dict[str, int]:
        """Count queries; every answerability is a key."""
        counts = self.queries["answerability"].value_counts()
        return {name: int(counts.get(name, 0)) for name in ANSWERABILITY}

    def content_hash(self) -> str:
        """Return sha256 (hex) of queries, judgements and relevance level, whatever the order of rows."""
        digest = hashlib.sha256()
        for frame in (self.queries, self.qrels):
            plain = frame.astype(object).where(frame.notna(), None)
            rows = (json.dumps(row, ensure_ascii=True) for row in plain.itertuples(index=False, name=None))
            for row in sorted(rows):
                digest.update(row.encode("ascii") + b"\n")
            digest.update(b"\n")
        digest.update(str(self.rel_level).encode("ascii"))
        return digest.hexdigest()


def check_documents(labels: Labels, known_ids: Collection[str], *, allow_dangling: bool = False) -> Labels:
    """Check that every judged document is in a corpus that lies elsewhere.

    Parameters
    ----------
    known_ids : collection of str
        Ids of all passages, and of the documents they were cut from when judgements name documents.
    allow_dangling : bool
        Keep the judgements of absent documents (a ceiling on recall) and say so in `warnings`.

    Raises
    ------
    LabelError
        Judged documents are absent and `allow_dangling` is off.
    """
    known = frozenset(known_ids)
    pairs = zip(labels.qrels["query_id"], labels.qrels["doc_id"], strict=True)
    absent = [(f"{query}/{doc}", doc) for query, doc in pairs if doc not in known]
    if not absent:
        return labels
    message = dangling(absent)
    if not allow_dangling:
        raise LabelError(f"{message}. {HOW_TO_ALLOW}.")
    return replace(labels, warnings=(*labels.warnings, f"{message}; {KEPT}"))


HOW_TO_ALLOW = "Correct the ids or the corpus, or set allow_dangling: the judgements then stay as a ceiling on recall"
KEPT = "kept, so recall cannot reach 1"
LEFT_OUT = "left out, since there is no text to carry them by"
"""What becomes of the same judgements when labels are carried to a new corpus, where they are orphans."""


def dangling(absent: Sequence[tuple[str, str]]) -> str:
    """Say which judged documents are missing; `absent` holds what to show of each judgement, and its document.

    Examples
    --------
    >>> dangling([("q1/d9", "d9")])
    '1 judged document missing from the corpus: q1/d9'
    """
    count = len({doc for _, doc in absent})
    return f"{counted(count, 'judged document')} missing from the corpus: {enumerated([shown for shown, _ in absent])}"
