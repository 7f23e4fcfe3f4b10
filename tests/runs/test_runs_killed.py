"""A run that is killed or cancelled at any point: the same command then gives the same result, and leaves nothing."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from small_world import calibrate, document, environment, settled

from calibration.sources.postgres.locks import hold
from calibration.sources.postgres.server import embedded_folder, embedded_status

POLL = 0.004


class Victim:
    """The command in a process group of its own, watched until something happens."""

    def __init__(self, arguments: tuple[str, ...], cwd: Path, cache: Path) -> None:
        self.cwd, self.cache = cwd, cache
        self.process = subprocess.Popen(
            [sys.executable, "-m", "calibration", *arguments],
            cwd=cwd,
            env=environment(cache),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.children: list[psutil.Process] = []

    def __enter__(self) -> "Victim":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    def wait_for(self, happened: Callable[["Victim"], bool], patience: float = 90.0) -> None:
        deadline = time.monotonic() + patience
        while not happened(self):
            if self.process.poll() is not None:
                pytest.fail(f"ended before it could be killed: {self.process.communicate()}")
            assert time.monotonic() < deadline, "it never happened"
            time.sleep(POLL)
        self.children = psutil.Process(self.process.pid).children(recursive=True)

    def end(self, how: signal.Signals) -> tuple[int, str, str]:
        os.killpg(self.process.pid, how)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def kernels(self) -> list[psutil.Process]:
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
            return [child for child in children if "ipykernel_launcher" in " ".join(child.cmdline())]
        except psutil.Error:
            return []


def vectors_are_kept(victim: Victim) -> bool:
    """Embedding has begun: the first batch is in the cache."""
    path = victim.cache / "vectors-1.sqlite-wal"
    return path.exists() and path.stat().st_size > 50_000


def server_is_running(victim: Victim) -> bool:
    """The server is up and watched over; the corpus is about to be loaded."""
    if not running(victim.cache):
        return False
    with hold(embedded_folder(victim.cache) / "keeper.lock", wait=False) as free:
        return free is None


def a_pull_is_being_kept(victim: Victim) -> bool:
    """The scores are pulled and being written into the cache."""
    return any((victim.cache / "pulls").glob(".partial-*/*")) if (victim.cache / "pulls").exists() else False


def notebooks_run(victim: Victim) -> bool:
    return len(victim.kernels()) > 0


def files_are_published(victim: Victim) -> bool:
    """The first file is in its place, the manifest is not."""
    return (victim.cwd / "out" / "minilm" / "recommendation.json").exists()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A working folder with a cache of its own."""
    folder = tmp_path_factory.mktemp("killed")
    yield folder
    calibrate("clean", "--yes", cwd=folder, cache=folder / "cache")


@pytest.fixture(scope="module")
def arguments(small: tuple[str, ...]) -> tuple[str, ...]:
    return (*small, "--model", "minilm", "--out", "out")


def gone(processes: list[psutil.Process], patience: float = 20.0) -> bool:
    """Whether processes ended by themselves; nobody waits for an orphan here, so a zombie has ended."""
    _, alive = psutil.wait_procs([one for one in processes if _lives(one)], timeout=patience)
    return not [one for one in alive if _lives(one)]


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def no_server_is_left(cache: Path, patience: float = 20.0) -> bool:
    deadline = time.monotonic() + patience
    while running(cache) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not running(cache)


def running(cache: Path) -> bool:
    try:
        return embedded_status(cache).running
    except FileNotFoundError:  # files of a server that is being made come and go under its eyes
        return False


def unmarked_or_whole(folder: Path) -> bool:
    """Whether a folder has no manifest, or one that every file agrees with."""
    manifest = folder / "run.json"
    if not manifest.exists():
        return True
    files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    return all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in files.items())


def test_kill_9_at_every_stage_then_the_same_command_gives_the_same_result(
    world: Path, arguments: tuple[str, ...], finished
) -> None:
    cache = world / "cache"
    for stage in (vectors_are_kept, server_is_running, a_pull_is_being_kept, notebooks_run, files_are_published):
        with Victim(arguments, world, cache) as victim:
            victim.wait_for(stage)
            code, out, _ = victim.end(signal.SIGKILL)
        # the last stage is a matter of milliseconds, so there the kill may come after the end
        assert (code, out) == (-signal.SIGKILL, "") or (stage is files_are_published and code == 0), stage
        assert gone(victim.children), stage
        assert no_server_is_left(cache), stage
        assert unmarked_or_whole(world / "out" / "minilm"), "only a whole run has a manifest"
    said = calibrate(*arguments, cwd=world, cache=cache)
    assert "embed" not in said.stderr.replace("nothing is embedded", ""), "vectors and scores were kept"
    assert settled(document(world / "out" / "minilm")) == settled(document(finished.folder / "minilm"))
    assert [path.name for path in (world / "out").iterdir()] == ["minilm"]
    assert sorted(path.name for path in (world / "out" / "minilm").iterdir()) == [
        "notebook.ipynb", "queries.jsonl", "recommendation.json", "report.html", "run.json", "scores.parquet",
    ]  # fmt: skip
    assert no_server_is_left(cache)


def test_ctrl_c_says_so_and_leaves_neither_kernels_nor_files(
    small: tuple[str, ...], run_cache: Path, tmp_path: Path, finished
) -> None:
    with Victim((*small, "--model", "wordllama", "--out", "out"), tmp_path, run_cache) as victim:
        victim.wait_for(notebooks_run)
        code, out, err = victim.end(signal.SIGINT)
    assert code == 130
    assert out == ""
    assert err.endswith("calibrate: cancelled; finished stages are kept, and the same command continues from there\n")
    assert "Traceback" not in err
    assert gone(victim.children)
    assert list(tmp_path.rglob("*.*")) == []
