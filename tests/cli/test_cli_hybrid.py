"""`calibrate hybrid`: a run log in, a page and a JSON file out; refusals before anything starts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
METRICS = ("--signal-metrics", "similarity=cosine_similarity", "--signal-metrics", "fused=rrf")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = [f"a{i},d,{0.5 + i / 100},0.0328,1,answerable" for i in range(12)]
    rows += [f"x{i},d,{0.1 + i / 100},0.0328,,off_topic" for i in range(12)]
    path = tmp_path / "log.csv"
    path.write_text("query_id,doc_id,similarity,fused,relevance,answerability\n" + "\n".join(rows) + "\n")
    return path


def test_a_run_log_becomes_a_page_and_a_document(command: Command, log: Path, tmp_path: Path) -> None:
    said = command("hybrid", "--signals", log, *METRICS, "--out", "out", "--proposed-threshold", "0.55")
    assert said.code == 0, said.err
    assert "0.55 on similarity keeps 58% of relevant candidates (7 of 12)" in said.out
    assert "fused" in said.out
    assert "carries no floor" in said.out
    folder = tmp_path / "out"
    assert {path.name for path in folder.iterdir()} == {
        "hybrid.html", "hybrid.json", "hybrid.ipynb", "hybrid.run.json",
    }  # fmt: skip
    document = json.loads((folder / "hybrid.json").read_text(encoding="utf-8"))
    assert document["fusions"][0]["refused"]
    about = json.loads((folder / "hybrid.run.json").read_text(encoding="utf-8"))
    assert about["command"].startswith("calibrate hybrid ")
    assert "--signal-metrics similarity=cosine_similarity" in about["command"]
    again = command("hybrid", "--signals", log, *METRICS, "--out", "out", "--proposed-threshold", "0.55", "--json")
    assert json.loads(again.out) == document
    log.write_text(log.read_text().replace("0.61", "0.62"))
    changed = command("hybrid", "--signals", log, *METRICS, "--out", "out", "--proposed-threshold", "0.55")
    assert "(unchanged)" not in changed.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--signals", "log.csv"), "a run log needs signal_metrics"),
        (("--signals", "log.csv", "--signal-metrics", "fused=rff"), "unknown metric 'rff'"),
        (("--signals", "log.csv", "--signal-metrics", "bm25=score"), "no column bm25"),
        (("--model", "minilm", "--model", "wordllama"), "a hybrid study is of one model"),
        (("--proposed-threshold", "0,5"), "0.5"),
        (("--set", "rrk_k=60"), "did you mean 'rrf_k'?"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    command: Command, log: Path, arguments: tuple[str, ...], words: str
) -> None:
    said = command("hybrid", *arguments)
    assert said.code in (1, 2)
    assert words in said.err
    assert "Traceback" not in said.err


def test_calibration_toml_may_hold_names_of_this_command_and_others_leave_them(
    command: Command, log: Path, tmp_path: Path
) -> None:
    from calibration.cli.config import parameters_of, run_parameters
    from calibration.studies.hybrid.params import HybridParams

    text = 'signals = "log.csv"\nproposed_threshold = 0.7\nsignal_metrics = { similarity = "cosine_similarity" }\n'
    (tmp_path / "calibration.toml").write_text(text, encoding="utf-8")
    (one,) = parameters_of(HybridParams, {})
    assert (one.proposed_threshold, one.signals, one.model) == (0.7, "log.csv", None)
    assert [params.model for params in run_parameters({})] == ["minilm", "multilingual-e5-small", "wordllama"]
    (tmp_path / "calibration.toml").write_text("proposed_treshold = 0.7\n", encoding="utf-8")
    said = command("hybrid")
    assert said.code == 1
    assert "did you mean 'proposed_threshold'?" in said.err


def test_the_command_that_a_study_names_can_be_typed() -> None:
    import typer

    from calibration.cli import app
    from calibration.params import HOW_ONLY
    from calibration.studies.facts import NO_OPTION, OPTIONS
    from calibration.studies.hybrid.params import HybridParams

    options = {
        word
        for parameter in typer.main.get_command(app).commands["hybrid"].params  # type: ignore[attr-defined]
        for word in parameter.opts
    }
    # a score file is refused, an old floor not asked about, and how a pull is spread is no part of a result
    unused = {"scores", "score_transform", "old_floor", "probes", *HOW_ONLY}
    named = {name: OPTIONS.get(name, f"--{name.replace('_', '-')}") for name in HybridParams.model_fields}
    assert [name for name in named if name not in NO_OPTION | unused and named[name] not in options] == []


def test_help_says_how_a_log_marks_what_passes_every_gate(command: Command) -> None:
    said = command("hybrid", "--help")
    assert "a column exempt (yes or no) marks graph links and pins" in " ".join(said.out.split())
