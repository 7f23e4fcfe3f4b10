"""docs/ci.md and its examples, tried as they are written but for the runner, the checkout and the install."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_world import calibrate, environment, write_labels

pytestmark = pytest.mark.slow
DOCS = Path(__file__).resolve().parents[2] / "docs"
WORKFLOW = DOCS / "examples" / "github-actions.yml"


def workflow() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return found


def blocks(language: str) -> Iterator[str]:
    yield from re.findall(rf"```{language}\n(.*?)```", (DOCS / "ci.md").read_text(encoding="utf-8"), re.DOTALL)


def shell(script: str, folder: Path, cache: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a step as the runner does: bash, stopping at the first error."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    (commands / "calibrate").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m calibration "$@"\n', encoding="utf-8")
    (commands / "calibrate").chmod(0o755)
    env = environment(cache, more)
    env["PATH"] = f"{commands}{os.pathsep}{env['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, run_cache: Path) -> Path:
    """A project with the baseline of the first block of docs/ci.md."""
    folder = tmp_path_factory.mktemp("project")
    labels = write_labels(folder / "labels")
    rows = [json.loads(line) for line in (labels / "queries.jsonl").read_text(encoding="utf-8").split("\n") if line]
    baseline = calibrate(
        "run", "--labels", "labels", "--rel-level", 1, "--language", "pl", "--model", "wordllama", "--out", "first",
        cwd=folder, cache=run_cache,
    )  # fmt: skip
    assert baseline.returncode == 0
    first = {}
    for line in (folder / "first/wordllama/queries.jsonl").read_text(encoding="utf-8").splitlines():
        first[json.loads(line)["query_id"]] = json.loads(line)
    rows = [{**row, "must": "-"} for row in rows]
    hits = [row for row in rows if first[row["_id"]]["hit"]]
    refused = [row for row in rows if row["answerability"] == "off_topic" and not first[row["_id"]]["accepted"]]
    hits[0]["must"], refused[0]["must"] = "hit", "refuse"
    (labels / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (first_block,) = [block for block in blocks("") if "mkdir -p baseline" in block]
    script = first_block.replace("--model minilm", "--model wordllama --rel-level 1 --language pl")
    script = script.replace("runs/minilm", "runs/wordllama")
    done = shell(script, folder, run_cache)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("result    fine")
    return folder


def steps() -> list[dict[str, Any]]:
    (job,) = workflow()["jobs"].values()
    return [step for step in job["steps"] if "run" in step and "pip install" not in step["run"]]


def runner(project: Path, cache: Path, summary: Path, change: str = "") -> list[int]:
    """Run the steps as the runner would: after a failure only those that say so."""
    codes: list[int] = []
    for step in steps():
        if any(codes) and "cancelled" not in step.get("if", ""):
            continue
        script = step["run"].replace("calibrate check baseline", f"calibrate check baseline {change}".rstrip())
        codes.append(shell(script, project, cache, GITHUB_STEP_SUMMARY=str(summary)).returncode)
    return codes


def test_the_workflow_is_one_with_few_rights() -> None:
    found = workflow()
    assert found["permissions"] == {"contents": "read"}
    assert set(found[True]) == {"pull_request", "schedule"}, "YAML reads the key `on` as true"
    text = WORKFLOW.read_text(encoding="utf-8")
    assert set(re.findall(r"secrets\.(\w+)", text)) == {"CALIBRATION_DSN", "OPENAI_API_KEY"}
    for step in steps():
        assert "${{" not in step["run"], "nothing of a pull request is pasted into a script"


def test_the_steps_pass_on_an_unchanged_system(project: Path, run_cache: Path, tmp_path: Path) -> None:
    assert runner(project, run_cache, tmp_path / "summary.md") == [0, 0]
    assert "### Similarity floor: fine" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert (project / "check.xml").read_text(encoding="utf-8").startswith("<?xml")


def test_the_steps_fail_and_still_show_the_difference(project: Path, run_cache: Path, tmp_path: Path) -> None:
    assert runner(project, run_cache, tmp_path / "summary.md", "--model minilm") == [3, 0]
    assert "the model is minilm" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_a_check_that_could_not_run_says_so(project: Path, run_cache: Path, tmp_path: Path) -> None:
    for name in ("check.md", "check.xml"):
        (project / name).unlink(missing_ok=True)
    assert runner(project, run_cache, tmp_path / "summary.md", "--labels nowhere") == [1, 0]
    assert "Nothing could be evaluated" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.fixture
def suite(project: Path, tmp_path: Path) -> Path:
    """The three files of the pytest section, with a service that answers from the baseline."""
    conftest, test = blocks("python")
    (toml,) = blocks("toml")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_floor.py").write_text(test, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(toml, encoding="utf-8")
    (tmp_path / "baseline").symlink_to(project / "baseline")
    (tmp_path / "labels").symlink_to(project / "labels")
    return tmp_path


SERVICE = """
import json
ids = {}
for line in open("labels/queries.jsonl", encoding="utf-8"):
    ids[json.loads(line)["text"]] = json.loads(line)["_id"]
accepted = {}
for line in open("baseline/queries.jsonl", encoding="utf-8"):
    accepted[json.loads(line)["query_id"]] = json.loads(line)["accepted"]


def search(text):
    return %s
"""


@pytest.mark.parametrize(
    ("answer", "passed", "words"),
    [
        ("accepted[ids[text]]", 3, ""),
        ("[]", 2, "must hit, and nothing came back"),
        ("['no-such-passage']", 1, "must be refused, and 1 passage came back: no-such-passage"),
    ],
)
def test_the_pytest_example(suite: Path, run_cache: Path, answer: str, passed: int, words: str) -> None:
    (suite / "my_service.py").write_text(SERVICE % answer, encoding="utf-8")
    done = shell(
        f'"{sys.executable}" -m pytest -q -p no:cacheprovider -p no:randomly', suite, run_cache, PYTHONPATH=_path(suite)
    )
    assert f"{passed} passed" in done.stdout, done.stdout + done.stderr
    assert (done.returncode == 0) == (passed == 3)
    assert words in done.stdout


def test_a_baseline_without_such_queries_is_a_usage_error(suite: Path, run_cache: Path) -> None:
    (suite / "my_service.py").write_text(SERVICE % "[]", encoding="utf-8")
    kept = (suite / "baseline").resolve()
    (suite / "baseline").unlink()
    (suite / "baseline").mkdir()
    for name in ("recommendation.json", "run.json"):
        (suite / "baseline" / name).write_bytes((kept / name).read_bytes())
    rows = [json.loads(line) for line in (kept / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    text = "".join(json.dumps({**row, "must": "-"}) + "\n" for row in rows)
    (suite / "baseline" / "queries.jsonl").write_text(text, encoding="utf-8")
    done = shell(f'"{sys.executable}" -m pytest -q -p no:cacheprovider', suite, run_cache, PYTHONPATH=_path(suite))
    assert done.returncode != 0
    assert "has no query that must hit or must be refused" in done.stdout + done.stderr


def _path(folder: Path) -> str:
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
