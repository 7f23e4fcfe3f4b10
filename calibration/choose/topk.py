"""The budget: the smallest top-K that loses nothing beyond noise."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NOISE_LEVEL = 0.2
"""Level of the one-sided paired sign test. Against K max a smaller K can only lose, so three lost queries (0.5 ** 3)
are no longer noise; stricter levels would give up five answers in silence."""


@dataclass(frozen=True)
class TopK:
    """A recommended cap.

    Attributes
    ----------
    hits : tuple of int
        Answerable queries that keep a relevant passage at each K from 1 to `k_max`, with the floor in place.
    chosen_by : str
        "budget" (given by the user), "labels", or "default" (no answerable query keeps an answer at any K).
    """

    value: int
    k_max: int
    hits: tuple[int, ...]
    n: int
    chosen_by: str


def choose_top_k(
    ranks: npt.ArrayLike, survives_floor: npt.ArrayLike, *, k_max: int, budget: int | None = None, default: int = 5
) -> TopK:
    """Choose the smallest K whose hits, paired by query, are not fewer than at `k_max` by more than noise.

    Parameters
    ----------
    ranks : array_like of float
        Rank of the best relevant passage per answerable query, from 1; NaN or infinity when never within reach.
    survives_floor : array_like of bool
        Whether that passage is accepted by the floor.
    budget : int, optional
        A cap the user gave; it always wins.

    Examples
    --------
    >>> choose_top_k([1, 1, 2, 3, 9], [True] * 5, k_max=10).value
    2
    """
    rank = np.asarray(ranks, dtype=np.float64)
    kept = np.asarray(survives_floor, dtype=np.bool_)
    reach = k_max if budget is None else max(k_max, budget)
    hits = tuple(int((kept & (rank <= k)).sum()) for k in range(1, reach + 1))
    if budget is not None:
        return TopK(budget, reach, hits, len(rank), "budget")
    if hits[-1] == 0:
        return TopK(min(default, k_max), reach, hits, len(rank), "default")
    for k, found in enumerate(hits, start=1):
        lost = hits[-1] - found
        if lost == 0 or (0.5**lost > NOISE_LEVEL and found > 0):
            return TopK(k, reach, hits, len(rank), "labels")
    return TopK(reach, reach, hits, len(rank), "labels")
