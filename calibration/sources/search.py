"""A search as an application sees it: which candidates it hands out with which raw scores, and every score exactly."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..contract import metric_named
from .base import Floats32, Floats64, Preflight


@dataclass(frozen=True)
class Queries:
    """Frozen queries, the same for both sides of a comparison; `vectors` (q, d) is None where a file has the scores."""

    ids: list[str]
    vectors: Floats32 | None

    @cached_property
    def texts(self) -> list[str]:
        """The vectors as databases read them, without loss: "[0.25,…]"."""
        import pyarrow as pa

        if self.vectors is None or self.vectors.ndim != 2:
            return []
        # all at once: one number at a time takes longer than the search itself
        numbers = pa.array(np.asarray(self.vectors, dtype=np.float32).ravel()).cast(pa.string()).to_pylist()
        width = self.vectors.shape[1]
        return ["[" + ",".join(numbers[start : start + width]) + "]" for start in range(0, len(numbers), width)]


@dataclass(frozen=True)
class Candidates:
    """What a search returned for each query, best first, with the backend's own numbers."""

    ids: list[list[str]]
    scores: list[Floats64]


@dataclass(frozen=True)
class ScoredBlock:
    """A piece of the corpus and its raw scores.

    Attributes
    ----------
    vectors : ndarray of float32, (b, d)
        As stored.
    scores : ndarray, (q, b)
    """

    doc_ids: list[str]
    vectors: Floats32
    scores: npt.NDArray[np.floating[Any]]


class Searcher(Protocol):
    """One deployed search."""

    @property
    def metric(self) -> str:
        """What its raw scores are, a name of `contract.METRICS`."""
        ...

    @property
    def approximate(self) -> bool:
        """Whether `search` goes through an index that may miss documents."""
        ...

    @property
    def complete(self) -> bool:
        """Whether every score can be had; a score file holds only what somebody's search returned."""
        ...

    @property
    def filtered(self) -> bool:
        """Whether the user's filter is on every query."""
        ...

    @property
    def reach(self) -> int | None:
        """The most candidates its index hands to the filter, known after a search; None where nothing limits them."""
        ...

    def frozen(self) -> AbstractContextManager[None]:
        """Let everything that is asked inside see one state of the source."""
        ...

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything."""
        ...

    def all_scores(self, queries: Queries) -> Iterator[ScoredBlock]:
        """Yield the whole corpus with its scores, exactly; raise unless it is provably all of it."""
        ...

    def scores_of(self, queries: Queries, doc_ids: Sequence[Sequence[str]]) -> list[Floats64]:
        """Return the backend's own numbers for some documents of each query; NaN for those it does not hold."""
        ...

    def search(self, queries: Queries, k: int) -> Candidates:
        """Search as deployed: at most `k` candidates a query, in the backend's order; never padded."""
        ...

    def left_out(self) -> dict[str, str]:
        """Return the rows that can have no score under the metric: id -> why."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return JSON facts for the receipt, never a password or a text."""
        ...


class Best:
    """The best few documents of each query, gathered block by block.

    Examples
    --------
    >>> best = Best(1, 2, higher_is_better=False)
    >>> best.add(["a", "b"], np.array([[0.4, 0.1]]))
    >>> best.add(["c"], np.array([[0.2]]))
    >>> best.ids()
    [['b', 'c']]
    """

    def __init__(self, queries: int, depth: int, *, higher_is_better: bool) -> None:
        self.depth = depth
        self._sign = 1.0 if higher_is_better else -1.0
        self._rows: npt.NDArray[np.int64] = np.zeros((queries, 0), dtype=np.int64)
        self._values: npt.NDArray[np.floating[Any]] = np.zeros((queries, 0), dtype=np.float32)
        self._ids: list[str] = []

    def add(self, doc_ids: Sequence[str], scores: npt.NDArray[np.floating[Any]]) -> None:
        """Add a block of raw scores, shape (queries, block)."""
        oriented = scores * scores.dtype.type(self._sign)
        rows, values = _first(oriented, self.depth)
        rows = rows + len(self._ids)
        self._ids.extend(doc_ids)
        rows, values = np.hstack([self._rows, rows]), np.hstack([self._values, values])
        kept, self._values = _first(values, self.depth)
        self._rows = np.take_along_axis(rows, kept, axis=1)

    def ids(self) -> list[list[str]]:
        """Ids per query, best first."""
        order = np.argsort(-self._values, axis=1, kind="stable")
        return [[self._ids[row] for row in rows] for rows in np.take_along_axis(self._rows, order, axis=1).tolist()]

    def scores(self) -> list[Floats64]:
        """Raw scores per query, best first."""
        return list(-np.sort(-self._values.astype(np.float64), axis=1) * self._sign)


def _first(
    values: npt.NDArray[np.floating[Any]], depth: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.floating[Any]]]:
    """Give (columns, values) of the largest `depth` of each row, in no order."""
    width = values.shape[1]
    if width <= depth:
        return np.broadcast_to(np.arange(width), values.shape).copy(), values
    columns = np.argpartition(values, width - depth, axis=1)[:, width - depth :]
    return columns, np.take_along_axis(values, columns, axis=1)


def best_first(ids: Sequence[str], scores: Floats64, metric: str) -> tuple[list[str], Floats64]:
    """Order candidates by their raw scores, best first; equal ones by id, NaN left out.

    Examples
    --------
    >>> best_first(["a", "b"], np.array([0.4, 0.1]), "cosine_distance")[0]
    ['b', 'a']
    """
    sign = -1.0 if metric_named(metric).higher_is_better else 1.0
    known = [row for row in range(len(ids)) if not np.isnan(scores[row])]
    order = sorted(known, key=lambda row: (sign * float(scores[row]), ids[row]))
    return [ids[row] for row in order], scores[order]


def needed_vectors(queries: Queries) -> Floats32:
    """Give the query vectors, which every source but a score file needs."""
    if queries.vectors is None:
        from ..errors import StoreError

        raise StoreError("this source searches with vectors; pass the query vectors (npz or parquet), or a model.")
    return queries.vectors
