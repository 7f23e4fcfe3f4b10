"""What happened to the frozen queries: two outcomes of one floor and cap, compared query by query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ...choose import Rate, proportion
from ...choose.paired import Paired, beyond_tolerance, compare_pairs
from ...contract import ScoreContract
from ..rates import Outcome
from .frozen import COLUMNS

EVALUATED = 0.5
"""Share of a gate's frozen queries that must have been asked again."""


@dataclass(frozen=True)
class Measure:
    """One rate as a yes or no per query.

    Attributes
    ----------
    who : str
        Queries it is measured on: an answerability, "labelled" or "probe".
    what : str
        "hit", "answered" or "empty".
    good : bool or None
        What should be the case; None where neither is.
    gate : bool
        Whether it can fail a check.
    """

    name: str
    words: str
    who: str
    what: Literal["hit", "answered", "empty"]
    good: bool | None
    gate: bool = False


MEASURES = (
    Measure("hit_rate", "answers kept", "answerable", "hit", True, gate=True),
    Measure("empty_context_rate", "empty contexts", "answerable", "empty", False),
    Measure("coverage", "queries answered", "labelled", "answered", None),
    Measure("false_answer_rate_off_topic", "off-topic queries answered", "off_topic", "answered", False, gate=True),
    Measure("false_answer_rate_probes", "probe queries answered", "probe", "answered", False, gate=True),
    Measure("false_answer_rate_missing_answer", "missing answers answered", "missing_answer", "answered", False),
)


@dataclass(frozen=True)
class RateChange:
    """One rate before and now, on the queries that were asked in both.

    Attributes
    ----------
    frozen : int
        Queries of the baseline it was measured on.
    failed : bool
        Always False where `measure` is no gate.
    why : str
        What failed, or what the numbers cannot show; may be empty.
    """

    measure: Measure
    frozen: int
    before: Rate
    now: Rate
    paired: Paired
    failed: bool
    why: str


@dataclass(frozen=True)
class MustChange:
    """A query that must hit or must be refused, and does not.

    Attributes
    ----------
    broken : bool
        Whether it is news: it was satisfied before, or is newly asked for, or is asked no more.
    """

    query_id: str
    must: str
    broken: bool
    words: str


@dataclass(frozen=True)
class AcceptedChange:
    """A query whose accepted set is another; `boundary` when a passage lies within the tolerance of the floor."""

    query_id: str
    probe: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    boundary: bool


def frozen(outcome: Outcome) -> pd.DataFrame:
    """Give what a baseline keeps of an outcome: `COLUMNS`."""
    return outcome.queries[COLUMNS].reset_index(drop=True)


def rate_changes(before: pd.DataFrame, now: pd.DataFrame, *, tolerance: float | None = None) -> list[RateChange]:
    """Compare every measure on the queries that both know, and judge the gates.

    Parameters
    ----------
    before, now : DataFrame
        `COLUMNS`; see `frozen`.
    tolerance : float, optional
        Loss of a gate's rate that is allowed, in place of the band of noise.
    """
    return [_rate_change(measure, before, now, tolerance) for measure in MEASURES]


def count(measure: Measure, queries: pd.DataFrame) -> tuple[int, int]:
    """Count the queries that a measure is about: those for which it holds, and all."""
    who = queries[_members(queries, measure.who)]
    return int(_values(who, measure.what, "").sum()), len(who)


def must_changes(before: pd.DataFrame, now: pd.DataFrame) -> list[MustChange]:
    """Find the queries that must hit or must be refused, and do not."""
    wanted = {row["query_id"]: row for row in before[before["must"] != "-"].to_dict("records")}
    wanted |= {row["query_id"]: row for row in now[now["must"] != "-"].to_dict("records")}
    earlier, later = (_by_query(frame) for frame in (before, now))
    changes = []
    for query, row in wanted.items():
        must = str(row["must"])
        ok_before = _satisfied(earlier.get(query), must)
        if query not in later:
            changes.append(MustChange(query, must, True, "was not asked"))
        elif not _satisfied(later[query], must):
            found = "gets no relevant passage" if must == "hit" else "gets passages"
            since = {None: "", True: ", unlike in the baseline", False: ", as in the baseline"}[ok_before]
            words = found + since
            changes.append(MustChange(query, must, ok_before is not False, words))
    return changes


def accepted_changes(before: pd.DataFrame, now: pd.DataFrame) -> list[AcceptedChange]:
    """Find the queries whose accepted sets differ, labelled ones first."""
    later = _by_query(now)
    changes = []
    for row in before.to_dict("records"):
        found = later.get(row["query_id"])
        if found is None:
            continue
        old, new = _docs(row["accepted"]), _docs(found["accepted"])
        if set(old) != set(new):
            added, removed = tuple(d for d in new if d not in old), tuple(d for d in old if d not in new)
            near = bool(row["boundary"]) or bool(found["boundary"])
            changes.append(AcceptedChange(str(row["query_id"]), bool(row["probe"]), added, removed, near))
    return sorted(changes, key=lambda change: change.probe)


