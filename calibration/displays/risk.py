"""Risk against coverage: how often an answered query gets nothing relevant, as more queries are answered."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import FigureDisplay, thinned
from .lines import draw_named, percent_axis
from .palette import COLOUR
from .tables import table_html
from .texts import exact, out_of, percent, percent_or_missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RiskCoverageDisplay(FigureDisplay):
    """Bounds of the risk at every coverage; between them lies what unjudged passages leave open."""

    title = "Risk against coverage"
    height = 3.4
    narrow_height = 3.4

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return threshold, coverage, risk_low, risk_high."""
        return self.calibration.curves[["threshold", "coverage", "risk_low", "risk_high"]]

    @property
    def caption(self) -> str:
        """Where the chosen point lies."""
        rates = self.calibration.in_sample.rates
        coverage, low, high = rates["coverage"], rates["risk_low"], rates["risk_high"]
        where = "without a floor" if self.calibration.floor is None else f"at the floor {exact(self.calibration.floor)}"
        if low.value is None or high.value is None or coverage.value is None:
            return f"Nothing is answered {where}, so the risk is undefined there."
        spread = percent(high.value) if low.value == high.value else f"{percent(low.value)} to {percent(high.value)}"
        judged = ", depending on passages nobody has judged (solid: all of them wrong; dotted: none)"
        judged = "" if low.value == high.value else judged
        return (
            f"{where.capitalize()}, {out_of(coverage)} labelled queries are answered, and {spread} of the "
            f"{high.denominator} answered ones with known answerability get no relevant passage{judged}. The mix of "
            "queries is that of the labels, not of your traffic."
        )

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Lower and upper bound of the risk against coverage, the chosen point marked. {self.caption}"

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame().sort_values("coverage", kind="stable")
        x = frame["coverage"].to_numpy(float)
        low, high = frame["risk_low"].to_numpy(float), frame["risk_high"].to_numpy(float)
        percent_axis(ax, "x")
        ax.grid(axis="y")
        ax.fill_between(x, low, high, step="post", color=COLOUR["far"], alpha=0.16, linewidth=0)
        for values, dash in ((low, ":"), (high, "-")):
            ax.plot(x, values, dash, color=COLOUR["far"], linewidth=1.4, drawstyle="steps-post")
        top = float(np.nanmax(high)) if np.isfinite(high).any() else 1.0
        ax.set_ylim(0, max(0.1, min(1.0, 1.15 * top)))
        self._point(ax)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f}%")
        ax.set_xlabel("coverage: labelled queries that are answered")
        ax.set_ylabel("risk: answered without a relevant passage")

    def _draw_named(self, ax: "Axes", name: str) -> None:
        frame = self.frame().sort_values("coverage", kind="stable")
        x = frame["coverage"].to_numpy(float)
        percent_axis(ax, "x")
        worst = draw_named(ax, x, frame["risk_high"], f"risk at most, {name}", where="post")
        draw_named(ax, x, frame["risk_low"], f"risk at least, {name}", where="post", like=worst)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f}%")
        ax.set_xlabel("coverage: labelled queries that are answered")
        ax.set_ylabel("risk: answered without a relevant passage")
        ax.legend()

    def _point(self, ax: "Axes") -> None:
        rates = self.calibration.in_sample.rates
        coverage, low, high = (rates[name].value for name in ("coverage", "risk_low", "risk_high"))
        if coverage is None or low is None or high is None:
            return
        ax.plot([coverage, coverage], [low, high], color=COLOUR["ink"], linewidth=2)
        ax.plot([coverage], [high], "o", color=COLOUR["ink"], markersize=6)
        label = "no floor" if self.calibration.floor is None else "the floor"
        ax.annotate(label, (coverage, high), xytext=(-7, 6), textcoords="offset points", ha="right", fontweight="bold",
                    bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 1.0, "alpha": 0.9})  # fmt: skip

    def _table(self) -> Markup:
        frame = self.frame().drop_duplicates(["coverage", "risk_low", "risk_high"])
        frame = thinned(frame, 24)
        rates = {name: frame[name].map(percent_or_missing) for name in frame.columns[1:]}
        said = "Evenly spaced among the observed similarities; .frame() in the notebook has them all."
        return table_html(frame.assign(**rates), self.title, note=said)
