"""One rule in the units of another contract: exact where algebra reaches, refused with the reason where it does not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ContractError, listed
from .checks import check_cosine_range
from .metrics import METRICS, Metric
from .model import UNIT, ScoreContract
from .numbers import Formula, exactly, same
from .snippets import snippet
from .thresholds import check_threshold, described

DISTINCT = 1e-7
"""Scores that differ by more than float32 can tell must not become equal."""


class Refusal(ContractError):
    """A conversion that algebra does not allow.

    Attributes
    ----------
    reasons : list of str
        All of them, each with the name of what stands in the way.
    """

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        super().__init__(reasons[0] if len(reasons) == 1 else "no conversion:\n" + listed(reasons))


@dataclass(frozen=True)
class Converted:
    """A threshold in the units of another contract.

    Attributes
    ----------
    value : float
        Raw, in the new contract's units, unrounded.
    comparison : str
        The comparison that accepts, such as "<=".
    inclusive : bool
        As in the old contract: the rule stays the same rule.
    snippet : str
        The line of SQL or Python that applies it.
    boundary : (float, float)
        Raw scores between these count as equal to the threshold: the tolerance on the new scale.
    """

    value: float
    comparison: str
    metric: str
    inclusive: bool
    normalisation: str
    snippet: str
    score_transform: str = "none"
    boundary: tuple[float, float] = (float("nan"), float("nan"))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: value, comparison, metric, inclusive, normalisation, snippet."""
        names = ("value", "comparison", "metric", "inclusive", "normalisation", "snippet")
        return {name: getattr(self, name) for name in names}


def convert(value: float, old: ScoreContract, new: ScoreContract) -> Converted:
    """Say the old rule, a raw threshold on one contract, in the raw units of another.

    The comparison stays inclusive or strict as the old contract has it; the new contract's own `threshold_inclusive`
    plays no part.

    Raises
    ------
    Refusal
        Algebra leads from one contract to the other only for other vectors, or not at all.
    ContractError
        The value is no threshold of the old contract: not finite, or out of its range.

    Examples
    --------
    >>> found = convert(0.8, ScoreContract(), ScoreContract("squared_l2"))
    >>> found.metric, found.comparison, found.value
    ('squared_l2', '<=', 0.4)
    """
    reasons = refusals(old, new)
    if reasons:
        raise Refusal(reasons)
    check_threshold(value, old)
    back, inverse = _to_pivot(old, new), old.transform.inverse
    onto, forward = _from_pivot(old, new), new.transform.forward

    def carried(number: float) -> float:
        return exactly(lambda exact: forward(onto(back(inverse(exact)))), number)

    _check_reached(value, exactly(lambda exact: onto(back(inverse(exact))), value), new)
    raw, ends = carried(value), [carried(end) for end in old.boundary(old.similarity_of(value))]
    if not new.transform.low < raw < new.transform.high:
        raise ContractError(f"{value:g} has no equal as {described(new)}: the transform saturates at {raw:g}.")
    symbol = (">" if new.higher_is_better else "<") + ("=" if old.threshold_inclusive else "")
    return Converted(
        value=raw,
        comparison=symbol,
        metric=new.metric,
        inclusive=bool(old.threshold_inclusive),
        normalisation=new.normalisation,
        snippet=snippet(new, symbol, raw),
        score_transform=new.score_transform,
        boundary=(min(ends), max(ends)),
    )


def convert_scores(scores: npt.ArrayLike, old: ScoreContract, new: ScoreContract) -> npt.NDArray[np.float64]:
    """Turn raw scores of one contract into those the other would give for the same vectors; NaN stays NaN.

    Raises
    ------
    Refusal
        As for `convert`.
    ContractError
        The scores are none that the old contract can give, or the new one would make different ones equal.

    Examples
    --------
    >>> convert_scores([0.4, 0.0], ScoreContract("squared_l2"), ScoreContract("cosine_distance")).tolist()
    [0.2, 0.0]
    """
    reasons = refusals(old, new)
    if reasons:
        raise Refusal(reasons)
    raw = np.asarray(scores, dtype=np.float64)
    values = np.where(np.isfinite(raw), old.metric_values(raw), np.nan)
    if _through_cosine(old, new):
        check_cosine_range(old.definition.to_cosine(values))  # type: ignore[misc]
    with np.errstate(over="ignore"):
        # what overflows is found, and refused, below
        converted: npt.NDArray[np.float64] = new.transform.forward(_from_pivot(old, new)(_to_pivot(old, new)(values)))
    _check_still_apart(raw, converted, new)
    return converted


