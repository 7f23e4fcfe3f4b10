"""Mergeable per-query summaries of a pull: memory follows queries and depth, never queries x documents."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .rank import rank_within, ranked
from .topn import TopN

BINS = 2000


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
        self._best = TopN(len(self.query_ids), depth, tolerance)
        self._all: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.object_], npt.NDArray[np.floating]]] = []

    def add(
        self,
        doc_ids: Sequence[str],
        similarities: npt.NDArray[np.floating],
        rows: Sequence[int] | None = None,
        *,
        counted: bool = True,
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
        counted : bool
            Whether they enter the histogram and the counts; not so when another block holds them, too.
        """
        docs = np.asarray(doc_ids, dtype=object)
        block = np.asarray(similarities)
        which = np.arange(len(self.query_ids)) if rows is None else np.asarray(rows)
        if block.shape != (len(which), len(docs)):
            raise ValueError(f"similarities have shape {block.shape}, expected {(len(which), len(docs))}")
        # both are NaN when any value is
        extent = (float(block.min()), float(block.max())) if block.size else (0.0, 0.0)
        if not np.isfinite(extent).all():
            block = np.where(np.isfinite(block), block, np.nan)
        if counted:
            # passages, so that the histogram does not depend on how documents fall into blocks
            self._count(block, which, extent)
        docs, block = _best_per_document(docs, block)
        self._keep_judged(docs, block, which)
        self._best.add(docs, block, which)
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
        self._best.merge(other._best)
        self._all.extend(other._all)

    def empty(self) -> "Summaries":
        """Give an accumulator of the same settings that has seen nothing, for another part of the corpus."""
        other = copy(self)
        other._counts = np.zeros_like(self._counts)
        other.scored, other.invalid = np.zeros_like(self.scored), np.zeros_like(self.invalid)
        other._judged, other._all = {}, []
        other._best = TopN(len(self.query_ids), self.depth, self.tolerance)
        return other

    def save(self, file: IO[bytes]) -> None:
        """Write what was seen as an npz file without pickles; settings are not in it."""
        rows, docs = [row for row, _ in self._judged], [doc for _, doc in self._judged]
        top_rows, similarity, top_docs = self._best.arrays()
        arrays: dict[str, Any] = {
            "counts": self._counts,
            "scored": self.scored,
            "invalid": self.invalid,
            "judged_rows": np.array(rows, dtype=np.int64),
            "judged_docs": np.array(docs, dtype=str),
            "judged": np.array(list(self._judged.values()), dtype=np.float64),
            "top_rows": top_rows,
            "top_docs": top_docs.astype(str),
            "top": similarity,
        }
        for i, (which, names, block) in enumerate(self._all):
            arrays |= {f"all_rows_{i}": which, f"all_docs_{i}": names.astype(str), f"all_values_{i}": block}
        np.savez_compressed(file, **arrays)

    def load(self, file: IO[bytes]) -> "Summaries":
        """Read what `save` wrote into a new accumulator of these settings.

        Raises
        ------
        ValueError, OSError, KeyError, zipfile.BadZipFile
            The file is damaged, or of other queries.
        """
        other = self.empty()
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        if found["counts"].shape != self._counts.shape:
            raise ValueError("summaries of other queries")
        other._counts, other.scored, other.invalid = found["counts"], found["scored"], found["invalid"]
        pairs = zip(found["judged_rows"].tolist(), found["judged_docs"].tolist(), strict=True)
        other._judged = dict(zip(pairs, found["judged"].tolist(), strict=True))
        other._best.extend(found["top_rows"], found["top"], found["top_docs"].astype(object))
        for i in range(sum(name.startswith("all_rows_") for name in found)):
            docs = found[f"all_docs_{i}"].astype(object)
            other._all.append((found[f"all_rows_{i}"], docs, found[f"all_values_{i}"]))
        return other

    @property
    def histogram(self) -> Histogram:
        """The histogram so far."""
        return Histogram(self.edges, self._counts)

    def top(self) -> pd.DataFrame:
        """Best passages of every query: query_id, doc_id, similarity, rank from 1."""
        frame = self._frame(*self._best.arrays())
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
            return self._frame(*TopN(0, self.depth, self.tolerance).arrays())
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

    def _count(
        self, block: npt.NDArray[np.floating], which: npt.NDArray[np.int64], extent: tuple[float, float]
    ) -> None:
        low, high = float(self.edges[0]), float(self.edges[-1])
        scale, whole = BINS / (high - low), bool(np.isfinite(extent).all())
        inside = whole and low <= extent[0] and (extent[1] - low) * scale < BINS - 1
        for row, values in zip(which, block, strict=True):  # a row stays in the processor's cache, a block does not
            valid = values if whole else values[~np.isnan(values)]
            self.scored[row] += len(valid)
            self.invalid[row] += len(values) - len(valid)
            bins = (valid - low) * scale
            if not inside:
                np.clip(bins, 0, BINS - 1, out=bins)
            self._counts[row] += np.bincount(bins.astype(np.intp), minlength=BINS)

    def _keep_judged(
        self, docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]
    ) -> None:
        position = {int(row): i for i, row in enumerate(which)}
        wanted = self._wanted
        for column in [i for i, doc_id in enumerate(docs) if doc_id in wanted]:
            doc_id = docs[column]
            for row in wanted[doc_id]:
                if row in position:
                    value = float(block[position[row], column])
                    if not np.isnan(value):
                        key = (row, doc_id)
                        self._judged[key] = max(value, self._judged.get(key, -np.inf))


def _best_per_document(
    docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating]
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.floating]]:
    if len(set(docs)) == len(docs):
        return docs, block
    names, codes = np.unique(docs.astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names)))
    return names.astype(object), np.fmax.reduceat(block[:, order], starts, axis=1)
