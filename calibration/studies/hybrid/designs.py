"""When a hybrid search returns nothing: no gate, one floor, or either of two; measured on queries no floor has seen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...choose import Rate, Recommendation, covering
from ...retrieval import LEXICAL, SIMILARITY, Candidates, Floor, Leg
from .candidates import Far
from .floors import choose_beside, floors_by_fold, observed
from .gate import Asked, rates
from .measure import Measured
from .params import HybridParams

NO_GATE, EITHER, TOGETHER = "no gate", "either floor", "either, chosen together"


class Gate(NamedTuple):
    """Floors of which a candidate has to meet one; without any, everything passes.

    Attributes
    ----------
    floors : tuple of Floor
        To deploy.
    by_fold : tuple of tuple of Floor
        Chosen without the queries of each fold; empty where too few could be held out.
    """

    floors: tuple[Floor, ...]
    by_fold: tuple[tuple[Floor, ...], ...]


def alone(signal: str) -> str:
    """Name the design in which only this signal's floor gates."""
    return f"{signal} floor"


def possible_gates(
    candidates: Candidates,
    measured: Sequence[Measured],
    table: pd.DataFrame,
    far: Far,
    params: HybridParams,
    legs: Mapping[str, Leg],
) -> dict[str, Gate]:
    """Give no gate, the floor of each leg alone, either of them, and either with the dearer one chosen beside."""
    found = {NO_GATE: Gate((), ())}
    legs_measured = {
        one.name: one for one in measured if one.name in (SIMILARITY, LEXICAL) and isinstance(one.floor, Recommendation)
    }
    for name in (SIMILARITY, LEXICAL):
        if name in legs_measured:
            choice = legs_measured[name].floor
            folds = floors_by_fold(choice) if choice is not None and choice.held_out_floors else ()
            found[alone(name)] = _gate(candidates, name, None if choice is None else choice.floor, folds)
    near, words = (found.get(alone(name)) for name in (SIMILARITY, LEXICAL))
    if near is None or words is None:
        return found
    found[EITHER] = _both(near, words)
    first, second = sorted(legs_measured.values(), key=_cost)
    if first.chosen is not None and second.chosen is not None and found[alone(first.name)].by_fold:
        seen = observed(candidates, second.name, params, legs)
        contract = candidates.contracts[first.name]
        beside = choose_beside(first.chosen, contract, second.chosen, seen, table, far, params)
        if beside.value is not None:
            own = _gate(candidates, second.name, beside.value, beside.by_fold)
            found[TOGETHER] = _both(found[alone(first.name)], own)
    return found


def _cost(one: Measured) -> float:
    cost = one.floor.expected_cost if isinstance(one.floor, Recommendation) else None
    return np.inf if cost is None else cost


def measure_gates(
    asked: Asked, gates: Mapping[str, Gate], folds: Mapping[str, int]
) -> tuple[dict[str, dict[str, Rate]], dict[str, dict[str, Rate]]]:
    """Give the rates of every gate at the floors to deploy, and at floors chosen without the query they meet.

    The second is empty where a gate's floors could not be held out. Its intervals are those of the floors to deploy and
    cover both.
    """
    seen = {name: rates(asked, asked.passed(gate.floors)) for name, gate in gates.items()}
    if any(gate.floors and not gate.by_fold for gate in gates.values()) or len(gates) == 1:
        return seen, {}
    fold_of = asked.candidates.rows["query_id"].map(folds).to_numpy()
    unseen = {}
    for name, gate in gates.items():
        passed = np.zeros(len(asked.relevant), dtype=np.bool_)
        for fold in np.unique(fold_of).tolist():
            passed |= (fold_of == fold) & asked.passed(gate.by_fold[fold] if gate.by_fold else ())
        found = rates(asked, passed)
        unseen[name] = {rate: covering(seen[name][rate], value) for rate, value in found.items()}
    return seen, unseen


def _gate(candidates: Candidates, name: str, value: float | None, by_fold: Sequence[float | None]) -> Gate:
    def floors(at: float | None) -> tuple[Floor, ...]:
        return () if at is None else (Floor(name, at, candidates.contracts[name]),)

    return Gate(floors(value), tuple(floors(at) for at in by_fold))


def _both(one: Gate, other: Gate) -> Gate:
    by_fold = zip(one.by_fold, other.by_fold, strict=True) if one.by_fold and other.by_fold else ()
    return Gate(one.floors + other.floors, tuple(a + b for a, b in by_fold))
