"""A finished run read back: the same numbers in every display, or words that say why not."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import made_calibrations
import pandas as pd
import pytest

from calibration import displays, save
from calibration.displays import BandsDisplay, ComparisonDisplay, CurvesDisplay, Display, FigureDisplay, read_run
from calibration.errors import ParameterError
from calibration.studies.analyse import analyse
from calibration.studies.facts import public_parameters
from calibration.studies.model import Calibration

OF_ONE = [
    kind
    for kind in (getattr(displays, name) for name in displays.__all__)
    if next(iter(inspect.signature(kind).parameters), None) == "calibration"
]


def saved(found: Calibration, folder: Path) -> Path:
    """Leave the files of a run, as the notebook and the command do."""
    save(found, folder)
    (folder / "run.json").write_text(json.dumps({"parameters": public_parameters(found.params)}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(made_calibrations.sample(), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def again(folder: Path) -> Calibration:
    return read_run(folder)


@pytest.mark.parametrize("kind", OF_ONE, ids=lambda kind: kind.__name__)
def test_every_display_shows_the_same_numbers(kind: type[Display], again: Calibration) -> None:
    if kind.__name__ == "ReproduceDisplay":
        shown = dict(kind(again).frame().itertuples(index=False))
        assert shown["versions.pgvector"] == "0.8.5"
        return
    before, after = kind(made_calibrations.sample()), kind(again)
    pd.testing.assert_frame_equal(after.frame(), before.frame(), rtol=0, atol=1e-7)
    assert after.caption == before.caption


def test_floor_and_rates_are_the_very_same(again: Calibration) -> None:
    found = made_calibrations.sample()
    assert (again.floor, again.top_k.value, again.status) == (found.floor, found.top_k.value, found.status)
    assert again.in_sample.rates == found.in_sample.rates
    assert again.held_out is not None
    assert again.held_out.rates == found.held_out.rates
    assert again.caveats == found.caveats
    assert again.texts == {}


def test_a_display_is_made_from_a_folder_in_one_step(folder: Path) -> None:
    display = CurvesDisplay.from_run(str(folder))
    assert isinstance(display, CurvesDisplay)
    assert display.caption == CurvesDisplay(made_calibrations.sample()).caption
    with pytest.raises(ParameterError, match="ComparisonDisplay does not show one run"):
        ComparisonDisplay.from_run(folder)


@pytest.mark.parametrize("made_by", ["three_hits", "nothing_relevant", "hostile"])
def test_small_and_hostile_runs_come_back(made_by: str, tmp_path: Path) -> None:
    found = getattr(made_calibrations, made_by)()
    again = read_run(saved(found, tmp_path))
    assert again.floor == found.floor
    assert again.table["query_id"].tolist() == found.table["query_id"].tolist()
    for kind in OF_ONE:
        if issubclass(kind, FigureDisplay):
            assert kind(again).frame().shape == kind(found).frame().shape


def test_scores_finer_than_the_file_keep_the_floor_exact(tmp_path: Path) -> None:
    """0.3 + 1e-9 is 0.3 in four bytes; what decides the floor stands in queries.jsonl in full."""
    queries = [(f"q{i}", "answerable") for i in range(12)] + [(f"o{i}", "off_topic") for i in range(12)]
    rows = [(f"q{i}", "d", 0.3 + 1e-9 * i) for i in range(12)] + [(f"o{i}", "d", 0.1 + 1e-9 * i) for i in range(12)]
    found = made_calibrations.made(queries, [(f"q{i}", "d", 1) for i in range(12)], rows)
    again = read_run(saved(found, tmp_path))
    assert again.floor == found.floor
    deciding = ["best_relevant", "top_similarity"]
    pd.testing.assert_frame_equal(again.table[deciding], found.table[deciding], check_exact=True)


def test_of_a_large_corpus_the_distribution_of_all_passages_is_said_to_be_missing(tmp_path: Path) -> None:
    small = made_calibrations.drawn(n_probes=0)
    large = replace(small.scores, everything=None, n_documents=1000, exact=True)
    found = analyse(large, small.labels, None, small.params, name="large", facts=small.facts)
    again = read_run(saved(found, tmp_path))
    assert again.scores.everything is None
    assert again.scores.histogram.counts.sum() == 0
    assert "not among the files of the run" in BandsDisplay(again).svg()
    pd.testing.assert_frame_equal(again.curves, found.curves, rtol=0, atol=1e-7)


def test_what_is_no_run_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"no run of one model: recommendation.json, queries.jsonl, scores.parq"):
        read_run(tmp_path)
    saved(made_calibrations.three_hits(), tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(ParameterError, match=r"run.json cannot be found. `calibrate run` writes one folder"):
        read_run(tmp_path)
    saved(made_calibrations.three_hits(), tmp_path)
    (tmp_path / "scores.parquet").write_bytes(b"no parquet")
    with pytest.raises(ParameterError, match="cannot be read as the scores of a run"):
        read_run(tmp_path)


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    saved(made_calibrations.sample(), tmp_path)
    rows = pd.read_parquet(tmp_path / "scores.parquet")
    rows.loc[rows["relevance"] == 1, "similarity"] -= 0.2
    rows.to_parquet(tmp_path / "scores.parquet", index=False)
    with pytest.raises(ParameterError, match=r"(?s)do not give its recommendation again.*floor: 0\.\d+ in the file"):
        read_run(tmp_path)
