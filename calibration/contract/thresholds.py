"""Which numbers can be a threshold or a floor of a contract, and how its scores are called."""

import numpy as np

from ..errors import ContractError
from .model import ScoreContract
from .numbers import exactly

PERCENTAGES = (5.0, 100.0)
"""Numbers that were probably meant as percentages; 1.5 is more likely another metric's."""


def check_threshold(value: float, contract: ScoreContract) -> None:
    """Refuse a raw threshold that no score of this contract can meet, such as a percentage."""
    contract.check_carries_floor()
    if not np.isfinite(value):
        raise ContractError(f"threshold {value} is not a finite number.")
    given = contract.transform
    if not given.low < value < given.high:
        raise ContractError(
            f"threshold {value:g} is outside ({given.low:g}, {given.high:g}), all that {contract.score_transform} "
            "can give."
        )
    similarity = contract.similarity_of(value)
    if contract.on_cosine_scale and not -1.0 - contract.tolerance <= similarity <= 1.0 + contract.tolerance:
        ends = sorted((contract.raw(-1.0), contract.raw(1.0)))
        of = " of unit vectors" if contract.definition.needs_unit_vectors else ""
        raise ContractError(
            f"threshold {value:g} is outside [{ends[0]:g}, {ends[1]:g}] for {described(contract)}{of}."
            + _percentage(value, ends)
        )
    metric = contract.definition
    found = exactly(contract.transform.inverse, value)
    if not metric.low - contract.tolerance <= found <= metric.high + contract.tolerance:
        raise ContractError(f"threshold {value:g} is outside [{metric.low:g}, {metric.high:g}] for {metric.name}.")


def check_floor_in_range(floor: float, contract: ScoreContract) -> None:
    """Refuse a floor that no similarity of this contract can meet, such as a percentage, or any on rank-only scores."""
    contract.check_carries_floor()
    if not np.isfinite(floor):
        raise ContractError(f"floor {floor} is not a finite number.")
    if contract.on_cosine_scale and not -1.0 <= floor <= 1.0:
        raise ContractError(f"floor {floor:g} is outside [-1, 1] for cosine similarity.{_percentage(floor, [-1, 1])}")
    metric = contract.definition
    best = 0.0 - metric.low
    if not contract.on_cosine_scale and not metric.higher_is_better and floor > best:
        raise ContractError(
            f"floor {floor:g} is above {best:g}, the best that {contract.scale} can be, so it would reject "
            f"everything. Did you mean {-floor:g}, which keeps {metric.name} up to {floor:g}?"
        )


def described(contract: ScoreContract) -> str:
    """Name what the raw score is: the metric, and the formula it went through.

    Examples
    --------
    >>> described(ScoreContract(score_transform="(1+cos)/2"))
    '(1+cos)/2 of cosine_similarity'
    """
    of = "" if contract.score_transform == "none" else f"{contract.score_transform} of "
    return of + contract.metric


def _percentage(value: float, ends: list[float]) -> str:
    """Ask whether the fraction behind a percentage was meant, where that fraction is in range."""
    meant = PERCENTAGES[0] <= value <= PERCENTAGES[1] and ends[0] <= value / 100 <= ends[1]
    return f" Did you mean {value / 100:g}?" if meant else ""
