"""Steps over a threshold, with their bands and their names beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..choose import proportion
from .palette import COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Floats = npt.NDArray[np.float64]
MARKS = "os^Dv"
"""Marks of named curves, so that they are told apart without colour."""


@dataclass(frozen=True)
class Line:
    """One curve: rates at thresholds, NaN where undefined."""

    name: str
    values: Floats
    colour: str
    dash: str = "-"
    width: float = 1.2


@cache
def _wilson(numerator: int, denominator: int) -> tuple[float, float]:
    rate = proportion(numerator, denominator)
    return (np.nan if rate.low is None else rate.low, np.nan if rate.high is None else rate.high)


def wilson_band(numerators: npt.ArrayLike, denominator: int) -> tuple[Floats, Floats]:
    """Wilson bounds of many counts over one denominator.

    Examples
    --------
    >>> [round(float(bound[0]), 4) for bound in wilson_band([5], 5)]
    [0.5655, 1.0]
    """
    pairs = [_wilson(int(count), denominator) for count in np.asarray(numerators)]
    bounds = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return bounds[:, 0], bounds[:, 1]


def draw_steps(ax: "Axes", x: Floats, lines: Sequence[Line]) -> None:
    """Draw counts as the steps they are: a rate holds for every threshold down to the next lower observed one."""
    for line in lines:
        kept = corners(line.values)
        ax.plot(x[kept], line.values[kept], line.dash, color=line.colour, linewidth=line.width, drawstyle="steps-pre")


def draw_named(
    ax: "Axes", x: Floats, values: npt.ArrayLike, label: str, *, where: str, like: "Line2D | None" = None
) -> "Line2D":
    """Draw one of several runs' curves with a legend entry: a colour and a mark of the run's own, or those of `like`.

    Parameters
    ----------
    where : str
        "pre" or "post", see `Axes.step`.
    like : Line2D, optional
        The first curve of the same run; this one is dashed then.
    """
    rates = np.asarray(values, dtype=np.float64)
    if like is None:
        runs = sum(line.get_linestyle() == "-" for line in ax.get_lines())
        [line] = ax.plot(x, rates, "-", drawstyle=f"steps-{where}", label=label, marker=MARKS[runs % len(MARKS)])
    else:
        [line] = ax.plot(
            x, rates, "--", drawstyle=f"steps-{where}", label=label, marker=like.get_marker(), color=like.get_color()
        )
    line.set(linewidth=1.5, markersize=5, markevery=0.1)
    return line


def corners(*curves: Floats) -> npt.NDArray[np.bool_]:
    """Mark the points at which some curve is about to change: the others draw nothing in a step curve.

    Examples
    --------
    >>> corners(np.array([1.0, 1.0, 1.0, 0.5, 0.5])).tolist()
    [True, False, True, False, True]
    """
    kept = np.zeros(len(curves[0]), dtype=np.bool_)
    for values in curves:
        kept[:-1] |= ~((values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1])))
    kept[:1] = kept[-1:] = True
    return kept


def label_lines(ax: "Axes", x: Floats, lines: Sequence[Line], *, limits: tuple[float, float]) -> None:
    """Write each curve's name where it is furthest from the others, so that no legend is needed."""
    width = limits[1] - limits[0]
    grid = np.linspace(limits[0] + 0.08 * width, limits[1] - 0.12 * width, 200)
    at = np.clip(np.searchsorted(x, grid), 0, len(x) - 1)
    curves = np.array([line.values[at] for line in lines])
    taken: list[tuple[float, float]] = []
    for line, own in zip(lines, curves, strict=True):
        gaps = np.abs(curves - own)
        gaps[[other is line for other in lines]] = np.nan
        distance = np.fmin(0.3, np.nan_to_num(np.fmin.reduce(gaps), nan=0.3))
        for taken_x, taken_y in taken:
            distance[(np.abs(grid - taken_x) < 0.28 * width) & (np.abs(own - taken_y) < 0.09)] = -1.0
        distance[np.isnan(own)] = -2.0
        if distance.max() <= -2.0:
            continue
        best = np.flatnonzero(distance >= distance.max() - 0.02)
        place = best[len(best) // 2]
        taken.append((float(grid[place]), float(own[place])))
        ax.text(
            *taken[-1], line.name, color=line.colour, ha="center", va="center", fontsize=8.5,
            bbox={"facecolor": COLOUR["paper"], "edgecolor": "none", "pad": 1.0, "alpha": 0.9},
        )  # fmt: skip


def percent_axis(ax: "Axes", which: str = "y") -> None:
    """Name an axis of rates in percent."""
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    labels = ["0", "25", "50", "75", "100%"]
    if which == "y":
        ax.set_ylim(-0.03, 1.04)
        ax.set_yticks(ticks, labels)
    else:
        ax.set_xlim(-0.03, 1.04)
        ax.set_xticks(ticks, labels)


def mark_floor(ax: "Axes", floor: float | None, label: str, *, dash: str = "-", colour: str = COLOUR["ink"]) -> None:
    """Draw a floor as a line over the full height, its name on top; no floor draws nothing."""
    if floor is None:
        return
    ax.axvline(floor, color=colour, linewidth=1.3, linestyle=dash)
    ax.annotate(label, (floor, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
                ha="center", va="bottom", color=colour, fontweight="bold" if dash == "-" else "normal")  # fmt: skip


def whole_numbers(ax: "Axes", which: str) -> None:
    """Put ticks on whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
