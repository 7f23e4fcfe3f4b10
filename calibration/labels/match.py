"""Where the content of one old passage is in a new corpus."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from .align import Mask, Part, aligned, union, whole, without_lookalikes
from .shingles import ShingledCorpus, Vocabulary, Weights, token_weights

Fate = Literal["kept", "moved", "merged", "split", "diluted", "orphaned"]
FATES: tuple[Fate, ...] = get_args(Fate)

FOUND = 0.5
"""Share of the judged content that must be found; below it the judgement is orphaned.

On the bundled sample, cut to half the size with a share of its words replaced at random: 1 in 10 leaves every judgement
carried, 1 in 5 six of ten, 3 in 10 none; and none of 15,990 judgements of deleted passages went anywhere else.
"""

SUBSTANTIAL = 0.25
"""Share of the judged content that earns a new passage the judgement, when none holds all of it."""

MOSTLY = 0.5
"""Share of a new passage that makes it the judged text's for the purpose of a grade 0, which holds of every piece."""

ALL = 0.9
"""Share of what was found with which a new passage holds all of it."""

ALONE = 0.8
"""Share of a new passage up to which it is the old one, and not a larger one."""

_CANDIDATE = 0.02, 0.3
"""Smallest share of common shingles, of the old or of the new passage, that is worth an alignment."""


@dataclass(frozen=True)
class Match:
    """Where one judged content went.

    Attributes
    ----------
    fate : str
        One of `FATES`, before grades of other judgements are looked at.
    parts : tuple of Part
        The new passages that take the judgement.
    found : float
        Weighted share of the judged content that they hold.
    nearest : int or None
        Row of the new passage that holds most of it, when that is too little.
    reason : str
        Why it is orphaned.
    scattered : bool
        Whether it is orphaned only because no piece of it is substantial.
    """

    fate: Fate
    parts: tuple[Part, ...] = ()
    found: float = 0.0
    nearest: int | None = None
    reason: str = ""
    scattered: bool = False


