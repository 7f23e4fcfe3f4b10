"""The best passages of every query, kept while blocks arrive in any order."""

import numpy as np
import numpy.typing as npt

RESERVE = 10
"""Tolerances below the last kept passage within which others are kept, too: they may tie with it in the end."""

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

    def add(self, docs: npt.NDArray[np.object_], block: npt.NDArray[np.floating], which: npt.NDArray[np.int64]) -> None:
        """Offer a block, (rows, documents), whose documents are distinct; NaN is never kept."""
        promising = block >= self._bar[which][:, None]
        for i in np.flatnonzero(promising.any(axis=1)):
            columns = np.flatnonzero(promising[i])
            self._offer(int(which[i]), block[i, columns].astype(np.float64), docs[columns])

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
        rows = np.repeat(np.arange(len(self._top), dtype=np.int64), [len(values) for values, _ in self._top])
        similarity = np.concatenate([_NONE[0], *(values for values, _ in self._top)])
        return rows, similarity, np.concatenate([_NONE[1], *(docs for _, docs in self._top)])

    def _offer(self, row: int, values: npt.NDArray[np.float64], docs: npt.NDArray[np.object_]) -> None:
        """Keep the best and what may tie with the last of them; ranks are settled at the end."""
        if len(values) > self.depth:  # documents are distinct among themselves here, so this cut is safe
            enough = values >= self._bar_of(values)
            values, docs = values[enough], docs[enough]
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
