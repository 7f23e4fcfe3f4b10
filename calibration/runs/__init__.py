"""Parameters to papermill to run folder."""

from .notebook import declared_parameters, execute
from .run import ModelRun, Run, run

__all__ = ["ModelRun", "Run", "declared_parameters", "execute", "run"]
