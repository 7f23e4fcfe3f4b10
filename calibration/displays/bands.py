"""The bands over similarity: what must survive, what a floor exists to refuse, and the gap between."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..scores import Scores
from ..studies.model import Calibration
from .base import FigureDisplay
from .palette import COLOUR
from .texts import counted, exact, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

ROWS = (
    ("best_relevant", "best relevant passage of each answerable query", "best relevant", "relevant"),
    ("relevant", "all relevant passages", "all relevant", "relevant"),
    ("near_noise", "near noise: best judged wrong passage", "near noise", "near"),
    ("unjudged_top", "best unjudged passage", "best unjudged", "unjudged"),
    ("missing_answer", "missing answer: best match", "missing answer", "missing"),
    ("far_noise", "far noise: best match of off-topic queries", "far noise", "far"),
)
ROW = 0.68
"""Inches of height per band."""
DOTS = 60
"""Values up to which every one is drawn; a histogram of fewer would show its bins, not the data."""
BINS = 50


class BandsDisplay(FigureDisplay):
    """Distributions of every band on one similarity axis, with the floor and the gap."""

    title = "Similarities by band"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per band: band, n, not_scored, min, quantiles, max."""
        bands = self.calibration.bands
        rows = [
            {"band": bands[name].label, **bands[name].summary()}
            for name, *_ in ROWS
            if len(bands[name]) or name in ("relevant", "far_noise")
        ]
        return pd.DataFrame(rows)

    @property
    def caption(self) -> str:
        """Where the bands lie and where the floor falls."""
        found = self.calibration
        best, far = found.bands["best_relevant"].scored, found.bands["far_noise"].scored
        parts = []
        if len(best) == 0:
            parts.append("There are no relevant scores.")
        else:
            parts.append(f"Best relevant similarities of {counted(len(best), 'query', 'queries')}: {_middle(best)}.")
        if len(far) == 0:
            parts.append("No far noise was measured.")
        else:
            parts.append(f"Far noise ({found.bands.far_noise_source}, n = {len(far)}): {_middle(far)}.")
        if found.floor is not None:
            parts.append(f"The floor {exact(found.floor)} is the solid line.")
        else:
            parts.append("No floor is drawn, since these labels support none.")
        if found.params.old_floor is not None:
            parts.append(f"The old floor {exact(found.params.old_floor)} is dashed.")
        return " ".join(parts)

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Distributions of similarity for {counted(len(self._shown()), 'band')}, one row each. {self.caption}"

    def _shown(self) -> list[tuple[str, str, str, str]]:
        bands = self.calibration.bands
        always = ("best_relevant", "far_noise")
        return [row for row in ROWS if (len(bands[row[0]]) or row[0] in always) and row[0] != "relevant"]

    def _height(self, *, narrow: bool) -> float:
        return 0.95 + ROW * (len(self._shown()) + 1)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        shown = self._shown()
        low, high = self._range()
        top = len(shown) + 1
        self._gap(ax, top)
        for place, (name, long, brief, colour) in enumerate(shown):
            base = len(shown) - place
            band = self.calibration.bands[name]
            _ridge(ax, band.scored, base, COLOUR[colour], (low, high))
            label = brief if narrow else long
            _row_label(ax, base, label, len(band), len(band.scored), COLOUR[colour], empty=_empty(name))
        self._backdrop(ax, (low, high))
        self._lines(ax, top, (low, high))
        ax.set_xlim(low, high)
        ax.set_ylim(-0.04, top + self._headroom())
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self.calibration.scores.contract.scale)

    def _headroom(self) -> float:
        """Give the height of the lines of names above the bands: the gap's over the floors'."""
        gap = self.calibration.choice.gap
        if gap.low is not None and gap.high is not None and gap.high > gap.low:
            return 0.55
        return 0.3 if self.calibration.floor is not None or self.calibration.params.old_floor is not None else 0.05

    def _range(self) -> tuple[float, float]:
        found = self.calibration
        values = [found.bands[name].scored for name, *_ in ROWS]
        values += [np.array([line for line in (found.floor, found.params.old_floor) if line is not None])]
        pooled = np.concatenate(values)
        if len(pooled) == 0:
            return 0.0, 1.0
        low, high = float(pooled.min()), float(pooled.max())
        margin = max(0.06 * (high - low), 0.01)
        return low - margin, high + margin

    def _gap(self, ax: "Axes", top: float) -> None:
        gap = self.calibration.choice.gap
        if gap.low is None or gap.high is None or gap.high <= gap.low:
            return
        ax.fill_betweenx([0, top], gap.low, gap.high, color=COLOUR["gap"], alpha=0.12, linewidth=0)
        ax.text(
            (gap.low + gap.high) / 2,
            top + 0.32,
            f"gap {short(gap.high - gap.low)}",
            ha="center",
            va="bottom",
            color=COLOUR["gap"],
        )

    def _lines(self, ax: "Axes", top: float, limits: tuple[float, float]) -> None:
        found = self.calibration
        lines = [
            (found.floor, "floor", "-", COLOUR["ink"]),
            (found.params.old_floor, "old floor", "--", COLOUR["muted"]),
        ]
        drawn = [(value, name, dash, colour) for value, name, dash, colour in lines if value is not None]
        width = limits[1] - limits[0]
        for value, name, dash, colour in drawn:
            ax.plot([value, value], [0, top], dash, color=colour, linewidth=1.5, zorder=1.9)
            side = (
                "left" if value < limits[0] + 0.1 * width else "right" if value > limits[1] - 0.1 * width else "center"
            )
            if len(drawn) == 2 and abs(drawn[0][0] - drawn[1][0]) < 0.25 * width:
                side = "right" if value == min(drawn[0][0], drawn[1][0]) else "left"
            weight = "bold" if dash == "-" else "normal"
            ax.text(value, top + 0.05, f"{name} {short(value)}", ha=side, va="bottom", color=colour, fontweight=weight)

    def _backdrop(self, ax: "Axes", limits: tuple[float, float]) -> None:
        histogram = self.calibration.scores.histogram
        counts = histogram.counts.sum(axis=0).astype(np.float64)
        middles = (histogram.edges[:-1] + histogram.edges[1:]) / 2
        edges = np.linspace(*limits, BINS + 1)
        heights, _ = np.histogram(middles, bins=edges, weights=counts)
        if heights.max() > 0:
            ax.stairs(
                0.55 * heights / heights.max(), edges, baseline=0, fill=True, color=COLOUR["backdrop"], alpha=0.55
            )
        what = _counted(self.calibration.scores)
        # a run that was read back has no counts of a large corpus, see `read_run`
        scores = self.calibration.scores
        kept = scores.everything is not None or len(scores.top) == 0
        none = "nothing was scored" if kept else "not among the files of the run"
        _row_label(ax, 0, what, int(counts.sum()), int(counts.sum()), COLOUR["muted"], empty=none)


