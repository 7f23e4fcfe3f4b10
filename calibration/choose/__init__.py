"""Choosing a floor and a cap: pure functions of arrays; no file, database or notebook is known here."""

from .api import choose_floor
from .certify import certify, labels_for_certificate
from .counts import CountsTable, count_at_thresholds, survival
from .gap import blocking, measure_gap
from .heldout import cross_fit, folds_along, folds_by_group, held_out_cost
from .outcome import PRESETS, Certificate, Costs, Gap, Gate, HeldOut, NoFloor, Recommendation
from .policies import LARGEST_GAP, POLICIES, as_chooser, largest_gap, low_in_the_gap
from .rates import Rate, covering, mean_over_queries, proportion
from .rule import between_scores, empirical_cost, pick, smoothed_cost
from .topk import TopK, choose_top_k

__all__ = [
    "LARGEST_GAP",
    "POLICIES",
    "PRESETS",
    "Certificate",
    "Costs",
    "CountsTable",
    "Gap",
    "Gate",
    "HeldOut",
    "NoFloor",
    "Rate",
    "Recommendation",
    "TopK",
    "as_chooser",
    "between_scores",
    "blocking",
    "certify",
    "choose_floor",
    "choose_top_k",
    "count_at_thresholds",
    "covering",
    "cross_fit",
    "empirical_cost",
    "folds_along",
    "folds_by_group",
    "held_out_cost",
    "labels_for_certificate",
    "largest_gap",
    "low_in_the_gap",
    "mean_over_queries",
    "measure_gap",
    "pick",
    "proportion",
    "smoothed_cost",
    "survival",
]
