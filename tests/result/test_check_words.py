"""What a check says: in a terminal, in a pull request, and to whoever shows test results; ids are foreign text."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from calibration.choose import proportion
from calibration.choose.paired import compare_pairs
from calibration.result import check_document, check_junit, check_markdown, check_text, dumps
from calibration.studies.check.baseline import Baseline
from calibration.studies.check.drift import MEASURES, AcceptedChange, MustChange, RateChange
from calibration.studies.check.frozen import COLUMNS
from calibration.studies.check.staleness import Change
from calibration.studies.check.study import Check

HOSTILE = "q|<img src=x onerror=alert(1)>`\x1b[31m\n# ]]>"


def rate_of(number: int, before: int, now: int, n: int, *, failed: bool = False, why: str = "") -> RateChange:
    paired = compare_pairs([True] * before + [False] * (n - before), [True] * now + [False] * (n - now))
    return RateChange(MEASURES[number], n, proportion(before, n), proportion(now, n), paired, failed, why)


def check_of(**parts: Any) -> Check:
    row = ["q1", "answerable", "q1", "hit", False, ["d"], True, False, 0.5]
    document = {"date": "2026-01-02", "floor": 0.25, "top_k": 3}
    values: dict[str, Any] = {
        "baseline": Baseline(Path("baseline/recommendation.json"), document, pd.DataFrame([row], columns=COLUMNS)),
        "model": "minilm", "floor": 0.25, "top_k": 3, "n_queries": 60, "n_documents": 1200, "tolerance": None,
        "changes": (), "rates": (rate_of(0, 55, 55, 60), rate_of(3, 2, 2, 20)), "musts": (), "accepted": (),
        "missing": (), "ceiling": None, "verdict": "",
    }  # fmt: skip
    return Check(**{**values, **parts})


FINE = check_of()
WORSE = check_of(
    changes=(Change("model", "a", "b", "stale", "another model answers."),),
    rates=(rate_of(0, 55, 40, 60, failed=True, why="15 worse, 0 better, p = 6e-05: more than noise"),),
    musts=(
        MustChange("q1", "hit", True, "gets no relevant passage"),
        MustChange("q2", "refuse", False, "gets passages"),
    ),
    accepted=(AcceptedChange("q1", False, ("x",), ("d",), True),),
    missing=("gone",),
)


def test_a_fine_check_is_short() -> None:
    text = check_text(FINE)
    assert text.splitlines()[0] == "baseline  baseline/recommendation.json of 2026-01-02: floor 0.25, top-K 3"
    assert text.splitlines()[1] == "today     minilm, 60 frozen queries, 1,200 passages"
    assert "ok        answers kept                55 of 60 (91.7%) -> 55 of 60 (91.7%)" in text
    assert text.endswith("result    fine")
    assert (FINE.ok, FINE.status, FINE.failures) == (True, "fine", [])


def test_a_failed_check_names_everything() -> None:
    text = check_text(WORSE)
    for line in (
        "STALE     model: another model answers.",
        "FAILED    query q1 must hit: gets no relevant passage",
        "known     query q2 must refuse: gets passages",
        "accepted sets changed: 1 of 60 queries, 1 of them within rounding of the floor",
        "          q1: +x -d",
    ):
        assert line in text.splitlines()
    assert "1 frozen query was not asked" in text
    assert "15 worse, 0 better, p = 6e-05: more than noise" in text
    assert "result    stale and regression" in text
    assert WORSE.failures == [
        "answers kept: 15 worse, 0 better, p = 6e-05: more than noise",
        "query q1 must hit: gets no relevant passage",
    ]


@pytest.mark.parametrize("check", [FINE, WORSE], ids=["fine", "worse"])
def test_junit_counts_what_it_lists(check: Check) -> None:
    root = ElementTree.fromstring(check_junit(check))  # noqa: S314 - our own
    (suite,) = root
    failed = [case for case in suite if case.find("failure") is not None]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(suite)), str(len(failed)))
    assert (root.get("tests"), root.get("failures")) == (suite.get("tests"), suite.get("failures"))
    assert bool(failed) == (not check.ok)
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert len(set(names)) == len(names)
    assert ("calibration.must", "q1") in names


def test_the_document_is_plain_json() -> None:
    document = json.loads(dumps(check_document(WORSE)))
    assert document["status"] == "stale and regression"
    assert document["rates"]["hit_rate"]["worse"] == 15
    assert document["rates"]["hit_rate"]["now"]["denominator"] == 60
    assert document["accepted_sets"] == [
        {"query_id": "q1", "probe": False, "added": ["x"], "removed": ["d"], "boundary": True}
    ]
    assert document["not_asked"] == ["gone"]


def test_hostile_ids_break_nothing() -> None:
    check = replace(
        WORSE,
        model=HOSTILE,
        changes=(Change("model", "a", HOSTILE, "stale", f"the model is {HOSTILE}."),),
        musts=(MustChange(HOSTILE, "hit", True, "gets no relevant passage"),),
        accepted=(AcceptedChange(HOSTILE, False, (HOSTILE,), ("```",), False),),
        missing=(HOSTILE,),
    )
    root = ElementTree.fromstring(check_junit(check))  # noqa: S314
    assert HOSTILE.replace("\x1b", "\ufffd").split("\n")[0] in "".join(
        case.get("name", "").split("\n")[0] for case in root.iter("testcase")
    )
    text, markdown = check_text(check), check_markdown(check)
    assert "\x1b" not in text + markdown
    outside, inside = re.split(r"```diff\n", markdown)
    assert "<img" not in outside
    assert "`" not in outside.replace("`0.25`", "").replace("\\`", "")
    assert inside.count("```") == 1, "only its own fence ends the diff"
    assert all(len(line.splitlines()) <= 1 for line in text.split("\n"))
    assert not any(line.startswith("# ") for line in markdown.split("\n"))


def test_what_xml_cannot_hold_is_replaced() -> None:
    musts = (MustChange("a\ufffeb\uffffc\ud800d\x00", "hit", True, "was not asked"),)
    root = ElementTree.fromstring(check_junit(check_of(musts=musts)))  # noqa: S314
    assert "a\ufffdb\ufffdc\ufffdd\ufffd" in [case.get("name") for case in root.iter("testcase")]


def test_a_floor_above_every_score_fails_by_itself() -> None:
    check = check_of(verdict="floor 0.9 is above the highest observed score 0.5")
    assert (check.ok, check.failures) == (False, ["floor 0.9 is above the highest observed score 0.5"])
    assert "FAILED    floor 0.9 is above" in check_text(check)
    assert 'failures="1"' in check_junit(check)


def test_a_direction_that_nothing_watches_is_said() -> None:
    assert FINE.warnings == []
    blind = check_of(rates=(rate_of(0, 55, 55, 60), rate_of(2, 55, 55, 60)))
    assert blind.warnings == [
        "The baseline refuses no off-topic and no probe query: answering everything would not be seen."
    ]
    assert f"warning   {blind.warnings[0]}" in check_text(blind)
    assert "answering everything would not be seen" in check_markdown(blind)
    assert check_document(blind)["warnings"] == blind.warnings
    assert check_of(rates=(rate_of(0, 55, 55, 60), rate_of(3, 20, 20, 20))).warnings == blind.warnings
    for rates in ((rate_of(3, 2, 2, 20),), (rate_of(0, 0, 0, 60), rate_of(3, 2, 2, 20))):
        assert check_of(rates=rates).warnings == ["The baseline keeps no answer, so that lost ones cannot be seen."]


def test_long_lists_are_cut_and_counted() -> None:
    changes = tuple(AcceptedChange(f"q{i}", False, tuple(f"d{j}" for j in range(30)), (), False) for i in range(40))
    text = check_text(check_of(accepted=changes))
    assert "accepted sets changed: 40 of 60 queries" in text
    assert "          … and 28 more" in text.splitlines()
    assert " … and 24 more" in text
    assert len(check_document(check_of(accepted=changes))["accepted_sets"]) == 40


def test_scores_on_another_scale_are_not_compared() -> None:
    check = check_of(
        rates=(), changes=(Change("contract", "cosine_similarity", "l2", "stale", "metric is l2, it was x."),)
    )
    assert "on another scale than the floor: nothing can be compared" in check_text(check)
    assert not check.ok
    assert check_markdown(check).startswith("### Similarity floor: stale")
