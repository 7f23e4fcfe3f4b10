"""Hit rate over floor and K together."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import FigureDisplay
from .lines import whole_numbers
from .palette import COLOUR
from .tables import table_html
from .texts import exact, out_of, percent, short
from .topk import price_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Lower ends of the shades; a reader compares shades, not percentages."""


class SurfaceDisplay(FigureDisplay):
    """Which pairs of floor and K keep answers, and the chosen one."""

    title = "Hit rate by floor and K"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Long: threshold, top_k, hits, n, hit_rate, passages."""
        return self.calibration.surface.copy()

    @property
    def caption(self) -> str:
        """What the chosen pair keeps."""
        found = self.calibration
        rate = found.in_sample.rates["hit_rate"]
        if self.empty:
            return "No answerable query is labelled, so no pair of floor and K can be compared."
        pair = (
            f"K = {found.top_k.value} without a floor"
            if found.floor is None
            else f"floor {exact(found.floor)} with K = {found.top_k.value}"
        )
        return (
            f"The mark is {pair}: {percent(rate.value)} ({out_of(rate)}) of the answerable queries keep a relevant "
            f"passage, for {price_in_words(found, found.top_k.value)} each on average. The shades say how many do; to "
            "the right the floor cuts answers off, further down K does."
        )

    @property
    def empty(self) -> bool:
        """Whether no answerable query is labelled."""
        return self.calibration.in_sample.rates["hit_rate"].denominator == 0 or len(self.frame()) == 0

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Shaded grid of hit rates, thresholds across and K upwards. {self.caption}"

    def _height(self, *, narrow: bool) -> float:
        k_max = int(self.frame()["top_k"].max()) if len(self.frame()) else 1
        return min(1.2 + 0.16 * max(k_max, 8), 4.5)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        from matplotlib.collections import PolyCollection

        frame = self.frame().dropna(subset=["hit_rate"])
        thresholds, floor = frame["threshold"], self.calibration.floor
        low, right = float(thresholds.min()), float(thresholds.max())
        low = low if floor is None else min(low, floor)
        margin = max(0.03 * (right - low), 0.01)
        left = low - margin
        grid = np.sort(thresholds.unique())
        for level, (least, most) in enumerate(zip(LEVELS, (*LEVELS[1:], np.inf), strict=True)):
            inside = frame[(frame["hit_rate"] >= least) & (frame["hit_rate"] < most)]
            boxes = _boxes(inside, grid, left)
            if boxes and level > 0:
                corners = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, x1, y0, y1 in boxes]
                ax.add_collection(
                    PolyCollection(
                        corners, facecolor=COLOUR["relevant"], alpha=0.1 * level, linewidth=0, antialiased=False
                    )
                )
            _shade_label(ax, boxes, least)
        ax.set_xlim(left, right + margin)
        ax.set_ylim(0.5, frame["top_k"].max() + 0.5)
        self._mark(ax, low if floor is None else floor)
        whole_numbers(ax, "y")
        ax.set_xlabel("threshold on similarity")
        ax.set_ylabel("K")

    def _mark(self, ax: "Axes", at: float) -> None:
        k = self.calibration.top_k.value
        floor = self.calibration.floor
        ax.plot([at], [k], "o", color=COLOUR["ink"], markersize=7)
        label = f"no floor, K = {k}" if floor is None else f"{short(floor)}, K = {k}"
        ax.annotate(label, (at, k), xytext=(9, 0), textcoords="offset points", va="center", fontweight="bold",
                    bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 1.5, "alpha": 0.85})  # fmt: skip

    def _table(self) -> Markup:
        frame = self.frame()
        thresholds = np.sort(frame["threshold"].unique())
        some = thresholds[np.unique(np.linspace(0, len(thresholds) - 1, 12).round().astype(int))]
        wide = frame[frame["threshold"].isin(some)].pivot_table(
            index="threshold", columns="top_k", values="hits", aggfunc="first"
        )
        wide.columns = [f"K = {k}" for k in wide.columns]
        n = int(frame["n"].iloc[0])
        return table_html(
            wide.reset_index(),
            f"Answerable queries (of {n}) that keep a relevant passage",
            note="Some thresholds; .frame() has more.",
        )


Box = tuple[float, float, float, float]
"""Left, right, bottom, top."""


def _boxes(cells: pd.DataFrame, grid: npt.NDArray[np.float64], edge: float) -> list[Box]:
    """Merge neighbouring cells of one shade into rectangles, along the thresholds and then upwards."""
    boxes: list[Box] = []
    for k in sorted(int(k) for k in cells["top_k"].unique()):
        places = np.searchsorted(grid, np.sort(cells.loc[cells["top_k"] == k, "threshold"].to_numpy(dtype=np.float64)))
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            # a hit rate holds down to the next lower threshold
            left = float(grid[run[0] - 1]) if run[0] > 0 else edge
            box = (left, float(grid[run[-1]]), k - 0.5, k + 0.5)
            below = next((other for other in boxes if (other[0], other[1], other[3]) == (box[0], box[1], box[2])), None)
            if below is not None:
                boxes.remove(below)
                box = (box[0], box[1], below[2], box[3])
            boxes.append(box)
    return boxes


def _shade_label(ax: "Axes", boxes: list[Box], least: float) -> None:
    """Name a shade inside its widest rectangle."""
    if not boxes:
        return
    left, right, bottom, top = max(boxes, key=lambda box: (box[1] - box[0], box[3] - box[2]))
    said = f"{least:.0%} or more" if least else "under 50%"
    ax.text((left + right) / 2, (bottom + top) / 2, said, ha="center", va="center", fontsize=7.5, color=COLOUR["ink"])
