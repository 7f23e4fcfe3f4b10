"""Smoothed distribution functions: what a few scores say about the scores still to come."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, expit

Floats = npt.NDArray[np.float64]
Shape = Callable[[Floats], Floats]
"""Distribution function of mean 0 and standard deviation 1."""

EPANECHNIKOV_FACTOR = 2.2138
"""Bandwidth of the Epanechnikov kernel that smooths as much as a Gaussian one of bandwidth 1."""
BELIEVED_WITHIN = 0.9
"""Confidence of the one-sided exact bounds of a counted share that the smoothed one is held within."""


def left_skewed(z: Floats) -> Floats:
    """Gumbel distribution function for minima, standardised: its long tail lies to the left.

    Examples
    --------
    >>> left_skewed(np.array([-2.0, 0.0, 2.0])).round(3).tolist()
    [0.042, 0.43, 0.999]
    """
    below: Floats = -np.expm1(-np.exp(np.minimum(z * math.pi / math.sqrt(6.0) - np.euler_gamma, 50.0)))
    return below


def heavy_tailed(z: Floats) -> Floats:
    """Logistic distribution function, standardised: more mass far out than a normal has.

    Examples
    --------
    >>> heavy_tailed(np.array([-2.0, 0.0, 2.0])).round(3).tolist()
    [0.026, 0.5, 0.974]
    """
    below: Floats = expit(z * math.pi / math.sqrt(3.0))
    return below


def bandwidth(values: Floats, pooled_range: float, n: int | None = None) -> float:
    """Rule-of-thumb bandwidth of a Gaussian kernel, at least 1 % of the pooled range of both bands.

    Parameters
    ----------
    values : ndarray
        Sorted.
    n : int, optional
        Size of the sample to be smoothed, where it is another one than `values`.

    Examples
    --------
    >>> bandwidth(np.array([0.5, 0.5, 0.5]), pooled_range=0.4)
    0.004
    """
    floor = 0.01 * pooled_range
    size = len(values) if n is None else n
    if len(values) < 2:
        return max(floor, 1e-9)
    spread = float(np.std(values, ddof=1))
    iqr = (quantile_of_sorted(values, 0.75) - quantile_of_sorted(values, 0.25)) / 1.34
    if iqr > 0:
        spread = min(spread, iqr)
    return max(0.9 * spread * float(size**-0.2), floor, 1e-9)


@dataclass(frozen=True)
class Smoothed:
    """A distribution function mixed of a kernel estimate and a fitted shape.

    Attributes
    ----------
    values : ndarray
        Finite observations, sorted.
    missing_share : float
        Share of observations that never had a score (minus infinity): they lie below every threshold.
    width : float
        Bandwidth on the Gaussian scale.
    shape : callable
        Standardised distribution function that is moved and scaled to the observations.
    shape_weight : float
        Weight of the fitted shape; the rest is the kernel's.
    """

    values: Floats
    missing_share: float
    width: float
    shape: Shape
    shape_weight: float

    @classmethod
    def fit(cls, values: npt.ArrayLike, *, pooled_range: float, shape: Shape, worth: float) -> "Smoothed":
        """Fit to observations, of which minus infinity means "never a candidate".

        Parameters
        ----------
        worth : float
            How many observations the shape is worth: among n its weight is worth / (worth + n).
        """
        array = np.asarray(values, dtype=np.float64)
        finite = np.sort(array[np.isfinite(array)])
        missing = 1.0 - len(finite) / len(array) if len(array) else 0.0
        return cls(finite, missing, bandwidth(finite, pooled_range), shape, shape_weight(worth, len(finite)))

    def below(self, thresholds: Floats) -> Floats:
        """Probability that a new observation lies below each threshold."""
        if len(self.values) == 0:
            return np.full(thresholds.shape, self.missing_share)
        smooth = self._kernel(thresholds)
        if self.shape_weight > 0:
            smooth = self.shape_weight * self._fitted(thresholds) + (1.0 - self.shape_weight) * smooth
        return self.missing_share + (1.0 - self.missing_share) * smooth

    def _kernel(self, thresholds: Floats) -> Floats:
        return _kernel_below(self.values, thresholds, self.width * EPANECHNIKOV_FACTOR)

    def _fitted(self, thresholds: Floats) -> Floats:
        spread = max(float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0, self.width)
        return self.shape((thresholds - float(np.mean(self.values))) / spread)

    def held(self, thresholds: Floats) -> Floats:
        """`below`, never further from what was counted than chance explains.

        Among n scored observations of which k lie below a threshold, the share below it is held between the two
        one-sided exact binomial bounds of k in n. Tails that the shape draws beyond a sharp edge of the scores end
        there, and the more observations there are, the less is left to the shape.
        """
        smooth = self.below(thresholds)
        if len(self.values) == 0:
            return smooth
        low, high = count_bounds(len(self.values))
        counted = np.searchsorted(self.values, thresholds, side="left")
        scored = 1.0 - self.missing_share
        held: Floats = np.clip(
            smooth, self.missing_share + scored * low[counted], self.missing_share + scored * high[counted]
        )
        return held


@lru_cache(maxsize=256)
def count_bounds(n: int) -> tuple[Floats, Floats]:
    """Exact (Clopper-Pearson) lower and upper bounds of a share, each one-sided, for 0 … n counted of n.

    Examples
    --------
    >>> low, high = count_bounds(22)
    >>> low[[0, 22]].round(3).tolist(), high[[0, 22]].round(3).tolist()
    ([0.0, 0.901], [0.099, 1.0])
    """
    counted = np.arange(n + 1, dtype=np.float64)
    low, high = np.zeros(n + 1), np.ones(n + 1)
    low[1:] = betaincinv(counted[1:], n - counted[1:] + 1.0, 1.0 - BELIEVED_WITHIN)
    high[:-1] = betaincinv(counted[:-1] + 1.0, n - counted[:-1], BELIEVED_WITHIN)
    low.flags.writeable = high.flags.writeable = False  # the cache hands the same arrays to everybody
    return low, high


def shape_weight(worth: float, n: float) -> float:
    """Weight of a fitted shape beside the kernel of n observations; 0 without any.

    Examples
    --------
    >>> shape_weight(20, 20), shape_weight(0, 5)
    (0.5, 0.0)
    """
    return worth / (worth + n) if worth > 0 else 0.0


def kernel_steps(values: Floats, thresholds: Floats, h: float | Floats) -> Floats:
    """Contribution of every value to the kernel estimate at every threshold, shape (values, thresholds).

    Parameters
    ----------
    h : float or ndarray of shape (values, 1)
        Half-width of the kernel.
    """
    u = np.clip((thresholds[None, :] - values[:, None]) / h, -1.0, 1.0)
    steps: Floats = 0.5 + u * (0.75 - 0.25 * (u * u))
    return steps


def _kernel_below(values: Floats, thresholds: Floats, h: float) -> Floats:
    """Epanechnikov kernel estimate of the distribution function, exactly, in O((n + t) log n).

    The kernel's integral is a cubic in the threshold, so sums over the observations within reach of a threshold follow
    from prefix sums of their powers.
    """
    centre = values.mean()  # powers of centred values keep their digits
    x = (values - centre) / h
    t = (thresholds - centre) / h
    full = np.searchsorted(x, t - 1.0, side="left")
    reach = np.searchsorted(x, t + 1.0, side="right")
    sums = np.zeros((3, len(x) + 1))
    squares = x * x
    np.cumsum([x, squares, squares * x], axis=1, out=sums[:, 1:])
    s1, s2, s3 = sums[:, reach] - sums[:, full]
    s0 = (reach - full).astype(np.float64)
    # integral of 3/4 (1 - u^2) from -1 to u is 1/2 + 3/4 u - 1/4 u^3, at u = t - x; the cubes summed by Horner's scheme
    cube = ((t * s0 - 3.0 * s1) * t + 3.0 * s2) * t - s3
    partial = 0.5 * s0 + 0.75 * (t * s0 - s1) - 0.25 * cube
    below: Floats = np.clip((full + partial) / len(values), 0.0, 1.0)
    return below


def quantile_of_sorted(values: Floats, share: float) -> float:
    """Interpolate a quantile of sorted values, as numpy does by default but without its overhead."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return float(values[below] + (values[above] - values[below]) * (place - below))
