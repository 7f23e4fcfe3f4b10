"""What a console shows: no colour, no control codes where they are not wanted, nothing written over in a log."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from small_world import environment

from calibration import cli
from calibration.cli import progress
from calibration.cli.progress import Bars

Command = Callable[..., Any]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x9b]")
"""Control codes other than tab and newline; an escape is among them."""
ROWS = [f"a{i},d,{0.5 + i / 100},0.0328,1,answerable" for i in range(12)]
ROWS += [f"x{i},d,{0.1 + i / 100},0.0328,,off_topic" for i in range(12)]


PIPE = {"TERM": "xterm-256color", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLUMNS": "60"}


class World(NamedTuple):
    """A folder with a score file, two finished runs and their comparison, and what the commands wrote to a pipe."""

    folder: Path
    said: "dict[str, subprocess.CompletedProcess[str]]"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("console")
    text = "query_id,doc_id,score,ignored,relevance,answerability\n" + "\n".join(ROWS) + "\n"
    (folder / "scores.csv").write_text(text, encoding="utf-8")
    (folder / "worse.csv").write_text(text.replace(",0.5", ",0.1").replace(",0.6", ",0.12"), encoding="utf-8")
    said = {}
    for name, arguments in (
        ("run", COMMANDS["run"]),
        ("worse", ("run", "--scores", "worse.csv", "--out", "runs", "--export", "svg,csv")),
        *((name, COMMANDS[name]) for name in ("compare", "check", "usage", "help")),
    ):
        said[name] = on_a_pipe(folder, *arguments, env=PIPE)
    assert said["run"].returncode == said["worse"].returncode == said["compare"].returncode == 0, said
    return World(folder, said)


def on_a_pipe(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "calibration", *arguments],
        cwd=folder,
        env=environment(folder / "cache", env),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def on_a_terminal(folder: Path, *arguments: str, env: Mapping[str, str]) -> str:
    """Both streams as a terminal of 60 columns gets them, lines ending in newlines alone."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "calibration", *arguments],
        cwd=folder,
        env=environment(folder / "cache", {"COLUMNS": "60", "LINES": "24", **env}),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    read = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        read += piece
    os.close(leader)
    process.wait(timeout=30)
    return read.decode("utf-8").replace("\r\n", "\n")


COMMANDS = {
    "run": ("run", "--scores", "scores.csv", "--out", "runs"),
    "compare": ("compare", "runs/scores", "runs/worse", "--out", "compared"),
    "check": ("check", "runs/scores/recommendation.json", "--scores", "worse.csv"),
    "plan": ("plan",),
    "doctor": ("doctor",),
    "usage": ("run", "--preset", "cautious"),
    "error": ("run", "--old-floor", "78"),
    "help": ("run", "--help"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_dumb_terminal_without_colour_gets_plain_lines(name: str, world: World) -> None:
    said = on_a_terminal(world.folder, *COMMANDS[name], env={"TERM": "dumb", "NO_COLOR": "1"})
    assert said.strip()
    assert CONTROL.findall(said) == []
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "worse", "compare", "check", "usage", "help"])
def test_a_log_file_gets_plain_lines_whatever_asks_for_colour(name: str, world: World) -> None:
    done = world.said[name]
    assert CONTROL.findall(done.stdout + done.stderr) == []
    assert all(line == line.rstrip() for line in done.stderr.splitlines())


@pytest.mark.parametrize("path", sorted(Path(cli.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_no_command_asks_for_colour(path: Path) -> None:
    """Those that are not run here too."""
    assert not re.search(r"secho|style\(|\bfg=|rich\b|colorama|\\x1b|\\033", path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_real_terminal_gets_bars_within_its_width_and_no_colour(world: World) -> None:
    said = on_a_terminal(world.folder, *COMMANDS["run"], env={"TERM": "xterm-256color"})
    bars = [part for line in said.splitlines() for part in line.split("\r") if "%|" in part]
    assert any("100%|" in bar for bar in bars)
    assert all(len(bar) <= 60 for bar in bars)
    assert "\x1b[3" not in said
    assert set(CONTROL.findall(said)) <= {"\r", "\x1b"}


@pytest.mark.slow
def test_what_is_bad_is_said_in_words(world: World) -> None:
    assert world.said["check"].returncode == 3
    assert re.search(r"(?i)regression|worse|stale", world.said["check"].stdout + world.said["check"].stderr)
    assert "worse  " in world.said["compare"].stdout


@pytest.mark.slow
def test_help_fits_a_narrow_terminal(world: World) -> None:
    assert max(len(line) for line in world.said["help"].stdout.splitlines()) <= 60


# ---- --export


@pytest.mark.slow
def test_a_run_s_figures_and_tables_are_exported_on_request(world: World) -> None:
    folder = world.folder / "runs" / "worse"
    assert (folder / "figures" / "curves.svg").is_file()
    assert (folder / "tables" / "rates.csv").is_file()
    assert not list(folder.rglob("*.png"))
    assert re.search(r"worse: \d+ files in runs/worse/figures and runs/worse/tables", world.said["worse"].stderr)
    assert not (world.folder / "runs" / "scores" / "figures").exists()


def test_what_is_no_kind_of_file_is_refused_before_anything_begins(command: Command, tmp_path: Path) -> None:
    said = command("run", "--scores", "nowhere.csv", "--export", "svg,jpeg")
    assert said.code == 1
    assert said.err == "calibrate: files can be svg, png, csv, parquet; found 'jpeg'.\n"
    assert list(tmp_path.iterdir()) == []


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def test_a_note_does_not_land_in_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    report = Bars()
    with report.bar("minilm: load", 2, "passages") as step:
        step(1)
        report.note("a remark")
        step(1)
    lines = [line.rsplit("\r", 1)[-1] for line in stream.text.split("\n")]
    assert "a remark" in lines, "on a line of its own"


def test_a_dumb_terminal_names_each_stage_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    report = Bars()
    with report.bar("minilm: load", 2, "passages") as step:
        step(2)
    assert stream.text == "minilm: load: 2 passages\n"


def test_a_long_stage_tells_how_far_it_is_in_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not more often than every few seconds, and not once more when it is done."""
    clock = iter([0.0, 4.0, 12.0, 13.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.Lines().bar("embed", 100, "texts") as step:
        for amount in (10, 20, 30, 40):
            step(amount)
    assert capsys.readouterr().err == "embed: 100 texts\nembed: 30 of 100 texts, 2.50 texts/s, 00:28 left\n"
