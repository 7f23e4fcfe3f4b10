"""The page of two finished runs."""

import shlex
from pathlib import Path

from ..studies.check.baseline import QUERIES, SCORES, read_baseline
from ..studies.progress import SILENT, Reporter
from .folder import file_hash
from .page import Page, PageRun, run_page

PAGE = Page(notebook="compare_runs.ipynb", stem="compare", title="Two runs compared")


def compare_page(
    old: Path | str, new: Path | str, out: Path | str, *, force: bool = False, report: Reporter = SILENT
) -> PageRun:
    """Compare two runs and write compare.html, compare.json and their notebook.

    Raises
    ------
    ParameterError, NotebookError
        See `studies.check.runs.compare_runs` and `runs.page.run_page`.
    """
    files = []
    for one in (old, new):
        path = read_baseline(one).path  # refused here, before a kernel starts
        files += [path, path.parent / QUERIES, path.parent / SCORES]
    values = {"old": str(old), "new": str(new)}
    about = {
        "parameters": values,
        "command": shlex.join(["calibrate", "compare", str(old), str(new), "--out", str(out)]),
    }
    content = [file_hash(file) for file in files if file.is_file()]
    return run_page(PAGE, values, out, content=content, about=about, force=force, report=report)
