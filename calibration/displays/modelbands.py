"""Every model's bands on one axis: why a floor does not carry."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from .base import FigureDisplay
from .comparison import Compared
from .palette import COLOUR
from .texts import short, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = (("best_relevant", 0.14, "relevant"), ("far_noise", -0.14, "far"))
"""Band, height beside the model's middle, colour."""


class ModelBandsDisplay(FigureDisplay):
    """Relevant and far-noise ranges of every model on one axis: why a number like 0.78 does not carry."""

    title = "Ranges by model"

    def __init__(self, comparison: Compared) -> None:
        self.comparison = comparison

    def frame(self) -> pd.DataFrame:
        """One row per model and band: model, band, n, p05, p50, p95, floor."""
        rows = [
            {"model": found.name, "band": name.replace("_", " "), "floor": found.floor, **found.bands[name].summary()}
            for found in self.comparison.calibrations
            for name, *_ in SHOWN
        ]
        columns = ["model", "band", "n", "p05", "p50", "p95", "floor"]
        return pd.DataFrame(rows)[columns].astype(dict.fromkeys(columns[3:], "float64"))

    @property
    def caption(self) -> str:
        """Where the floors lie."""
        floors = [(found.name, found.floor) for found in self.comparison.calibrations if found.floor is not None]
        if not floors:
            return "No model's labels support a floor."
        said = ", ".join(f"{shorten(name)} {short(floor)}" for name, floor in floors)
        return (
            f"Floors: {said}. Bars span the middle 90% of each band, the tick is the median; the same similarity means "
            "something else under each model."
        )

    @property
    def alt(self) -> str:
        """The figure in words."""
        n = len(self.comparison.calibrations)
        return f"Ranges of best relevant and far-noise similarity for {n} models on one axis. {self.caption}"

    def _height(self, *, narrow: bool) -> float:
        return 0.9 + 0.72 * max(len(self.comparison.calibrations), 1)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        models = self.comparison.calibrations
        ax.grid(axis="x")
        for place, found in enumerate(models):
            base = len(models) - 1 - place
            for name, offset, colour in SHOWN:
                _bar(ax, found.bands[name].scored, base + offset, COLOUR[colour])
                if place == 0:
                    _name(
                        ax, found.bands[name].scored, base + offset, name.replace("_", " "), COLOUR[colour], offset > 0
                    )
            if found.floor is not None:
                ax.plot([found.floor, found.floor], [base - 0.32, base + 0.32], color=COLOUR["ink"], linewidth=2)
                ax.annotate(
                    f"floor {short(found.floor)}", (found.floor, base + 0.34), ha="center", va="bottom", fontsize=7.5
                )
        ax.set_yticks(range(len(models)), [shorten(found.name, 12 if narrow else 24) for found in reversed(models)])
        ax.tick_params(axis="y", length=0, colors=COLOUR["ink"])
        ax.set_ylim(-0.5, len(models) - 0.3)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("similarity")


def _bar(ax: "Axes", values: npt.NDArray[np.float64], y: float, colour: str) -> None:
    if len(values) == 0:
        return
    low, middle, high = (float(value) for value in np.quantile(values, [0.05, 0.5, 0.95]))
    ax.plot([low, high], [y, y], color=colour, linewidth=6, alpha=0.55, solid_capstyle="butt")
    ax.plot([middle, middle], [y - 0.09, y + 0.09], color=colour, linewidth=2)


def _name(ax: "Axes", values: npt.NDArray[np.float64], y: float, name: str, colour: str, above: bool) -> None:
    if len(values):
        at = (float(np.median(values)), y + (0.12 if above else -0.12))
        ax.annotate(name, at, ha="center", va="bottom" if above else "top", color=colour, fontsize=8)
