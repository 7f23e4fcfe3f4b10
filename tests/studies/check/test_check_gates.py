"""Gates of a check on outcomes written by hand: what fails, what is noise, what was not asked."""

import numpy as np
import pandas as pd
import pytest

from calibration.choose.paired import LEVEL
from calibration.studies.check.drift import accepted_changes, rate_changes
from calibration.studies.check.frozen import COLUMNS
from calibration.studies.check.rise import ceiling_rise


def frame_of(hits: list[bool], answered: list[bool]) -> pd.DataFrame:
    """Answerable queries that hit or get nothing, and off-topic ones that are answered or refused."""
    kinds = [("a", hit) for hit in hits] + [("o", taken) for taken in answered]
    names = {"a": "answerable", "o": "off_topic"}
    rows = []
    for i, (kind, taken) in enumerate(kinds):
        name, docs = f"{kind}{i}", ["d"] if taken else []
        rows.append([name, names[kind], name, "-", False, docs, taken if kind == "a" else None, False, 0.8])
    return pd.DataFrame(rows, columns=COLUMNS)


def failed_gates(before: pd.DataFrame, now: pd.DataFrame, tolerance: float | None = None) -> dict[str, str]:
    changes = rate_changes(before, now, tolerance=tolerance)
    return {change.measure.name: change.why for change in changes if change.failed}


@pytest.mark.parametrize("tolerance", [None, 0.99])
def test_c38_a_floor_that_rejects_nothing_any_more(tolerance: float | None) -> None:
    before, now = frame_of([True] * 2, [False] * 4), frame_of([True] * 2, [True] * 4)
    found = failed_gates(before, now, tolerance)
    assert found == {"false_answer_rate_off_topic": "the floor is inert: 0 of 4 are refused"}
    assert failed_gates(now, now, tolerance) == {}, "as in the baseline"


@pytest.mark.parametrize("tolerance", [None, 0.99])
def test_a_floor_that_keeps_nothing_any_more(tolerance: float | None) -> None:
    """Three lost answers are within noise, and none that is kept is not."""
    before, now = frame_of([True] * 3, [False]), frame_of([False] * 3, [False])
    assert failed_gates(before, now, tolerance) == {"hit_rate": "0 of 3 keep an answer"}
    assert failed_gates(before, frame_of([False, False, True], [False]), tolerance) == {}


def test_paraphrases_of_one_need_are_lost_once() -> None:
    before, now = frame_of([True] * 20, [False]), frame_of([False] * 6 + [True] * 14, [False])
    assert list(failed_gates(before, now)) == ["hit_rate"]
    one_need = ["one need"] * 6 + before["group"].tolist()[6:]
    assert failed_gates(before.assign(group=one_need), now) == {}


def test_a_gate_needs_half_of_its_queries() -> None:
    before = frame_of([True] * 3, [False] * 40)
    assert failed_gates(before, before.head(3 + 20)) == {}
    assert failed_gates(before, before.head(3 + 19)) == {
        "false_answer_rate_off_topic": "19 of 40 frozen queries evaluated"
    }


def test_accepted_sets_are_sets() -> None:
    def frame(docs: list[str]) -> pd.DataFrame:
        return pd.DataFrame([["a", "answerable", "a", "-", False, docs, True, False, 0.5]], columns=COLUMNS)

    assert accepted_changes(frame(["x", "y"]), frame(["y", "x"])) == []
    (change,) = accepted_changes(frame(["x", "y"]), frame(["y", "z"]))
    assert (change.added, change.removed, change.boundary) == (("z",), ("x",), False)
    at_floor = frame(["y"]).assign(boundary=True)
    for pair in ((frame(["x"]), at_floor), (at_floor, frame(["x"]))):
        assert accepted_changes(*pair)[0].boundary


def test_checks_of_a_system_that_did_not_change_fail_in_at_most_five_percent() -> None:
    """The whole judgement, not the test alone (that is in test_paired.py): every query by chance, twice."""
    rng = np.random.default_rng(11)
    kinds = ["answerable"] * 60 + ["off_topic"] * 25 + ["probe"] * 40
    ids = [f"q{i}" for i in range(len(kinds))]
    failed = 0
    for _ in range(100):
        kept, answered, probed = rng.uniform([0.5, 0.02, 0.02], [0.98, 0.4, 0.3])
        chance = {"answerable": kept, "off_topic": answered, "probe": probed}
        runs = []
        for _ in range(2):
            taken = rng.random(len(kinds)) < [chance[kind] for kind in kinds]
            frame = pd.DataFrame({"query_id": ids, "group": ids, "must": "-", "boundary": False, "top_similarity": 0.5})
            frame["probe"] = [kind == "probe" for kind in kinds]
            frame["answerability"] = ["answerable" if kind == "answerable" else "off_topic" for kind in kinds]
            frame["accepted"] = [["d"] if one else [] for one in taken]
            frame["hit"] = [bool(one) if kind == "answerable" else None for one, kind in zip(taken, kinds, strict=True)]
            runs.append(frame)
        failed += any(change.failed for change in rate_changes(*runs))
    assert failed <= LEVEL * 100  # 29 of 2,000 when it was measured


@pytest.mark.parametrize(
    ("share", "room", "warned"), [(0.06, 1.0, True), (0.04, 1.0, False), (0.04, 0.02, True), (-0.5, 0.02, False)]
)
def test_the_ceiling_warns_from_a_twentieth_of_the_spread_or_when_it_passes_the_floor(
    share: float, room: float, warned: bool
) -> None:
    """`share` of the distance from median to ceiling is the rise, `room` of it was left to the floor."""
    queries = frame_of([], [False] * 41).assign(top_similarity=np.linspace(0.1, 0.5, 41))
    middle, ceiling = np.quantile(queries["top_similarity"], [0.5, 0.95])
    spread = float(ceiling - middle)
    risen = queries.assign(top_similarity=queries["top_similarity"] + share * spread)
    found = ceiling_rise(queries, risen, floor=float(ceiling) + room * spread, documents=(60, 60))
    assert found is not None
    assert found.rise == pytest.approx(share)
    assert found.warned is warned
