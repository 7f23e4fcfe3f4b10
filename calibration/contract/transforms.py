"""What adapters make of a metric's value before they call it a score: formulas, never vendors.

Each is strictly monotone, so it has an exact inverse, and its direction follows from the formula. Who returns what:

=============================== ======================= =================================================
formula                         on the metric           found in
=============================== ======================= =================================================
``(1+cos)/2``, ``(1+dot)/2``    cosine, inner product   Lucene, Elasticsearch, Atlas
``1+cos``                       cosine_similarity       Elasticsearch script_score
``1-d/2`` (``(2-d)/2``)         cosine_distance         OpenSearch, RedisVL, Weaviate's certainty
``1-d``                         cosine_distance         LangChain, LlamaIndex on pgvector
``1-dot``                       inner_product           Chroma, hnswlib
``1/(1+d)``                     squared_l2              Lucene and OpenSearch (their d is squared)
``1/(1+d^2)``                   l2                      Elasticsearch, the same score said with plain L2
``1/(1+d)``                     l2                      many adapters
``1/(1+d)``                     cosine_distance         Azure AI Search
``1-d/sqrt(2)``                 l2                      LangChain
``exp(-d)``                     any distance            LlamaIndex on Chroma
``1+x if x>=0 else 1/(1-x)``    inner_product           Lucene and Elasticsearch, maximum inner product
``1-d if d<0 else 1/(1+d)``     negative_inner_product  OpenSearch, inner product
``sigmoid``                     reranker_logit          cross-encoders
``affine:a,b``                  any                     a * x + b
=============================== ======================= =================================================
"""

import difflib
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ContractError
from .metrics import Metric
from .numbers import Formula, at_least, at_most, constant, exp, log, negated, root, same, sigmoid, square


@dataclass(frozen=True)
class Transform:
    """One strictly monotone function of a metric's value x.

    Attributes
    ----------
    forward, inverse : callable
        Score from the metric's value, and back; of arrays or Decimals.
    increasing : bool
        Whether the score keeps the metric's direction.
    above : float
        The formula holds for x > above.
    low, high : float
        Its scores lie strictly between.
    """

    name: str
    forward: Formula
    inverse: Formula
    increasing: bool
    above: float = -math.inf
    low: float = -math.inf
    high: float = math.inf

    def check_scores(self, scores: npt.NDArray[np.float64]) -> None:
        """Refuse scores that the formula cannot give; NaN and infinities are "not scored" and pass."""
        if math.isinf(self.low) and math.isinf(self.high):
            return
        wrong = np.isfinite(scores) & ((scores <= self.low) | (scores >= self.high))
        if wrong.any():
            raise ContractError(
                f"{int(wrong.sum())} of {scores.size} scores lie outside ({self.low:g}, {self.high:g}), all that "
                f"{self.name} can give (for example {scores[wrong][0]:.6g}): the declared transform is wrong, or "
                "rounding has saturated it. Pull the values before the transform."
            )


def _sqrt2(like: Any) -> Any:
    return Decimal(2).sqrt() if isinstance(like, Decimal) else math.sqrt(2.0)


TRANSFORMS: dict[str, Transform] = {
    transform.name: transform
    for transform in (
        Transform("none", same, same, True),
        Transform("(1+x)/2", lambda x: (1 + x) / 2, lambda y: 2 * y - 1, True),
        Transform("1+x", lambda x: 1 + x, lambda y: y - 1, True),
        Transform("1-x", lambda x: 1 - x, lambda y: 1 - y, False),
        Transform("-x", negated, negated, False),
        Transform("1-x/2", lambda x: 1 - x / 2, lambda y: 2 - 2 * y, False),
        Transform("1-x/sqrt(2)", lambda x: 1 - x / _sqrt2(x), lambda y: (1 - y) * _sqrt2(y), False),
        Transform("1/(1+x)", lambda x: 1 / (1 + x), lambda y: 1 / y - 1, False, above=-1.0, low=0.0),
        Transform("1/(1+x^2)", lambda x: 1 / (1 + square(x)), lambda y: root(1 / y - 1), False, above=-1.0, low=0.0),
        Transform("exp(-x)", lambda x: exp(-x), lambda y: -log(y), False, low=0.0),
        Transform("1-exp(-x)", lambda x: 1 - exp(-x), lambda y: -log(1 - y), True, high=1.0),
        # the two halves as one sum each, so that neither divides by zero where the other applies
        Transform(
            "1+x if x>=0 else 1/(1-x)",
            lambda x: at_least(x, 0) + 1 / (1 - at_most(x, 0)),
            lambda y: at_least(y, 1) - 1 / at_most(y, 1),
            True,
            low=0.0,
        ),
        Transform(
            "1-x if x<0 else 1/(1+x)",
            lambda x: at_least(-x, 0) + 1 / (1 + at_least(x, 0)),
            lambda y: 1 / at_most(y, 1) - at_least(y, 1),
            False,
            low=0.0,
        ),
        Transform("sigmoid(x)", sigmoid, lambda y: log(y) - log(1 - y), True, low=0.0, high=1.0),
    )
}

