"""How many candidates a leg must give before the fusion has anything to work with."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..studies.hybrid.study import Hybrid
from .base import FigureDisplay
from .lines import mark_floor, percent_axis
from .palette import COLOUR
from .tables import table_html
from .texts import percent, records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("relevant", "near", "missing", "unjudged", "far")


class DepthDisplay(FigureDisplay):
    """Recall against the number of candidates taken from each leg."""

    title = "Recall by candidate depth"
    height = 3.4
    narrow_height = 3.4

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """Return depth, leg ("either" is their union), found, n, recall."""
        frame = self.hybrid.depth
        return frame.copy() if frame["n"].max() else frame.iloc[:0]

    @property
    def caption(self) -> str:
        """What the depth in use reaches, and what K alone would."""
        if self.empty:
            return "No relevant passage is labelled, so recall is undefined."
        depth, k = self.hybrid.params.candidate_depth, self.hybrid.top_k.value
        rule = "four times K, at least 60" if self.hybrid.params.depth is None else "as it was asked for"
        return f"{self._at(k)} {self._at(depth)} The depth here is {depth}: {rule}."

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Curves of recall against candidate depth, one per leg and one for either. {self.caption}"

    def _at(self, depth: int) -> str:
        frame = self.frame()
        reached = frame[frame["depth"] <= depth]
        if reached.empty:
            return ""
        rows = records(reached[reached["depth"] == reached["depth"].max()])
        said = ", ".join(f"{row['leg']} {percent(row['recall'])}" for row in rows)
        return f"Among the first {int(rows[0]['depth'])}: {said} of {int(rows[0]['n'])} relevant passages."

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame()
        ax.set_xscale("log")
        percent_axis(ax)
        ax.grid(axis="y")
        legs = frame["leg"].unique().tolist()
        for number, leg in enumerate(legs):
            rows = frame[frame["leg"] == leg]
            either = leg == "either"
            colour = COLOUR["ink"] if either else COLOUR[COLOURS[number % len(COLOURS)]]
            ax.plot(
                rows["depth"], rows["recall"], "-" if either else "--", color=colour, linewidth=2 if either else 1.4
            )
            place = min(len(rows) - 1, 1 + number)  # names beside the curves, each at another depth
            row = rows.iloc[place]
            ax.annotate(
                leg, (row["depth"], row["recall"]), xytext=(8, -12 if not either else 8), textcoords="offset points",
                color=colour, fontweight="bold" if either else "normal",
                bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
            )  # fmt: skip
        mark_floor(ax, float(self.hybrid.top_k.value), f"K = {self.hybrid.top_k.value}", dash="--")
        depth = float(self.hybrid.params.candidate_depth)
        if depth <= frame["depth"].max():
            mark_floor(ax, depth, f"depth {depth:g}")
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= frame["depth"].max()]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_xlim(0.95, float(np.nextafter(frame["depth"].max(), np.inf)) * 1.05)
        ax.set_xlabel("candidates taken from each leg")

    def _table(self) -> Markup:
        frame = self.frame()
        shown = pd.DataFrame({"depth": frame["depth"].unique()})
        for leg, rows in frame.groupby("leg", sort=False):
            shown[str(leg)] = rows["recall"].map(percent).to_list()
        return table_html(shown, self.title)
