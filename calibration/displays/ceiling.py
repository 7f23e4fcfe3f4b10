"""The noise ceiling against the size of the corpus: how long the floor holds."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import FigureDisplay
from .palette import COLOUR
from .tables import table_html
from .texts import counted, exact, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TENFOLD = 10.0


class CeilingDisplay(FigureDisplay):
    """The 95th percentile of far noise in smaller corpora, today, and at ten times the size."""

    title = "Noise ceiling against corpus size"
    height = 3.0
    narrow_height = 3.2

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return passages, ceiling, its 90% interval where extrapolated, and extrapolated; empty without growth."""
        ceiling = self.calibration.ceiling
        if ceiling is None or ceiling.growth is None:
            return pd.DataFrame({name: [] for name in ("passages", "ceiling", "low", "high", "extrapolated")})
        rows = [
            {"passages": int(size), "ceiling": float(value), "low": np.nan, "high": np.nan, "extrapolated": False}
            for size, value in zip(ceiling.sizes, ceiling.values, strict=True)
        ]
        for factor in np.geomspace(1.0, TENFOLD, 6)[1:]:
            size = ceiling.corpus_size * float(factor)
            expected = ceiling.at(size)
            if expected is not None:
                value, low, high = expected
                rows.append({"passages": round(size), "ceiling": value, "low": low, "high": high, "extrapolated": True})
        return pd.DataFrame(rows)

    @property
    def caption(self) -> str:
        """Today's ceiling, the one at ten times the size, and how long the floor holds."""
        ceiling = self.calibration.ceiling
        if ceiling is None:
            return "Far noise or the size of the corpus is unknown, and with it how noise grows with the corpus."
        today = (
            f"The noise ceiling (95th percentile of off-topic queries' best matches) is {short(ceiling.value)} today"
        )
        if ceiling.growth is None:
            size = counted(ceiling.corpus_size, "passage")
            return f"{today}; with {size} it is not extrapolated. It rises as the corpus grows: calibrate again then."
        value, low, high = ceiling.at(TENFOLD * ceiling.corpus_size) or (np.nan, np.nan, np.nan)
        return f"{today} and about {short(value)} at ten times the corpus [{short(low)}–{short(high)}]. {self._holds()}"

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"The noise ceiling against the number of passages, logarithmic, extrapolated tenfold. {self.caption}"

    def _holds(self) -> str:
        floor, ceiling = self.calibration.floor, self.calibration.ceiling
        if floor is None or ceiling is None:
            return ""
        until = ceiling.holds_until(floor)
        if until is None:
            return f"It stays below the floor {exact(floor)} for any corpus worth extrapolating to."
        if until <= ceiling.corpus_size:
            return f"It is above the floor {exact(floor)} already: over 5% of off-topic queries get passages today."
        return f"It reaches the floor {exact(floor)} at about {counted(float(f'{until:.2g}'), 'passage')}."

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame()
        known, further = frame[~frame["extrapolated"]], frame[frame["extrapolated"]]
        further = pd.concat([known.tail(1).assign(low=known["ceiling"], high=known["ceiling"]), further])
        ax.set_xscale("log")
        ax.grid(axis="y")
        ax.plot(known["passages"], known["ceiling"], "o-", color=COLOUR["far"], markersize=4, linewidth=1.4)
        ax.plot(further["passages"], further["ceiling"], "--", color=COLOUR["far"], linewidth=1.4)
        ax.fill_between(
            further["passages"], further["low"], further["high"], color=COLOUR["far"], alpha=0.16, linewidth=0
        )
        ax.annotate(
            "today",
            (known["passages"].iloc[-1], known["ceiling"].iloc[-1]),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            color=COLOUR["far"],
        )
        if self.calibration.floor is not None:
            ax.axhline(self.calibration.floor, color=COLOUR["ink"], linewidth=1.3)
            ax.annotate("floor", (0.01, self.calibration.floor), xycoords=("axes fraction", "data"), xytext=(0, 3),
                        textcoords="offset points", fontweight="bold")  # fmt: skip
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.xaxis.set_minor_formatter(lambda value, _: "")
        ax.set_xlabel("passages in the corpus")
        ax.set_ylabel("noise ceiling")

    def _table(self) -> Markup:
        return table_html(
            self.frame(),
            self.title,
            note="Not extrapolated rows are exact expectations over random subsets of the corpus.",
        )
