"""What a second run does again, and what it leaves."""

import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from small_world import MARKUP, PASSAGE_CANARY, QUERY_CANARY, calibrate, document, settled

from calibration import CalibrationError, parameters
from calibration.resources import bundled
from calibration.runs import run

FILES = ["notebook.ipynb", "queries.jsonl", "recommendation.json", "report.html", "run.json", "scores.parquet"]


def stamps(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A score file with `;` and decimal commas, as a spreadsheet of another country writes it."""
    rows = ["query_id;doc_id;score;relevance;answerability"]
    for number in range(8):
        rows += [
            f"a{number};d{number};0,{80 - number};1;answerable",
            f"a{number};e{number};0,{40 + number};0;answerable",
        ]
    rows += [f"o{number};d{number};0,{20 + number};;off_topic" for number in range(22)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def here(run_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder for runs in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALIBRATION_CACHE", str(run_cache))
    monkeypatch.setenv("JUPYTER_PATH", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def test_a_second_run_embeds_nothing_and_leaves_every_file(finished) -> None:
    before = stamps(finished.folder)
    said = finished.again("--json")
    assert stamps(finished.folder) == before
    assert "embed" not in re.sub("nothing is embedded", "", said.stderr)
    assert said.stderr.count("scores of the same inputs found") == 2
    found = json.loads(said.stdout)
    assert [one["unchanged"] for one in found["models"]] == [True, True]
    assert found["comparison"] == "runs/{a} b/comparison.html"
    assert {one["model"]: one["floor"] for one in found["models"]} == {
        model: document(finished.folder / model)["floor"] for model in ("wordllama", "minilm")
    }


def test_c23_a_changed_parameter_repeats_the_analysis_only(finished, tmp_path: Path) -> None:
    """With the floor of today at 0.0, and the texts asked for: escaped, and in the report."""
    shutil.copytree(finished.folder, tmp_path / "copy")
    first = stamps(tmp_path / "copy")
    arguments = [*finished.arguments[:-6], "--model", "wordllama", "--out", str(tmp_path / "copy")]
    said = calibrate(*arguments, "--old-floor", "0", "--show-text", cwd=tmp_path, cache=finished.cache)
    assert "nothing is embedded or pulled" in said.stderr
    changed = {name for name, stamp in stamps(tmp_path / "copy").items() if first.get(name) != stamp}
    assert {name.split("/")[0] for name in changed} == {"wordllama"}
    found = document(tmp_path / "copy" / "wordllama")
    assert found["old_floor"]["floor"] == 0.0
    assert found["old_floor"]["rates"]["hit_rate"]["denominator"] == 12
    page = (tmp_path / "copy" / "wordllama" / "report.html").read_text(encoding="utf-8")
    assert QUERY_CANARY in page
    assert MARKUP not in page
    assert "&lt;img src=x" in page
    assert re.search(r"\b0\.0\b", page)
    notebook = (tmp_path / "copy" / "wordllama" / "notebook.ipynb").read_text(encoding="utf-8")
    assert QUERY_CANARY in notebook
    assert "<img src=x" not in notebook
    for name in ("recommendation.json", "queries.jsonl", "run.json"):
        text = (tmp_path / "copy" / "wordllama" / name).read_text(encoding="utf-8")
        assert QUERY_CANARY not in text
        assert PASSAGE_CANARY not in text


def test_a_tampered_file_is_made_anew_with_a_damaged_pull_beside_it(finished, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out"
    cache.mkdir()
    shutil.copy(finished.cache / "vectors-1.sqlite", cache)
    shutil.copytree(finished.cache / "pulls", cache / "pulls")
    for damaged in (cache / "pulls").glob("*/histogram.npz"):
        damaged.write_bytes(damaged.read_bytes()[:100])
    shutil.copytree(finished.folder / "wordllama", out / "wordllama")
    page = out / "wordllama" / "report.html"
    page.write_bytes(page.read_bytes().replace(b"floor", b"ceiling"))
    arguments = [*finished.arguments[:-6], "--model", "wordllama", "--out", str(out)]
    try:
        said = calibrate(*arguments, cwd=tmp_path, cache=cache)
        assert "(unchanged)" not in said.stdout
        assert "pull scores" in said.stderr
        assert b"floor" in page.read_bytes()
        assert settled(document(out / "wordllama")) == settled(document(finished.folder / "wordllama"))
        assert "(unchanged)" in calibrate(*arguments, cwd=tmp_path, cache=cache).stdout
    finally:
        calibrate("clean", "--yes", cwd=tmp_path, cache=cache)
    assert not cache.exists()


def test_a_score_file_runs_without_model_and_database(scores: Path, here: Path) -> None:
    done = run([parameters({"scores": "scores.csv", "out": "out"})])
    [one] = done.models
    assert done.comparison is None
    assert 0.41 < one.recommendation["floor"] <= 0.73, "above the off-topic queries, below the answers"
    assert sorted(path.name for path in (here / "out" / "scores").iterdir()) == FILES
    assert run([parameters({"scores": "scores.csv", "out": "out"})]).models[0].skipped
    scores.write_text(scores.read_text(encoding="utf-8").replace("a0;d0;0,80", "a0;d0;0,79"), encoding="utf-8")
    from calibration.runs.folder import inputs_hash
    from calibration.studies.calibrate import pull

    params = parameters({"scores": "scores.csv", "out": "out"})
    source = bundled("notebooks") / "calibrate.ipynb"
    again = inputs_hash(params, pull(params).content_hash(), source)
    assert again != document(here / "out" / "scores", "run.json")["inputs"]


def test_a_failing_notebook_leaves_earlier_results_and_the_readable_remains(
    scores: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "out" / "scores"
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text("earlier", encoding="utf-8")
    broken = nbformat.read(bundled("notebooks") / "calibrate.ipynb", as_version=4)
    broken.cells = [*broken.cells[:2], new_code_cell("print(out)\n1 / 0")]
    (here / "notebooks").mkdir()
    nbformat.write(broken, here / "notebooks" / "calibrate.ipynb")
    monkeypatch.setattr("calibration.runs.invocation.bundled", lambda name: here / name)
    with pytest.raises(CalibrationError, match="ZeroDivisionError") as caught:
        run([parameters({"scores": "scores.csv", "out": "out"})])
    assert str(Path("out/scores/notebook.failed.ipynb")) in str(caught.value)
    assert ".partial" not in str(caught.value)
    assert sorted(path.name for path in (here / "out").iterdir()) == ["scores"]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "notebook.failed.ipynb"])
    assert all((folder / name).read_text(encoding="utf-8") == "earlier" for name in FILES)
    failed = (folder / "notebook.failed.ipynb").read_text(encoding="utf-8")
    assert "ZeroDivisionError" in failed
    assert ".partial-" not in failed


def test_one_failing_model_does_not_take_the_others_with_it(
    scores: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = nbformat.read(bundled("notebooks") / "calibrate.ipynb", as_version=4)
    lines = [
        "import json, pathlib, time",
        "assert top_k == 1, 'only one works'",
        "time.sleep(0.5)",
        "folder = pathlib.Path(out) / 'good'",
        "for name in ('queries.jsonl', 'scores.parquet'): (folder / name).write_text('x')",
        "(folder / 'recommendation.json').write_text(json.dumps({'fingerprint': 'f', 'floor': None}))",
        "'shown'",
    ]
    made.cells = [made.cells[1], new_code_cell("\n".join(lines))]
    (here / "notebooks").mkdir()
    nbformat.write(made, here / "notebooks" / "calibrate.ipynb")
    monkeypatch.setattr("calibration.runs.invocation.bundled", lambda name: here / name)
    good = parameters({"scores": "scores.csv", "out": "out", "model": "good", "top_k": 1})
    bad = parameters({"scores": "scores.csv", "out": "out", "model": "bad", "top_k": 2})
    with pytest.raises(CalibrationError, match="only one works"):
        run([bad, good], jobs=1)  # in threads, nbclient leaves event loops that only end with the process
    assert (here / "out" / "good" / "run.json").is_file()
    assert [path.name for path in (here / "out" / "bad").iterdir()] == ["notebook.failed.ipynb"]


def test_runs_that_would_share_a_folder_are_refused(here: Path) -> None:
    same = [parameters({"model": model}) for model in ("a/b", "a-b")]
    with pytest.raises(CalibrationError, match="share one folder: a-b"):
        run(same)
    with pytest.raises(CalibrationError, match="nothing to run"):
        run([])
    assert list(here.iterdir()) == []
