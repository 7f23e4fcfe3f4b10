"""From parameters through papermill to the folder of a run."""

from .invocation import ModelRun, Run, run
from .notebook import declared_parameters, execute
from .page import Page, PageRun, run_page
from .session import session

__all__ = ["ModelRun", "Page", "PageRun", "Run", "declared_parameters", "execute", "run", "run_page", "session"]
