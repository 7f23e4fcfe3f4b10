"""Mergeable per-query summaries of a pull: memory follows queries and depth, never queries x documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from .rank import ranked

BINS = 2000


@dataclass(frozen=True)
class Histogram:
    """Counts of all similarities of every query in fixed bins.

    Attributes
    ----------
    edges : ndarray, (bins + 1,)
    counts : ndarray of int, (queries, bins)
        Values beyond the outer edges are counted in the outer bins.
    """

    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]

    def total(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Counts of some queries, given by row numbers or a mask, added up."""
        summed: npt.NDArray[np.int64] = self.counts[np.asarray(rows)].sum(axis=0)
        return summed


class Summaries:
    """Accumulates blocks of similarities into top-N, judged pairs, a histogram and counts.

    Blocks may come in any order; accumulators over disjoint parts of a corpus merge into that of the whole.

    Parameters
    ----------
    query_ids : sequence of str
    judged : mapping of query_id to the doc_ids judged for it
    depth : int
        How many of the best passages are kept per query.
    low, high : float
        Range of the histogram.
    keep_all : bool
        Also keep every score; for small corpora only.
    tolerance : float
        Similarities within it of each other tie.
    """

    def __init__(
        self,
        query_ids: Sequence[str],
        judged: Mapping[str, Sequence[str]],
        *,
        depth: int,
        low: float = -1.0,
        high: float = 1.0,
        keep_all: bool = False,
        tolerance: float = 1e-6,
    ) -> None:
        self.query_ids = list(query_ids)
        self.depth = depth
        self.tolerance = tolerance
        self.keep_all = keep_all
        self.edges = np.linspace(low, high, BINS + 1)
        self._counts = np.zeros((len(self.query_ids), BINS), dtype=np.int64)
        self.scored = np.zeros(len(self.query_ids), dtype=np.int64)
        self.invalid = np.zeros(len(self.query_ids), dtype=np.int64)
        self._wanted: dict[str, list[int]] = {}
        for row, query_id in enumerate(self.query_ids):
            for doc_id in judged.get(query_id, ()):
                self._wanted.setdefault(doc_id, []).append(row)
        self._judged: dict[tuple[int, str], float] = {}
        empty = (np.empty(0), np.empty(0, dtype=object))
        self._top: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]] = [empty] * len(self.query_ids)
        self._worst = np.full(len(self.query_ids), -np.inf)
        self._all: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.object_], npt.NDArray[np.float32]]] = []

    def add(
        self, doc_ids: Sequence[str], similarities: npt.NDArray[np.floating], rows: Sequence[int] | None = None
    ) -> None:
        """Add a block.

        Parameters
        ----------
        doc_ids : sequence of str, length b
            Ids may repeat, within a block or across blocks (several chunks of one document): the best counts.
        similarities : ndarray, (rows, b)
            Higher is better; NaN is invalid: counted, never ranked.
        rows : sequence of int, optional
            Which queries the rows are; all of them by default.
        """
        docs = np.asarray(doc_ids, dtype=object)
        block = np.asarray(similarities)
        which = np.arange(len(self.query_ids)) if rows is None else np.asarray(rows)
        if block.shape != (len(which), len(docs)):
            raise ValueError(f"similarities have shape {block.shape}, expected {(len(which), len(docs))}")
        docs, block = _best_per_document(docs, block)
        self._count(block, which)
        self._keep_judged(docs, block, which)
        self._keep_top(docs, block, which)
        if self.keep_all:
            self._all.append((which, docs, block.astype(np.float32)))

    def merge(self, other: "Summaries") -> None:
        """Take over what another accumulator saw of the same queries on a disjoint part of the corpus."""
        if other.query_ids != self.query_ids or other.depth != self.depth or not np.array_equal(other.edges, self.edges):
            raise ValueError("only summaries of the same queries, depth and bins can be merged")
        self._counts += other._counts
        self.scored += other.scored
        self.invalid += other.invalid
        for key, value in other._judged.items():
            self._judged[key] = max(value, self._judged.get(key, -np.inf))
        for row, (similarity, docs) in enumerate(other._top):
            self._offer(row, similarity, docs)
        self._all.extend(other._all)

    @property
    def histogram(self) -> Histogram:
        """The histogram so far."""
        return Histogram(self.edges, self._counts)

    def top(self) -> pd.DataFrame:
        """Best passages of every query: query_id, doc_id, similarity, rank from 1."""
        return _frame(self.query_ids, self._top, self.tolerance)

    def judged(self) -> pd.DataFrame:
        """Judged pairs that were scored: query_id, doc_id, similarity."""
        keys = list(self._judged)
        return pd.DataFrame(
            {
                "query_id": pd.Series([self.query_ids[row] for row, _ in keys], dtype="str"),
                "doc_id": pd.Series([doc for _, doc in keys], dtype="str"),
                "similarity": np.array([self._judged[key] for key in keys], dtype=np.float64),
            }
        )

    def everything(self) -> pd.DataFrame | None:
        """Every score with its rank, or None when not kept."""
        if not self.keep_all:
            return None
        per_query: list[tuple[list[npt.NDArray[np.float64]], list[npt.NDArray[np.object_]]]]
        per_query = [([], []) for _ in self.query_ids]
        for which, docs, block in self._all:
            for row, values in zip(which, block.astype(np.float64), strict=True):
                scored = ~np.isnan(values)
                per_query[row][0].append(values[scored])
                per_query[row][1].append(docs[scored])
        joined = [
            _best_of(np.concatenate(s), np.concatenate(d)) if s else (np.empty(0), np.empty(0, dtype=object))
            for s, d in per_query
        ]
        return _frame(self.query_ids, joined, self.tolerance)

    def _count(self, block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]) -> None:
        valid = ~np.isnan(block)
        n_valid = valid.sum(axis=1)
        self.scored[which] += n_valid
        self.invalid[which] += block.shape[1] - n_valid
        low, high = self.edges[0], self.edges[-1]
        bins = np.where(valid, (block - low) * (BINS / (high - low)), 0.0).astype(np.int64)
        np.clip(bins, 0, BINS - 1, out=bins)
        bins += np.arange(len(which))[:, None] * BINS
        counted = np.bincount(bins[valid], minlength=len(which) * BINS).reshape(len(which), BINS)
        np.add.at(self._counts, which, counted)

    def _keep_judged(
        self, docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]
    ) -> None:
        position = {int(row): i for i, row in enumerate(which)}
        for column, doc_id in enumerate(docs):
            for row in self._wanted.get(doc_id, ()):
                if row in position:
                    value = float(block[position[row], column])
                    if not np.isnan(value):
                        key = (row, doc_id)
                        self._judged[key] = max(value, self._judged.get(key, -np.inf))

    def _keep_top(
        self, docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]
    ) -> None:
        # ties at the trimming edge are settled by doc_id, so anything within the tolerance of the worst is offered
        promising = block >= (self._worst[which] - self.tolerance)[:, None]
        for i in np.flatnonzero(promising.any(axis=1)):
            columns = np.flatnonzero(promising[i])
            values = block[i, columns].astype(np.float64)
            if len(columns) > self.depth:
                bar = np.partition(values, -self.depth)[-self.depth] - self.tolerance
                columns, values = columns[values >= bar], values[values >= bar]
            self._offer(int(which[i]), values, docs[columns])

    def _offer(self, row: int, values: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]) -> None:
        similarity, ids = self._top[row]
        similarity, ids = _best_of(np.concatenate([similarity, values]), np.concatenate([ids, docs]))
        order = ranked(similarity, ids, tolerance=self.tolerance)[: self.depth]
        self._top[row] = similarity[order], ids[order]
        if len(order) == self.depth:
            self._worst[row] = similarity[order].min()


