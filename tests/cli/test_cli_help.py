"""Every command explains itself, quickly and without the heavy libraries."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from calibration.cli import app

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_help_lists_every_command_with_a_whole_sentence(command: Callable[..., Any]) -> None:
    said = command("--help")
    assert said.code == 0
    assert said.err == ""
    listing = said.out[said.out.index("Commands:") :]
    for name in COMMANDS:
        assert f"\n  {name}" in listing
    assert "..." not in listing


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(command: Callable[..., Any], name: str) -> None:
    said = command(name, "--help")
    assert said.code == 0
    assert said.err == ""
    assert said.out.startswith(f"Usage: calibrate {name}")


def test_no_arguments_is_a_usage_error_with_the_help(command: Callable[..., Any]) -> None:
    said = command()
    assert said.code == 2
    assert "Commands:" in said.out + said.err


def test_python_m_calibration_is_the_command_and_help_loads_no_heavy_library(tmp_path: Path) -> None:
    script = (
        "import sys, runpy\n"
        "sys.argv = ['calibration', 'run', '--help']\n"
        "try: runpy.run_module('calibration', run_name='__main__')\n"
        "except SystemExit as leaving: assert not leaving.code, leaving.code\n"
        "heavy = {'numpy', 'pandas', 'psycopg', 'matplotlib', 'scipy', 'openai'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: calibrate run")


def test_notebooks_are_read_without_the_grammar_of_a_format_they_do_not_have() -> None:
    """Where JupyterLab is installed, building it took every command two seconds."""
    pytest.importorskip("rfc3987_syntax")
    script = (
        "import sys\nfrom calibration.__main__ import main\nsys.argv = ['calibrate', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    import nbformat\n    print('lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
