"""Texts as tokens, and which passages of a corpus share a run of them."""

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int64]
Shingles = npt.NDArray[np.uint64]
Weights = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

WIDTH = 4
"""Tokens in a shingle. Three words recur by chance within one subject; five lose too much around each small edit."""

FREQUENT = 500
"""A shingle in more passages than this proposes none: it would name half the corpus and weighs almost nothing."""

_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def normalised_tokens(text: str) -> list[str]:
    """Split a text into what is compared: words without case, spacing, punctuation, Markdown and HTML marks.

    Where a script writes no spaces (Japanese, Chinese, Thai, …) each character is a token.

    Examples
    --------
    >>> normalised_tokens("## See [the **Form**](https://a.example/f)&nbsp;F-104")
    ['see', 'the', 'form', 'f', '104']
    >>> normalised_tokens("ＡＢＣ返金")
    ['abc', '返', '金']
    """
    plain = _LINK.sub(r"\1", _TAG.sub(" ", html.unescape(text)))
    folded = unicodedata.normalize("NFKC", plain).casefold()
    # soft hyphens, direction marks and joiners are invisible and come and go between extractions of one document
    visible = folded if folded.isascii() else "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return _TOKEN.findall(visible)


class Vocabulary:
    """Numbers for tokens, shared by the corpora that are compared."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = defaultdict(lambda: len(self._numbers))

    def tokens(self, text: str) -> Tokens:
        """Return a text's tokens as numbers from 0."""
        return np.array([self._numbers[token] for token in normalised_tokens(text)], dtype=np.int64)


def shingles(tokens: Tokens) -> Shingles:
    """Hash every run of `WIDTH` tokens, in order; shape (max(n - WIDTH + 1, 0),).

    Examples
    --------
    >>> found = shingles(np.array([1, 2, 3, 4, 5, 1, 2, 3, 4]))
    >>> len(found), bool(found[0] == found[5]), len(shingles(np.array([1, 2])))
    (6, True, 0)
    """
    count = max(len(tokens) - WIDTH + 1, 0)
    hashed = np.zeros(count, dtype=np.uint64)
    for offset in range(WIDTH):
        hashed = hashed * _MULTIPLIER + tokens[offset : offset + count].astype(np.uint64) + np.uint64(1)
    return hashed


class ShingledCorpus:
    """The passages of one corpus by their shingles.

    Attributes
    ----------
    tokens, shingles : list of ndarray
        One of each a passage.
    """

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        self.tokens = [vocabulary.tokens(text) for text in texts]
        self.shingles = [shingles(tokens) for tokens in self.tokens]
        distinct = [np.unique(found) for found in self.shingles]
        owners = np.repeat(np.arange(len(texts)), [len(found) for found in distinct])
        merged = np.concatenate([np.empty(0, dtype=np.uint64), *distinct])
        order = np.argsort(merged, kind="stable")
        self._sorted, self._owners = merged[order], owners[order]
        self._same: dict[bytes, list[int]] = defaultdict(list)
        for row, tokens in enumerate(self.tokens):
            self._same[tokens.tobytes()].append(row)

    def frequency(self, wanted: Shingles) -> Rows:
        """Count the passages that hold each shingle."""
        low, high = self._range(wanted)
        return high - low

    def same_text(self, tokens: Tokens) -> list[int]:
        """List the passages of exactly these tokens."""
        return self._same.get(tokens.tobytes(), [])

    def sharing(self, wanted: Shingles) -> tuple[Rows, Rows]:
        """Find the passages that share shingles: their rows, and how many different ones each shares."""
        low, high = self._range(np.unique(wanted))
        usable = (high - low) <= FREQUENT
        spans = [self._owners[a:b] for a, b in zip(low[usable], high[usable], strict=True) if b > a]
        if not spans:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        rows, counts = np.unique(np.concatenate(spans), return_counts=True)
        return rows, counts

    def _range(self, wanted: Shingles) -> tuple[Rows, Rows]:
        low = np.searchsorted(self._sorted, wanted, side="left")
        return low, np.searchsorted(self._sorted, wanted, side="right")


def token_weights(found: Shingles, length: int, *corpora: ShingledCorpus) -> Weights:
    """Weigh the tokens of one passage: 1 where its wording is its own, 1/n where n passages of a corpus share it.

    So a header or footer that every passage repeats counts for little, and a text that stands twice everywhere is
    weighed evenly.
    """
    if not len(found):
        return np.ones(length)
    often = np.ones(len(found))
    for corpus in corpora:
        often = np.maximum(often, corpus.frequency(found))
    weights = np.zeros(length)
    for offset in range(WIDTH):
        weights[offset : offset + len(found)] = np.maximum(weights[offset : offset + len(found)], 1.0 / often)
    return weights
