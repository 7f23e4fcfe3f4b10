"""The two errors of every option in one picture, with their intervals."""

from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from ..choose import Rate, proportion
from ..studies.options.measure import Option
from ..studies.options.study import Options
from .base import FigureDisplay
from .lines import percent_axis
from .palette import COLOUR
from .tables import Cell, table_html
from .texts import interval, out_of, percent, records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOST, FALSE = "lost answers", "false answers"
LOOK = {LOST: ("relevant", "o", 0.14), FALSE: ("far", "s", -0.14)}


class OptionErrorsDisplay(FigureDisplay):
    """Lost answers and false answers of every option, on unseen queries."""

    title = "The two errors of each option"

    def __init__(self, options: Options) -> None:
        self.options = options

    def frame(self) -> pd.DataFrame:
        """One row per option and error: option, error, value, numerator, denominator, low, high."""
        rows = []
        for one in self.options.measured:
            for error, rate in self._errors(one).items():
                rows.append(
                    {
                        "option": one.title,
                        "error": error,
                        "value": rate.value,
                        "numerator": rate.numerator,
                        "denominator": rate.denominator,
                        "low": rate.low,
                        "high": rate.high,
                    }
                )
        return pd.DataFrame(rows).astype({"value": "float64", "low": "float64", "high": "float64"})

    @property
    def caption(self) -> str:
        """Both errors of each option."""
        far = "probe" if self.options.bench.far_rate.endswith("probes") else "off-topic"
        said = []
        for one in self.options.measured:
            lost, false = self._errors(one).values()
            answered = "" if false.value is None else f" and answers {out_of(false)} {far} queries"
            said.append(f"{one.title} loses {out_of(lost)} answers{answered}")
        return f"In numbers: {'; '.join(said)}. Bars: 95% intervals; they overlap more than paired comparisons do."

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Dot plot of two error rates for {len(self.options.measured)} options. {self.caption}"

    def _errors(self, one: Option) -> dict[str, Rate]:
        hit = one.rates["hit_rate"]
        lost = Rate(None, 0, 0, None, None)
        if hit.value is not None and hit.low is not None and hit.high is not None:
            n = hit.denominator
            lost = Rate(1 - hit.value, n - int(hit.numerator), n, max(1 - hit.high, 0.0), 1 - hit.low)
        return {LOST: lost, FALSE: one.rates.get(self.options.bench.far_rate, proportion(0, 0))}

    def _height(self, *, narrow: bool) -> float:
        return 1.3 + 0.5 * len(self.options.measured)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        titles = [one.title for one in self.options.measured]
        percent_axis(ax, "x")
        ax.grid(axis="x")
        for row in records(self.frame()):
            if pd.isna(row["value"]):
                continue
            colour, mark, shift = LOOK[row["error"]]
            y = len(titles) - 1 - titles.index(row["option"]) + shift
            ax.plot([row["low"], row["high"]], [y, y], color=COLOUR[colour], linewidth=2, solid_capstyle="butt")
            label = row["error"] if row["option"] == titles[0] else None
            ax.plot([row["value"]], [y], mark, color=COLOUR[colour], markersize=6, linestyle="none", label=label)
        ax.set_yticks(range(len(titles)), list(reversed(titles)))
        ax.set_ylim(-0.5, len(titles) - 0.5)
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(-0.02, 1.02)
        ax.set_xlabel("share of queries")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

    def _table(self) -> Markup:
        rows = []
        for one in self.options.measured:
            cells = {error: _cell(rate) for error, rate in self._errors(one).items()}
            rows.append({"option": Cell(one.title, False), **cells})
        return table_html(pd.DataFrame(rows), self.title, headers={"option": ""})


def _cell(rate: Rate) -> Cell:
    return (
        Cell("–", True) if rate.value is None else Cell(percent(rate.value), True, f"{out_of(rate)} [{interval(rate)}]")
    )
