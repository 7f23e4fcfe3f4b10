"""Mergeable per-query summaries of a pull: memory follows queries and depth, never queries x documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from .rank import rank_within, ranked

BINS = 2000
RESERVE = 10
"""Tolerances below the last kept passage within which others are kept, too: they may tie with it in the end."""


Candidates = tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]
"""Similarities and doc_ids."""

_NO_CANDIDATES: Candidates = (np.empty(0), np.empty(0, dtype=object))


@dataclass(frozen=True)
class Histogram:
    """Counts of the similarities of all passages in fixed bins, query by query.

    Attributes
    ----------
    edges : ndarray, (bins + 1,)
    counts : ndarray of int, (queries, bins)
        Values beyond the outer edges are counted in the outer bins.
    """

    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]

    def total(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Add up the counts of some queries, given by row numbers or a mask."""
        summed: npt.NDArray[np.int64] = self.counts[np.asarray(rows)].sum(axis=0)
        return summed


class Summaries:
    """Accumulates blocks of similarities into top-N, judged pairs, a histogram and counts.

    Blocks may come in any order; accumulators over disjoint parts of a corpus merge into that of the whole. What is
    kept depends on the scores alone, never on their order.

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

    Attributes
    ----------
    scored, invalid : ndarray of int
        Passages per query with a finite score, and with any other.
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
        self._top: list[Candidates] = [_NO_CANDIDATES] * len(self.query_ids)
        self._bar = np.full(len(self.query_ids), -np.inf)
        self._all: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.object_], npt.NDArray[np.floating]]] = []

    def add(
        self, doc_ids: Sequence[str], similarities: npt.NDArray[np.floating], rows: Sequence[int] | None = None
    ) -> None:
        """Add a block.

        Parameters
        ----------
        doc_ids : sequence of str, length b
            Ids may repeat, within a block or across blocks (several chunks of one document): the best counts.
        similarities : ndarray, (rows, b)
            Higher is better; NaN and infinities are invalid: counted, never ranked.
        rows : sequence of int, optional
            Which queries the rows are, each once; all of them by default.
        """
        docs = np.asarray(doc_ids, dtype=object)
        block = np.asarray(similarities)
        which = np.arange(len(self.query_ids)) if rows is None else np.asarray(rows)
        if block.shape != (len(which), len(docs)):
            raise ValueError(f"similarities have shape {block.shape}, expected {(len(which), len(docs))}")
        if not np.isfinite(block).all():
            block = np.where(np.isfinite(block), block, np.nan)
        self._count(block, which)  # passages, so that the histogram does not depend on how documents fall into blocks
        docs, block = _best_per_document(docs, block)
        self._keep_judged(docs, block, which)
        self._keep_top(docs, block, which)
        if self.keep_all:
            self._all.append((which, docs, np.array(block)))

    def merge(self, other: "Summaries") -> None:
        """Take over what another accumulator saw of the same queries on a disjoint part of the corpus."""
        settings = [
            (one.query_ids, one.depth, one.tolerance, one.keep_all, one.edges.tolist()) for one in (self, other)
        ]
        if settings[0] != settings[1]:
            raise ValueError("only summaries of the same queries, depth, bins, tolerance and keep_all can be merged")
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
        queries = np.repeat(np.arange(len(self._top)), [len(similarity) for similarity, _ in self._top])
        if len(queries) == 0:
            return self._frame(queries, *_NO_CANDIDATES)
        similarity, docs = (np.concatenate(parts) for parts in zip(*self._top, strict=True))
        frame = self._frame(queries, similarity, docs)
        return frame[frame["rank"] <= self.depth].reset_index(drop=True)

    def judged(self) -> pd.DataFrame:
        """Judged pairs that were scored: query_id, doc_id, similarity."""
        keys = sorted(self._judged)
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
        if not self._all:
            return self._frame(np.empty(0, dtype=np.int64), *_NO_CANDIDATES)
        queries = np.concatenate([np.repeat(which, len(docs)) for which, docs, _ in self._all])
        docs = np.concatenate([np.tile(docs, len(which)) for which, docs, _ in self._all])
        similarity = np.concatenate([block.ravel() for _, _, block in self._all]).astype(np.float64)
        frame = pd.DataFrame({"query": queries, "doc_id": docs, "similarity": similarity})
        frame = frame[frame["similarity"].notna()]
        if frame.duplicated(["query", "doc_id"]).any():
            frame = frame.groupby(["query", "doc_id"], sort=False)["similarity"].max().reset_index()
        return self._frame(frame["query"].to_numpy(), frame["similarity"].to_numpy(), frame["doc_id"].to_numpy(object))

    def _frame(
        self, queries: npt.NDArray[np.int64], similarity: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]
    ) -> pd.DataFrame:
        order = ranked(similarity, docs, queries, tolerance=self.tolerance)
        names = np.array(self.query_ids, dtype=object)
        return pd.DataFrame(
            {
                "query_id": pd.Series(names[queries[order]], dtype="str"),
                "doc_id": pd.Series(docs[order], dtype="str"),
                "similarity": similarity[order],
                "rank": rank_within(queries[order]),
            }
        )

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
        self._counts[which] += counted

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
        promising = block >= self._bar[which][:, None]
        for i in np.flatnonzero(promising.any(axis=1)):
            columns = np.flatnonzero(promising[i])
            self._offer(int(which[i]), block[i, columns].astype(np.float64), docs[columns])

    def _offer(self, row: int, values: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]) -> None:
        """Keep the best and what may tie with the last of them; ranks are settled at the end."""
        if len(values) > self.depth:  # documents are distinct among themselves here, so this cut is safe
            enough = values >= self._bar_of(values)
            values, docs = values[enough], docs[enough]
        similarity, ids = self._top[row]
        similarity, ids = _best_of(np.concatenate([similarity, values]), np.concatenate([ids, docs]))
        if len(similarity) >= self.depth:
            self._bar[row] = self._bar_of(similarity)
            kept = np.flatnonzero(similarity >= self._bar[row])
            if len(kept) > 4 * self.depth:
                kept = kept[_first_of_equals(similarity[kept], ids[kept], self.depth)]
            similarity, ids = similarity[kept], ids[kept]
        self._top[row] = similarity, ids

    def _bar_of(self, values: npt.NDArray[np.float64]) -> float:
        return float(np.partition(values, -self.depth)[-self.depth]) - RESERVE * self.tolerance


def _first_of_equals(
    similarity: npt.NDArray[np.float64], docs: npt.NDArray[np.object_], depth: int
) -> npt.NDArray[np.int64]:
    """Positions without the equals that cannot be ranked: `depth` documents of the same score come before them."""
    order = np.lexsort((docs.astype(str), -similarity))
    values = similarity[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    place = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    first: npt.NDArray[np.int64] = order[place < depth]
    return first


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
