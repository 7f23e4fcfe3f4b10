"""Far noise smoothed: a kernel that is narrow where scores are dense, and an upper end that the scores may show."""

from dataclasses import dataclass

import numpy as np

from .smooth import EPANECHNIKOV_FACTOR, Floats, Smoothed, kernel_steps, quantile_of_sorted

TAIL_FROM = 2.0 / 3.0
"""Quantile above which the tail is fitted to what exceeds it."""
TAIL_WORTH = 5.0
"""How many exceedances the exponential tail is worth beside the fitted curvature."""
CURVATURES = (-0.5, 1.5)
"""Least and largest curvature believed: heavier than exponential below 0, with an upper end above it (uniform at 1)."""
WIDTH = 0.5
"""Of the rule-of-thumb bandwidth: what a value in a stretch of average density is smoothed by."""
NARROWEST = 0.1
"""Of that width: what no value is smoothed by less than."""
MOST = 1000
"""Values smoothed one by one; of more, as many quantiles stand for them."""


@dataclass(frozen=True)
class FarNoise(Smoothed):
    """Best similarities of off-topic queries: `Smoothed`, with an eye on their upper end, where floors stand.

    The kernel is adaptive (Abramson): each value is smoothed by a width that falls with the root of the density around
    it, so that a dense edge is not smeared over the answers above it. Half of the fitted shape has its upper third
    replaced by a generalised Pareto tail, fitted to what exceeds the quantile, which may end instead of thinning out.
    """

    def _kernel(self, thresholds: Floats) -> Floats:
        values = self.values
        if len(values) > MOST:
            values = np.quantile(values, (np.arange(MOST) + 0.5) / MOST)
        half_widths = self._widths(values) * EPANECHNIKOV_FACTOR
        below: Floats = kernel_steps(values, thresholds, half_widths[:, None]).mean(axis=0)
        return below

    def _widths(self, values: Floats) -> Floats:
        """Bandwidth of every value on the Gaussian scale, from a first estimate of the density around it."""
        first = WIDTH * self.width
        steps = (values[:, None] - values[None, :]) / (first * EPANECHNIKOV_FACTOR)
        density = np.maximum(1.0 - steps * steps, 0.0).sum(axis=1)  # each value counts itself: never 0
        typical = np.exp(np.log(density).mean())
        widths: Floats = first * np.maximum(np.sqrt(typical / density), NARROWEST)
        return widths

    def _fitted(self, thresholds: Floats) -> Floats:
        fitted = super()._fitted(thresholds)
        start = quantile_of_sorted(self.values, TAIL_FROM)
        over = self.values - start
        over = over[over > 1e-6 * self.width]  # equal up to rounding is not above
        if len(over) < 2:
            return fitted
        share = len(over) / len(self.values)
        at_start = float(super()._fitted(np.array([start]))[0])
        tail = 1.0 - share * exceeding(over, thresholds - start)
        spliced = np.where(thresholds <= start, fitted * (1.0 - share) / at_start, tail)
        return (fitted + spliced) / 2.0


def exceeding(over: Floats, thresholds: Floats) -> Floats:
    """Share of future exceedances at or above each threshold: a generalised Pareto tail.

    Fitted by probability-weighted moments (Hosking and Wallis 1987), its curvature drawn toward the exponential tail's
    0. An end of the tail never lies below what was seen.

    Parameters
    ----------
    over : ndarray
        By how much values exceed the start of the tail: positive, sorted.
    thresholds : ndarray
        Above the same start; below it nothing is lost.

    Examples
    --------
    >>> even = np.arange(1, 100) / 100  # ends at 1, where an exponential tail of the same mean keeps .135
    >>> exceeding(even, np.array([-1.0, 0.0, 0.5, 1.1])).round(2).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    n = len(over)
    mean = float(over.mean())
    places = (np.arange(1, n + 1) - 0.35) / n
    curvature = mean / float((over * (2.0 * places - 1.0)).mean()) - 2.0
    curvature = float(np.clip(n * curvature / (n + TAIL_WORTH), *CURVATURES))
    scale = mean * (1.0 + curvature)
    if curvature > 0:
        scale = max(scale, curvature * float(over[-1]))
    z = np.maximum(thresholds, 0.0) / scale
    if abs(curvature) < 1e-6:
        return np.exp(-z)
    beyond: Floats = np.maximum(1.0 - curvature * z, 0.0) ** (1.0 / curvature)
    return beyond
