"""Displays in a data scientist's hands: own axes, own settings, own files, and runs that were finished long ago."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree as ET

import made_calibrations
import made_hybrids
import made_options
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from made_calibrations import compared, two_models

from calibration import displays
from calibration.choose.ceiling import Ceiling
from calibration.displays import (
    BandsDisplay,
    CeilingDisplay,
    CurvesDisplay,
    Display,
    FailuresDisplay,
    FigureDisplay,
    GradesDisplay,
    PositionsDisplay,
    RatesDisplay,
    RiskCoverageDisplay,
)
from calibration.errors import ParameterError
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import migrate
from calibration.studies.model import Calibration

KINDS = [
    kind
    for kind in (getattr(displays, name) for name in displays.__all__)
    if inspect.isclass(kind) and not inspect.isabstract(kind)
]
NOT_MADE = {"ChangesDisplay", "BandShiftDisplay", "MovedRatesDisplay", "MovedQueriesDisplay"}
"""Displays of two compared runs; they need two run folders and are tested with them."""


@cache
def studied(parameter: str) -> object:
    makers = {
        "calibration": made_calibrations.sample,
        "comparison": lambda: compared(two_models()),
        "hybrid": made_hybrids.two_legs,
        "options": made_options.codes,
        "migration": lambda: migrate(MigrateParams()),
    }
    return makers[parameter]()


@cache
def with_more(kind: type[Display]) -> Calibration | None:
    """A calibration with something to draw where the usual one has nothing."""
    if kind is GradesDisplay:
        queries = [(f"q{i}", "answerable") for i in range(6)]
        qrels = [(q, f"d{grade}", grade) for q, _ in queries for grade in (0, 1, 2)]
        rows = [
            (q, f"d{grade}", 0.1 + 0.2 * grade + i / 100) for i, (q, _) in enumerate(queries) for grade in (0, 1, 2)
        ]
        return made_calibrations.made(queries, qrels, rows)
    if kind is CeilingDisplay:
        sizes = np.array([100, 300, 1000])
        return replace(
            made_calibrations.sample(), ceiling=Ceiling(0.3, 1000, sizes, np.array([0.2, 0.25, 0.3]), 0.1, 0.05, 0.15)
        )
    return None


def display_of(kind: type[Display]) -> Display:
    more = with_more(kind)
    if more is not None:
        return kind(more)  # type: ignore[call-arg]
    return kind(studied(next(iter(inspect.signature(kind).parameters))))  # type: ignore[call-arg]


ALL = [kind for kind in KINDS if kind.__name__ not in NOT_MADE]
FIGURES = [kind for kind in ALL if issubclass(kind, FigureDisplay)]
named = pytest.mark.parametrize


@pytest.fixture
def pyplot() -> Iterator[object]:
    """pyplot as a notebook uses it, with a user's taste of their own."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context():
        plt.style.use("ggplot")
        mpl.rcParams.update({"savefig.bbox": "tight", "figure.dpi": 50, "text.parse_math": True, "font.size": 17})
        yield plt
        plt.close("all")


# ---- axes


@named("kind", FIGURES, ids=lambda kind: kind.__name__)
def test_given_axes_come_back_with_the_drawing_and_nothing_is_left_open(kind, pyplot):
    figure, (left, right) = pyplot.subplots(1, 2)
    before, open_before = dict(mpl.rcParams), pyplot.get_fignums()
    display = display_of(kind)
    assert not display.empty
    assert display.plot(ax=left) is left
    assert display.ax_ is left
    assert display.figure_ is figure
    assert len(left.get_children()) > len(right.get_children()), "the drawing is on the axes that were given"
    new = display.plot()
    assert display.ax_ is new
    assert new.figure is not figure
    assert len(new.get_children()) > len(right.get_children())
    assert pyplot.get_fignums() == open_before
    assert dict(mpl.rcParams) == before


@named("kind", FIGURES, ids=lambda kind: kind.__name__)
def test_a_user_s_settings_change_no_picture(kind, pyplot):
    display = display_of(kind)
    theirs = display.svg()
    pyplot.style.use("default")
    mpl.rcParams["savefig.bbox"] = None
    assert display.svg() == theirs


def test_what_is_not_one_plane_axes_is_refused_in_words(pyplot):
    figure, axes = pyplot.subplots(2, 2)
    polar = pyplot.figure().add_subplot(projection="polar")
    display = display_of(CurvesDisplay)
    for wrong, words in (
        (axes, r"found ndarray of shape \(2, 2\); pass one of its elements"),
        (figure, "found Figure"),
        (polar, "found polar axes"),
        ("ax", "found str"),
    ):
        with pytest.raises(ParameterError, match=words):
            display.plot(wrong)


