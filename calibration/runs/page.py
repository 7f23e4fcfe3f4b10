"""One notebook, one question, one page: parameters through papermill to a report and a JSON file beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..params import HOW_ONLY
from ..resources import bundled
from ..result import write_text
from ..studies.progress import SILENT, Reporter
from .folder import inputs_hash, publish, read_json, staging, stands, unstaged
from .notebook import execute
from .session import session, timed
from .values import scalars


@dataclass(frozen=True)
class Page:
    """A notebook and what it leaves: `<stem>.json`, `<stem>.ipynb`, `<stem>.html`, and `<stem>.run.json` last.

    Attributes
    ----------
    notebook : str
        File name in `notebooks`. Its last cell writes `<stem>.json` into the folder that its parameter `out` names.
    title : str
        Title of the page.
    more : tuple of str
        Other files that the notebook writes into `out`.
    """

    notebook: str
    stem: str
    title: str
    more: tuple[str, ...] = ()

    @property
    def source(self) -> Path:
        """The notebook."""
        return bundled("notebooks") / self.notebook

    @property
    def files(self) -> tuple[str, ...]:
        """Every file but the manifest."""
        return (f"{self.stem}.json", f"{self.stem}.ipynb", f"{self.stem}.html", *self.more)

    @property
    def manifest(self) -> str:
        """The file that is written last."""
        return f"{self.stem}.run.json"


@dataclass(frozen=True)
class PageRun:
    """What a page's run left, and how long each stage took; `skipped` when all of it stood already."""

    folder: Path
    page: Path
    document: dict[str, Any]
    skipped: bool
    seconds: dict[str, float] = field(default_factory=dict)


def run_page(
    page: Page,
    values: Mapping[str, Any],
    out: Path | str,
    *,
    content: Any,
    about: Mapping[str, Any],
    force: bool = False,
    report: Reporter = SILENT,
) -> PageRun:
    """Run a notebook aside, then put its files in place; nothing is done while they stand.

    Parameters
    ----------
    values : mapping
        The notebook's parameters; lists and mappings are written as text. `out` is given by this function.
    content : JSON value
        Hashes of everything else that the files are made of, such as the scores.
    about : mapping
        For the manifest: `parameters`, `command` and further facts, free of secrets.

    Raises
    ------
    NotebookError, ParameterError
        See `runs.notebook.execute`. No file of the page has changed.
    """
    out = Path(out)
    with staging(out) as staged:
        return fill(page, values, out, staged, content=content, about=about, force=force, report=report)


def fill(
    page: Page,
    values: Mapping[str, Any],
    out: Path,
    staged: Path,
    *,
    content: Any,
    about: Mapping[str, Any],
    force: bool,
    report: Reporter,
) -> PageRun:
    """`run_page` inside a staging folder that is open already."""
    from ..report.html import render_report

    target = out / f"{page.stem}.html"
    deciding = {name: value for name, value in values.items() if name not in HOW_ONLY}
    inputs = inputs_hash({**deciding, "out": str(out)}, content, page.source)
    if not force and stands(out, inputs, page.files, manifest=page.manifest):
        return PageRun(out, target, read_json(out / f"{page.stem}.json"), True)
    seconds: dict[str, float] = {}
    failed = out / f"{page.stem}.failed.ipynb"
    given = scalars({**values, "out": str(staged)})
    with session(), report.bar(page.stem, 1, "notebook") as step:
        with timed(seconds, "notebook"):
            change = unstaged(staged, str(out))
            notebook = execute(page.source, staged / f"{page.stem}.ipynb", given, failed=failed, change=change)
        with timed(seconds, "report"):
            write_text(staged / target.name, render_report(notebook, title=page.title))
        step(1)
    publish(staged, out, page.files, manifest=page.manifest, inputs=inputs, about=about)
    failed.unlink(missing_ok=True)
    return PageRun(out, target, read_json(out / f"{page.stem}.json"), False, seconds)
