"""Other floors and other caps: a few of them as a table, every one of them where the page may move."""

from functools import cached_property

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from ..studies.rates import Outcome, outcome
from .base import TableDisplay, style
from .explorer_data import MOST_QUERIES, as_json, explorer_data, floor_stops
from .rates import NAMES
from .tables import Cell, table_html, templates
from .texts import exact, interval, out_of, percent, short

STEPS = 5
"""Floors of the table, besides none, the recommended and the old one."""
SHOWN = (
    "hit_rate", "false_answer_rate_off_topic", "false_answer_rate_probes", "false_answer_rate_missing_answer",
    "coverage", "risk_high", "precision_judged", "recall_micro",
)  # fmt: skip


class ExplorerDisplay(TableDisplay):
    """What another floor or another K would do.

    In the report two sliders move both, and rates, bands and the queries that change side follow; a notebook, paper and
    a page without scripts show a table of some floors.
    """

    title = "Other floors at the same K"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Give the rates of some floors at the chosen K.

        Returns
        -------
        DataFrame
            floor (NaN = none), top_k, rate, value, numerator, denominator, low, high: long, floors ascending; bounds
            are those of the rate's 95 % interval.
        """
        rows = [
            {
                "floor": np.nan if floor is None else floor,
                "top_k": self.calibration.top_k.value,
                "rate": name,
                "value": rate.value,
                "numerator": rate.numerator,
                "denominator": rate.denominator,
                "low": rate.low,
                "high": rate.high,
            }
            for floor, found in self._settings
            for name, rate in found.rates.items()
        ]
        return pd.DataFrame(rows).astype({"value": "float64", "low": "float64", "high": "float64"})

    @property
    def caption(self) -> str:
        """What to look for."""
        found = self.calibration
        chosen = (
            f"the recommendation, K = {found.top_k.value} without a floor"
            if found.floor is None
            else f"the recommendation, {exact(found.floor)} with K = {found.top_k.value}"
        )
        return (
            f"What another floor or another K would do, compared with {chosen}. A higher floor refuses more questions "
            "that have no answer here, and cuts off more answers; a larger K keeps more of both."
        )

    @cached_property
    def _settings(self) -> list[tuple[float | None, Outcome]]:
        found = self.calibration
        low = found.curves["threshold"].min() if len(found.curves) else 0.0
        high = found.curves["threshold"].max() if len(found.curves) else 1.0
        stops = np.array(floor_stops(np.array([[low, high]], dtype=np.float64), []))
        some = stops[np.linspace(0, len(stops) - 1, STEPS + 2).round().astype(int)][1:-1]
        floors = {*map(float, some), *(line for line in (found.floor, found.params.old_floor) if line is not None)}
        return [(floor, self._outcome(floor)) for floor in (None, *sorted(floors))]

    def _outcome(self, floor: float | None) -> Outcome:
        found = self.calibration
        if floor == found.floor:
            return found.in_sample
        if found.old is not None and floor == found.params.old_floor:
            return found.old
        return outcome(found.scores, found.labels, found.table, floor, found.top_k.value, seed=found.params.seed)

    def _tables(self) -> list[Markup]:
        settings = self._settings
        shown = [name for name in SHOWN if any(found.rates[name].denominator for _, found in settings)]
        rows = [
            {"floor": self._floor(floor), **{NAMES[name][0]: _rate(found, name) for name in shown}}
            for floor, found in settings
        ]
        said = f"At K = {self.calibration.top_k.value}, on the queries that chose the floor. Brackets: 95% intervals."
        return [table_html(pd.DataFrame(rows), self.title, note=said)]

    def _floor(self, floor: float | None) -> Cell:
        found = self.calibration
        detail = {found.params.old_floor: "the old floor", found.floor: "the recommendation"}.get(floor, "")
        if floor is None:
            return Cell("none", False, "the recommendation" if found.floor is None else "")
        return Cell(short(floor), True, detail)

    def _repr_html_(self) -> str:
        data = explorer_data(self.calibration)
        shown, total = len(data["ids"]), data["total"]
        thinned = (
            f"It moves over {shown:,} of the {total:,} queries, evenly spaced: its rates are theirs, those of the "
            f"tables are of all. More than {MOST_QUERIES:,} would make the page heavy."
        )
        return (
            templates()
            .get_template("explorer.html")
            .render(
                style=style(),
                data=as_json(data),
                caption=self.caption,
                thinned=thinned if shown < total else "",
                table=self._tables()[0],
            )
        )


def _rate(found: Outcome, name: str) -> Cell:
    rate = found.rates[name]
    return (
        Cell("–", True) if rate.value is None else Cell(percent(rate.value), True, f"{out_of(rate)} [{interval(rate)}]")
    )
