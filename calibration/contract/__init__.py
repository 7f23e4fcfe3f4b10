"""What a score means: metrics, the score contract, and the one function that compares a similarity with a floor."""

from .accept import DEFAULT_TOLERANCE, Decision, accept, decide, lowest_accepted, on_boundary
from .metrics import METRICS, Metric, metric_named
from .model import UNIT, ScoreContract, check_cosine_range, check_floor_in_range, conversions

__all__ = [
    "DEFAULT_TOLERANCE",
    "METRICS",
    "UNIT",
    "Decision",
    "Metric",
    "ScoreContract",
    "accept",
    "check_cosine_range",
    "check_floor_in_range",
    "conversions",
    "decide",
    "lowest_accepted",
    "metric_named",
    "on_boundary",
]
