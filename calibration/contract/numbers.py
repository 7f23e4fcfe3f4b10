"""Arithmetic that reads the same for arrays of scores (float64) and for one exact number (Decimal)."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

Formula = Callable[[Any], Any]
"""Of an array of float64 or of a Decimal; returns its kind."""

DIGITS = 60


def exactly(formula: Formula, value: float) -> float:
    """Apply a formula to the number as it is written, and round once, at the end.

    0.8 means eight tenths here, not the binary fraction next to it, so no digit of a converted floor comes from the
    conversion.

    Examples
    --------
    >>> 1 - 0.8, exactly(lambda x: 1 - x, 0.8)
    (0.19999999999999996, 0.2)
    """
    with localcontext() as context:
        context.prec = DIGITS
        return float(formula(Decimal(repr(float(value)))))


def exact_sum(one: float, other: float) -> float:
    """Add two numbers as they are written.

    Examples
    --------
    >>> 0.1 + 0.2, exact_sum(0.1, 0.2)
    (0.30000000000000004, 0.3)
    """
    addend = Decimal(repr(float(other)))
    return exactly(lambda value: value + addend, one)


def same(value: Any) -> Any:
    """Pass a value on."""
    return value


def negated(value: Any) -> Any:
    """Turn the direction round."""
    return -value


def root(value: Any) -> Any:
    """Square root that keeps the sign, so that what rounding pushed below zero stays where it is.

    Examples
    --------
    >>> root(np.array([4.0, -4.0])).tolist(), root(Decimal("0.25"))
    ([2.0, -2.0], Decimal('0.5'))
    """
    if isinstance(value, Decimal):
        return abs(value).sqrt().copy_sign(value)
    return np.copysign(np.sqrt(np.abs(value)), value)


def square(value: Any) -> Any:
    """Square that keeps the sign: the inverse of `root`.

    Examples
    --------
    >>> square(np.array([2.0, -2.0])).tolist()
    [4.0, -4.0]
    """
    return value * abs(value)


def exp(value: Any) -> Any:
    """Exponential function."""
    return value.exp() if isinstance(value, Decimal) else np.exp(value)


def log(value: Any) -> Any:
    """Natural logarithm."""
    return value.ln() if isinstance(value, Decimal) else np.log(value)


def at_least(value: Any, bound: int) -> Any:
    """Give the larger of each value and a whole number."""
    return max(value, Decimal(bound)) if isinstance(value, Decimal) else np.maximum(value, bound)


def at_most(value: Any, bound: int) -> Any:
    """Give the smaller of each value and a whole number."""
    return min(value, Decimal(bound)) if isinstance(value, Decimal) else np.minimum(value, bound)


def sigmoid(value: Any) -> Any:
    """Logistic function, without overflow on either side."""
    return 1 / (1 + (-value).exp()) if isinstance(value, Decimal) else np.exp(-np.logaddexp(0.0, -value))


def constant(number: Decimal, like: Any) -> Any:
    """Give a constant of the kind of `like`."""
    return number if isinstance(like, Decimal) else float(number)
