"""Choose the similarity floor and the top-K of a vector retrieval system from evidence.

"Calibration" means choosing an operating floor here; it is not probability calibration.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .choose import Costs, NoFloor, Recommendation, choose_floor
    from .contract import Decision, ScoreContract, accept, decide
    from .errors import CalibrationError
    from .labels import Labels, read_labels
    from .params import RunParams, parameters, parameters_from
    from .result import save
    from .studies.calibrate import calibrate
    from .studies.compare import compare_models

_HOMES = {
    "CalibrationError": "errors",
    "Costs": "choose",
    "Decision": "contract",
    "Labels": "labels",
    "NoFloor": "choose",
    "Recommendation": "choose",
    "RunParams": "params",
    "ScoreContract": "contract",
    "accept": "contract",
    "calibrate": "studies.calibrate",
    "choose_floor": "choose",
    "compare_models": "studies.compare",
    "decide": "contract",
    "parameters": "params",
    "parameters_from": "params",
    "read_labels": "labels",
    "save": "result",
}

__all__ = [
    "CalibrationError",
    "Costs",
    "Decision",
    "Labels",
    "NoFloor",
    "Recommendation",
    "RunParams",
    "ScoreContract",
    "accept",
    "calibrate",
    "choose_floor",
    "compare_models",
    "decide",
    "parameters",
    "parameters_from",
    "read_labels",
    "save",
]


def __getattr__(name: str) -> Any:
    # names are looked up when used, so that `import calibration` and `calibrate --help` load no numpy
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
