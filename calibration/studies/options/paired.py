"""Options compared two by two on the same queries, without a winner from noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ...choose.paired import LEVEL, mcnemar

Floats = npt.NDArray[np.float64]


Outcomes = tuple[Mapping[str, Floats], npt.ArrayLike]
"""Values of every option in one order of queries, higher is better, and the queries' groups."""


@dataclass(frozen=True)
class Versus:
    """Two options on the same queries.

    Attributes
    ----------
    first_better, second_better : int
        Query groups that fare better under one of them, on balance.
    p_value : float
        Two-sided and exact.
    measurable : bool
        Whether it is small enough after correction for all pairs of options.
    """

    first: str
    second: str
    first_better: int
    second_better: int
    p_value: float
    measurable: bool

    def favours(self, one: str, other: str) -> int:
        """Give 1 where more groups fare better under `one`, -1 where fewer do, 0 for a tie or another pair."""
        sign = int(np.sign(self.first_better - self.second_better))
        return {(self.first, self.second): sign, (self.second, self.first): -sign}.get((one, other), 0)


@dataclass(frozen=True)
class Tested:
    """All pairs of options on one outcome.

    Attributes
    ----------
    pairs, more : tuple of Versus
        On the queries that count, and on others (probes beside labelled off-topic queries); corrected together.
    n : int
        Queries that count.
    level : float or None
        p up to which a pair differs; None where no pair differs in queries enough to be tested at all.
    """

    pairs: tuple[Versus, ...]
    n: int
    level: float | None
    more: tuple[Versus, ...] = ()

    def beats(self, one: str, other: str) -> bool:
        """Whether one option is measurably better; where only the further queries say so, the others may not object."""
        if any(pair.measurable and pair.favours(one, other) > 0 for pair in self.pairs):
            return True
        objected = any(pair.favours(one, other) < 0 for pair in self.pairs)
        return not objected and any(pair.measurable and pair.favours(one, other) > 0 for pair in self.more)


def compare_all(outcomes: Outcomes, more: Outcomes | None = None) -> Tested:
    """Compare every pair of options by the exact sign test over query groups; McNemar's where values are yes or no.

    The level is that of Tarone: a pair that differs in so few groups that it could never be significant does not count
    among the tests, and the others share 5 % as with Bonferroni. So the chance of any false difference stays below 5 %.

    Examples
    --------
    >>> good, bad = np.ones(8), np.zeros(8)
    >>> found = compare_all(({"a": good, "b": good, "c": bad}, list("12345678")))
    >>> found.beats("a", "c"), found.beats("a", "b"), found.level
    (True, False, 0.025)
    """
    parts = [outcomes] if more is None else [outcomes, more]
    counts = [
        [(one, other, *_balance(values[one], values[other], groups)) for one, other in combinations(values, 2)]
        for values, groups in parts
    ]
    level = tarone_level([better + worse for part in counts for _, _, better, worse in part])
    tested = [
        tuple(
            Versus(one, other, better, worse, p := mcnemar(worse, better), level is not None and p <= level)
            for one, other, better, worse in part
        )
        for part in counts
    ]
    return Tested(tested[0], len(np.asarray(outcomes[1])), level, tested[1] if len(tested) > 1 else ())


def tarone_level(discordant: Sequence[int]) -> float | None:
    """Give the level of each of several exact sign tests with so many discordant groups; None where none can succeed.

    Examples
    --------
    >>> tarone_level([8, 0, 0]), tarone_level([8, 8, 8]), tarone_level([3])
    (0.05, 0.016666666666666666, None)
    """
    least = [mcnemar(n, 0) for n in discordant]
    for k in range(1, len(least) + 1):
        testable = sum(p <= LEVEL / k for p in least)
        if testable <= k:
            return LEVEL / k if testable else None
    return None


def visible(level: float) -> int:
    """Count the groups that have to differ, all one way, before a test at this level says so.

    Examples
    --------
    >>> visible(0.05), visible(0.005)
    (6, 9)
    """
    return next(n for n in range(1, 64) if mcnemar(n, 0) <= level)


def _balance(one: Floats, other: Floats, groups: npt.ArrayLike) -> tuple[int, int]:
    """Count the groups that fare better under the first, and under the other."""
    _, codes = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    if len(codes) == 0:
        return 0, 0
    total = np.bincount(codes, weights=one - other)
    return int((total > 1e-9).sum()), int((total < -1e-9).sum())
