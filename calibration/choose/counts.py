"""One table of counts at every distinct threshold, from which every curve is drawn."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CountsTable:
    """Counts of accepted items at every distinct threshold, highest first.

    Attributes
    ----------
    thresholds : ndarray of float
        Distinct finite scores, descending. Accepting at a threshold includes it.
    true_positives, false_positives : ndarray of int
        Accepted positives and negatives at each threshold.
    positives, negatives : int
        All of them, with and without a score.
    invalid : int
        Items whose score was NaN: accepted by no threshold.
    """

    thresholds: npt.NDArray[np.float64]
    true_positives: Counts
    false_positives: Counts
    positives: int
    negatives: int
    invalid: int

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """True positives / accepted; defined at every threshold, since each accepts something."""
        return self.true_positives / (self.true_positives + self.false_positives)

    @property
    def recall(self) -> npt.NDArray[np.float64]:
        """True positives / positives; NaN when there are none."""
        if self.positives == 0:
            return np.full(len(self.thresholds), np.nan)
        return self.true_positives / self.positives


def count_at_thresholds(scores: npt.ArrayLike, positive: npt.ArrayLike) -> CountsTable:
    """Count accepted positives and negatives at every distinct score, by one sort and cumulative sums.

    There is no row for "accept nothing": that point of a precision-recall curve has no threshold and is no candidate.

    Examples
    --------
    >>> table = count_at_thresholds([0.2, 0.9], [1, 0])
    >>> table.thresholds.tolist(), table.precision.tolist(), table.recall.tolist()
    ([0.9, 0.2], [0.0, 0.5], [0.0, 1.0])
    """
    values = np.asarray(scores, dtype=np.float64)
    truth = np.asarray(positive, dtype=np.bool_)
    nan = np.isnan(values)
    positives, negatives = int(truth.sum()), int((~truth).sum())
    scored = np.isfinite(values)
    values, truth = values[scored], truth[scored]
    order = np.argsort(-values, kind="stable")
    values, truth = values[order], truth[order]
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True)) if len(values) else np.array([], dtype=np.int64)
    hits = np.cumsum(truth, dtype=np.int64)[last]
    return CountsTable(values[last], hits, last + 1 - hits, positives, negatives, int(nan.sum()))


def survival(values: npt.ArrayLike, thresholds: npt.ArrayLike) -> Counts:
    """Count the values at or above each threshold; minus infinity and NaN never are.

    Examples
    --------
    >>> survival([0.1, 0.5, float("-inf")], [0.0, 0.5, 0.6]).tolist()
    [2, 1, 0]
    """
    array = np.asarray(values, dtype=np.float64)
    ordered = np.sort(array[np.isfinite(array)])
    above: Counts = len(ordered) - np.searchsorted(ordered, np.asarray(thresholds, dtype=np.float64), side="left")
    return above
