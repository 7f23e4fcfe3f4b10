"""What the number somebody proposes does to recall, on each score it might be put on."""

from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from ..choose import Rate
from ..studies.hybrid.study import Hybrid
from .base import FigureDisplay
from .lines import percent_axis
from .palette import COLOUR
from .tables import Cell, table_html
from .texts import interval, out_of, percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CollapseDisplay(FigureDisplay):
    """Relevant candidates kept at the proposed threshold, and at a permissive gate on the same score."""

    title = "Recall at the proposed number"

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """One row per score: kept at the proposed threshold and at its own pass-through gate; None where refused."""
        return pd.DataFrame(
            [
                {
                    "score": one.name,
                    "threshold": self.hybrid.params.proposed_threshold,
                    "kept": None if one.kept is None else int(one.kept.numerator),
                    "relevant": None if one.kept is None else one.kept.denominator,
                    "share": None if one.kept is None else one.kept.value,
                    "pass_through": one.pass_through,
                    "share_at_pass_through": None if one.kept_at_gate is None else one.kept_at_gate.value,
                    "refused": one.refused,
                }
                for one in self.hybrid.measured
            ]
        ).astype({"share": "float64", "share_at_pass_through": "float64", "pass_through": "float64"})

    @property
    def caption(self) -> str:
        """The sentence to tell: the number keeps so much of what is relevant."""
        number = short(self.hybrid.params.proposed_threshold)
        said = [
            f"on {one.name} {number} keeps {percent(one.kept.value)} of relevant candidates ({out_of(one.kept)})"
            for one in self.hybrid.measured
            if one.kept is not None and one.kept.value is not None
        ]
        refused = [one.name for one in self.hybrid.measured if one.refused]
        if not said:
            return f"No score here can be cut at {number}."
        words = "; ".join(said)
        end = f" {' and '.join(refused)} cannot be cut at all." if refused else ""
        return f"{words[0].upper()}{words[1:]}.{end} Ringed: the permissive gate of each score, which loses nothing."

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"One row per score, the share of relevant candidates that the proposed number keeps. {self.caption}"

    def _height(self, *, narrow: bool) -> float:
        return 0.9 + 0.42 * max(len(self.hybrid.measured), 2)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        ones = list(reversed(self.hybrid.measured))
        for height, one in enumerate(ones):
            if one.kept is None or one.kept.value is None:
                ax.text(0.0, height, "carries no threshold", va="center", color=COLOUR["muted"], fontsize=8)
                continue
            ax.plot([0, one.kept.value], [height, height], color=COLOUR["far"], linewidth=2.0, alpha=0.6)
            ax.plot([one.kept.value], [height], "o", color=COLOUR["far"], markersize=6)
            words = percent(one.kept.value) if narrow else f"{percent(one.kept.value)} ({out_of(one.kept)})"
            ax.text(one.kept.value + 0.02, height + 0.06, words, va="bottom", ha="left", fontsize=8)
            if one.pass_through is not None and one.kept_at_gate is not None and one.kept_at_gate.value is not None:
                ax.plot(
                    [one.kept_at_gate.value], [height], "o", markersize=8, markerfacecolor="none",
                    markeredgecolor=COLOUR["relevant"], markeredgewidth=1.6,
                )  # fmt: skip
                ax.text(one.kept_at_gate.value - 0.02, height - 0.1, f"gate {short(one.pass_through)}",
                        va="top", ha="right", fontsize=8, color=COLOUR["relevant"])  # fmt: skip
        ax.set_yticks(range(len(ones)), [one.name.replace("_", " ") for one in ones])
        ax.set_ylim(-0.6, len(ones) - 0.3)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        percent_axis(ax, "x")
        ax.set_xlabel(f"relevant candidates kept at {short(self.hybrid.params.proposed_threshold)}")

    def _table(self) -> Markup:
        number = f"at {short(self.hybrid.params.proposed_threshold)}"
        rows = [
            {
                "score": Cell(one.name, False),
                number: _kept(one.kept),
                f"answerable queries {number}": _kept(one.hits),
                "permissive gate": Cell("–" if one.pass_through is None else short(one.pass_through), True),
                "kept there": _kept(one.kept_at_gate),
            }
            for one in self.hybrid.measured
        ]
        return table_html(pd.DataFrame(rows), self.title, headers={"score": ""})


def _kept(rate: Rate | None) -> Cell:
    if rate is None or rate.value is None:
        return Cell("–", True)
    return Cell(percent(rate.value), True, f"{out_of(rate)} [{interval(rate)}]")
