"""The gap between the bands, and who stands in it."""

import numpy as np
import numpy.typing as npt

from .outcome import Gap, Verdict

ENOUGH = 20
"""Queries a side below which percentiles say little and only the extreme gap is shown."""
NARROW = 0.1
"""A gap below this share of the distance between the band medians is narrow."""


def measure_gap(relevant: npt.ArrayLike, noise: npt.ArrayLike) -> Gap:
    """Measure the gap between best relevant similarities and the noise.

    Examples
    --------
    >>> measure_gap([0.47, 0.52, 0.45], [0.18, 0.12, 0.20]).verdict
    'clean'
    >>> measure_gap([0.4, 0.2], []).verdict
    'none'
    """
    best = np.asarray(relevant, dtype=np.float64)
    best = best[np.isfinite(best)]
    far = np.asarray(noise, dtype=np.float64)
    far = far[np.isfinite(far)]
    if len(best) == 0 or len(far) == 0:
        return Gap(None, None, None, None, len(best), len(far), "none")
    extreme = float(best.min() - far.max())
    quantile = None
    low, high = float(far.max()), float(best.min())
    if len(best) >= ENOUGH and len(far) >= ENOUGH:
        low, high = float(np.quantile(far, 0.95)), float(np.quantile(best, 0.05))
        quantile = high - low
    width = extreme if quantile is None else quantile
    between_medians = float(np.median(best) - np.median(far))
    verdict: Verdict
    if between_medians <= 0:
        verdict = "none"
    elif width <= 0:
        verdict = "overlapping"
    else:
        verdict = "narrow" if width < NARROW * between_medians else "clean"
    return Gap(quantile, extreme, low, high, len(best), len(far), verdict)


def blocking(
    relevant: npt.ArrayLike, noise: npt.ArrayLike, *, at_most: int = 5
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Name who blocks the extreme gap: noise above the weakest answer, and answers below the strongest noise.

    Returns
    -------
    noise positions, relevant positions
        Worst first, at most `at_most` of each.

    Examples
    --------
    >>> blocking([0.680, 0.8], [0.676, 0.721])
    ((1,), (0,))
    """
    best = np.asarray(relevant, dtype=np.float64)
    far = np.asarray(noise, dtype=np.float64)
    scored = best[np.isfinite(best)]
    if len(scored) == 0 or not np.isfinite(far).any():
        return (), ()
    above = [int(i) for i in np.argsort(-far, kind="stable") if far[i] >= scored.min() and np.isfinite(far[i])]
    top = far[np.isfinite(far)].max()
    below = [int(i) for i in np.argsort(best, kind="stable") if np.isfinite(best[i]) and best[i] <= top]
    return tuple(above[:at_most]), tuple(below[:at_most])
