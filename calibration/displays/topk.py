"""Hits against K, with the floor in place."""

from typing import TYPE_CHECKING

import pandas as pd

from ..studies.model import Calibration
from .base import FigureDisplay
from .lines import whole_numbers, wilson_band
from .palette import COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TopKDisplay(FigureDisplay):
    """What each K keeps, and where more passages stop helping."""

    title = "Hits by K"
    height = 2.7
    narrow_height = 2.7

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return top_k, hits, n, and the Wilson bounds of the hit rate."""
        top_k = self.calibration.top_k
        low, high = wilson_band(top_k.hits, top_k.n)
        frame = pd.DataFrame({"top_k": range(1, len(top_k.hits) + 1), "hits": top_k.hits, "n": top_k.n})
        return frame.assign(hit_rate_low=low, hit_rate_high=high, chosen=frame["top_k"] == top_k.value)

    @property
    def caption(self) -> str:
        """What the chosen K keeps of what the largest one does."""
        top_k = self.calibration.top_k
        if self.empty:
            return f"K = {top_k.value} is a default: no answerable query is labelled to choose it on."
        kept, most = top_k.hits[top_k.value - 1], top_k.hits[-1]
        how = (
            "was given as a budget"
            if top_k.chosen_by == "budget"
            else "is the smallest that loses nothing beyond noise"
        )
        return (
            f"K = {top_k.value} {how}: {kept} of {top_k.n} answerable queries keep a relevant passage, against {most} "
            f"at K = {len(top_k.hits)}."
        )

    @property
    def empty(self) -> bool:
        """Whether no answerable query is labelled."""
        return self.calibration.top_k.n == 0

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Answerable queries that keep a relevant passage against K, with the floor in place. {self.caption}"

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame()
        top_k = self.calibration.top_k
        ax.grid(axis="y")
        ax.vlines(
            frame["top_k"],
            frame["hit_rate_low"] * top_k.n,
            frame["hit_rate_high"] * top_k.n,
            color=COLOUR["relevant"],
            alpha=0.35,
        )
        ax.plot(frame["top_k"], frame["hits"], "o", color=COLOUR["relevant"], markersize=4.5)
        k, hits = top_k.value, top_k.hits[top_k.value - 1]
        ax.plot([k], [hits], "o", markersize=9, markerfacecolor="none", markeredgecolor=COLOUR["ink"])
        share = k / len(frame)
        ax.annotate(
            f"K = {k}: {hits} of {top_k.n}",
            (k, hits),
            xytext=(0, -12),
            textcoords="offset points",
            ha="left" if share <= 0.15 else "right" if share > 0.85 else "center",
            va="top",
            fontweight="bold",
            bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 1.0, "alpha": 0.9},
        )
        ax.set_xlim(0.4, len(frame) + 0.6)
        ax.set_ylim(0, max(top_k.n, 1) * 1.04)
        whole_numbers(ax, "x")
        whole_numbers(ax, "y")
        ax.set_xlabel("K")
        ax.set_ylabel("queries with a relevant passage")
