"""Two runs on the same queries, compared query by query by the exact test of McNemar; never two intervals apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

LEVEL = 0.05
"""Probability that a comparison of two runs without any true change fails, over all its gates together."""
GATES = 3
"""Rates that may fail a comparison: answers kept, off-topic queries answered, probe queries answered."""
LARGEST_P = 2.0 * LEVEL / GATES
"""Two-sided p up to which a change for the worse is more than noise: half of it per gate lies in the bad direction."""
FLOAT_SLACK = 1e-9
"""0.94 - 0.92 is not above 0.02, whatever binary fractions say."""


@dataclass(frozen=True)
class Paired:
    """What changed between two runs on the same queries.

    Attributes
    ----------
    n : int
        Queries that were asked in both.
    worse, better : int
        Queries that went from good to bad, and back.
    worse_groups, better_groups : int
        Groups of queries that lost or won on balance: paraphrases of one need count once in the test.
    p_value : float
        Two-sided, exact.
    """

    n: int
    worse: int
    better: int
    worse_groups: int
    better_groups: int
    p_value: float

    @property
    def regressed(self) -> bool:
        """Whether the change is for the worse and more than noise."""
        return self.worse_groups > self.better_groups and self.p_value <= LARGEST_P


def mcnemar(worse: int, better: int) -> float:
    """Two-sided exact p of so many discordant pairs, if each had been as likely to go either way.

    Examples
    --------
    >>> mcnemar(6, 0), mcnemar(2, 0), mcnemar(0, 0)
    (0.03125, 0.5, 1.0)
    """
    if worse + better == 0:
        return 1.0
    return float(binomtest(worse, worse + better, 0.5).pvalue)


def compare_pairs(
    good_before: npt.ArrayLike, good_after: npt.ArrayLike, groups: Sequence[object] | npt.ArrayLike | None = None
) -> Paired:
    """Compare what happened to each query before and after.

    Parameters
    ----------
    good_before, good_after : array_like of bool, shape (n,)
        Whether the query had the wanted outcome.
    groups : array_like, shape (n,), optional
        Paraphrases of one need share a name; each query by itself when absent.

    Examples
    --------
    >>> compare_pairs([True] * 6 + [True, False], [False] * 6 + [True, True]).p_value
    0.125
    >>> compare_pairs([True] * 6, [False] * 6).regressed, compare_pairs([True] * 5, [False] * 5).regressed
    (True, False)
    >>> compare_pairs([True] * 6, [False] * 6, ["one need"] * 6).regressed
    False
    """
    before, after = np.asarray(good_before, dtype=np.bool_), np.asarray(good_after, dtype=np.bool_)
    change = after.astype(np.int64) - before.astype(np.int64)
    names = np.arange(len(change)) if groups is None else np.asarray(groups, dtype=str)
    _, codes = np.unique(names, return_inverse=True)
    balance = np.bincount(codes, weights=change) if len(change) else np.zeros(0)
    worse_groups, better_groups = int((balance < 0).sum()), int((balance > 0).sum())
    return Paired(
        n=len(change),
        worse=int((change < 0).sum()),
        better=int((change > 0).sum()),
        worse_groups=worse_groups,
        better_groups=better_groups,
        p_value=mcnemar(worse_groups, better_groups),
    )


def smallest_visible_loss() -> int:
    """Lost queries, with none won, from which a gate fails.

    Examples
    --------
    >>> smallest_visible_loss()
    6
    """
    return next(lost for lost in range(1, 64) if mcnemar(lost, 0) <= LARGEST_P)


def beyond_tolerance(before: float, after: float, tolerance: float) -> bool:
    """Tell whether a rate has fallen by more than an allowed amount; exactly the allowed amount is allowed.

    Examples
    --------
    >>> [beyond_tolerance(0.94, after, 0.02) for after in (0.94, 0.93, 0.92, 0.91, 0.90)]
    [False, False, False, True, True]
    """
    return before - after > tolerance + FLOAT_SLACK
