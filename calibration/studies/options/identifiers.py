"""Queries that name a code, a number or a symbol: the segment for which words are said to pay."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...choose import Rate, proportion
from ..hybrid.candidates import places
from ..hybrid.gate import Asked, by_kind
from ..hybrid.measure import RRF
from .bench import Bench
from .designs import GLOBAL, HYBRID
from .measure import Option
from .paired import Versus, compare_all
from .reranked import query_texts

IDENTIFIER, OTHER = "identifier", "other"
_CODE = re.compile(
    r"""
    (?=\w*[A-Za-z])(?=\w*\d)\w+        # letters with digits: B2B, q3report
    | [A-Za-z]+[-/.#]\d[\w.-]*         # letters, a mark, digits: ERR-1042, F/104
    | \#?\d[\d-]{3,}                   # a long number: 48213, 2024-17
    | \w+_\w+                          # snake_case
    | [a-z]+[A-Z]\w+                   # camelCase
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Identifiers:
    """Where the lexical leg pays.

    Attributes
    ----------
    how : str
        How identifier queries were told from the others.
    legs : DataFrame
        See `by_kind`: identifier, other, all; what the first K of each leg find.
    only_words, only_vectors : Rate
        Identifier queries whose answer is within the first K of one leg and not of the other.
    kept : mapping of option title to Rate
        Identifier queries that keep an answer, on unseen queries.
    versus : Versus or None
        The hybrid search against the global floor (else top-K alone) on identifier queries; one test, so no correction.
    """

    how: str
    n: int
    legs: pd.DataFrame
    only_words: Rate
    only_vectors: Rate
    kept: dict[str, Rate]
    versus: Versus | None


def looks_like_identifier(text: str) -> bool:
    """Tell whether a query names a code, a long number or a symbol.

    Examples
    --------
    >>> [looks_like_identifier(text) for text in ("what does ERR-1042 mean", "max_tokens default", "posting 48213")]
    [True, True, True]
    >>> [looks_like_identifier(text) for text in ("how do I cancel in 2024?", "a well-known problem", "top 10 tips")]
    [False, False, False]
    """
    return any(not _is_year(found[0]) for found in _CODE.finditer(text))


def identifiers(bench: Bench, options: tuple[Option, ...]) -> Identifiers:
    """Measure the identifier queries: those of that kind where the labels have one, else those that look like it."""
    table, how = _told(bench)
    place = places(bench.candidates, RRF)
    asked = Asked(bench.candidates, bench.relevant, place, table, bench.top_k.value)
    legs = by_kind(asked)
    own = table[(table["kind"] == IDENTIFIER) & (table["answerability"] == "answerable")]
    row = legs[legs["kind"] == IDENTIFIER]
    words, vectors = (int(row[name].sum()) for name in ("only_lexical", "only_similarity"))
    hits = {
        one.name: one.queries.set_index("query_id")["hit"].reindex(own["query_id"]).to_numpy(dtype=np.float64)
        for one in options
        if one.outcome is not None
    }
    titles = {one.name: one.title for one in options}
    base = GLOBAL if GLOBAL in hits else next((name for name in hits if name != HYBRID), None)
    versus = None
    if len(own) and base is not None and HYBRID in hits:
        versus = compare_all(({HYBRID: hits[HYBRID], base: hits[base]}, own["group"])).pairs[0]
    return Identifiers(
        how=how,
        n=len(own),
        legs=legs,
        only_words=proportion(words, len(own)),
        only_vectors=proportion(vectors, len(own)),
        kept={titles[name]: proportion(int(values.sum()), len(own)) for name, values in hits.items()},
        versus=versus,
    )


def _told(bench: Bench) -> tuple[pd.DataFrame, str]:
    table = bench.table
    named = table["kind"].str.lower().isin([IDENTIFIER, "identifiers"]) & ~table["probe"]
    if named.any():
        return _marked(table, named), "the queries of that kind"
    texts = query_texts(bench.source)
    looks = table["query_id"].map(lambda query: looks_like_identifier(texts[query] or "")) & ~table["probe"]
    return _marked(table, looks), "queries that name a code, a long number or a symbol, by their look"


def _marked(table: pd.DataFrame, found: pd.Series) -> pd.DataFrame:
    return table.assign(kind=pd.Series(np.where(found, IDENTIFIER, OTHER), index=table.index, dtype="str"))


def _is_year(token: str) -> bool:
    return re.fullmatch(r"(19|20)\d\d", token) is not None
