"""Ranks: better by more than the tolerance first, then by doc_id, so that storage rounding never reorders a run."""

import numpy as np
import numpy.typing as npt


def ranked(
    similarity: npt.NDArray[np.float64], doc_ids: npt.NDArray[np.object_], *, tolerance: float = 1e-6
) -> npt.NDArray[np.int64]:
    """Order of the passages, best first.

    Neighbours within the tolerance form one tie, and so on along the chain; a tie is ordered by doc_id.

    Examples
    --------
    >>> ranked(np.array([0.5, 0.9, 0.5 + 1e-8]), np.array(["b", "x", "a"], dtype=object)).tolist()
    [1, 2, 0]
    """
    if len(similarity) == 0:
        return np.empty(0, dtype=np.int64)
    order = np.argsort(-similarity, kind="stable")
    falls = -np.diff(similarity[order]) > tolerance
    tie = np.concatenate([[0], np.cumsum(falls)])
    final: npt.NDArray[np.int64] = order[np.lexsort((doc_ids[order].astype(str), tie))]
    return final
