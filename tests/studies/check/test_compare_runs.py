"""Two finished runs: what moved, and what the old floor does to the new scores."""

import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from frozen_world import World
from handmade import bands_of, calibration_of

from calibration.displays import BandShiftDisplay, ChangesDisplay, MovedQueriesDisplay, MovedRatesDisplay
from calibration.errors import ParameterError
from calibration.result import recommendation_schema, save, save_runs_compared
from calibration.studies.check.baseline import read_baseline
from calibration.studies.check.runs import RunsCompared, agreement, ask_file, compare_runs

ALL = (BandShiftDisplay, MovedQueriesDisplay, MovedRatesDisplay)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of one world: as it was, with twelve answers gone and more passages, and under another model."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(folder / "cache"))
        patch.delenv("CALIBRATION_RUN", raising=False)
        world = World.made(folder / "world", must={"a0": "hit"})
        old = world.freeze("old")
        kept = [int(row[1:]) for row in old.queries.query("hit == True")["query_id"]]
        world.hide(*kept[:12])
        world.distract(0.5)
        world.freeze("new")
        world.turn()
        world.freeze("turned")
    return folder / "world"


@pytest.fixture(scope="module")
def moved(folders: Path) -> RunsCompared:
    return compare_runs(folders / "old", folders / "new")


@pytest.mark.parametrize("name", ["old", "new", "turned"])
def test_scores_and_floor_of_a_run_give_the_outcome_it_wrote(folders: Path, name: str) -> None:
    """What is read back from scores.parquet is what the run itself found."""
    run = read_baseline(folders / name)
    scores = pd.read_parquet(folders / name / "scores.parquet")
    again = ask_file(scores, run.queries, run.contract, run.floor, run.top_k)
    assert again["accepted"].tolist() == run.queries["accepted"].tolist()
    assert again["hit"].tolist() == run.queries["hit"].tolist()
    jsonschema.validate(run.document, recommendation_schema())


def test_a_run_compared_with_itself_shows_nothing(folders: Path) -> None:
    found = compare_runs(folders / "old", folders / "old")
    assert (found.changes, found.accepted, found.worse, found.stale, found.verdict) == ((), (), [], False, "")
    assert all(change.before == change.now for change in (*found.carried, *found.own))
    assert found.agreement.tau == 1.0
    assert "are as they were" in ChangesDisplay(found.changes).caption


def test_what_was_lost_is_more_than_noise(moved: RunsCompared) -> None:
    assert moved.worse[0].startswith("answers kept: 12 worse, 0 better")
    assert not moved.stale
    assert [change.words for change in moved.changes if "passages, it had" in change.words] == [
        "the corpus has 90 passages, it had 60."
    ]
    assert moved.ceiling is not None
    assert moved.ceiling.now > moved.ceiling.before
    assert "no longer does on the new scores what it did" in MovedRatesDisplay(moved).caption


def test_another_model_is_stale_and_its_scores_stand_under_the_old_floor(folders: Path) -> None:
    found = compare_runs(folders / "old", folders / "turned")
    assert found.stale
    coverage = next(change for change in found.carried if change.measure.name == "coverage")
    assert coverage.now.value == 1.0, "the cone of the other model lies above the old floor"
    assert any("inert" in words for words in found.worse)
    own = next(change for change in found.own if change.measure.name == "false_answer_rate_off_topic")
    assert own.now.value is not None
    assert own.now.value < 1.0
    assert ChangesDisplay(found.changes).caption.startswith("The old floor is stale")


def test_c41_two_models_order_the_same_pairs_differently(tmp_path: Path) -> None:
    def scores(*values: float) -> pd.DataFrame:
        pairs = {"query_id": ["q1", "q2", "q3"], "doc_id": ["p1", "p2", "p3"], "relevance": [1, 1, 0]}
        return pd.DataFrame({**pairs, "similarity": np.array(values, dtype=np.float32)})

    found = agreement(scores(0.77, 0.78, 0.79), scores(0.25, 0.20, 0.23))
    assert found.pairs == 3
    assert found.tau == pytest.approx(-1 / 3)
    assert agreement(scores(0.77, 0.78, 0.79), None).tau is None


def test_c37_c38_a_floor_that_was_carried(tmp_path: Path) -> None:
    """0.78 on scores that end at 0.52: nothing is answered. And back: everything is."""
    high, low = (
        bands_of([0.86, 0.84, 0.88], [0.72, 0.75, 0.71, 0.70]),
        bands_of([0.47, 0.52, 0.45], [0.18, 0.12, 0.2, 0.1]),
    )
    save(calibration_of(*high), tmp_path / "high")
    save(calibration_of(*low), tmp_path / "low")
    floor = read_baseline(tmp_path / "high").floor
    assert floor is not None
    down = compare_runs(tmp_path / "high", tmp_path / "low")
    assert down.verdict == f"floor {floor:.4g} is above the highest observed score 0.52"
    assert "nothing is answered" in MovedRatesDisplay(down).caption
    assert down.carried[0].now.numerator == 0
    up = compare_runs(tmp_path / "low", tmp_path / "high")
    assert "off-topic queries answered: the floor is inert: 0 of 4 are refused" in up.worse


def test_runs_without_scores_or_a_common_query(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "new", tmp_path / "bare")
    (tmp_path / "bare" / "scores.parquet").unlink()
    found = compare_runs(folders / "old", tmp_path / "bare")
    assert (found.carried, found.accepted, found.agreement.pairs) == ((), (), 0)
    assert found.own
    for display in ALL:
        assert display(found)._repr_html_()
    save(calibration_of(*bands_of([0.5] * 3, [0.1] * 3)), tmp_path / "other")
    (tmp_path / "other" / "queries.jsonl").write_text(
        (tmp_path / "other" / "queries.jsonl").read_text(encoding="utf-8").replace('"query_id": "', '"query_id": "z'),
        encoding="utf-8",
    )
    with pytest.raises(ParameterError, match="0 queries evaluated: the two runs have no query in common"):
        compare_runs(folders / "old", tmp_path / "other")


def test_the_document_holds_what_the_displays_show(moved: RunsCompared, tmp_path: Path) -> None:
    document = save_runs_compared(moved, tmp_path)
    rows = MovedRatesDisplay(moved).frame().set_index(["compared", "rate"])
    kept = document["old_floor_on_new_scores"]["hit_rate"]
    shown = rows.loc[("the old floor on the new scores", "hit_rate")]
    assert (kept["now"]["numerator"], kept["worse"], kept["p_value"]) == (
        shown["now"],
        shown["worse"],
        shown["p_value"],
    )
    assert len(document["accepted_sets"]) == len(MovedQueriesDisplay(moved).frame())
    assert "text of" not in (tmp_path / "compare.json").read_text(encoding="utf-8")


def test_the_displays(moved: RunsCompared) -> None:
    shift = BandShiftDisplay(moved)
    assert shift.frame()["run"].tolist() == ["before", "now"] * 2
    svg = shift.svg()
    assert "old floor" in svg
    assert shift.caption in shift.alt
    for display in (ChangesDisplay(moved.changes), *(one(moved) for one in ALL)):
        html = display._repr_html_()
        assert "<table" in html
        assert "nan" not in html.lower().replace("finance", "")
    assert moved.ceiling is not None
    assert moved.ceiling.warned
    assert moved.ceiling.words in shift.caption
    same = BandShiftDisplay(replace(moved, new=moved.old)).svg()
    assert "old floor" not in same
