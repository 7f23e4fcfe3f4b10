"""The best passages of every query, kept while blocks arrive in any order."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

RESERVE = 10
"""Tolerances below the last kept passage within which others are kept, too: they may tie with it in the end."""

PATIENCE = 3
"""Times `depth` candidates per query that may wait before they are sorted."""

Candidates = tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]
"""Similarities and doc_ids."""

_NONE: Candidates = (np.empty(0), np.empty(0, dtype=object))


class TopN:
    """Keeps what may belong to the best `depth` passages of each of some queries; ranks are settled by the caller.

    Parameters
    ----------
    queries : int
        How many; they are told apart by row number.
    tolerance : float
        Similarities within it of each other tie.
    """

    def __init__(self, queries: int, depth: int, tolerance: float) -> None:
        self.depth = depth
        self.tolerance = tolerance
        self._top: list[Candidates] = [_NONE] * queries
        self._bar = np.full(queries, -np.inf)
        self._pending: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.object_]]] = []
        self._waiting = 0

    def add(self, docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]) -> None:
        """Offer a block, (rows, documents), whose documents are distinct; NaN is never kept."""
        self._raise_bars(block, which)
        # in the block's own precision, or every value would be converted; rounded down, so that none is lost
        bars = np.nextafter(self._bar[which].astype(block.dtype), -np.inf, dtype=block.dtype)
        # flat: twice as many indices at once take numpy eight times as long
        rows, columns = np.divmod(np.flatnonzero(block >= bars[:, None]), max(block.shape[1], 1))
        self._pending.append((which[rows], block[rows, columns].astype(np.float64), docs[columns]))
        self._waiting += len(rows)
        if self._waiting > PATIENCE * self.depth * len(self._top):
            self._settle()

    def extend(
        self, rows: npt.NDArray[np.int64], similarity: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]
    ) -> None:
        """Offer what `arrays` gave of another part of the corpus."""
        ends = np.searchsorted(rows, np.arange(len(self._top) + 1))
        for row in range(len(self._top)):
            mine = slice(ends[row], ends[row + 1])
            self._offer(row, similarity[mine], docs[mine])

    def merge(self, other: "TopN") -> None:
        """Take over what another one kept."""
        self.extend(*other.arrays())

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.object_]]:
        """Give everything kept: row numbers in ascending order, similarities, doc_ids."""
        self._settle()
        rows = np.repeat(np.arange(len(self._top), dtype=np.int64), [len(values) for values, _ in self._top])
        similarity = np.concatenate([_NONE[0], *(values for values, _ in self._top)])
        return rows, similarity, np.concatenate([_NONE[1], *(docs for _, docs in self._top)])

    def _raise_bars(self, block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]) -> None:
        """Give queries without a bar that of this block alone: never too high, since its documents are distinct."""
        first = np.flatnonzero(~np.isfinite(self._bar[which]))
        if len(first) == 0 or block.shape[1] < self.depth:
            return
        values = np.where(np.isnan(block[first]), -np.inf, block[first])
        last = np.partition(values, -self.depth, axis=1)[:, -self.depth].astype(np.float64)
        self._bar[which[first]] = last - RESERVE * self.tolerance

    def _settle(self) -> None:
        """Sort what waits by query and offer it; a few times rather than block by block, which costs a call a query."""
        if not self._pending:
            return
        rows, values, docs = (np.concatenate(parts) for parts in zip(*self._pending, strict=True))
        self._pending, self._waiting = [], 0
        order = np.argsort(rows, kind="stable")
        rows, values, docs = rows[order], values[order], docs[order]
        present, starts = np.unique(rows, return_index=True)
        for row, mine in zip(present, pairwise([*starts.tolist(), len(rows)]), strict=True):
            self._offer(int(row), values[slice(*mine)], docs[slice(*mine)])

    def _offer(self, row: int, values: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]) -> None:
        """Keep the best and what may tie with the last of them; ranks are settled at the end."""
        similarity, ids = self._top[row]
        similarity, ids = _distinct(np.concatenate([similarity, values]), np.concatenate([ids, docs]))
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


def _distinct(
    similarity: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]:
    if len(set(docs)) == len(docs):
        return similarity, docs
    best: dict[str, float] = {}
    for doc_id, value in zip(docs, similarity, strict=True):
        best[doc_id] = max(value, best.get(doc_id, -np.inf))
    return np.array(list(best.values())), np.array(list(best), dtype=object)
