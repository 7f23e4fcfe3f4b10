"""`calibrate check` and `calibrate compare` as people and pipelines run them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from embedding_server import embedding_server
from small_world import PASSAGE_CANARY, QUERY_CANARY, write_labels

from calibration import parameters
from calibration.result import save
from calibration.studies.calibrate import calibrate

Command = Callable[..., Any]
NAME = "openai:our-model"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labels, calibration.toml and a baseline of wordllama."""
    folder = tmp_path_factory.mktemp("project")
    labels = write_labels(folder / "labels")
    lines = [json.loads(line) for line in (labels / "queries.jsonl").read_text(encoding="utf-8").split("\n") if line]
    lines[1]["must"] = "hit"
    (labels / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(folder / "cache"))
        patch.delenv("CALIBRATION_RUN", raising=False)
        params = parameters({"labels": str(labels), "rel_level": 1, "languages": "pl", "model": "wordllama"})
        save(calibrate(params), folder / "baseline")
    (folder / "baseline" / "scores.parquet").unlink()
    return folder


@pytest.fixture
def project(frozen: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That project as the working folder, with a copy of the baseline that may be changed."""
    monkeypatch.setenv("CALIBRATION_CACHE", str(frozen / "cache"))
    monkeypatch.delenv("CALIBRATION_RUN", raising=False)
    for name in ("recommendation.json", "queries.jsonl"):
        (tmp_path / "baseline").mkdir(exist_ok=True)
        (tmp_path / "baseline" / name).write_bytes((frozen / "baseline" / name).read_bytes())
    settings = f'labels = "{frozen / "labels"}"\nrel_level = 1\nlanguages = ["pl"]\nmodel = "wordllama"\n'
    (tmp_path / "calibration.toml").write_text(settings, encoding="utf-8")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_unchanged_system_ends_with_zero(project: Path, command: Command) -> None:
    before = contents(project / "baseline")
    said = command("check", "baseline")
    assert said.code == 0
    assert "unchanged model, corpus, labels, contract, policy" in said.out
    assert said.out.rstrip().endswith("result    fine")
    assert contents(project / "baseline") == before


def test_another_model_ends_with_three_and_every_file_says_so(project: Path, command: Command) -> None:
    said = command("check", "baseline", "--model", "minilm", "--json", "--junit", "j.xml", "--markdown", "m.md")
    assert said.code == 3
    found = json.loads(said.out)
    assert found["stale"] is True
    assert found["changes"][0]["words"] == "the model is minilm, the floor was chosen for wordllama."
    assert found["rates"]["coverage"]["now"]["denominator"] == 19
    suite = ElementTree.parse("j.xml").getroot().find("testsuite")  # noqa: S314 - our own
    assert suite is not None
    cases = {case.get("name"): case for case in suite}
    assert suite.get("tests") == str(len(cases))
    failed = cases["model"].find("failure")
    assert failed is not None
    assert failed.get("message") == "the model is minilm, the floor was chosen for wordllama."
    assert suite.get("failures") == str(sum(case.find("failure") is not None for case in suite))
    markdown = Path("m.md").read_text(encoding="utf-8")
    assert markdown.startswith("### Similarity floor: stale")
    assert "- **STALE** (model): the model is minilm" in markdown
    for text in (said.out, markdown, Path("j.xml").read_text(encoding="utf-8")):
        assert QUERY_CANARY not in text
        assert PASSAGE_CANARY not in text


def test_a_tolerance_overrides_the_band(project: Path, command: Command) -> None:
    """One of twelve answers is lost: within noise, and more than 0.02."""
    path, frozen = project / "baseline" / "recommendation.json", project / "baseline" / "queries.jsonl"
    rows = [json.loads(line) for line in frozen.read_text(encoding="utf-8").splitlines()]
    missed = next(row for row in rows if row["hit"] is False)
    missed["hit"] = True
    frozen.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["rates"]["in_sample"]["hit_rate"]["numerator"] += 1
    path.write_text(json.dumps(document), encoding="utf-8")
    said = command("check", "baseline")
    assert said.code == 0
    assert "1 worse, 0 better, p = 1: within noise" in said.out
    assert command("check", "baseline", "--tolerance", "0.1").code == 0
    said = command("check", "baseline", "--tolerance", "0.02")
    assert said.code == 3
    assert "FAILED    answers kept" in said.out
    assert "0.0833 worse, 0.02 allowed" in said.out
    said = command("check", "baseline", "--tolerance", "2%")
    assert said.code == 2
    assert "use 0.02" in said.err
    said = command("check", "baseline", "--tolerance", "2")
    assert said.code == 1
    assert "expected a share" in said.err


def test_c97_a_missing_baseline_is_an_error(project: Path, command: Command) -> None:
    said = command("check", "nowhere/recommendation.json")
    assert said.code == 1
    assert "no baseline: nowhere/recommendation.json" in said.err
    assert said.out == ""


def test_run_json_beside_the_baseline_describes_the_system(project: Path, command: Command) -> None:
    (project / "calibration.toml").rename(project / "elsewhere.toml")
    said = command("check", "baseline")
    assert said.code == 1
    assert "nothing says where the live system is" in said.err
    recorded = {"labels": json.loads((project / "elsewhere.toml").read_text().splitlines()[0].split(" = ")[1])}
    recorded |= {"rel_level": 1, "languages": ["pl"], "model": "wordllama", "out": "somewhere"}
    (project / "baseline" / "run.json").write_text(json.dumps({"parameters": recorded}), encoding="utf-8")
    assert command("check", "baseline").code == 0
    assert command("check", "baseline", "--model", "minilm").code == 3
    assert command("check", "baseline", "--set", "preset=refusal").code == 0
    assert "preset is refusal" in command("check", "baseline", "--set", "preset=refusal").out
    assert command("check", "baseline", "--config", "elsewhere.toml").code == 0


def test_a_baseline_changes_only_when_it_is_accepted(project: Path, command: Command) -> None:
    before = contents(project / "baseline")
    assert command("check", "baseline", "--model", "minilm").code == 3
    assert contents(project / "baseline") == before
    said = command("check", "baseline", "--model", "minilm", "--accept")
    assert said.code == 0
    assert "accepted as the new baseline: commit recommendation.json, queries.jsonl" in said.out
    assert contents(project / "baseline") != before
    assert json.loads((project / "baseline" / "recommendation.json").read_text(encoding="utf-8"))["model"] == "minilm"
    assert command("check", "baseline").code == 0
    (project / "baseline" / "report.html").write_text("", encoding="utf-8")
    said = command("check", "baseline", "--accept")
    assert said.code == 1
    assert "is the folder of a run" in said.err


def test_an_accepted_system_is_the_one_that_is_checked_next(project: Path, command: Command) -> None:
    """A run.json beside the baseline that still named the old model would make the new floor stale at once."""
    recorded = {"labels": json.loads((project / "calibration.toml").read_text().splitlines()[0].split(" = ")[1])}
    recorded |= {"rel_level": 1, "languages": ["pl"], "model": "minilm"}
    (project / "baseline" / "run.json").write_text(json.dumps({"parameters": recorded}), encoding="utf-8")
    assert command("check", "baseline").code == 3
    said = command("check", "baseline", "--model", "wordllama", "--set", "miss_cost=3", "--accept", "--json")
    assert said.code == 0
    accepted = (project / "baseline" / "recommendation.json").read_text(encoding="utf-8")
    assert json.loads(said.out) == json.loads(accepted)
    again = command("check", "baseline")
    assert (again.code, "unchanged model, corpus, labels, contract, policy" in again.out) == (0, True)


def test_an_interrupted_accept_is_refused_by_name_and_finished_by_the_next(project: Path, command: Command) -> None:
    folder = project / "baseline"
    (folder / ".accepted").mkdir()
    (folder / "queries.jsonl").rename(folder / ".accepted" / "queries.jsonl")
    said = command("check", "baseline")
    assert said.code == 1
    assert "accepting a new one was interrupted" in said.err
    assert "--accept" in said.err
    said = command("check", "baseline", "--accept")
    assert said.code == 0
    assert "the interrupted --accept in baseline is finished" in said.err
    assert sorted(contents(folder)) == ["queries.jsonl", "recommendation.json"]
    assert command("check", "baseline").code == 0


def test_accepting_compares_nothing(project: Path, command: Command) -> None:
    before = contents(project / "baseline")
    said = command("check", "baseline", "--accept", "--junit", "j.xml", "--tolerance", "0.02")
    assert said.code == 2
    assert "leave out --junit and --tolerance" in said.err
    assert contents(project / "baseline") == before


def test_a_check_that_cannot_be_made_leaves_no_older_result(project: Path, command: Command) -> None:
    for name in ("j.xml", "m.md"):
        Path(name).write_text("fine", encoding="utf-8")
    assert command("check", "nowhere", "--junit", "j.xml", "--markdown", "m.md").code == 1
    assert not Path("j.xml").exists()
    assert not Path("m.md").exists()


@pytest.mark.parametrize("name", ["recommendation.json", "queries.jsonl", "run.json", "../baseline/queries.jsonl"])
def test_no_result_is_written_over_the_baseline(project: Path, command: Command, name: str) -> None:
    before = contents(project / "baseline")
    said = command("check", "baseline", "--markdown", f"baseline/{name}")
    assert said.code == 2
    assert "is a file of the baseline" in said.err
    assert contents(project / "baseline") == before
    assert command("check", "baseline", "--markdown", "x", "--junit", "x").code == 2


def test_a_server_that_answers_with_another_model_under_the_same_name(
    project: Path, command: Command, frozen: Path
) -> None:
    """Same name, same width, same server: the reference embeddings show it."""
    with embedding_server() as server:
        params = parameters(
            {"labels": str(frozen / "labels"), "rel_level": 1, "languages": "pl", "model": NAME, "base_url": server.url}
        )
        save(calibrate(params), "served")
        settings = f'labels = "{frozen / "labels"}"\nrel_level = 1\nlanguages = ["pl"]\nbase_url = "{server.url}"\n'
        (project / "calibration.toml").write_text(settings, encoding="utf-8")
        same = command("check", "served")
        server.swapped = True
        other = command("check", "served", "--json")
    assert (same.code, other.code) == (0, 3)
    found = json.loads(other.out)
    stale = [change for change in found["changes"] if change["consequence"] == "stale"]
    assert stale[0]["words"].startswith(
        "another model answers under the name openai:our-model: its reference embeddings"
    )
    coverage = found["rates"]["coverage"]
    assert coverage["before"]["denominator"] == coverage["now"]["denominator"] == 19
    assert coverage["now"]["numerator"] == 19, "in its narrow cone every score is above the old floor"


def test_compare_writes_one_page_and_finds_it_again(project: Path, command: Command, frozen: Path) -> None:
    save(calibrate(parameters({"labels": str(frozen / "labels"), "rel_level": 1, "model": "minilm"})), "new")
    said = command("compare", "baseline", "new", "--out", "pages")
    assert said.code == 0
    assert "stale    model: the model is minilm, the floor was chosen for wordllama." in said.out
    assert sorted(path.name for path in Path("pages").iterdir()) == [
        "compare.html", "compare.ipynb", "compare.json", "compare.run.json",
    ]  # fmt: skip
    page = Path("pages/compare.html").read_text(encoding="utf-8")
    assert "The old floor is stale" in page
    assert QUERY_CANARY not in page
    again = command("compare", "baseline", "new", "--out", "pages", "--json")
    assert json.loads(again.out) == json.loads(Path("pages/compare.json").read_text(encoding="utf-8"))
    assert "(unchanged)" in command("compare", "baseline", "new", "--out", "pages").out
    broken = command("compare", "baseline", "nowhere")
    assert broken.code == 1
    assert "no baseline" in broken.err
