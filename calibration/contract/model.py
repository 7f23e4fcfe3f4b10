"""The score contract: what a number called score means."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import ContractError
from .accept import DEFAULT_TOLERANCE, Decision, decide, lowest_accepted
from .metrics import METRICS, Metric, metric_named

Normalisation = Literal["none", "query_unit_l2", "document_unit_l2", "query_and_document_unit_l2"]
UNIT: Normalisation = "query_and_document_unit_l2"


@dataclass(frozen=True)
class ScoreContract:
    """What the scores of one run mean; a floor lives on exactly one contract.

    Attributes
    ----------
    metric : str
        What the backend returns, a name of `METRICS`.
    normalisation : str
        Which vectors are of unit length, as measured.
    threshold_inclusive : bool
        Whether a score equal to the floor is accepted.
    embedding_version : str
        Identity of the model behind the vectors; floors never cross it.
    tolerance : float
        Width of the boundary on the similarity scale.
    unscored : str
        What happens to a candidate without a score: "drop" or "keep". Counted apart either way.
    score_transform : str
        "none": `metric` is the raw backend value.
    """

    metric: str = "cosine_similarity"
    normalisation: Normalisation = UNIT
    threshold_inclusive: bool = True
    embedding_version: str = "undeclared"
    tolerance: float = DEFAULT_TOLERANCE
    unscored: Literal["drop", "keep"] = "drop"
    score_transform: Literal["none"] = "none"

    def __post_init__(self) -> None:
        metric_named(self.metric)

    @property
    def definition(self) -> Metric:
        """The metric's definition."""
        return metric_named(self.metric)

    @property
    def on_cosine_scale(self) -> bool:
        """Whether the run's similarities are cosines: the metric converts, and its vectors are as the algebra needs."""
        metric = self.definition
        return metric.to_cosine is not None and (not metric.needs_unit_vectors or self.normalisation == UNIT)

    @property
    def scale(self) -> str:
        """Name of the scale on which this contract's floor is stated; higher is always better on it."""
        if self.on_cosine_scale:
            return "cosine similarity"
        metric = self.definition
        return metric.name if metric.higher_is_better else f"negated {metric.name}"

    def similarity(self, score: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Turn raw backend scores into the run's similarity, higher is better; NaN stays NaN, nothing is clamped.

        Raises
        ------
        ContractError
            The metric cannot carry a floor, or cosines lie outside [-1, 1] by more than rounding.

        Examples
        --------
        >>> ScoreContract("cosine_distance").similarity([0.05, 0.25, 0.85]).round(6).tolist()
        [0.95, 0.75, 0.15]
        """
        metric = self._floor_carrier()
        raw = np.asarray(score, dtype=np.float64)
        if metric.to_cosine is None or not self.on_cosine_scale:
            return raw if metric.higher_is_better else -raw
        cosine = metric.to_cosine(raw)
        check_cosine_range(cosine)
        return cosine

    def raw(self, similarity: float) -> float:
        """Convert one similarity (a floor, say) back to the backend's own number, at full precision."""
        metric = self._floor_carrier()
        if metric.from_cosine is not None and self.on_cosine_scale:
            return float(metric.from_cosine(np.array(similarity, dtype=np.float64)))
        return similarity if metric.higher_is_better else -similarity

    def accept(self, similarity: npt.ArrayLike, floor: float | None) -> npt.NDArray[np.bool_]:
        """`accept` with this contract's comparison and tolerance."""
        accepted: npt.NDArray[np.bool_] = self.decide(similarity, floor) == Decision.ACCEPTED
        return accepted

    def decide(self, similarity: npt.ArrayLike, floor: float | None) -> npt.NDArray[np.int8]:
        """`decide` with this contract's comparison and tolerance; a floor on scores that carry none is refused."""
        if floor is not None:
            self._floor_carrier()
        return decide(similarity, floor, inclusive=self.threshold_inclusive, tolerance=self.tolerance)

    def lowest_accepted(self, floor: float) -> float:
        """`lowest_accepted` with this contract's comparison and tolerance."""
        return lowest_accepted(floor, inclusive=self.threshold_inclusive, tolerance=self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the derived direction and scale."""
        return {**asdict(self), "higher_is_better": self.definition.higher_is_better, "scale": self.scale}

    def _floor_carrier(self) -> Metric:
        metric = self.definition
        if not metric.carries_floor:
            raise ContractError(f"no floor on {metric.name!r}: {metric.reason}.")
        return metric


def check_cosine_range(cosine: npt.NDArray[np.float64], *, slack: float = 1e-3) -> None:
    """Refuse "cosines" outside [-1, 1] by more than float32 rounding of long vectors can explain.

    Examples
    --------
    >>> check_cosine_range(np.array([1.0000001, 0.49]))
    """
    outside = np.abs(cosine) > 1.0 + slack
    if outside.any():
        worst = cosine[outside][np.argmax(np.abs(cosine[outside]))]
        raise ContractError(
            f"{int(outside.sum())} of {cosine.size} values lie outside [-1, 1] for a cosine similarity (for example "
            f"{worst:.6g}): the vectors are not of unit length, or the declared metric is wrong. Declare the metric "
            "the backend returns, or normalise the vectors."
        )


def check_floor_in_range(floor: float, contract: ScoreContract) -> None:
    """Refuse a floor that no similarity of this contract can meet, such as a percentage, or any on rank-only scores."""
    contract.raw(floor)
    if not np.isfinite(floor):
        raise ContractError(f"floor {floor} is not a finite number.")
    if contract.on_cosine_scale and not -1.0 <= floor <= 1.0:
        hint = f" Did you mean {floor / 100:g}?" if 1.0 < floor <= 100.0 else ""
        raise ContractError(f"floor {floor:g} is outside [-1, 1] for cosine similarity.{hint}")


def conversions(floor: float, contract: ScoreContract) -> list[dict[str, Any]]:
    """State one floor in the units of every metric that algebra reaches from this contract.

    Returns
    -------
    list of dict
        metric, operator (the comparison that accepts), value (unrounded).
    """
    if not contract.on_cosine_scale:
        value = contract.raw(floor)
        metric = contract.definition
        return [{"metric": metric.name, "operator": _operator(metric, contract), "value": value}]
    unit = contract.normalisation == UNIT
    cosine = np.array(floor, dtype=np.float64)
    return [
        {"metric": metric.name, "operator": _operator(metric, contract), "value": float(metric.from_cosine(cosine))}
        for metric in METRICS.values()
        if metric.from_cosine is not None and (unit or not metric.needs_unit_vectors)
    ]


def _operator(metric: Metric, contract: ScoreContract) -> str:
    symbol = ">" if metric.higher_is_better else "<"
    return symbol + ("=" if contract.threshold_inclusive else "")
