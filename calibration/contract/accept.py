"""The one place where a similarity meets a floor."""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ..errors import ContractError

DEFAULT_TOLERANCE = 1e-6
"""On the similarity scale. Storage as float32 moves a cosine by about 1e-7, so a floor may not decide within 1e-6."""


class Decision(IntEnum):
    """What a floor says of one candidate."""

    REJECTED = 0
    ACCEPTED = 1
    NOT_SCORED = 2


def decide(
    similarity: npt.ArrayLike, floor: float | None, *, inclusive: bool = True, tolerance: float = DEFAULT_TOLERANCE
) -> npt.NDArray[np.int8]:
    """Decide about each candidate: accepted, rejected or not scored.

    Parameters
    ----------
    similarity : array_like of float
        Higher is better; None, NaN and infinities mean "not scored". 0.0 is a value.
    floor : float or None
        None accepts every scored candidate. 0.0 is a floor.
    inclusive : bool
        Whether a similarity equal to the floor is accepted. "Equal" means within `tolerance`, either way.
    tolerance : float
        Width of the boundary on the scale of `similarity`.

    Returns
    -------
    ndarray of int8
        `Decision` values, the shape of `similarity`.

    Raises
    ------
    ContractError
        Floor or tolerance is NaN, which would reject everything in silence (a missing floor is None), or the tolerance
        is negative.

    Examples
    --------
    >>> decide([0.41, None, 0.0, 0.12], 0.3).tolist()
    [1, 2, 0, 0]
    >>> decide([1 - 0.2], 0.8).tolist(), decide([1 - 0.2], 0.8, inclusive=False).tolist()
    ([1], [0])
    """
    values = np.asarray(similarity, dtype=np.float64)
    scored = np.isfinite(values)
    if floor is not None and np.isnan(floor):
        raise ContractError("the floor is NaN, expected a number, or None for no floor.")
    if not tolerance >= 0.0:
        raise ContractError(f"the tolerance is {tolerance}, expected a number from 0 on.")
    if floor is None:
        passed = scored
    elif inclusive:
        passed = values >= lowest_accepted(floor, tolerance=tolerance)
    else:
        passed = values >= lowest_accepted(floor, inclusive=False, tolerance=tolerance)
    return np.where(scored, np.where(passed, Decision.ACCEPTED, Decision.REJECTED), Decision.NOT_SCORED).astype(np.int8)


def tolerance_for(storage: str, dimensions: int) -> float:
    """Give the width of the boundary on the cosine scale that a storage type needs, so that every metric decides alike.

    Two-byte floats move a cosine, and what the other metrics say of it, by up to 1.2e-3 in 2 dimensions, 4.0e-4 in 64,
    1.5e-4 in 384 and 6.6e-5 in 768 (measured over unit vectors and all metrics); four-byte floats by 1.5e-7 at most.

    Parameters
    ----------
    storage : str
        "vector" (four bytes) or "halfvec" (two).

    Examples
    --------
    >>> tolerance_for("vector", 384), round(tolerance_for("halfvec", 384), 6)
    (1e-06, 0.000204)
    """
    if storage == "vector":
        return DEFAULT_TOLERANCE
    if storage == "halfvec":
        return float(min(2e-3, 4e-3 / np.sqrt(dimensions)))
    raise ContractError(f"unknown storage type {storage!r}; expected vector or halfvec.")


def accept(
    similarity: npt.ArrayLike, floor: float | None, *, inclusive: bool = True, tolerance: float = DEFAULT_TOLERANCE
) -> npt.NDArray[np.bool_]:
    """Tell which candidates are accepted; those without a score never are.

    Examples
    --------
    >>> accept([0.3, 0.0, -0.1], 0.0).tolist(), accept([0.3, 0.0, -0.1], None).tolist()
    ([True, True, False], [True, True, True])
    """
    decisions: npt.NDArray[np.bool_] = (
        decide(similarity, floor, inclusive=inclusive, tolerance=tolerance) == Decision.ACCEPTED
    )
    return decisions


def lowest_accepted(floor: float, *, inclusive: bool = True, tolerance: float = DEFAULT_TOLERANCE) -> float:
    """Give the smallest number that passes a floor, so that sorted similarities can be counted by one comparison.

    Examples
    --------
    >>> lowest_accepted(0.5, tolerance=0.25), lowest_accepted(0.5, inclusive=False, tolerance=0.25) > 0.75
    (0.25, True)
    """
    return floor - tolerance if inclusive else float(np.nextafter(floor + tolerance, np.inf))


def on_boundary(
    similarity: npt.ArrayLike, floor: float | None, *, tolerance: float = DEFAULT_TOLERANCE
) -> npt.NDArray[np.bool_]:
    """Tell which candidates lie within the tolerance of the floor, where storage decides rather than meaning.

    Examples
    --------
    >>> on_boundary([0.79999996, 0.8, 0.9], 0.8).tolist()
    [True, True, False]
    """
    values = np.asarray(similarity, dtype=np.float64)
    if floor is None:
        return np.zeros(values.shape, dtype=np.bool_)
    near: npt.NDArray[np.bool_] = np.abs(values - floor) <= tolerance
    return near
