"""What a number of labelled queries can and cannot show, before anyone labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .certify import labels_for_certificate
from .outcome import Costs
from .rates import proportion
from .rule import pick

SIZES = (10, 20, 50, 100)
DRAWS = 100
LEVEL = 0.05


@dataclass(frozen=True)
class PlanRow:
    """One number of answerable query groups.

    Attributes
    ----------
    target_no_miss, target_one_miss : float
        Highest hit rate that could be certified, if none or one of them is missed.
    certifies : bool
        Whether the wished target is within reach at all.
    interval : tuple of float
        95 % interval that a report would show when nine of ten are kept.
    visible_loss : int
        Queries that have to be lost, with none won, before a paired test calls it a regression.
    percentiles : bool
        Whether the gap is given by percentiles.
    floor_spread : float
        Half the width of the middle 90 % of floors chosen from so many queries, as a share of the distance between the
        band medians; measured on simulated bands that overlap a little.
    """

    n: int
    target_no_miss: float
    target_one_miss: float
    certifies: bool
    interval: tuple[float, float]
    visible_loss: int
    percentiles: bool
    floor_spread: float


@dataclass(frozen=True)
class Plan:
    """Rows by number of queries, and the numbers that decide."""

    rows: tuple[PlanRow, ...]
    target: float
    confidence: float
    needed: int


def plan(
    sizes: Sequence[int] = SIZES,
    *,
    target: float = 0.9,
    confidence: float = 0.9,
    costs: Costs | None = None,
    seed: int = 20240601,
) -> Plan:
    """Say what each number of labelled queries could show.

    Examples
    --------
    >>> plan((22,)).rows[0].certifies, plan((21,)).rows[0].certifies
    (True, False)
    """
    costs = costs or Costs()
    rows = []
    for n in sizes:
        kept = proportion(round(0.9 * n), n)
        rows.append(
            PlanRow(
                n=n,
                target_no_miss=best_target(n, 0, confidence),
                target_one_miss=best_target(n, 1, confidence),
                certifies=n >= labels_for_certificate(target, confidence),
                interval=(kept.low or 0.0, kept.high or 1.0),
                visible_loss=visible_loss(n),
                percentiles=n >= 20,
                floor_spread=_floor_spread(n, costs, seed),
            )
        )
    return Plan(tuple(rows), target, confidence, labels_for_certificate(target, confidence))


def best_target(n: int, misses: int, confidence: float) -> float:
    """Highest hit rate certified by `n` query groups of which `misses` are missed (exact binomial bound).

    Examples
    --------
    >>> round(best_target(22, 0, 0.9), 3), best_target(1, 1, 0.9)
    (0.901, 0.0)
    """
    from scipy.stats import beta

    if misses >= n:
        return 0.0
    return float(beta.ppf(1.0 - confidence, n - misses, misses + 1))


def visible_loss(n: int, *, level: float = LEVEL) -> int:
    """Losses, with no win, from which an exact paired test is significant; at most `n` can be lost.

    Examples
    --------
    >>> visible_loss(60)
    6
    """
    lost = int(np.ceil(np.log(level / 2) / np.log(0.5)))
    return min(lost, n + 1)


def _floor_spread(n: int, costs: Costs, seed: int) -> float:
    """Spread of floors chosen from n answers and 200 noise scores of two normal bands, in units of their distance."""
    rng = np.random.default_rng(seed)
    floors = [pick(rng.normal(1.0, 0.3, n), rng.normal(0.0, 0.2, 200), costs)[0] for _ in range(DRAWS)]
    low, high = np.quantile(floors, [0.05, 0.95])
    return float(high - low) / 2.0
