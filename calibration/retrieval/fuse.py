"""One score from several signals: by ranks, by a weighted sum, by a divisor that follows the query's signals.

An absent signal (NaN) is not scored. It adds nothing to a sum, is never read as 0.0, and a candidate without any signal
has no fused score. What a fused score can carry is said by its contract: see `FUSIONS`.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ..contract import ScoreContract
from ..errors import ContractError, ParameterError

Floats = npt.NDArray[np.float64]
Active = frozenset[str]

RRF_K = 60

FUSIONS: Mapping[str, ScoreContract] = {
    "rrf": ScoreContract("rrf", normalisation="none"),
    "minmax_sum": ScoreContract("minmax_per_query", normalisation="none"),
    "weighted_sum": ScoreContract("weighted_sum", normalisation="none"),
    "adaptive_divisor": ScoreContract("adaptive_divisor", normalisation="none"),
}
"""The contract of each fusion: the first two are refused a floor, the others carry only one of their own."""


def rrf(ranks: npt.ArrayLike, *, k: float = RRF_K) -> Floats:
    """Fuse by reciprocal ranks: the sum of 1 / (k + rank) over the legs that returned the candidate.

    Parameters
    ----------
    ranks : array_like, (n, legs)
        From 1; NaN where a leg did not return the candidate.

    Examples
    --------
    >>> rrf([[1, 1], [1, np.nan], [np.nan, np.nan]]).round(7).tolist()
    [0.0327869, 0.0163934, nan]
    """
    array = _table(ranks)
    if k <= -1 or (array < 1).any():
        raise ParameterError("reciprocal rank fusion needs ranks from 1 up and k above -1.")
    return _sum(1.0 / (k + array))


def weighted_sum(signals: npt.ArrayLike, weights: npt.ArrayLike) -> Floats:
    """Add signals with their weights, as they are.

    Parameters
    ----------
    signals : array_like, (n, s)
        NaN adds nothing: a passage that one leg alone found is diluted by the other's weight.
    weights : array_like, (s,)

    Examples
    --------
    >>> weighted_sum([[0.62, np.nan], [0.62, 0.5]], [0.7, 0.3]).round(3).tolist()
    [0.434, 0.584]
    """
    array, factors = _table(signals), np.asarray(weights, dtype=np.float64)
    if factors.shape != (array.shape[1],) or not np.isfinite(factors).all():
        raise ParameterError(f"{array.shape[1]} signals need as many finite weights, found {factors.tolist()}.")
    return _sum(array * factors)


def minmax_per_query(values: npt.ArrayLike, queries: npt.ArrayLike) -> Floats:
    """Stretch each query's own list to 0..1; a lone or a tied list is 1.0 throughout.

    The best hit of every query gets 1.0, of an off-topic one too: no floor can be put on this.

    Examples
    --------
    >>> minmax_per_query([0.11, 0.11, 0.11, 0.47, 0.20], ["a", "b", "b", "c", "c"]).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.0]
    """
    array = np.asarray(values, dtype=np.float64)
    out = np.full(array.shape, np.nan)
    _, codes = np.unique(np.asarray(queries, dtype=str), return_inverse=True)
    scored = np.isfinite(array)
    low, high = np.full(codes.max(initial=-1) + 1, np.inf), np.full(codes.max(initial=-1) + 1, -np.inf)
    np.minimum.at(low, codes[scored], array[scored])
    np.maximum.at(high, codes[scored], array[scored])
    width = (high - low)[codes]
    flat = scored & (width == 0)
    out[flat] = 1.0
    wide = scored & ~flat
    out[wide] = (array[wide] - low[codes][wide]) / width[wide]
    return out


def max_possible(weights: Mapping[str, float]) -> dict[Active, float]:
    """Give the divisor of every set of signals from the largest value of each.

    Examples
    --------
    >>> table = max_possible({"semantic": 1.0, "bm25": 1.0, "entity": 0.5})
    >>> table[frozenset({"semantic", "bm25", "entity"})], table[frozenset({"semantic", "entity"})]
    (2.5, 1.5)
    """
    names = sorted(weights)
    sets = [frozenset(chosen) for size in range(1, len(names) + 1) for chosen in combinations(names, size)]
    return {chosen: float(sum(weights[name] for name in chosen)) for chosen in sets}


def adaptive_divisor(
    signals: Mapping[str, npt.ArrayLike],
    queries: Sequence[str] | npt.ArrayLike,
    divisors: Mapping[Active, float],
    *,
    active: Mapping[str, Collection[str]] | None = None,
) -> Floats:
    """Add signals and divide by the most that those active for the query could have given.

    Parameters
    ----------
    signals : mapping of name to array_like, (n,)
    queries : sequence of str, (n,)
        The query of each candidate.
    divisors : mapping of a set of signals to a number
        See `max_possible`.
    active : mapping of query to signals, optional
        By default the signals that scored any of the query's candidates. The divisor is the query's, not the
        candidate's: whoever lacks a signal that is active for the query is divided by it all the same.

    Raises
    ------
    ContractError
        A set of active signals without a divisor.

    Examples
    --------
    >>> semantic, words = [0.8, 0.3, 0.8], [np.nan, 0.7, np.nan]
    >>> table = max_possible({"semantic": 1.0, "bm25": 1.0})
    >>> adaptive_divisor({"semantic": semantic, "bm25": words}, ["q", "q", "r"], table).tolist()
    [0.4, 0.5, 0.8]
    """
    names = list(signals)
    array = _table(np.column_stack([np.asarray(signals[name], dtype=np.float64) for name in names]))
    asked, codes = np.unique(np.asarray(queries, dtype=str), return_inverse=True)
    seen = np.zeros((len(asked), len(names)), dtype=np.bool_)
    np.logical_or.at(seen, codes, np.isfinite(array))
    sets = [
        frozenset(active[query]) if active is not None and query in active else _named(names, row)
        for query, row in zip(asked.tolist(), seen, strict=True)
    ]
    unknown = sorted({"+".join(sorted(found)) for found in sets if found and found not in divisors})
    if unknown:
        known = ", ".join("+".join(sorted(found)) for found in divisors)
        raise ContractError(f"no divisor for the signals {', '.join(unknown)}; there are: {known}.")
    per_query = np.array([divisors[found] if found else np.nan for found in sets], dtype=np.float64)
    return _sum(array) / per_query[codes]


def _named(names: Sequence[str], present: npt.NDArray[np.bool_]) -> Active:
    return frozenset(name for name, there in zip(names, present, strict=True) if there)


def _table(values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ParameterError(f"expected candidates by signals, found an array of shape {array.shape}.")
    return array


def _sum(terms: Floats) -> Floats:
    """Add what is there; a row of absences stays absent."""
    known = np.isfinite(terms)
    total: Floats = np.where(known, terms, 0.0).sum(axis=1)
    total[~known.any(axis=1)] = np.nan
    return total
