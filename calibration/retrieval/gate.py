"""When a hybrid design returns nothing: the gate, on signals that can carry a floor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..contract import Decision, ScoreContract, metric_named
from ..errors import ContractError
from .candidates import SIMILARITY, Candidates

ACCEPTED, REJECTED, UNSCORED, EXEMPT = "accepted", "rejected", "unscored", "exempt"


@dataclass(frozen=True)
class Floor:
    """A floor with the contract it was calibrated on.

    Attributes
    ----------
    signal : str
        The column of candidates it is put on.
    value : float or None
        None accepts everything that this signal scored. 0.0 is a floor.
    """

    signal: str
    value: float | None
    contract: ScoreContract


@dataclass(frozen=True)
class Gated:
    """What a gate said of every candidate.

    Attributes
    ----------
    verdict : ndarray of str
        "accepted" or "rejected" by the floors; "unscored" (no `judge` score, and no other floor accepts it); "exempt".
    passed : ndarray of bool
        Accepted, exempt, or unscored under a contract that keeps those.
    judge : str
        The signal whose absence makes a candidate unscored: the similarity where it has a floor, else the first that
        has one; empty without any floor, where everything is rejected that is not exempt.
    """

    verdict: npt.NDArray[np.str_]
    passed: npt.NDArray[np.bool_]
    judge: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Candidates by verdict; the unscored are in no other."""
        return {name: int((self.verdict == name).sum()) for name in (ACCEPTED, REJECTED, UNSCORED, EXEMPT)}


def gate(candidates: Candidates, floors: Sequence[Floor], *, exempt: npt.ArrayLike | None = None) -> Gated:
    """Let candidates pass that meet any of the floors, each on its own scale.

    Parameters
    ----------
    floors : sequence of Floor
        Several mean "or": similarity at or above its floor, or the lexical score at or above its own.
    exempt : array_like of bool, optional
        Candidates that are there for another reason than a score, such as a graph link or a pin; they pass and are
        counted apart.

    Raises
    ------
    ContractError
        A floor on a score that carries none (RRF, anything normalised per query), or one that was calibrated on
        another score than the signal holds.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"query_id": "q", "doc_id": list("abcd"), "similarity": [0.41, np.nan, 0.0, 0.12]})
    >>> found = gate(Candidates(["q"], rows, {"similarity": ScoreContract()}), [Floor("similarity", 0.3, ScoreContract())])
    >>> found.verdict.tolist(), found.passed.tolist()
    (['accepted', 'unscored', 'rejected', 'rejected'], [True, False, False, False])
    """  # noqa: E501
    n, judge = len(candidates.rows), _judge(floors)
    accepted = np.zeros(n, dtype=np.bool_)
    for floor in floors:
        _check(candidates, floor)
        decided = floor.contract.decide(candidates.values(floor.signal)[:, 0], floor.value)
        accepted |= decided == Decision.ACCEPTED
    scored = np.isfinite(candidates.values(judge)[:, 0]) if floors else np.ones(n, dtype=np.bool_)
    free = np.zeros(n, dtype=np.bool_) if exempt is None else np.asarray(exempt, dtype=np.bool_)
    if free.shape != (n,):
        raise ContractError(f"exempt has the shape {free.shape}, expected one value for each of {n} candidates.")
    verdict = np.where(accepted, ACCEPTED, np.where(scored, REJECTED, UNSCORED))
    verdict = np.where(free, EXEMPT, verdict).astype(np.str_)
    kept = any(floor.contract.unscored == "keep" for floor in floors if floor.signal == judge)
    passed = (verdict == ACCEPTED) | (verdict == EXEMPT) | ((verdict == UNSCORED) & kept)
    return Gated(verdict, passed, judge)


def _judge(floors: Sequence[Floor]) -> str:
    names = [floor.signal for floor in floors]
    return SIMILARITY if SIMILARITY in names else next(iter(names), "")


def _check(candidates: Candidates, floor: Floor) -> None:
    if floor.signal not in candidates.contracts:
        raise ContractError(f"no signal {floor.signal!r}; there are: {', '.join(candidates.contracts)}.")
    held = candidates.contracts[floor.signal]
    metric = metric_named(held.metric)
    if not metric.carries_floor:
        raise ContractError(f"no floor on {metric.name!r}: {metric.reason}.")
    wanted = floor.contract
    if (held.metric, held.embedding_version) != (wanted.metric, wanted.embedding_version):
        raise ContractError(
            f"the floor {floor.value!r} was calibrated on {_shown(wanted)} and cannot gate {floor.signal!r}, which "
            f"holds {_shown(held)}. Calibrate a floor on that score, or gate the signal it was made for."
        )


def _shown(contract: ScoreContract) -> str:
    version = "" if contract.embedding_version == "undeclared" else f" of {contract.embedding_version}"
    return contract.metric + version
