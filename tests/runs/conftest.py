"""One finished run of two models, made by the command as its users do, that several tests look at."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_world import calibrate


@dataclass(frozen=True)
class Finished:
    """A run: the folder it wrote, what it said, and how to run it again."""

    folder: Path
    arguments: tuple[str, ...]
    cwd: Path
    cache: Path
    done: "subprocess.CompletedProcess[str]"

    def again(self, *more: object, ok: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run the same command, perhaps with more options."""
        return calibrate(*self.arguments, *more, cwd=self.cwd, cache=self.cache, ok=ok)


@pytest.fixture(scope="session")
def small(labels_folder: Path) -> tuple[str, ...]:
    """Arguments of the quickest real run."""
    return ("run", "--labels", str(labels_folder), "--rel-level", "1", "--language", "pl")


@pytest.fixture(scope="session")
def finished(small: tuple[str, ...], run_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Two models, a comparison; the working folder has a space and braces in its name. To be looked at only."""
    cwd = tmp_path_factory.mktemp("work {here}")
    arguments = (*small, "--model", "wordllama", "--model", "minilm", "--out", "runs/{a} b")
    return Finished(cwd / "runs/{a} b", arguments, cwd, run_cache, calibrate(*arguments, cwd=cwd, cache=run_cache))