@named("kind", [CurvesDisplay, RiskCoverageDisplay], ids=lambda kind: kind.__name__)
def test_two_runs_share_axes_under_their_names(kind, pyplot):
    _, ax = pyplot.subplots()
    low, high = two_models()
    for study, name in ((low, "_low$x$"), (high, "high")):
        assert kind(study).plot(ax, name=name) is ax
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(said) == len(set(said)) == len(ax.get_lines())
    assert [sum(f", {name}" in text for text in said) for name in ("_low$x$", "high")] == [len(said) // 2] * 2
    curves = [line for line in ax.get_lines() if line.get_drawstyle() != "default"]
    styles = {(line.get_linestyle(), line.get_marker()) for line in curves}
    assert len(styles) == len(curves) == 4, "told apart without colour"
    assert len({line.get_color() for line in curves}) == 2
    values = kind(high).frame()["hit_rate" if kind is CurvesDisplay else "risk_high"]
    highest = max(float(np.nanmax(line.get_ydata())) for line in curves)
    assert highest >= values.max()
    left, right = ax.get_xlim()
    for line in curves:
        assert left <= min(line.get_xdata())
        assert max(line.get_xdata()) <= right


def test_other_figures_say_that_they_take_no_name():
    with pytest.raises(ParameterError, match=r"cannot share its axes.*CurvesDisplay"):
        display_of(BandsDisplay).plot(name="a")


# ---- files


@named("kind", FIGURES, ids=lambda kind: kind.__name__)
def test_a_figure_is_the_same_file_twice_and_says_what_it_shows(kind, tmp_path):
    display = display_of(kind)
    for ending in ("svg", "png"):
        one, two = display.save(tmp_path / f"1.{ending}"), display.save(str(tmp_path / f"2.{ending}"))
        assert one.read_bytes() == two.read_bytes()
    text = (tmp_path / "1.svg").read_text(encoding="utf-8")
    root = ET.fromstring(text)  # noqa: S314 - our own
    assert root.find("{*}title").text == display.title
    assert " ".join(next(root.iter("{http://purl.org/dc/elements/1.1/}description")).text.split()) == display.alt
    assert "var(" not in text, "drawing programs know no variables"
    from matplotlib.image import imread

    image = imread(tmp_path / "1.png")
    assert image.shape[1] == 1480
    assert image[0, 0].tolist() == [1.0, 1.0, 1.0, 1.0], "on white, wherever it is put"
    assert image.std() > 0.01
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.png", "1.svg", "2.png", "2.svg"]


def test_hostile_texts_make_well_formed_files(tmp_path):
    for kind in FIGURES:
        if next(iter(inspect.signature(kind).parameters)) == "calibration":
            path = kind(made_calibrations.hostile()).save(tmp_path / f"{kind.__name__}.svg")
            names = {element.tag.split("}")[1] for element in ET.parse(path).iter()}  # noqa: S314 - our own
            assert not names & {"script", "image", "foreignObject"}


@named("kind", ALL, ids=lambda kind: kind.__name__)
def test_tables_come_back_with_their_types(kind, tmp_path):
    display = display_of(kind)
    frame = display.frame()
    again = pd.read_parquet(display.save(tmp_path / "t.parquet"))
    pd.testing.assert_frame_equal(again, frame, check_dtype=False)
    typed = [name for name in frame.columns if frame[name].dtype != object]
    assert again[typed].dtypes.tolist() == frame[typed].dtypes.tolist()
    plain = pd.read_csv(
        display.save(tmp_path / "t.csv"), keep_default_na=False, na_values=[""], dtype_backend="numpy_nullable"
    )
    assert plain.columns.tolist() == frame.columns.tolist()
    assert len(plain) == len(frame)
    for name in frame.select_dtypes("number"):
        expected = frame[name].astype("Float64")
        got = plain[name].astype("Float64")
        assert got.isna().tolist() == expected.isna().tolist(), "missing stays missing, 0.0 stays 0.0"
        assert got.dropna().tolist() == expected.dropna().tolist(), "to the last digit"
        if frame[name].dtype.kind == "i" and len(frame):
            assert plain[name].dtype == "Int64"


def test_zero_and_missing_in_csv(tmp_path):
    study = made_calibrations.made(
        [("q", "answerable"), ("r", "answerable"), ("o", "off_topic")],
        [("q", "d", 1), ("r", "e", 1)],
        [("q", "x", 0.4), ("q", "d", 0.0), ("r", "x", 0.5), ("o", "d", -0.2)],
    )
    display = FailuresDisplay(study)
    lines = display.save(tmp_path / "t.csv").read_bytes().split(b"\n")
    heads = lines[0].decode().split(",")
    rows = {line.split(b",")[0].decode(): line.decode().split(",") for line in lines[1:] if line}
    best = heads.index("best_relevant")
    assert {name: row[best] for name, row in rows.items() if name in "qr"} == {
        name: value for name, value in (("q", "0.0"), ("r", "")) if name in rows
    }
    assert "r" in rows, "its answer was never a candidate"
    scored = pd.read_parquet(display.save(tmp_path / "t.parquet")).set_index("query_id")["best_relevant"]
    assert pd.isna(scored["r"])


def test_a_wrong_name_is_refused_and_nothing_is_written(tmp_path):
    curves, rates = display_of(CurvesDisplay), display_of(RatesDisplay)
    for display, name, words in (
        (curves, "a.jpg", r"'a.jpg'; a name may end in .svg, .png, .csv, .parquet"),
        (curves, "noending", "cannot be saved as 'noending'"),
        (rates, "a.svg", r"a name may end in .csv, .parquet\."),
        (curves, "no/folder/a.svg", "there is no folder"),
    ):
        with pytest.raises(ParameterError, match=words):
            display.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert curves.save(tmp_path / "A.SVG").is_file()


@named("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_frame_is_the_reader_s_own(kind):
    display = display_of(kind)
    frame = display.frame()
    frame["scribble"] = 1
    assert "scribble" not in display.frame().columns


def test_html_escapes_what_comes_from_outside():
    html = FailuresDisplay(made_calibrations.hostile())._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not re.search(r"<[^>]+ onmouseover=", html)


def test_a_notebook_shows_the_picture_of_a_display_without_pyplot():
    html = display_of(PositionsDisplay)._repr_html_()
    assert html.count("<svg") == 2
    assert "<figcaption>" in html
