"""The page of a hybrid study."""

from ..studies.facts import command, public_parameters
from ..studies.hybrid.params import HybridParams
from ..studies.hybrid.source import open_source
from ..studies.progress import SILENT, Reporter
from .page import Page, PageRun, run_page
from .session import session

PAGE = Page(notebook="hybrid.ipynb", stem="hybrid", title="Where the gate belongs in a hybrid search")


def hybrid_page(params: HybridParams, *, force: bool = False, report: Reporter = SILENT) -> PageRun:
    """Study a hybrid search and write hybrid.html, hybrid.json and their notebook into `params.out`.

    Raises
    ------
    CalibrationError
        See `studies.hybrid.study.hybrid` and `runs.page.run_page`.
    """
    with session():
        # searched here, with progress; the notebook finds the pull and the search for words
        content = open_source(params, report).content_hash()
        about = {"parameters": public_parameters(params), "command": command(params, "hybrid")}
        values = params.model_dump(mode="json")
        return run_page(PAGE, values, params.out, content=content, about=about, force=force, report=report)
