"""Where the bands were and where they are, with both floors, on one axis."""

from typing import TYPE_CHECKING

import pandas as pd

from ..studies.check.runs import RunsCompared
from .base import FigureDisplay
from .palette import COLOUR
from .texts import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BANDS = (("best_relevant", "best relevant", "relevant"), ("far_noise", "far noise", "far"))
APART = 0.17
"""Half the distance between before and now."""


class BandShiftDisplay(FigureDisplay):
    """Best relevant and far noise of two runs: whether scores moved under the floor."""

    title = "Bands before and now"
    height = 2.7
    narrow_height = 3.0

    def __init__(self, compared: RunsCompared) -> None:
        self.compared = compared

    def frame(self) -> pd.DataFrame:
        """One row per band and run: band, run, n, p05, p50, p95, floor."""
        rows = [
            {"band": words, "run": run, "floor": one.floor, **one.document["bands"][name]}
            for name, words, _ in BANDS
            for run, one in (("before", self.compared.old), ("now", self.compared.new))
        ]
        columns = ["band", "run", "n", "p05", "p50", "p95", "floor"]
        return pd.DataFrame(rows)[columns].astype(dict.fromkeys(columns[3:], "float64"))

    @property
    def caption(self) -> str:
        """How far the medians and the floor moved."""
        medians = self.frame().set_index(["band", "run"])["p50"].to_dict()
        parts = []
        for _, words, _ in BANDS:
            old, new = medians[words, "before"], medians[words, "now"]
            if old == old and new == new:  # a band without scores has no median
                parts.append(f"{words} {short(old)} to {short(new)}")
        floors = [("none" if one.floor is None else short(one.floor)) for one in (self.compared.old, self.compared.new)]
        agreed = self.compared.agreement
        order = (
            ""
            if agreed.tau is None
            else f" Kendall's tau over the {agreed.pairs:,} judged pairs that both scored is {short(agreed.tau)} (1 is "
            "the same order, 0 none)."
        )
        rise = self.compared.ceiling
        warned = f" {rise.words}" if rise is not None and rise.warned else ""
        return (
            f"Medians: {', '.join(parts) or 'nothing was scored'}. Floor: {floors[0]} before, {floors[1]} now. Bars "
            f"span the middle 90% of each band, the tick is the median.{order}{warned}"
        )

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Ranges of best relevant and far-noise similarity of two runs on one axis. {self.caption}"

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        ax.grid(axis="x")
        ticks, names = [], []
        for place, (words, colour) in enumerate((words, colour) for _, words, colour in BANDS):
            middle = float(len(BANDS) - 1 - place)
            for row in self.frame()[self.frame()["band"] == words].to_dict("records"):
                y = middle + (APART if row["run"] == "before" else -APART)
                ticks.append(y)
                names.append(row["run"] if narrow else f"{words}, {row['run']}")
                if row["p50"] == row["p50"]:
                    shade = 0.35 if row["run"] == "before" else 0.75
                    ax.plot([row["p05"], row["p95"]], [y, y], color=COLOUR[colour], linewidth=7, alpha=shade,
                            solid_capstyle="butt")  # fmt: skip
                    ax.plot([row["p50"]] * 2, [y - 0.1, y + 0.1], color=COLOUR[colour], linewidth=2)
            if narrow:
                ax.text(0.01, middle + 0.36, words, transform=ax.get_yaxis_transform(), color=COLOUR[colour])
        _floors(ax, self.compared.old.floor, self.compared.new.floor)
        ax.set_yticks(ticks, names)
        ax.tick_params(axis="y", length=0, colors=COLOUR["ink"])
        ax.set_ylim(-0.45, len(BANDS) - 0.25)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("similarity")


def _floors(ax: "Axes", old: float | None, new: float | None) -> None:
    """Draw the old floor dashed and the new one solid; one that stayed is drawn once."""
    from matplotlib.transforms import blended_transform_factory

    at_top = blended_transform_factory(ax.transData, ax.transAxes)
    if old is not None and old != new:
        ax.axvline(old, color=COLOUR["ink"], linewidth=1.4, linestyle=(0, (4, 3)))
        left = new is None or old < new
        ax.text(old, 1.01, "old floor ", transform=at_top, ha="right" if left else "left", va="bottom", fontsize=8)
    if new is not None:
        left = old is not None and new < old
        words = "floor" if old == new else " new floor"
        ax.axvline(new, color=COLOUR["ink"], linewidth=1.8)
        ax.text(new, 1.01, words, transform=at_top, ha="right" if left else "left", va="bottom", fontsize=8)
