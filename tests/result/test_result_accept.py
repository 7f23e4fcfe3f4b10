"""A baseline changes whole or not at all: killed at every step of accepting."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calibration.errors import ParameterError
from calibration.result.accept import finish, replace_files
from calibration.studies.check.baseline import ACCEPTED, read_baseline

OLD = {"recommendation.json": "old floor\n", "queries.jsonl": "old queries\n", "run.json": "old parameters\n"}
NEW = {name: text.replace("old", "new") for name, text in OLD.items()}

KILLED = """
import os, signal, sys
from pathlib import Path
from calibration.result import accept

steps = int(sys.argv[2])

def dying(real):
    def call(*args, **more):
        global steps
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        steps -= 1
        return real(*args, **more)
    return call

os.replace, os.rename, os.rmdir, os.mkdir = map(dying, (os.replace, os.rename, os.rmdir, os.mkdir))
new = {name: f"new {what}\\n" for name, what in (
    ("recommendation.json", "floor"), ("queries.jsonl", "queries"), ("run.json", "parameters"))}
accept.replace_files(Path(sys.argv[1]), new)
"""


def filled(folder: Path) -> Path:
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_kill_9_at_every_step_leaves_the_old_baseline_or_one_that_is_refused_and_finished(tmp_path: Path) -> None:
    outcomes = []
    for step in range(20):
        folder = filled(tmp_path / str(step))
        done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(step)], check=False, capture_output=True)
        if done.returncode == 0:
            assert contents(folder) == NEW
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        if (folder / ACCEPTED).exists():
            with pytest.raises(
                ParameterError, match="holds files of two baselines: accepting a new one was interrupted"
            ):
                read_baseline(folder)
            assert finish(folder)
            assert contents(folder) == NEW
            outcomes.append("finished")
        else:
            assert contents(folder) == OLD
            replace_files(folder, NEW)
            outcomes.append("old")
        assert contents(folder) == NEW
        assert not list(folder.glob(f"{ACCEPTED}*")), "nothing is left beside the baseline"
    else:
        pytest.fail("never ended by itself")
    assert outcomes.count("old") >= 4, "the folder aside, three files in it"
    assert outcomes.count("finished") >= 4, "three files, and the folder that held them"


def test_a_write_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled(tmp_path / "baseline")

    def full(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="disk full"):
            replace_files(folder, NEW)
    assert contents(folder) == OLD
    assert sorted(path.name for path in folder.iterdir()) == sorted(OLD)


def test_two_that_accept_at_once_do_not_mix(tmp_path: Path) -> None:
    folder = filled(tmp_path / "baseline")
    (folder / ACCEPTED).mkdir()
    (folder / ACCEPTED / "queries.jsonl").write_text("another's\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="another baseline is being accepted"):
        replace_files(folder, NEW)
    assert contents(folder) == OLD


def test_what_another_process_is_filling_is_left_alone(tmp_path: Path) -> None:
    """What a process that lives began within the hour is its own; the rest was left by one that was killed."""
    folder = filled(tmp_path / "baseline")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    young, old = folder / f"{ACCEPTED}-{os.getpid()}-young", folder / f"{ACCEPTED}-{os.getpid()}-old"
    dead = folder / f"{ACCEPTED}-{ended.pid}-x"
    for aside in (young, old, dead):
        aside.mkdir()
        (aside / "queries.jsonl").write_text("half\n", encoding="utf-8")
    os.utime(old, (0, 0))
    replace_files(folder, NEW)
    assert not old.exists()
    assert not dead.exists()
    assert (young / "queries.jsonl").read_text(encoding="utf-8") == "half\n"
    assert contents(folder) == NEW


def test_nothing_to_finish_is_no_event(tmp_path: Path) -> None:
    assert not finish(filled(tmp_path / "baseline"))
