"""A notebook as a function: strict parameters in, an executed notebook out, no secret in it."""

import ast
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from ..errors import NotebookError, ParameterError, listed
from ..params import unknown_names
from ..resources import cache_dir
from ..result import write_text
from .redact import change_texts, without_secrets
from .values import plain_values

KERNEL = "retrieval-calibration"


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
    try:
        statements = ast.parse(cells[0].source).body
    except SyntaxError as error:
        raise NotebookError(f"the parameters cell of {name} is no Python: {error.msg}, line {error.lineno}.") from None
    declared: dict[str, Any] = {}
    for statement in statements:
        if (
            not isinstance(statement, ast.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            raise NotebookError(
                f"the parameters cell of {name} may hold assignments of plain values only, line {statement.lineno}."
            )
        try:
            declared[statement.targets[0].id] = ast.literal_eval(statement.value)
        except ValueError:
            raise NotebookError(
                f"parameter {statement.targets[0].id!r} of {name} is computed; a default must be a plain value."
            ) from None
    return declared


def execute(
    source: Path,
    target: Path,
    values: Mapping[str, Any],
    *,
    failed: Path | None = None,
    change: Callable[[str], str] = str,
) -> nbformat.NotebookNode:
    """Run a notebook with parameters; `target` appears only when every cell has run.

    Parameters
    ----------
    failed : Path, optional
        Where a notebook that failed is put, to be read up to the failing cell; `<target>.failed.ipynb` by default.
    change : callable
        Applied to every text in the executed notebook, as to a name that is no longer true afterwards.

    Raises
    ------
    ParameterError
        An unknown parameter, or a value that a notebook cannot take, before any kernel starts.
    NotebookError
        The notebook cannot be read or has no (or two) parameters cells; a cell failed; the kernel died.
    """
    notebook = _read(source)
    problems = unknown_names(values, declared_parameters(notebook, source.name))
    if problems:
        raise ParameterError(f"{source.name} cannot be run:\n" + listed(problems))
    injected = plain_values(values)
    failed = failed or target.with_name(f"{target.stem}.failed.ipynb")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.stem}.partial.ipynb")
    try:
        problem = _run(notebook, partial, injected)
        finished = _finished(partial, change) if partial.exists() else None
    finally:
        partial.unlink(missing_ok=True)
    if problem is None and finished is not None:
        _write(finished, target)
        return finished
    message = f"{source.name} {without_secrets(problem or 'left no notebook')}"
    if finished is not None:
        failed.parent.mkdir(parents=True, exist_ok=True)
        _write(finished, failed)
        message += f"\nThe notebook up to there: {failed}"
    raise NotebookError(message)


def _run(notebook: nbformat.NotebookNode, partial: Path, values: Mapping[str, Any]) -> str | None:
    """Execute into `partial`; what went wrong in words, None if nothing did."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    # it parses the comments of parameters as types, and warns of what was checked before
    logging.getLogger("papermill").setLevel(logging.ERROR)
    _install_kernel()
    try:
        papermill.execute_notebook(
            notebook,
            # papermill fills in {names} of an output path; braces in a folder's name are meant as they are
            str(partial).replace("{", "{{").replace("}", "}}"),
            parameters=values,
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
        )
    except PapermillExecutionError as error:
        return f"failed in cell {error.cell_index}: {error.ename}: {error.evalue}"
    except RuntimeError as error:  # nbclient's DeadKernelError among them
        return f"stopped: {error}. When the kernel died, most often for want of memory, fewer --jobs may help."
    return None


def _read(source: Path) -> nbformat.NotebookNode:
    try:
        return _load(source)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, UnicodeDecodeError) as error:
        raise NotebookError(f"{source} is no notebook: {str(error).splitlines()[0][:200]}") from None
    except OSError as error:
        raise NotebookError(f"cannot read {source}: {error.strerror}.") from None


def _load(path: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def _finished(path: Path, change: Callable[[str], str]) -> nbformat.NotebookNode:
    """Read an executed notebook without machine details, timings and secrets."""
    notebook = _load(path)
    change_texts(notebook, lambda text: change(without_secrets(text)))
    notebook.metadata.pop("papermill", None)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
    return notebook


def _write(notebook: nbformat.NotebookNode, path: Path) -> None:
    write_text(path, nbformat.writes(notebook) + "\n")  # type: ignore[no-untyped-call]


def _install_kernel() -> None:
    """Make a kernel of the interpreter that runs now, whatever kernels the machine or the notebook name."""
    spec = json.dumps(
        {
            # CRITICAL: at each start ipykernel warns that a kernel on this machine's loopback is not encrypted, and the
            # interrupt which precedes every shutdown is an ERROR to it when it is still tidying up after its last reply
            "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=CRITICAL"],
            "display_name": "Python 3",
            "language": "python",
        }
    )
    path = cache_dir().absolute() / "jupyter" / "kernels" / KERNEL / "kernel.json"
    if not path.exists() or path.read_text(encoding="utf-8") != spec:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, spec)
    known = os.environ.get("JUPYTER_PATH", "").split(os.pathsep)
    mine = str(path.parents[2])
    if mine not in known:
        os.environ["JUPYTER_PATH"] = os.pathsep.join([mine, *filter(None, known)])
