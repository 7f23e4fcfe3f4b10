"""A source over arrays in memory."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..contract import metric_named
from ..errors import StoreError
from .base import (
    NORM_TOLERANCE,
    SHOWN_IDS,
    Block,
    Floats32,
    Preflight,
    Progress,
    Strategy,
    check_queries,
    complete,
    counted,
    needs_direction,
    raise_blocking,
)
from .facts import duplicate_problems, invalid_problems, norm_problems

BLOCK_ROWS = 8192


class ArraySource:
    """Vectors already at hand, one row per document.

    Parameters
    ----------
    doc_ids : sequence of str, length n
    vectors : array_like, shape (n, d)
    document_ids : sequence of str, length n, optional
        The document each passage belongs to.
    metric : str
        The declared metric; decides whether zero vectors can be scored.

    Raises
    ------
    StoreError
        The lengths differ, or `vectors` is not a table of numbers.
    """

    def __init__(
        self,
        doc_ids: Sequence[str],
        vectors: npt.ArrayLike,
        document_ids: Sequence[str] | None = None,
        *,
        metric: str = "cosine_similarity",
    ) -> None:
        self.metric = metric_named(metric).name
        self._ids = [str(value) for value in doc_ids]
        self._document_ids = None if document_ids is None else [str(value) for value in document_ids]
        self._vectors: Floats32 = np.asarray(vectors, dtype=np.float32)
        if self._vectors.ndim != 2:
            raise StoreError(f"vectors have the shape {self._vectors.shape}; expected (documents, dimensions).")
        lengths = {"doc_ids": len(self._ids), "vectors": len(self._vectors)}
        if self._document_ids is not None:
            lengths["document_ids"] = len(self._document_ids)
        if len(set(lengths.values())) > 1:
            raise StoreError(f"arrays of different length: {lengths}; expected one row per document.")
        self._norms = np.linalg.norm(self._vectors.astype(np.float64), axis=1)

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything."""
        norms = self._norms
        zero = np.flatnonzero(norms == 0)
        zero_ids = [self._ids[row] for row in zero[:SHOWN_IDS]]
        broken = np.flatnonzero(~np.isfinite(self._vectors).all(axis=1))
        off = int((np.abs(norms - 1.0) > NORM_TOLERANCE).sum()) - len(zero)
        low, high = (float(norms.min()), float(norms.max())) if len(norms) else (None, None)
        scorable = len(norms) - (len(zero) if needs_direction(self.metric) else 0)
        blocking, notes = invalid_problems(0, [], len(zero), zero_ids, scorable, self.metric)
        repeated = [(name, count) for name, count in Counter(self._ids).items() if count > 1]
        blocking += duplicate_problems(repeated, 0, "doc_ids")
        if len(broken):
            shown = ", ".join(self._ids[row] for row in broken[:SHOWN_IDS])
            blocking.append(f"{counted(len(broken), 'vector')} with NaN or infinity: {shown}")
        notes += norm_problems(self.metric, off, len(norms), low, high)
        return Preflight(
            rows=len(norms),
            null_vectors=0,
            zero_vectors=len(zero),
            null_ids=[],
            zero_ids=zero_ids,
            dimensions={self._vectors.shape[1]: len(norms)} if len(norms) else {},
            norm_min=low,
            norm_max=high,
            not_unit=off,
            metric=self.metric,
            problems=blocking + notes,
            blocking=blocking,
        )

    def blocks(
        self, query_vectors: Floats32, *, strategy: Strategy = "auto", progress: Progress | None = None
    ) -> Iterator[Block]:
        """Yield the whole corpus in blocks of vectors; zero vectors are left out where the metric needs a direction."""
        if strategy == "sql":
            raise StoreError("arrays have no SQL strategy; use 'auto' or 'fetch'.")
        facts = self.preflight()
        raise_blocking(facts)
        check_queries(query_vectors, self._vectors.shape[1], self.metric, "the array")
        yield from complete(self._pieces(), facts.scorable, progress)

    def vectors_of(self, doc_ids: Iterable[str]) -> dict[str, Floats32]:
        """Return the vectors of some documents; unknown ids are absent."""
        wanted = set(doc_ids)
        return {name: vector for name, vector in zip(self._ids, self._vectors, strict=True) if name in wanted}

    def content_hash(self) -> str:
        """Return sha256 (hex) of ids and vectors, in their order."""
        digest = hashlib.sha256("\n".join(self._ids).encode())
        digest.update(np.ascontiguousarray(self._vectors).tobytes())
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return JSON facts about the source."""
        return {
            "kind": "arrays",
            "rows": len(self._ids),
            "dimensions": int(self._vectors.shape[1]),
            "metric": self.metric,
            "strategy": "fetch",
        }

    def _pieces(self) -> Iterator[Block]:
        keep = np.flatnonzero(self._norms > 0) if needs_direction(self.metric) else np.arange(len(self._ids))
        for start in range(0, len(keep), BLOCK_ROWS):
            rows = keep[start : start + BLOCK_ROWS]
            documents = None if self._document_ids is None else [self._document_ids[row] for row in rows]
            yield Block([self._ids[row] for row in rows], documents, self._vectors[rows])
