"""What other ways of choosing would have cost on the same queries."""

from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..choose import LARGEST_GAP
from ..studies.model import Calibration
from .base import FigureDisplay
from .palette import COLOUR
from .tables import Cell, table_html
from .texts import records, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS = "recommended"


class PoliciesDisplay(FigureDisplay):
    """Cost of each policy on queries it did not see."""

    title = "Other policies on the same queries"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return policy, floor, counts, cost in-sample and held out."""
        return self.calibration.policies.copy()

    @property
    def caption(self) -> str:
        """Where ours stands."""
        frame, costs = self.frame(), self.calibration.costs
        if len(frame) == 0:
            return "Policies cannot be compared: one of the two bands has no scores."
        ours = frame[frame["policy"] == OURS].iloc[0]
        others = frame[frame["policy"] != OURS].sort_values("cost_held_out", kind="stable")
        best, worst = others.iloc[0], others.iloc[-1]
        return (
            f"Cost per query on unseen queries, a lost answer weighing {costs.miss:g} and a false one "
            f"{costs.false_answer:g}, with {costs.off_topic_share:.0%} of the traffic off-topic: ours "
            f"{short(ours['cost_held_out'])}; the best other is {best['policy']} at {short(best['cost_held_out'])}, "
            f"the worst {worst['policy']} at {short(worst['cost_held_out'])}."
        )

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Dot plot of the held-out cost of {len(self.frame())} policies, ours marked. {self.caption}"

    def _height(self, *, narrow: bool) -> float:
        return 0.8 + 0.25 * max(len(self.frame()), 3)

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame().sort_values("cost_held_out", ascending=False, kind="stable").reset_index(drop=True)
        ax.grid(axis="x")
        for place, row in enumerate(records(frame)):
            _dot(ax, place, row["cost_held_out"], _floor(row), ours=row["policy"] == OURS)
        ax.set_yticks(range(len(frame)), ["this floor" if name == OURS else name for name in frame["policy"]])
        ax.tick_params(axis="y", length=0, colors=COLOUR["ink"])
        ax.set_xlim(0, (frame["cost_held_out"].max() if len(frame) else 1.0) * (1.75 if narrow else 1.3) + 1e-9)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("cost per unseen query")

    def _table(self) -> Markup:
        rows = [
            {
                "policy": "this floor" if row["policy"] == OURS else row["policy"],
                "floor": row["floor"] if row["offers"] else _floor(row),
                "keeps an answer": _counts(row["hits"], row["hits_held_out"], row["n_answerable"]),
                "false answers": _counts(row["false_answers"], row["false_answers_held_out"], row["n_far_noise"]),
                "cost, same queries": row["cost"],
                "cost, unseen": row["cost_held_out"],
            }
            for row in records(self.frame())
        ]
        note = (
            "Unseen: every query at the floor that was chosen without it. The largest gap per query cuts each list at "
            "its largest drop and always keeps a passage, so it refuses nothing."
        )
        return table_html(pd.DataFrame(rows), self.title, note=note)


def _counts(seen: int, held_out: int, n: int) -> Cell:
    return Cell(f"{seen} of {n}", True, f"unseen {held_out}")


def _floor(row: dict[str, Any]) -> str:
    if row["policy"] == LARGEST_GAP:
        return "cut per query"
    return f"floor {row['floor']:.3g}" if row["offers"] else "no floor"


def _dot(ax: "Axes", place: int, cost: float, named: str, *, ours: bool) -> None:
    ax.plot([0, cost], [place, place], color=COLOUR["line"], linewidth=1)
    ax.plot(
        [cost],
        [place],
        "D" if ours else "o",
        color=COLOUR["relevant" if ours else "muted"],
        markersize=7 if ours else 5,
    )
    ax.annotate(
        f"{short(cost)}  ({named})",
        (cost, place),
        xytext=(8, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=COLOUR["ink" if ours else "muted"],
        fontweight="bold" if ours else "normal",
    )
