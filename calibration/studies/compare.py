"""The comparison study: several models on the same labels, and what each one's floor would do under another."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ParameterError
from ..params import RunParams
from .calibrate import calibrate
from .model import Calibration
from .progress import SILENT, Reporter
from .rates import Outcome, outcome

COLUMNS = [
    "from_model", "to_model", "floor", "top_k", "n_answerable", "hits", "empty", "off_topic_source", "n_off_topic",
    "false_answers", "highest_similarity", "verdict",
]  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Models side by side.

    Attributes
    ----------
    calibrations : tuple of Calibration
    carried : DataFrame
        One row per ordered pair of models, a model with itself included: the floor of `from_model` used on the scores
        of `to_model`. `floor` is NaN where there is none. False answers are among labelled off-topic queries, else
        probes.
    outcomes : dict
        The full Outcome of each pair.
    """

    calibrations: tuple[Calibration, ...]
    carried: pd.DataFrame
    outcomes: dict[tuple[str, str], Outcome]


def compare_models(params: Sequence[RunParams], report: Reporter = SILENT) -> Comparison:
    """Calibrate each model (or find its pull) and carry every floor to every other model.

    Raises
    ------
    ParameterError
        Fewer than two models, or two of one name.
    """
    calibrations = tuple(calibrate(one, report) for one in params)
    names = [calibration.name for calibration in calibrations]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(f"a comparison needs at least two different models, found {', '.join(names) or 'none'}.")
    return carry_over(calibrations)


def carry_over(calibrations: tuple[Calibration, ...]) -> Comparison:
    """Use every model's floor and cap on every model's scores."""
    rows: list[dict[str, Any]] = []
    outcomes = {}
    for source in calibrations:
        for target in calibrations:
            result = outcome(
                target.scores, target.labels, target.table, source.floor, source.top_k.value, seed=target.params.seed
            )
            outcomes[source.name, target.name] = result
            rows.append(_row(source, target, result))
    return Comparison(calibrations, pd.DataFrame(rows, columns=COLUMNS), outcomes)


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """comparison.json: per ordered pair of models the carried-over floor and its rates."""
    return {
        "schema_version": 1,
        "models": [
            {
                "model": one.name,
                "status": one.status,
                "floor": one.floor,
                "top_k": one.top_k.value,
                "unjudged_top_k": asdict(one.unjudged),
            }
            for one in comparison.calibrations
        ],
        "pairs": [
            {
                "from_model": row["from_model"],
                "to_model": row["to_model"],
                "floor": None if np.isnan(row["floor"]) else row["floor"],
                "top_k": row["top_k"],
                "verdict": row["verdict"],
                "highest_similarity": None if np.isnan(row["highest_similarity"]) else row["highest_similarity"],
                "rates": {
                    name: asdict(rate)
                    for name, rate in comparison.outcomes[row["from_model"], row["to_model"]].rates.items()
                },
            }
            for row in comparison.carried.to_dict("records")
        ],
    }


def _row(source: Calibration, target: Calibration, result: Outcome) -> dict[str, Any]:
    rates = result.rates
    labelled = rates["false_answer_rate_off_topic"]
    off_topic = labelled if labelled.denominator else rates["false_answer_rate_probes"]
    top = target.table["top_similarity"].max()
    return {
        "from_model": source.name,
        "to_model": target.name,
        "floor": np.nan if source.floor is None else source.floor,
        "top_k": source.top_k.value,
        "n_answerable": rates["hit_rate"].denominator,
        "hits": int(rates["hit_rate"].numerator),
        "empty": int(rates["empty_context_rate"].numerator),
        "off_topic_source": "labelled" if labelled.denominator else "probes",
        "n_off_topic": off_topic.denominator,
        "false_answers": int(off_topic.numerator),
        "highest_similarity": float(top),
        "verdict": _verdict(source, target, result, off_topic.numerator, off_topic.denominator, float(top)),
    }


def _verdict(
    source: Calibration, target: Calibration, result: Outcome, false_answers: float, n_off_topic: int, top: float
) -> str:
    if source.floor is None:
        return "no floor to carry over"
    if source is target:
        return "its own floor"
    empty, answerable = result.rates["empty_context_rate"].numerator, result.rates["empty_context_rate"].denominator
    if source.floor > top:
        return f"refuses everything: the floor is above the highest similarity, {top:.3f}"
    if n_off_topic and false_answers == n_off_topic:
        return f"inert: all {n_off_topic} off-topic queries are answered"
    own = target.in_sample.rates
    lost = int(own["hit_rate"].numerator - result.rates["hit_rate"].numerator)
    parts = []
    if empty:
        parts.append(f"{empty:g} of {answerable} answerable queries come back empty")
    if lost > 0:
        parts.append(f"{lost} fewer keep an answer than with its own floor")
    if n_off_topic:
        parts.append(f"{false_answers:g} of {n_off_topic} off-topic queries are answered")
    return "; ".join(parts) or "nothing changes on these labels"


def one_per_model(params: RunParams, models: str) -> list[RunParams]:
    """Repeat the same parameters for each of several models, named with commas between them."""
    names = [name.strip() for name in models.split(",") if name.strip()]
    return [params.model_copy(update={"model": name}) for name in names]
