"""The score contract: what a number called score means."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import ContractError, listed
from .accept import DEFAULT_TOLERANCE, Decision, decide, lowest_accepted
from .checks import check_cosine_range, contract_problems
from .metrics import Metric, metric_named
from .numbers import Formula, exact_sum, exactly, negated, same
from .transforms import Transform, transform_named

Normalisation = Literal["none", "query_unit_l2", "document_unit_l2", "query_and_document_unit_l2"]
UNIT: Normalisation = "query_and_document_unit_l2"


@dataclass(frozen=True)
class ScoreContract:
    """What the scores of one run mean; a floor lives on exactly one contract.

    Attributes
    ----------
    metric : str
        What the backend computes, a name of `METRICS`.
    normalisation : str
        Which vectors are of unit length, as measured.
    threshold_inclusive : bool
        Whether a score equal to the floor is accepted.
    embedding_version : str
        Identity of the model behind the vectors; floors never cross it.
    tolerance : float
        Width of the boundary on the similarity scale; `tolerance_for` gives it per storage type.
    unscored : str
        What happens to a candidate without a score: "drop" or "keep". Counted apart either way.
    score_transform : str
        What the adapter made of the metric's value, a formula of `TRANSFORMS`; "none" where it is passed on as it is.

    Raises
    ------
    ContractError
        All that is unknown or contradictory, at once.
    """

    metric: str = "cosine_similarity"
    normalisation: Normalisation = UNIT
    threshold_inclusive: bool = True
    embedding_version: str = "undeclared"
    tolerance: float = DEFAULT_TOLERANCE
    unscored: Literal["drop", "keep"] = "drop"
    score_transform: str = "none"

    def __post_init__(self) -> None:
        problems = contract_problems(asdict(self))
        if len(problems) == 1:
            raise ContractError(problems[0])
        if problems:
            raise ContractError("the score contract cannot be used:\n" + listed(problems))
        # plain values, whatever numpy handed in, so that a contract can always be written down
        object.__setattr__(self, "threshold_inclusive", bool(self.threshold_inclusive))
        object.__setattr__(self, "tolerance", float(self.tolerance))

    @property
    def definition(self) -> Metric:
        """The metric's definition."""
        return metric_named(self.metric)

    @property
    def transform(self) -> Transform:
        """The transform's definition."""
        return transform_named(self.score_transform, self.definition)

    @property
    def higher_is_better(self) -> bool:
        """Direction of the raw scores, which follows from metric and transform."""
        return self.definition.higher_is_better == self.transform.increasing

    @property
    def comparison(self) -> str:
        """The comparison with which a raw score passes a raw threshold."""
        return (">" if self.higher_is_better else "<") + ("=" if self.threshold_inclusive else "")

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
            The metric cannot carry a floor, scores are none that the transform can give, or cosines lie outside
            [-1, 1] by more than rounding.

        Examples
        --------
        >>> ScoreContract("cosine_distance").similarity([0.05, 0.25, 0.85]).round(6).tolist()
        [0.95, 0.75, 0.15]
        >>> ScoreContract(score_transform="(1+cos)/2").similarity([0.92, 0.8]).round(6).tolist()
        [0.84, 0.6]
        """
        self.check_carries_floor()
        values = self.metric_values(score)
        similarity: npt.NDArray[np.float64] = self._from_metric()(values)
        if self.on_cosine_scale:
            check_cosine_range(similarity)
        return similarity

    def metric_values(self, score: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Undo the transform: the values of the metric behind raw scores."""
        raw = np.asarray(score, dtype=np.float64)
        if self.score_transform == "none":
            return raw
        self.transform.check_scores(raw)
        values: npt.NDArray[np.float64] = self.transform.inverse(np.where(np.isfinite(raw), raw, np.nan))
        return values

    def similarity_of(self, threshold: float) -> float:
        """Convert one raw number (a threshold, say) to the similarity scale, at full precision.

        Examples
        --------
        >>> ScoreContract("squared_l2").similarity_of(0.4)
        0.8
        """
        self.check_carries_floor()
        self.transform.check_scores(np.array([threshold], dtype=np.float64))
        from_metric, inverse = self._from_metric(), self.transform.inverse
        return exactly(lambda raw: from_metric(inverse(raw)), threshold)

    def raw(self, similarity: float) -> float:
        """Convert one similarity (a floor, say) back to the backend's own number, at full precision.

        Examples
        --------
        >>> ScoreContract("cosine_distance").raw(0.8), ScoreContract(score_transform="(1+cos)/2").raw(0.7)
        (0.2, 0.85)
        """
        self.check_carries_floor()
        to_metric, forward = self._to_metric(), self.transform.forward
        return exactly(lambda value: forward(to_metric(value)), similarity)

    def boundary(self, floor: float) -> tuple[float, float]:
        """Carry the tolerance around a floor (a similarity) over to raw scores: the lowest and highest on the boundary.

        One tolerance on the similarity scale is twice that in squared L2 and varies along L2.

        Examples
        --------
        >>> ScoreContract("squared_l2", tolerance=0.01).boundary(0.8)
        (0.38, 0.42)
        """
        ends = (self.raw(exact_sum(floor, -self.tolerance)), self.raw(exact_sum(floor, self.tolerance)))
        return min(ends), max(ends)

    def accept(self, similarity: npt.ArrayLike, floor: float | None) -> npt.NDArray[np.bool_]:
        """`accept` with this contract's comparison and tolerance."""
        accepted: npt.NDArray[np.bool_] = self.decide(similarity, floor) == Decision.ACCEPTED
        return accepted

    def decide(self, similarity: npt.ArrayLike, floor: float | None) -> npt.NDArray[np.int8]:
        """`decide` with this contract's comparison and tolerance; a floor on scores that carry none is refused."""
        if floor is not None:
            self.check_carries_floor()
        return decide(similarity, floor, inclusive=self.threshold_inclusive, tolerance=self.tolerance)

    def lowest_accepted(self, floor: float) -> float:
        """`lowest_accepted` with this contract's comparison and tolerance."""
        return lowest_accepted(floor, inclusive=self.threshold_inclusive, tolerance=self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the derived direction and scale."""
        return {**asdict(self), "higher_is_better": self.higher_is_better, "scale": self.scale}

    def check_carries_floor(self) -> None:
        """Refuse a score on which no floor means anything, with the reason."""
        metric = self.definition
        if not metric.carries_floor:
            raise ContractError(f"no floor on {metric.name!r}: {metric.reason}.")

    def _from_metric(self) -> Formula:
        metric = self.definition
        if metric.to_cosine is not None and self.on_cosine_scale:
            return metric.to_cosine
        return same if metric.higher_is_better else negated

    def _to_metric(self) -> Formula:
        metric = self.definition
        if metric.from_cosine is not None and self.on_cosine_scale:
            return metric.from_cosine
        return same if metric.higher_is_better else negated
