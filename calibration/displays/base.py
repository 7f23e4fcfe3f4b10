"""What every display can do: give its numbers, say what they show, and draw or tabulate it."""

import inspect
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pandas as pd
from markupsafe import Markup

from ..errors import ParameterError
from ..studies.model import Calibration
from ..studies.rates import Outcome
from .figures import NARROW, WIDE, drawing_style, inline_svg, new_axes, one_axes
from .saving import FIGURES, TABLES, kind_of, save_figure, save_table
from .tables import table_html, templates
from .texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display(ABC):
    """One thing to look at; a notebook cell ends with it.

    A display is made of what a study returned, or of a finished run's folder; it computes nothing before it is asked.
    """

    title: ClassVar[str]
    """Short name, the caption of its table."""

    @classmethod
    def from_run(cls, folder: Path | str) -> Self:
        """Show a finished run: the folder of one model, as `calibrate run` leaves it; see `read_run`.

        To show several displays of one run, read it once: `study = read_run(folder)`.

        Raises
        ------
        ParameterError
            This is no display of one run, or the folder does not hold one.
        """
        from .run_folder import read_run

        if next(iter(inspect.signature(cls).parameters), None) != "calibration":
            raise ParameterError(f"{cls.__name__} does not show one run; give it what its study returns.")
        make: Any = cls
        shown: Self = make(read_run(folder))
        return shown

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """All numbers shown, in a frame of the caller's own."""

    def save(self, path: Path | str) -> Path:
        """Write a file, its kind told by the ending of its name, and give its path.

        `.csv` and `.parquet` hold `frame()`; of a figure there are `.svg` and `.png` too.

        Raises
        ------
        ParameterError
            Another ending, or a folder that is not there.
        """
        path = Path(path)
        self._save(path, kind_of(path, self.kinds, self.title))
        return path

    kinds: ClassVar[tuple[str, ...]] = TABLES
    """Endings of the files it can be saved as."""

    def _save(self, path: Path, kind: str) -> None:
        save_table(self.frame(), path, kind)

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
    """A display that is drawn.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where `plot` drew last.
    """

    height: ClassVar[float] = 3.6
    narrow_height: ClassVar[float] = 3.6
    kinds: ClassVar[tuple[str, ...]] = (*FIGURES, *TABLES)
    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def plot(self, ax: "Axes | None" = None, *, name: str | None = None) -> "Axes":
        """Draw on given axes, or on new ones that belong to no window, and give the axes.

        A notebook cell that ends with the display itself shows the picture, its caption and its numbers; this is for
        figures of your own. Nothing is opened or shown, and no setting of matplotlib is changed.

        Parameters
        ----------
        ax : Axes, optional
            One Axes; its title and size are left alone.
        name : str, optional
            Draw the main curves only and call them by this name, so that several runs share one Axes. `CurvesDisplay`
            and `RiskCoverageDisplay` can.

        Raises
        ------
        ParameterError
            `ax` is something else than one Axes, or this figure cannot share them.
        """
        if ax is not None:
            one_axes(ax, self.title)
        with drawing_style():
            axes = new_axes(WIDE, self._height(narrow=False)) if ax is None else ax
            if name is None:
                self._draw_or_say(axes, narrow=False)
            else:
                self._draw_named(axes, shorten(name))
        self.ax_, self.figure_ = axes, axes.figure
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

    def _save(self, path: Path, kind: str) -> None:
        if kind in TABLES:
            super()._save(path, kind)
            return
        with drawing_style():
            ax = new_axes(WIDE, self._height(narrow=False))
            self._draw_or_say(ax, narrow=False)
            save_figure(ax, path, kind, title=self.title, alt=self.alt)

    @abstractmethod
    def _draw(self, ax: "Axes", *, narrow: bool) -> None: ...

    def _draw_named(self, ax: "Axes", name: str) -> None:
        raise ParameterError(
            f"“{self.title}” cannot share its axes, so it takes no name (found {name!r}); give each run axes of its "
            "own, or compare runs with CurvesDisplay or RiskCoverageDisplay."
        )

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
