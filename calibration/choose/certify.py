"""Certificates: an exact lower bound on what unseen queries keep, from order statistics over query groups."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import quantile_test

from .outcome import Certificate


def certify(
    best_relevant: npt.ArrayLike,
    floor: float | None,
    *,
    groups: Sequence[object] | npt.ArrayLike | None = None,
    target: float = 0.9,
    confidence: float = 0.9,
    top_k: int | None = None,
) -> Certificate:
    """Certify that at least `target` of unseen query groups keep a relevant passage at the floor.

    Parameters
    ----------
    best_relevant : array_like
        Per answerable query; minus infinity where no relevant passage is within `top_k`.
    groups : sequence, optional
        One label per query. A group counts as kept only when all of its queries are.
    top_k : int, optional
        The cap behind `best_relevant`, fixed before looking at these queries.

    Examples
    --------
    >>> certify(np.linspace(0.4, 0.8, 22), 0.35).certified, certify(np.linspace(0.4, 0.8, 21), 0.35).certified
    (True, False)
    """
    values = np.asarray(best_relevant, dtype=np.float64)
    if groups is not None and len(values):
        _, codes = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
        worst = np.full(codes.max() + 1, np.inf)
        np.minimum.at(worst, codes, values)
        values = worst
    needed = labels_for_certificate(target, confidence)
    bound: float | None = None
    if len(values) >= needed:
        test = quantile_test(values, p=1.0 - target, alternative="greater")
        low = float(test.confidence_interval(confidence_level=confidence).low)
        bound = low if math.isfinite(low) else None
    certified = floor is not None and bound is not None and floor <= bound
    return Certificate(target, confidence, len(values), bound, needed, top_k, certified)


def labels_for_certificate(target: float, confidence: float) -> int:
    """Smallest number of query groups that can certify the target, with no miss among them.

    Raises
    ------
    ValueError
        A share outside of (0, 1).

    Examples
    --------
    >>> [labels_for_certificate(target, 0.9) for target in (0.8, 0.9, 0.95)]
    [11, 22, 45]
    """
    if not (0.0 < target < 1.0 and 0.0 < confidence < 1.0):
        raise ValueError(
            f"target {target!r} and confidence {confidence!r}: expected shares between 0 and 1, both excluded"
        )
    # strictly more than the confidence, as in scipy: where the quotient is whole, one more is needed
    return math.floor(math.log(1.0 - confidence) / math.log(target) + 1e-9) + 1
