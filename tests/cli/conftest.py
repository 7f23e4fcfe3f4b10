"""The command in this process: quick, and with what it wrote to each stream."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from calibration.cli import app
from calibration.cli.errors import exit_code


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Said]:
    """Run one command in an empty folder, with a cache of its own and nothing said by the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALIBRATION_CACHE", str(tmp_path / "cache"))
    for name in ("CALIBRATION_DSN", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSWORD", "")  # set, so that what the command puts there is undone

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["calibrate", *map(str, arguments)])
        code = exit_code(app)
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run
