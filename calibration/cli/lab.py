"""`calibrate lab`: JupyterLab on the notebooks."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def lab(
    folder: Annotated[
        Path | None, typer.Argument(help="folder with the notebooks; ./notebooks, else the bundled ones")
    ] = None,
    arguments: Annotated[list[str] | None, typer.Option("--jupyter", help="argument handed on to jupyter lab")] = None,
) -> None:
    """Open the notebooks in JupyterLab.

    `calibrate init` copies them into your project, where changing them changes nothing else.
    """
    from importlib.util import find_spec

    from ..errors import NotebookError
    from ..resources import bundled

    if find_spec("jupyterlab") is None:
        raise NotebookError("JupyterLab is not installed. To install it: pip install 'retrieval-calibration[lab]'")
    here = folder or (Path("notebooks") if Path("notebooks").is_dir() else bundled("notebooks"))
    if not here.is_dir():
        raise NotebookError(f"there is no folder {here}.")
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={here}", *(arguments or [])]
    os.execv(sys.executable, command)  # noqa: S606 - the user's own terminal becomes JupyterLab's
