"""What a score means: metrics, the score contract, conversions, and the one function that compares with a floor."""

from .accept import DEFAULT_TOLERANCE, Decision, accept, decide, lowest_accepted, on_boundary, tolerance_for
from .checks import check_cosine_range
from .convert import Converted, Refusal, conversions, convert, convert_scores, refusals
from .files import ContractFile, contract_schema, read_contract, write_contract
from .metrics import METRICS, Metric, metric_named
from .model import UNIT, ScoreContract
from .thresholds import check_floor_in_range, check_threshold, described
from .transforms import TRANSFORMS, Transform, transform_named

__all__ = [
    "DEFAULT_TOLERANCE",
    "METRICS",
    "TRANSFORMS",
    "UNIT",
    "ContractFile",
    "Converted",
    "Decision",
    "Metric",
    "Refusal",
    "ScoreContract",
    "Transform",
    "accept",
    "check_cosine_range",
    "check_floor_in_range",
    "check_threshold",
    "contract_schema",
    "conversions",
    "convert",
    "convert_scores",
    "decide",
    "described",
    "lowest_accepted",
    "metric_named",
    "on_boundary",
    "read_contract",
    "refusals",
    "tolerance_for",
    "transform_named",
    "write_contract",
]
