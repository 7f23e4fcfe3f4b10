"""When a hybrid search returns nothing: no gate, one floor, or either of two; measured on queries no floor has seen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...choose import Rate, Recommendation, covering
from ...params import RunParams
from ...retrieval import LEXICAL, SIMILARITY, Candidates, Floor, Leg
from .candidates import Far
from .floors import Chosen, observed
from .gate import Asked, rates
from .together import choose_together

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
    chosen: Mapping[str, Chosen],
    table: pd.DataFrame,
    far: Far,
    params: RunParams,
    legs: Mapping[str, Leg],
) -> dict[str, Gate]:
    """Give no gate, the floor of each leg alone, either of them as they are, and floors chosen together.

    Parameters
    ----------
    chosen : mapping of signal to Chosen
        What each signal's own calibration says; one without a floor gates nothing.
    """
    found = {NO_GATE: Gate((), ())}
    own = {
        name: chosen[name]
        for name in (SIMILARITY, LEXICAL)
        if name in chosen and isinstance(chosen[name].choice, Recommendation)
    }
    for name, one in own.items():
        folds = one.by_fold if one.choice.held_out_floors else ()
        found[alone(name)] = _gate(candidates, name, one.choice.floor, folds)
    if len(own) < 2:
        return found
    found[EITHER] = _both(found[alone(SIMILARITY)], found[alone(LEXICAL)])
    if found[EITHER].by_fold:
        seen = {name: observed(candidates, name, params, legs) for name in own}
        whole, by_fold = choose_together(own, candidates.contracts, seen, table, far, params)
        found[TOGETHER] = Gate(_floors(candidates, whole), tuple(_floors(candidates, fold) for fold in by_fold))
    return found


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


def _floors(candidates: Candidates, values: Mapping[str, float | None]) -> tuple[Floor, ...]:
    found = {name: value for name, value in values.items() if value is not None}
    return tuple(Floor(name, value, candidates.contracts[name]) for name, value in found.items())


def _gate(candidates: Candidates, name: str, value: float | None, by_fold: Sequence[float | None]) -> Gate:
    return Gate(_floors(candidates, {name: value}), tuple(_floors(candidates, {name: at}) for at in by_fold))


def _both(one: Gate, other: Gate) -> Gate:
    by_fold = zip(one.by_fold, other.by_fold, strict=True) if one.by_fold and other.by_fold else ()
    return Gate(one.floors + other.floors, tuple(a + b for a, b in by_fold))
