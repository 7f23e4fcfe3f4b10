"""Every rate against the threshold, under the chosen cap."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import FigureDisplay, thinned
from .lines import Line, corners, draw_named, draw_steps, label_lines, mark_floor, percent_axis, wilson_band
from .palette import COLOUR
from .tables import table_html
from .texts import exact, interval, out_of, percent, percent_or_missing, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = [
    "threshold",
    "hit_rate",
    "recall",
    "precision_judged",
    "coverage",
    "false_answer_rate",
    "false_answer_rate_missing",
]


class CurvesDisplay(FigureDisplay):
    """Hit rate, recall, precision among judged, coverage and false-answer rate at every threshold."""

    title = "Rates at every threshold"
    height = 4.1
    narrow_height = 4.1

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Give counts and rates at every threshold, with the Wilson bounds of the two that decide."""
        curves = self.calibration.curves
        hit_low, hit_high = wilson_band(curves["hits"], self._n_answerable)
        false_low, false_high = wilson_band(curves["off_topic_kept"], self._n_far)
        return curves.assign(
            hit_rate_low=hit_low,
            hit_rate_high=hit_high,
            false_answer_rate_low=false_low,
            false_answer_rate_high=false_high,
        )

    @property
    def caption(self) -> str:
        """What the floor keeps and lets through."""
        found = self.calibration
        rates = found.in_sample.rates
        hit = rates["hit_rate"]
        far = rates["false_answer_rate_probes" if self._far_is_probes else "false_answer_rate_off_topic"]
        where = "With no floor" if found.floor is None else f"At the floor {exact(found.floor)}"
        said = [f"{where} and K = {found.top_k.value}:"]
        if hit.value is None:
            said.append("no answerable query is labelled;")
        else:
            said.append(f"hit rate {percent(hit.value)} ({out_of(hit)}, {interval(hit)}),")
        if far.value is None:
            said.append("no off-topic query was measured.")
        else:
            said.append(f"false-answer rate {percent(far.value)} ({out_of(far)}, {interval(far)}).")
        chose = "" if found.floor is None else " Rates are measured on the queries that chose the floor."
        return " ".join(said) + f" Shaded: 95% Wilson intervals.{chose}"

    @property
    def alt(self) -> str:
        """The figure in words."""
        curves = self.calibration.curves
        low, high = curves["threshold"].min(), curves["threshold"].max()
        span = "" if len(curves) == 0 else f" between {short(low)} and {short(high)}"
        names = "hit rate, recall, precision, coverage and false-answer rate"
        return f"Step curves of {names} against the threshold{span}. {self.caption}"

    @property
    def _labelled(self) -> pd.DataFrame:
        table = self.calibration.table
        return table[~table["probe"]]

    @property
    def _n_answerable(self) -> int:
        return int((self._labelled["answerability"] == "answerable").sum())

    @property
    def _far_is_probes(self) -> bool:
        return not (self._labelled["answerability"] == "off_topic").any()

    @property
    def _n_far(self) -> int:
        if self._far_is_probes:
            return int(self.calibration.table["probe"].sum())
        return int((self._labelled["answerability"] == "off_topic").sum())

    def _lines(self, frame: pd.DataFrame) -> list[Line]:
        lines = [
            Line("hit rate", frame["hit_rate"].to_numpy(float), COLOUR["relevant"], "-", 2.0),
            Line("false answers", frame["false_answer_rate"].to_numpy(float), COLOUR["far"], "-", 2.0),
            Line("recall", frame["recall"].to_numpy(float), COLOUR["gap"], "--"),
            Line("precision (judged)", frame["precision_judged"].to_numpy(float), COLOUR["near"], "-."),
            Line("coverage", frame["coverage"].to_numpy(float), COLOUR["missing"], ":", 1.5),
        ]
        return [line for line in lines if np.isfinite(line.values).any()]

    def _first_change(self) -> float:
        """Give the highest threshold below which neither of the two deciding rates moves."""
        curves = self.calibration.curves
        deciding = curves[["hits", "off_topic_kept"]].to_numpy()
        moved = np.flatnonzero((deciding != deciding[0]).any(axis=1))
        return float(curves["threshold"].iloc[max(int(moved[0]) - 1, 0) if len(moved) else 0])

    def _draw(self, ax: "Axes", *, narrow: bool) -> None:
        limits = self._limits()
        frame = _reaching(self.frame(), limits)
        x = frame["threshold"].to_numpy(dtype=np.float64)
        percent_axis(ax)
        ax.grid(axis="y")
        ax.set_xlim(*limits)
        for name, colour in (("hit_rate", "relevant"), ("false_answer_rate", "far")):
            low, high = frame[f"{name}_low"].to_numpy(float), frame[f"{name}_high"].to_numpy(float)
            kept = corners(low, high)
            ax.fill_between(x[kept], low[kept], high[kept], step="pre", color=COLOUR[colour], alpha=0.16, linewidth=0)
        lines = self._lines(frame)
        draw_steps(ax, x, lines)
        label_lines(ax, x, lines, limits=limits)
        mark_floor(ax, self.calibration.floor, f"floor {short(self.calibration.floor or 0.0)}")
        old = self.calibration.params.old_floor
        mark_floor(ax, old, f"old {short(old or 0.0)}", dash="--", colour=COLOUR["muted"])
        ax.set_xlabel("threshold on similarity")

    def _draw_named(self, ax: "Axes", name: str) -> None:
        frame = _reaching(self.frame(), self._limits())
        x = frame["threshold"].to_numpy(dtype=np.float64)
        percent_axis(ax)
        hits = draw_named(ax, x, frame["hit_rate"], f"hit rate, {name}", where="pre")
        draw_named(ax, x, frame["false_answer_rate"], f"false answers, {name}", where="pre", like=hits)
        floor = self.calibration.floor
        if floor is not None:
            ax.axvline(floor, color=hits.get_color(), linestyle=":", label=f"floor {short(floor)}, {name}")
        ax.set_xlabel("threshold on similarity, each on its own model's scale")
        ax.legend()

    def _limits(self) -> tuple[float, float]:
        x = self.calibration.curves["threshold"]
        floors = [value for value in (self.calibration.floor, self.calibration.params.old_floor) if value is not None]
        low, high = min([self._first_change(), *floors]), max([float(x.max()), *floors])
        margin = max(0.05 * (high - low), 0.01)
        return low - margin, high + margin

    def _table(self) -> Markup:
        # what lies left of the first change repeats its first row
        frame = self.frame()[SHOWN]
        frame = thinned(frame[frame["threshold"] >= self._first_change()], 24)
        rates = {name: frame[name].map(percent_or_missing) for name in SHOWN[1:]}
        said = "Evenly spaced among the observed similarities; .frame() in the notebook has them all."
        return table_html(frame.assign(**rates), self.title, note=said)


def _reaching(frame: pd.DataFrame, limits: tuple[float, float]) -> pd.DataFrame:
    """Let the curves reach both sides: below the lowest score everything is accepted, above the highest nothing."""
    first, last = frame.iloc[[0]].copy(), frame.iloc[[-1]].copy()
    first["threshold"] = min(limits[0], float(first["threshold"].iloc[0]))
    counted = [name for name in ("hit_rate", "coverage", "recall", "false_answer_rate") if last[name].notna().all()]
    last[counted] = 0.0
    for name in (
        "precision_judged",
        "hit_rate_low",
        "hit_rate_high",
        "false_answer_rate_low",
        "false_answer_rate_high",
    ):
        last[name] = np.nan
    last["threshold"] = limits[1]
    return pd.concat([first, frame, last], ignore_index=True)
