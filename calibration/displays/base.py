"""What every display can do: give its numbers, say what they show, and draw or tabulate it."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from ..studies.rates import Outcome
from .figures import NARROW, WIDE, drawing_style, inline_svg, new_axes
from .tables import table_html, templates

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Display(ABC):
    """One thing to look at; a notebook cell ends with it."""

    title: ClassVar[str]
    """Short name, the caption of its table."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """All numbers shown."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """What to see, in sentences."""

    @property
    def alt(self) -> str:
        """The same for those who do not see it."""
        return self.caption

    def __repr__(self) -> str:
        return f"{self.title}\n{self.frame()}\n.frame() gives all numbers."

    @abstractmethod
    def _repr_html_(self) -> str: ...


class FigureDisplay(Display):
    """A display that is drawn."""

    height: ClassVar[float] = 3.6
    narrow_height: ClassVar[float] = 3.6

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw on given axes, or on new ones that belong to no window."""
        with drawing_style():
            axes = new_axes(WIDE, self._height(narrow=False)) if ax is None else ax
            self._draw_or_say(axes, narrow=False)
        return axes

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw; the caption then says why."""
        return len(self.frame()) == 0

    def svg(self, *, narrow: bool = False) -> str:
        """Draw as inline SVG, wide or for a phone."""
        with drawing_style():
            ax = new_axes(NARROW if narrow else WIDE, self._height(narrow=narrow))
            self._draw_or_say(ax, narrow=narrow)
            return inline_svg(ax, self.alt)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.frame()}\n.plot() draws it, .frame() gives all numbers."

    @abstractmethod
    def _draw(self, ax: "Axes", *, narrow: bool) -> None: ...

    def _draw_or_say(self, ax: "Axes", *, narrow: bool) -> None:
        if self.empty:
            ax.text(0.5, 0.5, "nothing to draw", ha="center", va="center", transform=ax.transAxes)
            ax.set_axis_off()
        else:
            self._draw(ax, narrow=narrow)

    def _height(self, *, narrow: bool) -> float:
        return self.narrow_height if narrow else self.height

    def _table(self) -> Markup:
        return table_html(self.frame(), self.title)

    def _repr_html_(self) -> str:
        if self.empty:
            return templates().get_template("tables.html").render(style=style(), lead=self.caption, tables=[])
        return (
            templates()
            .get_template("figure.html")
            .render(
                style=style(),
                wide=Markup(self.svg()),  # noqa: S704 - written by matplotlib, which escapes, and by us
                narrow=Markup(self.svg(narrow=True)),  # noqa: S704
                caption=self.caption,
                table=self._table(),
            )
        )


class TableDisplay(Display):
    """A display that is one or several tables under a sentence."""

    def _tables(self) -> list[Markup]:
        return [table_html(self.frame(), self.title)]

    def _repr_html_(self) -> str:
        return templates().get_template("tables.html").render(style=style(), lead=self.caption, tables=self._tables())


def unseen(calibration: Calibration) -> Outcome | None:
    """Give the held-out outcome; None too where a floor rests on too few queries to hold any out."""
    return calibration.held_out if calibration.choice.held_out_floors else None


def style() -> Markup:
    """Give the little style a display brings along for notebooks; the report has its own."""
    return Markup(templates().get_template("style.html").render())  # noqa: S704


def thinned(frame: pd.DataFrame, rows: int = 40) -> pd.DataFrame:
    """Give evenly spaced rows of a long frame, the first and the last among them.

    Examples
    --------
    >>> thinned(pd.DataFrame({"x": range(9)}), 3)["x"].tolist()
    [0, 4, 8]
    """
    if len(frame) <= rows:
        return frame
    step = (len(frame) - 1) / (rows - 1)
    return frame.iloc[[round(i * step) for i in range(rows)]]
