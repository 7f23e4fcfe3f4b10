"""Exact search over arrays in memory, in double precision: what the other backends are measured against."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from ..contract import metric_named
from ..scores.similarity import BlockScorer
from .arrays import ArraySource
from .base import Floats64, Preflight, needs_direction
from .search import Best, Candidates, Queries, ScoredBlock, best_first, needed_vectors


class ArraySearcher:
    """Vectors at hand, searched exactly.

    Parameters
    ----------
    doc_ids : sequence of str, length n
    vectors : array_like, shape (n, d)
    metric : str
        What the raw scores are.
    """

    approximate = False
    complete = True
    filtered = False
    reach = None

    def __init__(self, doc_ids: Sequence[str], vectors: npt.ArrayLike, *, metric: str = "cosine_similarity") -> None:
        self._source = ArraySource(doc_ids, vectors, metric=metric)
        self._stored = self._source.vectors_of([str(name) for name in doc_ids])
        self._zero = {name for name, vector in self._stored.items() if not vector.any()}

    @property
    def metric(self) -> str:
        """What its raw scores are."""
        return self._source.metric

    def frozen(self) -> nullcontext[None]:
        """Nothing to hold: the arrays are in memory."""
        return nullcontext()

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything."""
        return self._source.preflight()

    def all_scores(self, queries: Queries) -> Iterator[ScoredBlock]:
        """Yield the whole corpus with its scores."""
        vectors = needed_vectors(queries)
        scorer = BlockScorer(vectors, self.metric)
        for block in self._source.blocks(vectors):
            if block.vectors is not None:
                yield ScoredBlock(block.doc_ids, block.vectors, scorer.score(block.vectors))

    def scores_of(self, queries: Queries, doc_ids: Sequence[Sequence[str]]) -> list[Floats64]:
        """Return scores in double precision; NaN for documents that are not there or have no direction."""
        from .postgres.verify import scores

        vectors = needed_vectors(queries)
        usable = self._stored.keys() - self._zero if needs_direction(self.metric) else self._stored.keys()
        found = []
        for query, names in zip(vectors, doc_ids, strict=True):
            values = np.full(len(names), np.nan)
            rows = [row for row, name in enumerate(names) if name in usable]
            if rows:
                values[rows] = scores(np.stack([self._stored[names[row]] for row in rows]), query, self.metric)
            found.append(values)
        return found

    def search(self, queries: Queries, k: int) -> Candidates:
        """Give the best `k` of each query."""
        best = Best(len(queries.ids), k, higher_is_better=metric_named(self.metric).higher_is_better)
        for block in self.all_scores(queries):
            best.add(block.doc_ids, block.scores)
        ids = best.ids()
        pairs = [
            best_first(names, values, self.metric)
            for names, values in zip(ids, self.scores_of(queries, ids), strict=True)
        ]
        return Candidates([names for names, _ in pairs], [values for _, values in pairs])

    def left_out(self) -> dict[str, str]:
        """Return the zero vectors where the metric needs a direction."""
        return dict.fromkeys(sorted(self._zero), "zero vector") if needs_direction(self.metric) else {}

    def describe(self) -> dict[str, Any]:
        """Return JSON facts for the receipt."""
        return {**self._source.describe(), "adapter": f"numpy {np.__version__}", "index": None}
