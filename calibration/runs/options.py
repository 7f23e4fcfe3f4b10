"""The page of the five options."""

from ..studies.facts import command, public_parameters
from ..studies.hybrid.params import LATE_INTERACTION
from ..studies.hybrid.source import open_source
from ..studies.options.params import OptionsParams
from ..studies.options.reranked import with_rerank
from ..studies.progress import SILENT, Reporter
from .page import Page, PageRun, run_page
from .session import session

PAGE = Page(notebook="options.ipynb", stem="options", title="Five options, measured")


def options_page(params: OptionsParams, *, force: bool = False, report: Reporter = SILENT) -> PageRun:
    """Measure the options and write options.html, options.json and their notebook into `params.out`.

    Raises
    ------
    CalibrationError
        See `studies.options.study.options` and `runs.page.run_page`.
    """
    with session():
        # pulled, searched and reranked here, with progress; the notebook finds all of it
        source = open_source(params.search, report)
        if params.rerank == LATE_INTERACTION:
            with_rerank(source, params, report)
        about = {"parameters": public_parameters(params), "command": command(params, "options")}
        values = params.model_dump(mode="json")
        return run_page(
            PAGE, values, params.out, content=source.content_hash(), about=about, force=force, report=report
        )
