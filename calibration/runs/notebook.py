"""A notebook as a function: strict parameters in, an executed notebook out, no secret in it."""

import ast
import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from ..errors import NotebookError, ParameterError, listed
from ..params import plain_values, unknown_names
from ..resources import cache_dir

KERNEL = "retrieval-calibration"
SECRETS = ("PGPASSWORD", "OPENAI_API_KEY", "CALIBRATION_DSN")
"""Environment variables whose values must never stand in an output."""


def declared_parameters(notebook: nbformat.NotebookNode, name: str) -> dict[str, Any]:
    """Names and defaults that a notebook declares in its one parameters cell.

    Raises
    ------
    NotebookError
        No such cell, a second one, or something other than plain assignments in it.
    """
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        found = "no parameters cell" if not cells else f"{len(cells)} parameters cells"
        raise NotebookError(f"notebook {name} has {found}; expected exactly one cell with the tag 'parameters'.")
    declared: dict[str, Any] = {}
    for statement in ast.parse(cells[0].source).body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            raise NotebookError(f"the parameters cell of {name} may hold assignments of plain values only, line {statement.lineno}.")
        try:
            declared[statement.targets[0].id] = ast.literal_eval(statement.value)
        except ValueError:
            raise NotebookError(
                f"parameter {statement.targets[0].id!r} of {name} is computed; a default must be a plain value."
            ) from None
    return declared


def execute(source: Path, target: Path, values: Mapping[str, Any], *, replace: Mapping[str, str] | None = None) -> nbformat.NotebookNode:
    """Run a notebook with parameters; `target` appears only when every cell has run.

    Parameters
    ----------
    replace : mapping
        Texts replaced in the finished notebook, such as the name of a staging folder.

    Raises
    ------
    ParameterError
        An unknown parameter, before any kernel starts.
    NotebookError
        No or two parameters cells; a cell failed: the notebook up to there lies beside `target` as `*.failed.ipynb`.
    """
    notebook = nbformat.read(source, as_version=4)
    declared = declared_parameters(notebook, source.name)
    problems = unknown_names(values, declared)
    if problems:
        raise ParameterError(f"{source.name} cannot be run:\n" + listed(problems))
    injected = plain_values(values)
    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)  # it parses comments as types and warns of what was checked
    _install_kernel()
    target.parent.mkdir(parents=True, exist_ok=True)
    failed = target.with_name(f"{target.stem}.failed.ipynb")
    partial = target.with_name(f".{target.stem}.partial.ipynb")
    try:
        papermill.execute_notebook(
            nbformat.from_dict(notebook), _literal(partial), parameters=injected, kernel_name=KERNEL, language="python", progress_bar=False
        )
    except PapermillExecutionError as error:
        _write(_finished(partial, replace), failed)
        raise NotebookError(
            f"{source.name} failed in cell {error.cell_index}: {error.ename}: {_scrub(error.evalue)}\nThe notebook up to there: {failed}"
        ) from None
    finally:
        if partial.exists() and target.parent.exists():
            finished = _finished(partial, replace)
            partial.unlink()
        else:
            finished = None
    if finished is None:
        raise NotebookError(f"{source.name} left no notebook.")
    failed.unlink(missing_ok=True)
    _write(finished, target)
    return finished


def _finished(path: Path, replace: Mapping[str, str] | None) -> nbformat.NotebookNode:
    """Read an executed notebook without machine details, timings and secrets."""
    text = _scrub(path.read_text(encoding="utf-8"))
    for found, wanted in (replace or {}).items():
        text = text.replace(json.dumps(found)[1:-1], json.dumps(wanted)[1:-1])
    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata.pop("papermill", None)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
    return notebook


def _write(notebook: nbformat.NotebookNode, path: Path) -> None:
    from ..result import write_text

    write_text(path, nbformat.writes(notebook) + "\n")


def _scrub(text: str) -> str:
    """Replace the values of secret environment variables, as they are and as JSON writes them."""
    for name in SECRETS:
        secret = os.environ.get(name, "")
        if len(secret) >= 4:
            text = text.replace(secret, "***").replace(json.dumps(secret)[1:-1], "***")
    return re.sub(r"(\w+://[^:/@\s\"']+:)[^@\s\"'/]+@", r"\1***@", text)


def _literal(path: Path) -> str:
    """Papermill fills in {names} of an output path; braces in a folder's name are meant as they are."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _install_kernel() -> None:
    """Make a kernel of the interpreter that runs now, whatever kernels the machine or the notebook name."""
    folder = cache_dir() / "jupyter" / "kernels" / KERNEL
    spec = json.dumps(
        {
            # ERROR: at each start ipykernel warns that a kernel on this machine's loopback is not encrypted
            "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"],
            "display_name": "Python 3",
            "language": "python",
        }
    )
    path = folder / "kernel.json"
    if not path.exists() or path.read_text(encoding="utf-8") != spec:
        from ..result import write_text

        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, spec)
    known = os.environ.get("JUPYTER_PATH", "").split(os.pathsep)
    mine = str(cache_dir() / "jupyter")
    if mine not in known:
        os.environ["JUPYTER_PATH"] = os.pathsep.join([mine, *filter(None, known)])