def refusals(old: ScoreContract, new: ScoreContract) -> list[str]:
    """Name all reasons why no rule can be carried from one contract to another; empty where it can.

    Examples
    --------
    >>> refusals(ScoreContract("l2"), ScoreContract("squared_l2", normalisation="none"))
    ["normalisation differs ('query_and_document_unit_l2', then 'none'): l2 of vectors of other lengths is another \
number. Normalise both sides alike, or recalibrate"]
    """
    reasons = []
    if old.embedding_version != new.embedding_version:
        undeclared = "undeclared" in (old.embedding_version, new.embedding_version)
        reasons.append(
            f"different embedding_version ({old.embedding_version!r}, then {new.embedding_version!r}): no formula "
            "turns one model's floor into another's, "
            + ("declare it on both sides, or recalibrate" if undeclared else "recalibrate")
        )
    floorless = {side.metric: side.definition for side in (old, new) if not side.definition.carries_floor}
    reasons += [f"no floor on {name!r}: {metric.reason}" for name, metric in floorless.items()]
    if floorless or (old.on_cosine_scale and new.on_cosine_scale):
        return reasons
    if old.definition.family != new.definition.family:
        sides = dict.fromkeys(why for side in (old, new) if (why := _no_cosine(side)))
        return reasons + list(sides)
    if old.normalisation != new.normalisation and old.definition.needs_unit_vectors:
        reasons.append(
            f"normalisation differs ({old.normalisation!r}, then {new.normalisation!r}): {old.metric} of vectors of "
            "other lengths is another number. Normalise both sides alike, or recalibrate"
        )
    return reasons


def conversions(floor: float, contract: ScoreContract) -> list[dict[str, Any]]:
    """State one floor in the units of every metric that algebra reaches from this contract.

    A contract with a transform has its own raw number first, under the transform's formula.

    Returns
    -------
    list of dict
        metric, operator (the comparison that accepts), value (unrounded).
    """
    contract.check_carries_floor()
    own = [{"metric": described(contract), "operator": contract.comparison, "value": contract.raw(floor)}]
    if not contract.on_cosine_scale:
        return own
    unit = contract.normalisation == UNIT
    equal = "=" if contract.threshold_inclusive else ""
    plain = [
        {
            "metric": metric.name,
            "operator": (">" if metric.higher_is_better else "<") + equal,
            "value": exactly(metric.from_cosine, floor),
        }
        for metric in METRICS.values()
        if metric.from_cosine is not None and (unit or not metric.needs_unit_vectors)
    ]
    return plain if contract.score_transform == "none" else own + plain


def _through_cosine(old: ScoreContract, new: ScoreContract) -> bool:
    return old.on_cosine_scale and new.on_cosine_scale


def _family_value(metric: Metric) -> tuple[Formula, Formula]:
    """Give the way to and from the number that a family shares, for vectors of any length."""
    if metric.to_distance is not None and metric.from_distance is not None:
        return metric.to_distance, metric.from_distance
    if metric.to_cosine is not None and metric.from_cosine is not None:
        return metric.to_cosine, metric.from_cosine
    return same, same


def _pivot(side: ScoreContract, other: ScoreContract) -> tuple[Formula, Formula]:
    metric = side.definition
    # between two distances the digits of nearly equal vectors are kept: 1 - cosine, never the cosine itself
    distances = metric.to_distance is not None and other.definition.to_distance is not None
    if not _through_cosine(side, other) or distances:
        return _family_value(metric)
    return metric.to_cosine or same, metric.from_cosine or same


def _to_pivot(old: ScoreContract, new: ScoreContract) -> Formula:
    return same if old.metric == new.metric else _pivot(old, new)[0]


def _from_pivot(old: ScoreContract, new: ScoreContract) -> Formula:
    return same if old.metric == new.metric else _pivot(new, old)[1]


def _no_cosine(side: ScoreContract) -> str | None:
    metric = side.definition
    if metric.to_cosine is None:
        return f"{metric.name!r} does not convert: {metric.reason}"
    if side.on_cosine_scale:
        return None
    lengths = {
        "none": "neither query nor document vectors are",
        "query_unit_l2": "the document vectors are not",
        "document_unit_l2": "the query vectors are not",
    }[side.normalisation]
    return (
        f"{metric.name!r} says nothing about a cosine unless both query and document vectors are of unit length, and "
        f"by the contract {lengths} (normalisation {side.normalisation!r}). Normalise them, or recalibrate"
    )


def _check_reached(value: float, reached: float, new: ScoreContract) -> None:
    """Refuse a threshold a hair beyond the best score, which would be a distance below zero."""
    metric = new.definition
    if not metric.low <= reached <= metric.high:
        raise ContractError(
            f"{value!r} has no equal as {metric.name}: it would be {reached:g}, outside [{metric.low:g}, "
            f"{metric.high:g}]. Nothing but rounding passes it: give the threshold itself, not its rounded neighbour."
        )


def _check_still_apart(before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], new: ScoreContract) -> None:
    scored = np.isfinite(before)
    order = np.argsort(before[scored], axis=None)
    old, found = before[scored][order], after[scored][order]
    lost = int((~np.isfinite(found)).sum())
    if lost:
        raise ContractError(
            f"{lost} of {len(found)} scores have no equal as {described(new)}: they leave the range of numbers. "
            "Keep the values before it."
        )
    merged = (found[1:] == found[:-1]) & (np.diff(old) > DISTINCT * np.maximum(1.0, np.abs(old[1:])))
    if merged.any():
        first = int(np.flatnonzero(merged)[0])
        raise ContractError(
            f"different scores become equal as {described(new)}, {int(merged.sum())} times, such as {old[first]:g} and "
            f"{old[first + 1]:g}: the transform saturates there. Keep the values before it."
        )
