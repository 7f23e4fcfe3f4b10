"""From parameters through papermill to the folder of a run."""

from .invocation import ModelRun, Run, run
from .notebook import declared_parameters, execute

__all__ = ["ModelRun", "Run", "declared_parameters", "execute", "run"]
