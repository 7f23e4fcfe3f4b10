"""Executed notebooks, put together without a kernel."""

from collections.abc import Sequence
from functools import cache
from inspect import signature
from typing import Any

import nbformat
from made_calibrations import compared, hostile, sample, three_hits, two_models

from calibration import displays
from calibration.displays import Display
from calibration.report import render_report
from calibration.studies.model import Calibration


def executed(*cells: str | Display | dict[str, Any], source: str = "show()") -> nbformat.NotebookNode:
    """Text is prose; a display or a bundle of outputs is what a code cell gave back."""
    notebook = nbformat.v4.new_notebook()
    for given in cells:
        if isinstance(given, str):
            notebook.cells.append(nbformat.v4.new_markdown_cell(given))
            continue
        data = given if isinstance(given, dict) else {"text/html": given._repr_html_(), "text/plain": repr(given)}
        cell = nbformat.v4.new_code_cell(source)
        cell.outputs = [nbformat.v4.new_output("execute_result", data)]
        notebook.cells.append(cell)
    return notebook


def everything(calibration: Calibration, *, models: Sequence[Calibration] = ()) -> nbformat.NotebookNode:
    """Every display there is, under headings."""
    kinds = [getattr(displays, name) for name in displays.__all__]
    # those of other studies take something else
    of_one = [kind(calibration) for kind in kinds if next(iter(signature(kind).parameters), None) == "calibration"]
    comparison = compared([calibration, *(models or two_models()[1:])])
    of_many = [displays.ComparisonDisplay(comparison), displays.ModelBandsDisplay(comparison)]
    cells: list[str | Display] = ["# Which floor, which top-K?\n\nProse with a [link](https://example.org)."]
    for display in [*of_one, *of_many]:
        cells += [f"## {display.title}", display]
    return executed(*cells)


@cache
def drawn_page() -> str:
    """Every display of a run that looks like a real one."""
    return render_report(everything(sample()), title="Sample")


@cache
def hostile_page() -> str:
    """Every display of a calibration whose texts attack."""
    return render_report(everything(hostile(), models=[three_hits()]), title="<script>alert(6)</script>")
