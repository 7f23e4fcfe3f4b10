"""Choose the similarity floor and the top-K of a vector retrieval system from evidence.

"Calibration" means choosing an operating floor here; it is not probability calibration.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .choose import Costs, NoFloor, Recommendation, choose_floor
    from .contract import ContractFile, Decision, ScoreContract, accept, convert, decide, read_contract, write_contract
    from .errors import CalibrationError
    from .labels import Labels, carry_labels, read_labels
    from .params import RunParams, parameters, parameters_from
    from .result import save
    from .studies.calibrate import calibrate
    from .studies.check.baseline import read_baseline
    from .studies.check.runs import compare_runs
    from .studies.check.study import check_baseline
    from .studies.compare import compare_models
    from .studies.hybrid.params import HybridParams
    from .studies.hybrid.study import hybrid
    from .studies.migrate.params import MigrateParams
    from .studies.migrate.study import migrate
    from .studies.options.params import OptionsParams
    from .studies.options.study import options

_HOMES = {
    "CalibrationError": "errors",
    "ContractFile": "contract",
    "Costs": "choose",
    "Decision": "contract",
    "HybridParams": "studies.hybrid.params",
    "Labels": "labels",
    "MigrateParams": "studies.migrate.params",
    "NoFloor": "choose",
    "OptionsParams": "studies.options.params",
    "Recommendation": "choose",
    "RunParams": "params",
    "ScoreContract": "contract",
    "accept": "contract",
    "calibrate": "studies.calibrate",
    "carry_labels": "labels",
    "check_baseline": "studies.check.study",
    "choose_floor": "choose",
    "compare_models": "studies.compare",
    "compare_runs": "studies.check.runs",
    "convert": "contract",
    "decide": "contract",
    "hybrid": "studies.hybrid.study",
    "migrate": "studies.migrate.study",
    "options": "studies.options.study",
    "parameters": "params",
    "parameters_from": "params",
    "read_baseline": "studies.check.baseline",
    "read_contract": "contract",
    "read_labels": "labels",
    "save": "result",
    "write_contract": "contract",
}

__all__ = [
    "CalibrationError",
    "ContractFile",
    "Costs",
    "Decision",
    "HybridParams",
    "Labels",
    "MigrateParams",
    "NoFloor",
    "OptionsParams",
    "Recommendation",
    "RunParams",
    "ScoreContract",
    "accept",
    "calibrate",
    "carry_labels",
    "check_baseline",
    "choose_floor",
    "compare_models",
    "compare_runs",
    "convert",
    "decide",
    "hybrid",
    "migrate",
    "options",
    "parameters",
    "parameters_from",
    "read_baseline",
    "read_contract",
    "read_labels",
    "save",
    "write_contract",
]


def __getattr__(name: str) -> Any:
    # names are looked up when used, so that `import calibration` and `calibrate --help` load no numpy
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
