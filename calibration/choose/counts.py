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
    values = np.asarray(scores)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(np.float64)  # float32 stays: ten million of them are sorted in half the time
    truth = np.asarray(positive, dtype=np.bool_)
    positives = int(truth.sum())
    negatives, invalid = len(truth) - positives, int(np.isnan(values).sum())
    scored = np.isfinite(values)
    if not scored.all():
        values, truth = values[scored], truth[scored]
    order = np.argsort(values)
    values, truth = values[order], truth[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.array([], dtype=np.int64)
    # what is accepted at a threshold is the rest of the ascending order from its first place on
    passed = np.cumsum(truth, dtype=np.int64)
    hits = passed[-1:] - passed[first] + truth[first]
    thresholds = values[first][::-1].astype(np.float64)
    accepted = (len(values) - first)[::-1]
    return CountsTable(thresholds, hits[::-1], accepted - hits[::-1], positives, negatives, invalid)


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