def _best_per_document(
    docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating]
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.floating]]:
    if len(set(docs)) == len(docs):
        return docs, block
    names, codes = np.unique(docs.astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names)))
    return names.astype(object), np.fmax.reduceat(block[:, order], starts, axis=1)


def _best_of(
    similarity: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]:
    if len(set(docs)) == len(docs):
        return similarity, docs
    best: dict[str, float] = {}
    for doc_id, value in zip(docs, similarity, strict=True):
        best[doc_id] = max(value, best.get(doc_id, -np.inf))
    return np.array(list(best.values())), np.array(list(best), dtype=object)


def _frame(
    query_ids: Sequence[str],
    per_query: Sequence[tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]],
    tolerance: float,
) -> pd.DataFrame:
    parts = []
    for query_id, (similarity, docs) in zip(query_ids, per_query, strict=True):
        order = ranked(similarity, docs, tolerance=tolerance)
        parts.append(
            pd.DataFrame(
                {
                    "query_id": pd.Series([query_id] * len(order), dtype="str"),
                    "doc_id": pd.Series(docs[order].astype(str), dtype="str"),
                    "similarity": similarity[order],
                    "rank": np.arange(1, len(order) + 1, dtype=np.int64),
                }
            )
        )
    if not parts:
        return pd.DataFrame({"query_id": [], "doc_id": [], "similarity": [], "rank": []}).astype(
            {"query_id": "str", "doc_id": "str", "similarity": "float64", "rank": "int64"}
        )
    return pd.concat(parts, ignore_index=True)
