"""What holds for every display, whatever the calibration."""

import inspect
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import made_calibrations
import matplotlib as mpl
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from calibration import displays
from calibration.displays import ComparisonDisplay, Display, FigureDisplay, ModelBandsDisplay
from calibration.studies.model import Calibration

OF_ONE = [
    kind
    for kind in (getattr(displays, name) for name in displays.__all__)
    if next(iter(inspect.signature(kind).parameters), None) == "calibration"
]
"""Displays of one calibration; those of other studies take something else."""
FIGURES = [kind for kind in OF_ONE if issubclass(kind, FigureDisplay)]
CASES = ("sample", "three_hits", "nothing_relevant", "hostile")


@pytest.fixture
def calibration(request: pytest.FixtureRequest) -> Calibration:
    return getattr(made_calibrations, request.param)()


@pytest.fixture
def drawn() -> Calibration:
    return made_calibrations.sample()


@pytest.mark.parametrize("calibration", CASES, indirect=True)
@pytest.mark.parametrize("kind", OF_ONE, ids=lambda kind: kind.__name__)
def test_every_display_gives_numbers_words_and_html(kind: type[Display], calibration: Calibration) -> None:
    display = kind(calibration)
    assert isinstance(display.frame(), pd.DataFrame)
    assert display.caption.endswith((".", "…", "!"))
    assert display.caption in display.alt
    assert kind.title in repr(display)
    html = BeautifulSoup(display._repr_html_(), "html.parser")
    assert html.find_all(["script", "img", "iframe", "object", "link"]) == []
    assert not [name for tag in html.find_all(True) for name in tag.attrs if name.startswith("on")]
    for table in html.find_all("table"):
        assert table.find("caption").get_text().strip()
        assert all(head.get("scope") == "col" for head in table.select("thead th"))
        assert all(head.get("scope") == "row" for head in table.select("tbody th"))
        assert len(table.select("tbody th")) == len(table.select("tbody tr"))


@pytest.mark.parametrize("calibration", CASES, indirect=True)
@pytest.mark.parametrize("kind", FIGURES, ids=lambda kind: kind.__name__)
def test_every_figure_is_an_accessible_self_contained_svg(kind: type[FigureDisplay], calibration: Calibration) -> None:
    display = kind(calibration)
    for narrow in (False, True):
        svg = display.svg(narrow=narrow)
        root = ET.fromstring(svg)  # noqa: S314 - our own; well-formed, whatever the labels hold
        assert root.get("role") == "img"
        assert root.get("aria-label") == display.alt
        names = {element.tag.split("}")[1] for element in root.iter()}
        assert not names & {"style", "script", "metadata", "image", "foreignObject"}
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        references = re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", re.sub(r">[^<]*<", "><", svg))
        assert set(references) <= set(ids)


def test_ids_of_two_figures_do_not_clash_and_the_same_numbers_give_the_same_bytes(drawn: Calibration) -> None:
    pages = [kind(drawn).svg(narrow=narrow) for kind in FIGURES for narrow in (False, True)]
    assert pages[::2] == [kind(drawn).svg() for kind in FIGURES]
    ids = [name for svg in pages for name in re.findall(r' id="([^"]+)"', svg)]
    assert ids
    assert len(ids) == len(set(ids))


def test_plot_draws_on_given_axes_and_leaves_the_settings_alone(drawn: Calibration) -> None:
    from matplotlib.figure import Figure

    before = dict(mpl.rcParams)
    for kind in FIGURES:
        ax = Figure().add_subplot()
        assert kind(drawn).plot(ax) is ax
        assert kind(drawn).plot().figure is not ax.figure
    assert dict(mpl.rcParams) == before


def test_importing_displays_neither_loads_matplotlib_nor_pyplot_ever() -> None:
    code = (
        "import sys, calibration.displays; assert 'matplotlib' not in sys.modules\n"
        "from calibration.displays.figures import new_axes, inline_svg, drawing_style\n"
        "with drawing_style(): inline_svg(new_axes(2, 2), 'x')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dollar_signs_and_foreign_scripts_are_labels_not_mathematics() -> None:
    one, other = made_calibrations.two_models()
    comparison = made_calibrations.compared([replace(one, name="a$x^2$b"), replace(other, name="日本 </text>")])
    for kind in (ComparisonDisplay, ModelBandsDisplay):
        texts = " ".join(node.get_text() for node in BeautifulSoup(kind(comparison).svg(), "html.parser")("text"))
        assert "a$x^2$b" in texts
        assert "日本 </text>" in texts


def test_long_words_are_cut_with_an_ellipsis() -> None:
    hostile = made_calibrations.hostile()
    for kind in OF_ONE:
        text = BeautifulSoup(kind(hostile)._repr_html_(), "html.parser").get_text()
        longest = max((len(word) for word in text.split()), default=0)
        assert longest <= 2000, kind.__name__