def not_asked(before: pd.DataFrame, now: pd.DataFrame) -> list[str]:
    """Frozen queries that were not asked again."""
    missing: list[str] = before.loc[~before["query_id"].isin(set(now["query_id"])), "query_id"].tolist()
    return missing


def carried_verdict(before: pd.DataFrame, now: pd.DataFrame, floor: float | None, contract: ScoreContract) -> str:
    """Say when a floor lies above every score of today, and did not before; empty otherwise.

    Parameters
    ----------
    before, now : DataFrame
        As of `frozen`.
    """
    top = now["top_similarity"].astype("float64").max()
    if floor is None or pd.isna(top):
        return ""
    if not contract.accept([top], floor)[0] and any(len(docs) for docs in before["accepted"]):
        return f"floor {floor:.4g} is above the highest observed score {top:.4g}"
    return ""


def _rate_change(measure: Measure, before: pd.DataFrame, now: pd.DataFrame, tolerance: float | None) -> RateChange:
    asked = before[_members(before, measure.who)]
    same = now[_members(now, measure.who)]
    both = asked.merge(same, on="query_id", suffixes=("_before", "_now"))
    then = _values(both, measure.what, "_before")
    after = _values(both, measure.what, "_now")
    wanted = measure.good is not False
    paired = compare_pairs(then == wanted, after == wanted, both["group_before"].to_numpy(dtype=str))
    old, new = proportion(int(then.sum()), len(both)), proportion(int(after.sum()), len(both))
    failed, why = _judge(measure, len(asked), old, new, paired, tolerance) if measure.gate else (False, "")
    return RateChange(measure, len(asked), old, new, paired, failed, why)


def _judge(
    measure: Measure, n_frozen: int, old: Rate, new: Rate, paired: Paired, tolerance: float | None
) -> tuple[bool, str]:
    """Say whether a gate fails, and why, or what it could not have seen."""
    if n_frozen == 0:
        return False, ""
    evaluated = f"{paired.n} of {n_frozen} frozen queries evaluated"
    if paired.n < EVALUATED * n_frozen or old.value is None or new.value is None:
        return True, evaluated
    failed, why = _moved(measure, old.value, new.value, paired, tolerance)
    return failed, "; ".join(([why] if why else []) + ([evaluated] if paired.n < n_frozen else []))


def _moved(measure: Measure, old: float, new: float, paired: Paired, tolerance: float | None) -> tuple[bool, str]:
    """Judge a rate that could be compared."""
    refusing = measure.good is False
    if refusing and new == 1.0 and old < 1.0:
        return True, f"the floor is inert: 0 of {paired.n} are refused"
    if not refusing and new == 0.0 and old > 0.0:
        return True, f"0 of {paired.n} keep an answer"
    if tolerance is not None:
        worse = beyond_tolerance(new, old, tolerance) if refusing else beyond_tolerance(old, new, tolerance)
        return worse, f"{abs(new - old):.4f} worse, {tolerance:g} allowed" if worse else ""
    counted = f"{paired.worse} worse, {paired.better} better, p = {paired.p_value:.2g}"
    if paired.regressed:
        return True, f"{counted}: more than noise"
    return False, f"{counted}: within noise" if paired.worse > paired.better else ""


def _members(frame: pd.DataFrame, who: str) -> "pd.Series[bool]":
    probe = frame["probe"].astype(bool)
    if who == "probe":
        return probe
    return ~probe if who == "labelled" else ~probe & (frame["answerability"] == who)


def _values(both: pd.DataFrame, what: str, when: str) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    if what == "hit":
        return both[f"hit{when}"].eq(True).to_numpy(dtype=np.bool_)  # neither None nor NaN is a hit
    filled = np.array([len(docs) > 0 for docs in both[f"accepted{when}"]], dtype=np.bool_)
    return filled if what == "answered" else ~filled


def _docs(value: object) -> list[str]:
    return [str(doc) for doc in value] if isinstance(value, Sequence) else []


def _by_query(frame: pd.DataFrame) -> dict[str, dict[str, object]]:
    return {str(row["query_id"]): {str(k): v for k, v in row.items()} for row in frame.to_dict("records")}


def _satisfied(row: dict[str, object] | None, must: str) -> bool | None:
    """Whether a query does what it must; None where it is not known."""
    if row is None:
        return None
    filled = len(_docs(row["accepted"])) > 0
    if must == "refuse":
        return not filled
    return bool(row["hit"]) if row["answerability"] == "answerable" else filled
