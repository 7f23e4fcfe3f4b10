"""The noise ceiling against corpus size: more passages, more of them near an off-topic query by chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from .smooth import Floats

QUANTILE = 0.95
SMALLEST_CORPUS = 500
"""Passages below which nothing is extrapolated: the fit would rest on subsets of a few dozen."""
SMALLEST_SHARE = 0.08
"""Smallest subset of the corpus in the fit; what lies beyond 100 kept passages a query hardly counts there."""
SIZES = 12
RESAMPLES = 300
CONFIDENCE = 0.9
LEAST_ERROR = 0.03
"""Least half-width of the interval at ten times the size. Resampling queries does not see which passages are still to
come: predictions from random tenths of real corpora were off by more in one draw of six, see the benchmark."""
_EDGE = 1.0 - 1e-9


@dataclass(frozen=True)
class Ceiling:
    """The 95th percentile of far noise today, and its fitted growth with the logarithm of the corpus size.

    A cosine similarity cannot pass 1, so the growth is a line in its Fisher transform (artanh), which bends in the
    similarity itself: the nearer to 1, the less a tenfold corpus adds.

    Attributes
    ----------
    value : float
        Today's.
    sizes, values : ndarray
        The points of the fit: exact expectations over random subsets of the corpus.
    growth : float or None
        Rise up to ten times today's size; None under 500 passages.
    growth_low, growth_high : float or None
        90 % bootstrap interval over queries, at least `LEAST_ERROR` to both sides.
    """

    value: float
    corpus_size: int
    sizes: npt.NDArray[np.int64]
    values: Floats
    growth: float | None
    growth_low: float | None
    growth_high: float | None

    def at(self, corpus_size: float) -> tuple[float, float, float] | None:
        """Ceiling expected at another corpus size, with its interval; None where nothing is extrapolated."""
        if self.growth is None or self.growth_low is None or self.growth_high is None:
            return None
        decades = float(np.log10(corpus_size / self.corpus_size))
        value, low, high = (
            float(np.tanh(_stretched(self.value) + self._steepness(growth) * decades))
            for growth in (self.growth, self.growth_low, self.growth_high)
        )
        return value, min(low, high), max(low, high)

    def holds_until(self, floor: float) -> float | None:
        """Corpus size at which the ceiling reaches the floor; None without a growth or beyond a thousandfold."""
        if self.growth is None or self.growth <= 0:
            return None
        decades = (_stretched(floor) - _stretched(self.value)) / self._steepness(self.growth)
        return float(self.corpus_size * 10.0**decades) if decades <= 3 else None

    def _steepness(self, growth: float) -> float:
        """Slope per tenfold corpus of the transformed ceiling that rises by `growth` on the first tenfold."""
        return _stretched(self.value + growth) - _stretched(self.value)


def noise_ceiling(
    tops: Sequence[npt.ArrayLike], corpus_size: int, *, seed: int = 0, smallest: int = SMALLEST_CORPUS
) -> Ceiling | None:
    """Measure the noise ceiling and how it grows.

    The best match in a random subset of m of N passages is the k-th best of all with a probability known in closed
    form, so subsets need no simulation: the top of each query says what its best match would be in a smaller corpus.

    Parameters
    ----------
    tops : sequence of array_like
        Per off-topic query its highest similarities, descending; 100 are enough.
    corpus_size : int
        Passages (or documents) that were scored.
    smallest : int
        Passages below which nothing is extrapolated. For trials only.

    Returns
    -------
    Ceiling or None
        None without any query.
    """
    arrays = [np.asarray(top, dtype=np.float64) for top in tops if len(np.asarray(top))]
    if not arrays or corpus_size < 1:
        return None
    depth = max(len(array) for array in arrays)
    table = np.full((len(arrays), depth), np.nan)
    for row, array in enumerate(arrays):
        table[row, : len(array)] = array
    value = float(np.quantile(table[:, 0], QUANTILE))
    if corpus_size < smallest:
        return Ceiling(value, corpus_size, np.array([corpus_size]), np.array([value]), None, None, None)
    sizes = np.unique(np.geomspace(SMALLEST_SHARE * corpus_size, corpus_size, SIZES).astype(np.int64))
    best = _BestMatches(table, [_subset_weights(int(size), corpus_size, depth) for size in sizes])
    once = np.ones(len(table))
    values = np.array([best.quantile(i, once) for i in range(len(sizes))])
    rng = np.random.default_rng(seed)
    ends = [0, len(sizes) // 2, len(sizes) - 1]
    slopes = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        drawn = rng.multinomial(len(table), np.full(len(table), 1 / len(table))).astype(np.float64)
        slopes[i] = _slope(sizes[ends], np.array([best.quantile(j, drawn) for j in ends]))
    low, high = np.quantile(slopes, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    growth, least, most = (
        float(np.tanh(_stretched(value) + slope)) - value for slope in (_slope(sizes, values), low, high)
    )
    return Ceiling(
        value, corpus_size, sizes, values, growth, min(least, growth - LEAST_ERROR), max(most, growth + LEAST_ERROR)
    )


class _BestMatches:
    """Best matches in random subsets as one sorted list of value, query and probability: resampling never sorts."""

    def __init__(self, table: Floats, weights: Sequence[Floats]) -> None:
        query, place = np.nonzero(np.isfinite(table))
        order = np.argsort(-table[query, place], kind="stable")
        self._values = table[query, place][order]
        self._query = query[order]
        self._mass = [weight[place[order]] for weight in weights]

    def quantile(self, size: int, times: Floats) -> float:
        """Quantile over queries, each counted `times`; what no kept passage accounts for lies at the bottom."""
        above = np.cumsum(self._mass[size] * times[self._query]) / times.sum()
        at = int(np.searchsorted(above, 1.0 - QUANTILE, side="left"))
        return float(self._values[min(at, len(self._values) - 1)])


def _subset_weights(size: int, corpus_size: int, depth: int) -> Floats:
    """Probability that the k-th best passage of all is the best of a random subset, for k = 1 … depth."""
    k = np.arange(1, depth + 1)
    possible = corpus_size - k >= size - 1
    weights = np.zeros(depth)
    chosen = np.where(possible, corpus_size - k, size - 1)
    log_ways = gammaln(chosen + 1) - gammaln(size) - gammaln(chosen - size + 2)
    log_all = gammaln(corpus_size + 1) - gammaln(size + 1) - gammaln(corpus_size - size + 1)
    weights[possible] = np.exp(log_ways - log_all)[possible]
    return weights


def _slope(sizes: npt.NDArray[np.int64], values: Floats) -> float:
    """Slope of the transformed values per tenfold size."""
    return float(np.polyfit(np.log10(sizes), np.arctanh(np.clip(values, -_EDGE, _EDGE)), 1)[0])


def _stretched(similarity: float) -> float:
    """Fisher transform of a cosine similarity; rounding may have lifted it to 1 and beyond."""
    return float(np.arctanh(np.clip(similarity, -_EDGE, _EDGE)))
