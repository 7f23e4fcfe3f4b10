"""The budget: the smallest top-K that loses no more than noise, or than is worth a longer context."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NOISE_LEVEL = 0.2
"""Level of the one-sided paired sign test. Against K max a smaller K can only lose, so three lost queries (0.5 ** 3)
are no longer noise. At 5 % four lost answers would pass: a fifth of 20 labelled ones, and twice the regret on unseen
queries from 20 to 100 labels (an answer priced at 200 passages; twelve pairs of set and model)."""
MARGIN = 0.02
"""Share of the answers of K max that may be lost in any case. A count alone drives K toward K max as labels grow: at
400 labelled queries it buys one answer in a hundred with three passages more for every query, and twice the regret."""


@dataclass(frozen=True)
class TopK:
    """A recommended cap.

    Attributes
    ----------
    hits : tuple of int
        Answerable queries that keep a relevant passage at each K from 1 to `k_max`, with the floor in place.
    chosen_by : str
        "budget" (given by the user), "labels", or "default" (no answerable query keeps an answer at any K).
    allowed : int
        Answers of K max that a smaller K might lose; 0 where labels did not choose it.
    """

    value: int
    k_max: int
    hits: tuple[int, ...]
    n: int
    chosen_by: str
    allowed: int = 0

    @property
    def next_smaller(self) -> int | None:
        """The next cap worth a thought: the smallest that keeps what K - 1 keeps; None below K = 1."""
        return None if self.value == 1 else self.hits.index(self.hits[self.value - 2]) + 1


def choose_top_k(
    ranks: npt.ArrayLike, survives_floor: npt.ArrayLike, *, k_max: int, budget: int | None = None, default: int = 5
) -> TopK:
    """Choose the smallest K that loses, paired by query, no more hits of `k_max` than noise or the margin explains.

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
    allowed = allowed_losses(hits[-1])
    value = next(k for k, found in enumerate(hits, start=1) if found > 0 and hits[-1] - found <= allowed)
    return TopK(value, reach, hits, len(rank), "labels", allowed)


def allowed_losses(most: int) -> int:
    """How many of `most` answers may be lost: what a paired sign test calls noise, or the margin where that is more.

    Examples
    --------
    >>> allowed_losses(20), allowed_losses(100), allowed_losses(434)
    (2, 2, 8)
    """
    noise = int(np.floor(np.log(NOISE_LEVEL) / np.log(0.5)))
    return max(noise, int(MARGIN * most + 1e-9))
