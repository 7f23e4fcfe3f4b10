"""Relevant passages by grade: which are kept, and what loses the others."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from ..choose import Rate, proportion
from ..studies.grades import BELOW, BEYOND, FATES, KEPT, UNSCORED, grade_counts
from ..studies.model import Calibration
from .bands import BINS, DOTS, stacked
from .base import FigureDisplay, unseen
from .palette import COLOUR
from .tables import Cell, table_html
from .texts import counted, interval, out_of, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.85
"""Inches of height per grade."""


class GradesDisplay(FigureDisplay):
    """What the floor and the cap keep of each grade; of judgements with one grade it shows nothing."""

    title = "Relevant passages by grade"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per grade, the highest first: grade, n, kept, low, high, beyond_k, below_floor, never_a_candidate."""
        counts = grade_counts(self.calibration.grades)
        rates = [proportion(int(kept), int(n)) for kept, n in zip(counts[KEPT], counts["n"], strict=True)]
        frame = counts.assign(
            low=pd.Series([rate.low for rate in rates]), high=pd.Series([rate.high for rate in rates])
        )
        names = {BEYOND: "beyond_k", BELOW: "below_floor", UNSCORED: "never_a_candidate"}
        order = ["grade", "n", KEPT, "low", "high", *FATES[1:]]
        return frame[order].rename(columns=names)

    @property
    def empty(self) -> bool:
        """Whether there is but one grade above 0."""
        return self.calibration.grades["grade"].nunique() < 2

    @property
    def caption(self) -> str:
        """What is kept of each grade, and what would win back the rest of the lowest."""
        if self.empty:
            return "Judgements have one grade, so there is nothing to tell apart."
        rows = self.frame().to_dict("records")
        kept = "; ".join(f"of grade {row['grade']}, {row['kept']} of {row['n']} ({_share(row)})" for row in rows)
        last = rows[-1]
        lost = [
            (last["below_floor"], "below the floor, whatever their rank"),
            (last["beyond_k"], f"beyond K = {self.calibration.top_k.value}, at or above the floor"),
            (last["never_a_candidate"], "never a candidate"),
        ]
        where = "; ".join(f"{n} {place}" for n, place in lost if n)
        rest = f" The others of grade {last['grade']}: {where}." if where else ""
        floor = "" if self.calibration.floor is None else " The line is the floor."
        return f"Kept passages: {kept}. Filled marks are kept, hollow ones are not.{rest}{floor}"

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Similarities of judged passages, one row per grade, kept and lost ones apart. {self.caption}"

    def _height(self, *, narrow: bool) -> float:
        return 0.75 + ROW * self.calibration.grades["grade"].nunique()

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        passages, floor = self.calibration.grades, self.calibration.floor
        values = passages["similarity"].dropna().to_numpy(dtype=np.float64)
        values = values if floor is None else np.append(values, floor)
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        margin = max(0.06 * (high - low), 0.01)
        limits = (low - margin, high + margin)
        rows = self.frame().to_dict("records")
        for place, row in enumerate(rows):
            base = len(rows) - 1 - place
            own = passages[(passages["grade"] == row["grade"]) & passages["similarity"].notna()]
            ax.plot(limits, [base, base], color=COLOUR["line"], linewidth=0.7)
            _passages(ax, own["similarity"].to_numpy(dtype=np.float64), (own["fate"] == KEPT).to_numpy(), base, limits)
            said = f"grade {row['grade']}: {row['kept']} of {row['n']} kept"
            if not narrow:
                said += f", {row['below_floor']} below the floor, {row['beyond_k']} beyond K"
            ax.annotate(
                said, (0, base + 0.93), xycoords=("axes fraction", "data"), va="top", color=COLOUR["relevant"],
                fontsize=8.5, bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
            )  # fmt: skip
        if floor is not None:
            top = len(rows)
            ax.plot([floor, floor], [0, top], color=COLOUR["ink"], linewidth=1.5, zorder=1.9)
            side = "left" if floor < low + 0.1 * (high - low) else "center"
            ax.text(floor, top + 0.03, f"floor {short(floor)}", ha=side, va="bottom", fontweight="bold")
        ax.set_xlim(*limits)
        ax.set_ylim(-0.04, len(rows) + (0.3 if floor is not None else 0.02))
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self.calibration.scores.contract.scale)

    def _table(self) -> Markup:
        found = self.calibration
        held_out = unseen(found)
        rows = []
        for row in self.frame().to_dict("records"):
            cells: dict[str, object] = {
                "grade": row["grade"],
                "kept": _cell(proportion(row["kept"], row["n"])),
            }
            if held_out is not None:
                cells["kept, unseen queries"] = _cell(held_out.recall_by_grade[row["grade"]])
            if found.old is not None:
                cells["with the old floor"] = _cell(found.old.recall_by_grade[row["grade"]])
            names = ("below_floor", "beyond_k", "never_a_candidate")
            rows.append(cells | {name: row[name] for name in names})
        caption = f"{self.title}, {counted(len(found.grades), 'judgement')}"
        return table_html(pd.DataFrame(rows), caption, headers={"beyond_k": "beyond K"})

    def _repr_html_(self) -> str:
        return "" if self.empty else super()._repr_html_()


def _share(row: dict[object, int]) -> str:
    rate = proportion(row["kept"], row["n"])
    return f"{percent(rate.value)} [{interval(rate)}]"


def _cell(rate: Rate) -> Cell:
    return Cell(percent(rate.value), True, f"{out_of(rate)} [{interval(rate)}]")


def _passages(
    ax: "Axes",
    values: npt.NDArray[np.float64],
    kept: npt.NDArray[np.bool_],
    base: float,
    limits: tuple[float, float],
) -> None:
    """Draw every passage as a dot, or as two histograms, the kept ones within all."""
    if len(values) == 0:
        return
    colour = COLOUR["relevant"]
    if len(values) <= DOTS:
        x, y = stacked(values, limits)
        kept = kept[np.argsort(values, kind="stable")]
        for mask, face in ((kept, colour), (~kept, COLOUR["paper"])):
            ax.plot(
                x[mask], base + y[mask], "o", color=colour, markerfacecolor=face, markersize=3.8, markeredgewidth=0.9
            )
        return
    edges = np.linspace(*limits, BINS + 1)
    heights, _ = np.histogram(values, bins=edges)
    filled, _ = np.histogram(values[kept], bins=edges)
    scale = 0.56 / heights.max()
    ax.stairs(base + scale * filled, edges, baseline=base, fill=True, color=colour, alpha=0.6)
    ax.stairs(base + scale * heights, edges, baseline=base, color=colour, linewidth=1.0)
