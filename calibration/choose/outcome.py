"""What choosing a floor gives back: a recommendation, or the plain statement that these labels support none."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["clean", "narrow", "overlapping", "none"]


@dataclass(frozen=True)
class Costs:
    """What the two errors weigh, and how often each can happen.

    Attributes
    ----------
    miss : float
        Cost of an answerable query that keeps no relevant passage.
    false_answer : float
        Cost of an off-topic query that gets a passage.
    off_topic_share : float
        Share of off-topic queries in the traffic, in [0, 1].
    """

    miss: float = 3.0
    false_answer: float = 1.0
    off_topic_share: float = 0.5

    def __post_init__(self) -> None:
        problems = [
            f"{name} is {value!r}, expected a finite number above 0"
            for name, value in (("miss", self.miss), ("false_answer", self.false_answer))
            if not 0 < value < float("inf")
        ]
        if not 0 <= self.off_topic_share <= 1:
            problems.append(f"off_topic_share is {self.off_topic_share!r}, expected a share in [0, 1]")
        if problems:
            raise ValueError("costs: " + "; ".join(problems))

    @property
    def miss_weight(self) -> float:
        """Weight of the miss rate in the expected cost of a query."""
        return (1.0 - self.off_topic_share) * self.miss

    @property
    def false_weight(self) -> float:
        """Weight of the false-answer rate in the expected cost of a query."""
        return self.off_topic_share * self.false_answer


PRESETS: dict[str, Costs] = {
    "completeness": Costs(miss=10.0),
    "balanced": Costs(miss=3.0),
    "refusal": Costs(miss=1.0, false_answer=3.0),
}
"""By the error you can least afford: a lost answer, neither in particular, a false answer."""


@dataclass(frozen=True)
class Gap:
    """Where the relevant band and the noise band stand to each other.

    Attributes
    ----------
    quantile : float or None
        5th percentile of best relevant minus 95th of the noise; None under 20 values on either side.
    extreme : float or None
        Smallest best relevant minus largest noise. It shrinks as labels grow, so alone it decides nothing.
    low, high : float or None
        The two ends that `quantile` (or, without it, `extreme`) compares: noise end and relevant end.
    """

    quantile: float | None
    extreme: float | None
    low: float | None
    high: float | None
    n_relevant: int
    n_noise: int
    verdict: Verdict


@dataclass(frozen=True)
class Certificate:
    """An exact one-sided promise on the hit rate, by order statistics over query groups.

    "With `confidence`, at least `target` of such queries keep a relevant passage at any floor up to `bound`, with the
    cap at `top_k`." `bound` is None when `n` is too small for the target; `needed` is the smallest n that could do.
    """

    target: float
    confidence: float
    n: int
    bound: float | None
    needed: int
    top_k: int | None = None
    certified: bool = False


@dataclass(frozen=True)
class Gate:
    """The permutation gate: whether a floor gains more than relabelled bands give by luck.

    Attributes
    ----------
    gain : float
        What the best threshold saves per query, by the smoothed bands, over the better of accepting and refusing
        everything.
    bar : float
        What it must exceed: at most one relabelling in fifty gains more.
    """

    gain: float
    bar: float
    permutations: int
    passed: bool


@dataclass(frozen=True)
class HeldOut:
    """Floors that were chosen without some of the queries, and the queries each was chosen without.

    Attributes
    ----------
    floors : tuple of float or None
        One per fold; None where the other folds gave nothing to choose on.
    relevant_folds, noise_folds : tuple of int
        Fold of each value of the two bands, in their order.
    """

    floors: tuple[float | None, ...]
    relevant_folds: tuple[int, ...]
    noise_folds: tuple[int, ...]


@dataclass(frozen=True)
class Recommendation:
    """A floor that the labels support.

    Attributes
    ----------
    floor : float
        Inclusive lower bound on similarity.
    expected_cost : float or None
        Smoothed expected cost per query at the floor; None for a very small sample.
    variability : tuple of float or None
        5th and 95th percentile of the floor over resampled query groups; variability, not a promise.
    smoothed : bool
        Whether the smoothed rule chose; otherwise a quarter up the extreme gap of a very small sample.
    held_out : HeldOut or None
        Floors of the same procedure on folds; None for a very small sample.
    blocking_noise, blocking_relevant : tuple of int
        Positions in the two bands of the values that overlap, worst first.
    lowered_from : float or None
        The floor of least cost, where it was lowered a little to come under the bound of the certificate.
    """

    floor: float
    costs: Costs
    expected_cost: float | None
    gap: Gap
    certificate: Certificate
    gate: Gate | None
    variability: tuple[float, float] | None
    smoothed: bool
    held_out: HeldOut | None = None
    blocking_noise: tuple[int, ...] = ()
    blocking_relevant: tuple[int, ...] = ()
    caveats: tuple[str, ...] = ()
    lowered_from: float | None = None

    @property
    def status(self) -> Literal["certified", "uncertified"]:
        """Whether the promise of the certificate covers this floor."""
        return "certified" if self.certificate.certified else "uncertified"

    @property
    def held_out_floors(self) -> tuple[float | None, ...]:
        """Floors of the folds; empty without any."""
        return () if self.held_out is None else self.held_out.floors


@dataclass(frozen=True)
class NoFloor:
    """These labels support no floor; a result, not an error.

    Attributes
    ----------
    reason : str
        A full sentence.
    needed : str
        What would change the answer.
    held_out : HeldOut or None
        Floors of the folds, where the gate was tried.
    blocking_noise, blocking_relevant : tuple of int
        Positions in the two bands of the values that overlap, worst first.
    """

    reason: str
    needed: str
    costs: Costs
    gap: Gap
    certificate: Certificate | None = None
    gate: Gate | None = None
    held_out: HeldOut | None = None
    blocking_noise: tuple[int, ...] = ()
    blocking_relevant: tuple[int, ...] = ()

    @property
    def floor(self) -> None:
        """There is none."""
        return None

    @property
    def status(self) -> Literal["none"]:
        """Always "none"."""
        return "none"

    @property
    def held_out_floors(self) -> tuple[float | None, ...]:
        """Floors of the folds; empty without any."""
        return () if self.held_out is None else self.held_out.floors
