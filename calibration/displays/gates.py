"""The gate before the fusion against the gate after it."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from ..retrieval import SIMILARITY
from ..studies.hybrid.study import Hybrid
from .base import FigureDisplay, thinned
from .lines import Line, draw_steps, label_lines, mark_floor, percent_axis
from .palette import COLOUR
from .tables import table_html
from .texts import percent, percent_or_missing, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE, AFTER = "before", "after"


class GatesDisplay(FigureDisplay):
    """Recall, and strong lexical candidates lost, when the gate stands on the raw similarity or on the fused score."""

    title = "The gate before the fusion and after it"
    height = 3.9
    narrow_height = 3.9

    def __init__(self, hybrid: Hybrid) -> None:
        self.hybrid = hybrid

    def frame(self) -> pd.DataFrame:
        """Return gate ("before" or "after"), threshold, found, n, recall, strong_lost, n_strong, strong_lost_share."""
        parts = [
            part.assign(gate=name)
            for name, part in ((BEFORE, self.hybrid.before), (AFTER, self.hybrid.after))
            if len(part)
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"gate": [], "threshold": []})

    @property
    def empty(self) -> bool:
        """Whether the log has no similarity, or nothing relevant was found."""
        frame = self.frame()
        return len(frame) == 0 or bool(frame["recall"].isna().all())

    @property
    def caption(self) -> str:
        """What each gate loses at the proposed number, and the gate recommended."""
        if self.empty:
            return "Without a raw similarity beside the fused score no gate before the fusion can be measured."
        number = self.hybrid.params.proposed_threshold
        near = self.hybrid.get(SIMILARITY)
        advice = ""
        if near is not None and near.pass_through is not None:
            advice = (
                f" Let the search pass everything from {short(near.pass_through)} on, which loses no relevant "
                "candidate, and decide on the raw signals afterwards."
            )
        said = [self._at(name, number) for name in (BEFORE, AFTER) if (self.frame()["gate"] == name).any()]
        return f"{' '.join(said)} Strong lexical candidates are relevant ones {self.hybrid.strong}.{advice}"

    @property
    def alt(self) -> str:
        """The figure in words."""
        return f"Step curves of recall and of strong lexical candidates lost against the threshold. {self.caption}"

    def _at(self, name: str, number: float) -> str:
        frame = self.frame()
        rows = frame[frame["gate"] == name]
        row = rows.iloc[int((rows["threshold"] - number).abs().argmin())]
        found, lost = int(row["found"]), int(row["strong_lost"])
        after = f"On the fused score ({self.hybrid.gated_after}), after it,"
        where = "On the raw similarity, before the fusion," if name == BEFORE else after
        return (
            f"{where} {short(number)} leaves {found} of {int(row['n'])} relevant passages within the first "
            f"{self.hybrid.top_k.value} (without a gate {int(row['found_without'])}) and loses {lost} of "
            f"{int(row['n_strong'])} strong lexical candidates."
        )

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        frame = self.frame()
        x = np.unique(frame["threshold"].to_numpy(dtype=np.float64))
        lines = []
        for name, colour, words in ((BEFORE, "far", "before fusion"), (AFTER, "relevant", "after fusion")):
            rows = frame[frame["gate"] == name]
            if rows.empty:
                continue
            lines.append(Line(f"recall, {words}", _filled(rows, "recall", x), COLOUR[colour], "-", 2.0))
            if rows["strong_lost_share"].notna().any():
                lost = _filled(rows, "strong_lost_share", x)
                lines.append(Line(f"strong lost, {words}", lost, COLOUR[colour], ":", 1.6))
        percent_axis(ax)
        ax.grid(axis="y")
        draw_steps(ax, x, lines)
        limits = (float(x[0]), float(x[-1]))
        ax.set_xlim(*limits)
        label_lines(ax, x, lines, limits=limits)
        number = self.hybrid.params.proposed_threshold
        named = len(ax.texts)
        if limits[0] <= number <= limits[1]:
            mark_floor(ax, number, f"proposed {short(number)}", dash="--", colour=COLOUR["muted"])
        near = self.hybrid.get(SIMILARITY)
        if near is not None and near.pass_through is not None and limits[0] <= near.pass_through <= limits[1]:
            mark_floor(ax, near.pass_through, f"gate {short(near.pass_through)}")
        names = ax.texts[named:]
        if len(names) == 2 and near is not None and near.pass_through is not None:
            # to either side, so that close ones do not run into each other
            left, right = reversed(names) if number > near.pass_through else names
            left.set_horizontalalignment("right")
            right.set_horizontalalignment("left")
        ax.set_xlabel("threshold, each on its own score")

    def _table(self) -> Markup:
        parts = []
        for _, rows in self.frame().groupby("gate", sort=False):
            parts.append(thinned(rows, 14))
        shown = pd.concat(parts)[["gate", "threshold", "recall", "strong_lost_share"]]
        rates = {name: shown[name].map(percent_or_missing) for name in ("recall", "strong_lost_share")}
        note = f"Recall of {percent(1.0)} would be every labelled relevant passage within the first K."
        return table_html(shown.assign(**rates), self.title, note=note)


def _filled(rows: pd.DataFrame, name: str, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give a step curve at other thresholds: the value of the next higher one, of the last beyond it."""
    at = np.searchsorted(rows["threshold"].to_numpy(dtype=np.float64), x)
    filled: npt.NDArray[np.float64] = rows[name].to_numpy(dtype=np.float64)[np.minimum(at, len(rows) - 1)]
    return filled
