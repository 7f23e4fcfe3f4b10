"""An executed notebook as one self-contained HTML page."""

import base64
import hashlib
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from ..displays.palette import css_variables
from ..errors import NotebookError, listed
from .clean import cleaned

if TYPE_CHECKING:
    import nbformat

TEMPLATES = Path(__file__).parent / "templates"
KEPT = ("text/html", "text/markdown", "image/png", "text/plain")
"""Kinds of output that a page without scripts of theirs can show."""
EXPLORER = re.compile(r'<section [^<>]*class="cal cal-explorer"')
"""Tag of what the page's own script moves; texts and attributes of a cleaned body have no raw angle bracket."""


def render_report(notebook: "nbformat.NotebookNode", *, title: str, language: str = "en") -> str:
    """Render the outputs and the prose of an executed notebook as one page.

    Code, streams and everything that runs are left out. The page asks nothing of any network. Where it holds a floor
    explorer, it holds one script, ours, and its policy allows that one by its hash.

    Parameters
    ----------
    title : str
        Of the page, and its heading when the notebook has none.
    language : str
        BCP 47 tag of the prose.

    Raises
    ------
    NotebookError
        A cell failed: what comes after it is missing, and half a report would be believed.
    """
    _refuse_failed(notebook)
    body, contents = cleaned(_body(notebook), title=title)
    script = _script() if EXPLORER.search(body) else ""
    return _page().render(
        title=" ".join(title.split()),
        language=language,
        body=Markup(body),  # noqa: S704 - cleaned above, and the page's policy runs no script but ours
        contents=contents,
        light=Markup(css_variables(dark=False)),  # noqa: S704 - our own palette
        dark=Markup(css_variables(dark=True)),  # noqa: S704
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=Markup(_policy_hash(script)),  # noqa: S704 - base64
        css=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
    )


def _refuse_failed(notebook: "nbformat.NotebookNode") -> None:
    failed = [
        f"cell {cell.get('id', place)}: {output.get('ename', 'Error')}: {str(output.get('evalue', ''))[:300]}"
        for place, cell in enumerate(notebook.cells)
        if cell.cell_type == "code"
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    ]
    if failed:
        raise NotebookError(
            f"the notebook failed, so there is no report:\n{listed(failed)}\nCorrect the cause and run it again."
        )
    if not any(cell.cell_type == "code" and cell.get("outputs") for cell in notebook.cells):
        raise NotebookError("the notebook has no outputs, so there is nothing to report; run it first.")


def _body(notebook: "nbformat.NotebookNode") -> str:
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="report",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
        exclude_raw=True,
    )
    body, _ = exporter.from_notebook_node(_showable(notebook))
    return str(body)


def _showable(notebook: "nbformat.NotebookNode") -> "nbformat.NotebookNode":
    """Copy the notebook with nothing in its outputs but what the page shows."""
    copy = deepcopy(notebook)
    for cell in copy.cells:
        cell.pop("attachments", None)
        if cell.cell_type != "code":
            continue
        cell.outputs = [output for output in cell.outputs if output.output_type in ("display_data", "execute_result")]
        for output in cell.outputs:
            best = next((kind for kind in KEPT if kind in output.data), None)
            output.data = type(output.data)({} if best is None else {best: output.data[best]})
        cell.outputs = [output for output in cell.outputs if output.data]
    return copy


@cache
def _script() -> str:
    return (TEMPLATES / "explorer.js").read_text(encoding="utf-8")


def _policy_hash(script: str) -> str:
    """Name a script in a content security policy.

    Examples
    --------
    >>> _policy_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


@cache
def _page() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    strict = jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=strict
    )
    return environment.get_template("page.html")
