"""matplotlib figures as inline SVG: no pyplot, no state, real text, colours that follow the page."""

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from .palette import COLOUR, with_variables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE, NARROW = 7.4, 3.9
"""Inches; the page shows the narrow drawing on a phone."""

_TAG = re.compile(r"<[^>]+>")
_STYLE = re.compile(r'style="([^"]*)"')
_ID = re.compile(r' id="([^"]*)"')
_PATH = re.compile(r' d="([^"]*)"')
_DECIMALS = re.compile(r"(\d+\.\d\d)\d+")
_REFERENCE = re.compile(r'(?<=url\(#)[^)]+(?=\))|(?<=href="#)[^"]+(?=")')


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with our settings and leave the caller's alone; dollar signs are never read as mathematics."""
    import matplotlib as mpl

    settings: Any = {
        "text.parse_math": False,
        "text.usetex": False,
        "axes.formatter.use_mathtext": False,
        "font.family": "DejaVu Sans",
        "font.size": 9.0,
        "axes.titlesize": 9.0,
        "axes.labelsize": 9.0,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "text.color": COLOUR["ink"],
        "axes.labelcolor": COLOUR["muted"],
        "axes.edgecolor": COLOUR["muted"],
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "xtick.color": COLOUR["muted"],
        "ytick.color": COLOUR["muted"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": COLOUR["line"],
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "calibration",
    }
    with mpl.rc_context(), warnings.catch_warnings():
        # from matplotlib's defaults, so that a style or a matplotlibrc of the user's does not change a report
        mpl.rcdefaults()
        mpl.rcParams.update(settings)
        # a font without a foreign glyph only makes the layout guess; the browser draws the text
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        yield


def new_axes(width: float, height: float) -> "Axes":
    """Make axes on a figure of their own, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure.add_subplot()


def one_axes(ax: object, title: str) -> None:
    """Refuse what cannot be drawn on.

    Raises
    ------
    ParameterError
        A figure, several axes at once, or axes that are not plane and rectangular.
    """
    from matplotlib.axes import Axes

    if isinstance(ax, Axes) and ax.name == "rectilinear":
        return
    shape = getattr(ax, "shape", None)
    found = f"{ax.name} axes" if isinstance(ax, Axes) else type(ax).__name__
    several = "" if shape is None else f" of shape {shape}; pass one of its elements"
    raise ParameterError(f"“{title}” is drawn on one rectangular matplotlib Axes; found {found}{several}.")


def inline_svg(ax: "Axes", alt: str) -> str:
    """Turn the figure of some axes into an SVG element for an HTML page; the same figure gives the same bytes."""
    buffer = io.StringIO()
    figure: Any = ax.figure
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # matplotlib's own style sheet would apply to the whole page
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*</defs>\s*", "", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return _labelled(_own_ids(_TAG.sub(_plain_tag, svg)), alt)


def _plain_tag(found: re.Match[str]) -> str:
    """Rewrite one tag; texts between tags are never touched, whatever they look like."""
    tag = _STYLE.sub(lambda style: f'style="{with_variables(style[1])}"', found[0])
    return _PATH.sub(_shorter_path, tag)


def _shorter_path(found: re.Match[str]) -> str:
    numbers = _DECIMALS.sub(r"\1", " ".join(found[1].split()))
    return f' d="{numbers}"'


def _own_ids(svg: str) -> str:
    """Drop ids nobody refers to and make the others the figure's own."""
    prefix = "c" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    used = {name for tag in _TAG.findall(svg) for name in _REFERENCE.findall(tag)}

    def rename(found: re.Match[str]) -> str:
        tag = _ID.sub(lambda name: f' id="{prefix}-{name[1]}"' if name[1] in used else "", found[0])
        return _REFERENCE.sub(lambda name: f"{prefix}-{name[0]}", tag)

    return _TAG.sub(rename, svg)


def _labelled(svg: str, alt: str) -> str:
    end = svg.index(">")
    view_box = re.search(r'viewBox="([^"]*)"', svg[:end])
    box = view_box[1] if view_box else "0 0 100 100"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{box}" '
        f'role="img" aria-label="{escape(alt)}" style="stroke-linejoin: round; stroke-linecap: butt">'
    )
    return re.sub(r"\n\s*", "\n", opening + svg[end + 1 :].strip())
