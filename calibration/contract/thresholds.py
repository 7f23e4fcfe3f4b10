"""Which numbers can be a threshold or a floor of a contract, and how its scores are called."""

import numpy as np

from ..errors import ContractError
from .model import ScoreContract
from .numbers import exactly


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
        percent = _meant(value, ends)
        raise ContractError(
            f"threshold {value:g} is outside [{ends[0]:g}, {ends[1]:g}] for {described(contract)} of unit vectors."
            + (f" Did you mean {percent:g}?" if percent is not None else "")
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
        hint = f" Did you mean {floor / 100:g}?" if 1.0 < floor <= 100.0 else ""
        raise ContractError(f"floor {floor:g} is outside [-1, 1] for cosine similarity.{hint}")


def described(contract: ScoreContract) -> str:
    """Name what the raw score is: the metric, and the formula it went through.

    Examples
    --------
    >>> described(ScoreContract(score_transform="(1+cos)/2"))
    '(1+cos)/2 of cosine_similarity'
    """
    of = "" if contract.score_transform == "none" else f"{contract.score_transform} of "
    return of + contract.metric


def _meant(value: float, ends: list[float]) -> float | None:
    """Give the fraction behind a percentage, where one was typed."""
    return value / 100 if 1.0 < value <= 100.0 and ends[0] <= value / 100 <= ends[1] else None
