"""Ranks: better by more than the tolerance first, then by doc_id, so that storage rounding never reorders a run."""

import numpy as np
import numpy.typing as npt


def ranked(
    similarity: npt.NDArray[np.float64],
    doc_ids: npt.NDArray[np.object_],
    queries: npt.NDArray[np.int64] | None = None,
    *,
    tolerance: float = 1e-6,
) -> npt.NDArray[np.int64]:
    """Order of the passages, best first.

    Neighbours within the tolerance form one tie, and so on along the chain; a tie is ordered by doc_id.

    Parameters
    ----------
    queries : ndarray of int, optional
        Row number of the query of each passage: then queries come in that order, each with its own ranking.

    Examples
    --------
    >>> ranked(np.array([0.5, 0.9, 0.5 + 1e-8]), np.array(["b", "x", "a"], dtype=object)).tolist()
    [1, 2, 0]
    """
    if len(similarity) == 0:
        return np.empty(0, dtype=np.int64)
    which = np.zeros(len(similarity), dtype=np.int64) if queries is None else queries
    order = np.lexsort((-similarity, which))
    falls = (-np.diff(similarity[order]) > tolerance) | (np.diff(which[order]) != 0)
    tie = np.concatenate([[0], np.cumsum(falls)])
    tied = np.flatnonzero(np.concatenate([[False], ~falls]) | np.concatenate([~falls, [False]]))
    if len(tied):  # only ties need the slow comparison of ids
        inner = np.lexsort((doc_ids[order[tied]].astype(str), tie[tied]))
        order[tied] = order[tied[inner]]
    return order


def rank_within(queries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count from 1 within each run of equal values.

    Examples
    --------
    >>> rank_within(np.array([0, 0, 3, 3, 3])).tolist()
    [1, 2, 1, 2, 3]
    """
    starts = np.flatnonzero(np.concatenate([[True], np.diff(queries) != 0])) if len(queries) else queries
    sizes = np.diff(np.append(starts, len(queries)))
    ranks: npt.NDArray[np.int64] = np.arange(1, len(queries) + 1) - np.repeat(starts, sizes)
    return ranks