SAME = {
    "(x+1)/2": "(1+x)/2",
    "x+1": "1+x",
    "(2-x)/2": "1-x/2",
    "1/(1+x**2)": "1/(1+x^2)",
    "sigmoid": "sigmoid(x)",
    "1/(1+exp(-x))": "sigmoid(x)",
}
"""Other ways to write a formula."""

SYMBOLS = ("cos", "dot", "logit", "d", "s", "x")
_SYMBOL = re.compile(rf"\b({'|'.join(SYMBOLS)})\b")
_LOSSY = re.compile(r"\b(max|min|clip|clamp|relu|round|abs)\b")
_FOLDED = ("1-x if x>0 else -x", "-x if x<=0 else 1-x", "1.0-x if x>0 else -1.0*x")


def transform_named(name: str, metric: Metric) -> Transform:
    """Look up the transform a contract declares for its metric.

    Parameters
    ----------
    name : str
        A formula of `TRANSFORMS`, in which x may be called what it is: cos, dot, logit, or d for a distance. Or
        "affine:a,b".

    Raises
    ------
    ContractError
        The formula is unknown, not strictly monotone, or not one of this metric's value.

    Examples
    --------
    >>> from calibration.contract.metrics import metric_named
    >>> transform_named("(1+cos)/2", metric_named("cosine_similarity")).increasing
    True
    """
    text = str(name)
    if text.startswith("affine:"):
        return _affine(text)
    plain = re.sub(r"\s+", " ", text.strip())
    if " if " not in plain:
        plain = plain.replace(" ", "")
    named = set(_SYMBOL.findall(plain))
    formula = _SYMBOL.sub("x", plain)
    found = TRANSFORMS.get(SAME.get(formula, formula))
    if found is None:
        raise ContractError(_unknown(text, formula))
    if not named <= {metric.symbol, "x", "s" if metric.higher_is_better else "x"}:
        raise ContractError(
            f"score_transform {text!r} is a formula of {', '.join(sorted(named))}, but the metric is {metric.name!r}, "
            f"whose value formulas call {metric.symbol!r}. Declare the metric that the formula is applied to."
        )
    if not math.isinf(found.above) and metric.low <= found.above:
        raise ContractError(
            f"score_transform {text!r} is not monotone on {metric.name!r}: the formula needs values above "
            f"{found.above:g}, and {metric.name} goes down to {metric.low:g}. Declare the distance it is applied to."
        )
    return found


def _affine(text: str) -> Transform:
    try:
        slope, offset = (Decimal(part.strip()) for part in text.removeprefix("affine:").split(","))
    except (InvalidOperation, ValueError):
        raise ContractError(f"score_transform {text!r}: expected affine:a,b with two numbers, for a * x + b.") from None
    if not all(math.isfinite(float(number)) for number in (slope, offset)) or float(slope) == 0.0:
        raise ContractError(f"score_transform {text!r}: a must be finite and not 0, or all scores would be equal.")
    return Transform(
        text,
        lambda x: constant(slope, x) * x + constant(offset, x),
        lambda y: (y - constant(offset, y)) / constant(slope, y),
        bool(slope > 0),
    )


def _unknown(text: str, formula: str) -> str:
    if _LOSSY.search(formula):
        return (
            f"score_transform {text!r} makes different scores equal, so no floor survives it. "
            "Pull the values before it cuts or rounds them."
        )
    if formula in _FOLDED:
        return (
            f"score_transform {text!r} is not monotone: it gives 0.5 for 0.5 and for -0.5. "
            "Pull the values before the transform."
        )
    close = difflib.get_close_matches(formula, [*TRANSFORMS, *SAME], n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return (
        f"unknown score_transform {text!r}{hint} Known: {', '.join(TRANSFORMS)}, affine:a,b (x is the metric's value)."
    )
