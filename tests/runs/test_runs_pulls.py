"""Several models side by side: the same scores as one after the other, and each process sees this run's environment."""

import subprocess
import sys
from pathlib import Path

import pytest

from calibration import parameters
from calibration.errors import CalibrationError, StoreError
from calibration.params import RunParams
from calibration.runs import pulls
from calibration.studies import calibrate as study
from calibration.studies.progress import SILENT


@pytest.fixture
def score_files(tmp_path: Path) -> list[RunParams]:
    """Three files of scores, each of them other ones."""
    found = []
    for name, best in (("a", 0.9), ("b", 0.8), ("c", 0.7)):
        file = tmp_path / f"{name}.csv"
        rows = [f"q{q},d{d},{best - 0.01 * q - 0.1 * d},{int(d == 0)}" for q in range(4) for d in range(3)]
        file.write_text("query_id,doc_id,score,relevance\n" + "\n".join(rows) + "\n", encoding="utf-8")
        found.append(parameters({"scores": str(file), "metric": "cosine_similarity"}))
    return found


def test_the_scores_do_not_depend_on_how_many_are_pulled_at_once(score_files: list[RunParams]) -> None:
    alone, together = (pulls.pull_all(score_files, SILENT, jobs) for jobs in (1, 2))
    assert [one.content for one in together] == [one.content for one in alone]
    assert len({one.content for one in alone}) == 3
    assert all(one.seconds > 0 for one in together)


def test_each_model_has_a_process_of_its_own_with_this_runs_environment(
    score_files: list[RunParams], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes are used again by a later run in the same interpreter, whose session is another one."""
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "queries.jsonl").write_text('{"_id": "q", "text": "one"}\n', encoding="utf-8")
    (labels / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    (labels / "corpus.jsonl").write_text('{"_id": "d", "text": "another"}\n', encoding="utf-8")
    live = parameters({"labels": str(labels), "dsn": "host=127.0.0.1 port=1", "table": "t", "model": "openai:m"})
    for session, cache in (("first", "one"), ("second", "two")):
        monkeypatch.setenv(study.SESSION, session)
        monkeypatch.setenv("CALIBRATION_CACHE", str(tmp_path / cache))
        monkeypatch.setenv("PGPORT", "1" if session == "first" else "2")
        if session == "second":
            live = live.model_copy(update={"dsn": "host=127.0.0.1"})
        with pytest.raises(StoreError) as caught:
            pulls.pull_all([score_files[0], live], SILENT, 2)
        assert f"port {1 if session == 'first' else 2} failed" in str(caught.value)


def test_a_failure_waits_for_the_others_and_several_are_told_together(
    score_files: list[RunParams], tmp_path: Path
) -> None:
    missing = [parameters({"scores": str(tmp_path / f"none{i}.csv"), "metric": "l2"}) for i in range(2)]
    with pytest.raises(CalibrationError, match=r"none0\.csv: no such file"):
        pulls.pull_all([missing[0], *score_files], SILENT, 2)
    with pytest.raises(CalibrationError, match=r"(?s)none0\.csv: no such file.*none1\.csv: no such file"):
        pulls.pull_all([missing[0], score_files[0], missing[1]], SILENT, 2)


def test_parts_are_spread_instead_when_they_are_asked_to_be(
    score_files: list[RunParams], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes do not start processes: with --workers the models go one after the other."""
    monkeypatch.setattr(pulls, "_elsewhere", lambda *_: pytest.fail("in a process of its own"))
    spread = [one.model_copy(update={"workers": 2}) for one in score_files]
    assert len(pulls.pull_all(spread, SILENT, 2)) == 3
    assert len(pulls.pull_all(score_files[:1], SILENT, 2)) == 1


def test_models_that_run_here_follow_one_another(score_files: list[RunParams], monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side they were no faster."""
    assert study.embeds_here(parameters({"model": "wordllama"}))
    assert not study.embeds_here(parameters({"model": "openai:m"}))
    assert not study.embeds_here(score_files[0])
    monkeypatch.setattr(pulls, "embeds_here", lambda params: params is not score_files[1])
    monkeypatch.setattr(pulls, "_elsewhere", lambda *_: pytest.fail("in a process of its own"))
    assert len(pulls.pull_all(score_files, SILENT, 2)) == 3


def test_scores_that_are_there_already_need_no_process(
    score_files: list[RunParams], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulls, "found", lambda params: params is not score_files[1])
    monkeypatch.setattr(pulls, "_elsewhere", lambda *_: pytest.fail("in a process of its own"))
    assert len({one.content for one in pulls.pull_all(score_files, SILENT, 2)}) == 3


def test_lines_of_several_processes_stay_whole(score_files: list[RunParams], tmp_path: Path) -> None:
    """Each stage is told once, by the name of its model, on stderr alone."""
    script = (
        "from calibration.cli.progress import Bars\n"
        "with Bars().elsewhere().bar('minilm: embed passages', 80, 'texts') as step:\n    step(80)\n"
        "Bars().elsewhere().elsewhere().note('done')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "minilm: embed passages: 80 texts\ndone\n")
