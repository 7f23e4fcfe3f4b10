"""What every score of a hybrid search means: its range, and whether it can carry a floor."""

import pandas as pd
from markupsafe import Markup

from ..choose import NoFloor
from ..studies.hybrid.measure import Measured
from ..studies.hybrid.study import Hybrid
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import counted, short

ENDS = ("min", "p05", "p50", "p95", "max")


class RangesDisplay(TableDisplay):
    """One row per signal and fusion, for whoever calls the search and sees its score."""

    title = "What each score is"

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """One row per score: what it is, quantiles of all candidates, of the best relevant and of off-topic queries."""
        return pd.DataFrame([_row(one) for one in self.hybrid.measured])

    @property
    def caption(self) -> str:
        """Which scores can carry a floor and which cannot."""
        refused = [one.name.replace("_", " ") for one in self.hybrid.measured if one.refused]
        candidates = counted(len(self.hybrid.candidates.rows), "candidate")
        said = f"Ranges of {candidates} of {counted(len(self.hybrid.candidates.query_ids), 'query', 'queries')}."
        if refused:
            said += f" No floor can stand on {' or '.join(refused)}: the best hit of any query gets its top value."
        return said + " Every other score has its own scale; a number made for one means nothing on another."

    def _tables(self) -> list[Markup]:
        rows = [_shown(one) for one in self.hybrid.measured]
        tables = [table_html(pd.DataFrame(rows), self.title, headers={"score": ""})]
        reasons = pd.DataFrame(
            [{"score": one.name.replace("_", " "), "why": one.refused} for one in self.hybrid.measured if one.refused]
        )
        if len(reasons):
            tables.append(table_html(reasons, "Scores that carry no floor", headers={"score": ""}))
        return tables


def _row(one: Measured) -> dict[str, object]:
    return {
        "score": one.name,
        "kind": one.kind,
        "metric": one.metric,
        "carries_floor": not one.refused,
        "floor": None if one.floor is None else one.floor.floor,
        **{f"all_{end}": one.summary[end] for end in ENDS},
        "not_scored": one.summary["not_scored"],
        **{f"relevant_{end}": one.relevant[end] for end in ENDS},
        **{f"off_topic_{end}": one.off_topic[end] for end in ENDS},
        "auc": one.auc,
        "auc_low": one.low,
        "auc_high": one.high,
    }


def _shown(one: Measured) -> dict[str, Cell]:
    unscored = one.summary["not_scored"]
    return {
        "score": Cell(one.name.replace("_", " "), False, one.kind),
        "lowest to highest": Cell(
            _span(one.summary, "min", "max"), True, f"{unscored:,} not scored" if unscored else "all scored"
        ),
        "best relevant": Cell(_span(one.relevant, "p05", "p95"), True, _median(one.relevant)),
        "off-topic": Cell(_span(one.off_topic, "p05", "p95"), True, _median(one.off_topic)),
        "its own floor": _floor(one),
    }


def _floor(one: Measured) -> Cell:
    if one.refused:
        return Cell("never", False, "see below")
    if one.floor is None or isinstance(one.floor, NoFloor):
        return Cell("none", False, "" if one.floor is None else one.floor.reason)
    return Cell(short(one.floor.floor), True, one.floor.status)


def _span(found: object, low: str, high: str) -> str:
    values = dict(found) if isinstance(found, dict) else {}
    if values.get(low) is None or values.get(high) is None:
        return "–"
    return f"{_brief(values[low])} to {_brief(values[high])}"


def _brief(value: float) -> str:
    return short(float(f"{value:.2g}"))


def _median(found: object) -> str:
    middle = found.get("p50") if isinstance(found, dict) else None
    return "" if middle is None else f"median {_brief(middle)}"