class Matcher:
    """Two corpora, and the way from a passage of the one to those of the other.

    Parameters
    ----------
    old, new : DataFrame
        doc_id, text, perhaps title (the content of a passage that has no text) and document_id.
    """

    def __init__(self, old: pd.DataFrame, new: pd.DataFrame) -> None:
        words = Vocabulary()
        self._old, self._new = (ShingledCorpus(_contents(corpus), words) for corpus in (old, new))
        self._words = words
        self._old_ids, self._new_ids = old["doc_id"].tolist(), new["doc_id"].tolist()
        self._old_documents, self._new_documents = _documents(old), _documents(new)
        self._weights: dict[int, Weights] = {}
        self._parts: dict[int, list[Part]] = {}

    def match(self, row: int, *, relevant: bool, answer: str | None = None) -> Match:
        """Find where an old passage went, or the words in it that answer.

        A passage judged not relevant is so in every piece; of a relevant one only substantial pieces may answer.
        """
        weights, parts = self._seen(row)
        window = np.ones(len(weights), dtype=np.bool_) if answer is None else self._window(row, answer)
        weights = np.where(window, weights, 0.0)
        parts = self._of_same_document(row, parts, weights)
        shares = [float(weights[part.held].sum() / weights.sum()) for part in parts]
        found = _share(parts, weights)
        if found < FOUND:
            nearest = parts[int(np.argmax(shares))].row if parts else None
            reason = f"{found:.0%} of its content found" if parts else "nothing of its content found"
            return Match("orphaned", found=found, nearest=nearest, reason=reason)
        pairs = list(zip(parts, shares, strict=True))
        if max(shares) >= ALL * found:
            holders = tuple(part for part, share in pairs if share >= ALL * found)
            return Match(self._one(row, holders), holders, _share(holders, weights))
        pieces = tuple(
            part for part, share in pairs if share >= SUBSTANTIAL or (not relevant and share > 0 and part.own >= MOSTLY)
        )
        if not pieces:
            reason = f"scattered, no new passage holds {SUBSTANTIAL:.0%} of it; mark the answer"
            nearest = parts[int(np.argmax(shares))].row
            return Match("orphaned", found=found, nearest=nearest, reason=reason, scattered=True)
        return Match("split", pieces, _share(pieces, weights))

    def filled_share(self, row: int, filled: Mask) -> float:
        """Weighted share of some tokens among those of a new passage."""
        weights = token_weights(self._new.shingles[row], len(filled), self._old, self._new)
        return float(weights[filled].sum() / weights.sum())

    def position(self, row: int, answer: str) -> tuple[int, int] | None:
        """Find the words of an answer in an old passage: first token and the one after the last, or None."""
        sought = self._words.tokens(answer)
        tokens = self._old.tokens[row]
        for start in range(len(tokens) - len(sought) + 1) if len(sought) else ():
            if np.array_equal(tokens[start : start + len(sought)], sought):
                return start, start + len(sought)
        return None

    def _window(self, row: int, answer: str) -> Mask:
        window = np.zeros(len(self._old.tokens[row]), dtype=np.bool_)
        place = self.position(row, answer)
        if place is not None:
            window[slice(*place)] = True
        return window

    def _seen(self, row: int) -> tuple[Weights, list[Part]]:
        """Weigh an old passage and align it with every new one that shares enough with it; kept for its next query."""
        if row not in self._parts:
            tokens, found = self._old.tokens[row], self._old.shingles[row]
            weights = token_weights(found, len(tokens), self._old, self._new)
            same = set(self._new.same_text(tokens)) if len(tokens) else set()
            parts = [whole(len(tokens), other) for other in sorted(same)]
            for other in self._candidates(row):
                part = None if other in same else aligned(self._old, row, weights, self._new, other)
                parts += [] if part is None else [part]
            self._weights[row], self._parts[row] = weights, without_lookalikes(parts, weights)
        return self._weights[row], self._parts[row]

    def _candidates(self, row: int) -> list[int]:
        wanted = self._old.shingles[row]
        rows, counts = self._new.sharing(wanted)
        sizes = np.array([len(self._new.shingles[other]) for other in rows])
        least_old, least_new = _CANDIDATE
        worth = (counts >= least_old * len(wanted)) | (counts >= least_new * sizes)
        found: list[int] = rows[worth].tolist()
        return found

    def _of_same_document(self, row: int, parts: list[Part], weights: Weights) -> list[Part]:
        """Keep to the passage's own id or document where the content is there: copies elsewhere are other labels."""
        own_id = [part for part in parts if self._new_ids[part.row] == self._old_ids[row]]
        if own_id and _share(own_id, weights) >= ALL:
            return own_id
        document = self._old_documents[row] or self._old_ids[row]
        inside = [part for part in parts if self._new_documents[part.row] == document]
        return inside if inside and _share(inside, weights) >= FOUND else parts

    def _one(self, row: int, holders: tuple[Part, ...]) -> Fate:
        """Tell kept, moved and merged apart."""
        closest = max(holders, key=lambda part: part.own)
        same = closest.held.all() and closest.filled.all()
        if same and self._new_ids[closest.row] == self._old_ids[row]:
            return "kept"
        return "moved" if closest.own >= ALONE else "merged"


def _share(parts: list[Part] | tuple[Part, ...], weights: Weights) -> float:
    return float(weights[union(parts, len(weights))].sum() / weights.sum()) if len(weights) else 0.0


def _contents(corpus: pd.DataFrame) -> list[str]:
    titles = corpus["title"] if "title" in corpus else pd.Series("", index=corpus.index)
    return [
        text if isinstance(text, str) and text.strip() else title if isinstance(title, str) else ""
        for title, text in zip(titles, corpus["text"], strict=True)
    ]


def _documents(corpus: pd.DataFrame) -> list[str | None]:
    if "document_id" not in corpus:
        return [None] * len(corpus)
    return [name if isinstance(name, str) else None for name in corpus["document_id"]]