def _counted(scores: Scores) -> str:
    """Say what the histogram counts; of a sample, how far off it may be."""
    if scores.sample is None:
        return "every passage for every query" if scores.exact else "every candidate of every query"
    share = 100 * scores.sample.rows / max(scores.sample.of, 1)
    return f"a sample of the passages ({share:.2g} %, ±{100 * scores.sample.error:.1g} points)"


def _empty(name: str) -> str:
    return "no relevant scores" if name == "best_relevant" else "no scores"


def _middle(values: Floats) -> str:
    if len(values) == 1 or values.min() == values.max():
        return f"all at {short(float(values[0]))}" if len(values) > 1 else f"one, at {short(float(values[0]))}"
    if len(values) < 20:
        return f"{short(float(values.min()))} to {short(float(values.max()))}"
    return f"the middle 90% from {short(float(np.quantile(values, 0.05)))} to {short(float(np.quantile(values, 0.95)))}"


def _row_label(ax: "Axes", base: float, label: str, n: int, scored: int, colour: str, *, empty: str) -> None:
    said = f"{label} · n = {n:,}" if scored else f"{label} · {empty}"
    if 0 < scored < n:
        said += f", {n - scored} not scored"
    ax.annotate(
        said, (0, base + 0.93), xycoords=("axes fraction", "data"), ha="left", va="top", color=colour, fontsize=8.5,
        zorder=5,
        bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
    )  # fmt: skip


def _ridge(ax: "Axes", values: Floats, base: float, colour: str, limits: tuple[float, float]) -> None:
    ax.plot(limits, [base, base], color=COLOUR["line"], linewidth=0.7)
    if len(values) == 0:
        return
    if len(values) <= DOTS:
        x, y = stacked(values, limits)
        ax.plot(x, base + y, "o", color=colour, markersize=3.4, markeredgewidth=0, alpha=0.9)
        return
    edges = np.linspace(*limits, BINS + 1)
    heights, _ = np.histogram(values, bins=edges)
    ax.stairs(base + 0.56 * heights / heights.max(), edges, baseline=base, fill=True, color=colour, alpha=0.28)
    ax.stairs(base + 0.56 * heights / heights.max(), edges, baseline=base, color=colour, linewidth=1.0)


def stacked(values: Floats, limits: tuple[float, float]) -> tuple[Floats, Floats]:
    """Give every value its own dot: at its similarity, higher where others lie close by."""
    ordered = np.sort(values, kind="stable")
    cells = np.floor((ordered - limits[0]) / (limits[1] - limits[0]) * 70).astype(int)
    level = np.zeros(len(ordered))
    for i in range(1, len(ordered)):
        level[i] = level[i - 1] + 1 if cells[i] == cells[i - 1] else 0
    step = min(0.11, 0.5 / max(level.max(), 1))
    return ordered, 0.06 + level * step
