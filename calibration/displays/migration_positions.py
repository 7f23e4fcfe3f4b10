"""Where the best candidates lie around the threshold: whether the queries exercise the gate at all."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..studies.migrate.study import Migration
from .base import FigureDisplay
from .palette import COLOUR
from .texts import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40


class PositionsDisplay(FigureDisplay):
    """Best candidate of each query, with the threshold and what counts as near it."""

    title = "Best candidates around the threshold"
    height = 2.6
    narrow_height = 2.8

    def __init__(self, migration: Migration) -> None:
        self.migration = migration

    def frame(self) -> pd.DataFrame:
        """Return query_id, best, position."""
        return self.migration.positions.copy()

    @property
    def empty(self) -> bool:
        """Whether no query has a candidate."""
        return bool(self.frame()["best"].isna().all())

    @property
    def caption(self) -> str:
        """The three counts."""
        found, near = self.migration, self.migration.near
        if self.empty:
            return "No query has a candidate on the old side."
        told = (
            f"Of {len(found.query_ids)} queries the best candidate of the old side lies above the threshold for "
            f"{near['above']}, within {short(found.margin)} of it for {near['near']}, and below for {near['below']}."
        )
        if near["near"] == 0:
            return f"{told} None is near, so these queries cannot show that the threshold stayed where it was."
        return f"{told} Those near it would notice a moved threshold first."

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Histogram of the best similarity of each query, with the threshold. {self.caption}"

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        from matplotlib.ticker import MaxNLocator

        found = self.migration
        best = self.frame()["best"].dropna().to_numpy(dtype=np.float64)
        floor, margin = found.old.floor, found.margin
        low, high = min(best.min(), floor - margin), max(best.max(), floor + margin)
        edges = np.linspace(low, high, BINS + 1)
        ax.axvspan(floor - margin, floor + margin, color=COLOUR["near"], alpha=0.18, linewidth=0)
        ax.hist(best, bins=edges.tolist(), color=COLOUR["relevant"], alpha=0.75)
        ax.axvline(floor, color=COLOUR["ink"], linewidth=1.6)
        ax.text(floor, 1.01, " threshold", transform=ax.get_xaxis_transform(), ha="left", va="bottom", fontsize=8)
        ax.text(
            floor - margin, 1.01, "near ", transform=ax.get_xaxis_transform(), ha="right", va="bottom", fontsize=8,
            color=COLOUR["near"],
        )  # fmt: skip
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel(found.old.contract.scale if found.old.contract.on_cosine_scale else "similarity")
        ax.set_ylabel("queries")
