"""What the displays of an options study say, on a search made by hand."""

import inspect
from xml.etree import ElementTree as ET

import made_options
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from calibration import displays
from calibration.displays import (
    CaveatsDisplay,
    Display,
    FigureDisplay,
    OptionErrorsDisplay,
    OptionIdentifiersDisplay,
    OptionPairsDisplay,
    OptionRatesDisplay,
    OptionUpkeepDisplay,
    OptionVerdictsDisplay,
    ReproduceDisplay,
)
from calibration.studies.options.study import Options

OF_OPTIONS = [
    kind
    for kind in (getattr(displays, name) for name in displays.__all__)
    if next(iter(inspect.signature(kind).parameters), None) == "options"
]
CASES = ("codes", "alike", "hostile")


@pytest.fixture
def study(request: pytest.FixtureRequest) -> Options:
    return getattr(made_options, request.param)()


def test_all_six_are_found_by_their_parameter() -> None:
    assert len(OF_OPTIONS) == 6


@pytest.mark.parametrize("study", CASES, indirect=True)
@pytest.mark.parametrize("kind", [*OF_OPTIONS, CaveatsDisplay, ReproduceDisplay], ids=lambda kind: kind.__name__)
def test_every_display_gives_numbers_words_and_html(kind: type[Display], study: Options) -> None:
    display = kind(study)
    assert isinstance(display.frame(), pd.DataFrame)
    assert display.caption.endswith((".", "…", "!"))
    assert "None" not in display.caption
    assert "nan" not in display.caption
    html = BeautifulSoup(display._repr_html_(), "html.parser")
    assert html.find_all(["script", "img", "iframe"]) == []
    assert "None" not in html.get_text()
    for table in html.find_all("table"):
        assert table.find("caption").get_text().strip()
    if isinstance(display, FigureDisplay):
        for narrow in (False, True):
            root = ET.fromstring(display.svg(narrow=narrow))  # noqa: S314 - our own
            assert root.get("aria-label") == display.alt
        assert display.plot() is not None


def test_each_concern_has_one_verdict_to_read() -> None:
    display = OptionVerdictsDisplay(made_options.codes())
    html = BeautifulSoup(display._repr_html_(), "html.parser")
    said = [line.get_text() for line in html.select(".cal-status")]
    assert said == [
        "If you can least afford lost answers: hybrid",
        "If you can least afford false answers: hybrid",
        "If you can least afford a long context: hybrid, no measurable difference",
        "If you can least afford upkeep: global floor",
    ]
    nothing = BeautifulSoup(OptionVerdictsDisplay(made_options.alike())._repr_html_(), "html.parser")
    said = [line.get_text() for line in nothing.select(".cal-status")]
    assert said[0].endswith("top-K alone, no measurable difference")
    assert said[1].endswith("not measured")


def test_every_option_stands_in_the_table_or_is_said_to_be_missing() -> None:
    html = BeautifulSoup(OptionRatesDisplay(made_options.codes())._repr_html_(), "html.parser")
    heads = [head.get_text() for head in html.select("thead th")]
    assert heads[-5:] == ["global floor", "floor per kind", "top-K alone", "rerank", "hybrid"]
    cells = {row.th.get_text(" ", strip=True): row for row in html.select("tbody tr")}
    (hit,) = [row for name, row in cells.items() if name.startswith("Hit rate")]
    assert "of 48" in hit.th.get_text()
    assert "36 [" in hit.select("td")[2].get_text()
    assert any(name.startswith("Tokens") for name in cells)
    bare = OptionRatesDisplay(made_options.alike())._repr_html_()
    assert "rerank was not measured: the passages have no texts here." in bare
    assert "global floor was not measured: these labels support no floor" in bare


def test_the_frame_has_every_rate_with_its_interval() -> None:
    frame = OptionRatesDisplay(made_options.codes()).frame().set_index(["option", "rate"])
    row = frame.loc[("rerank", "false_answer_rate_off_topic")]
    assert (row["numerator"], row["denominator"], row["value"]) == (0, 30, 0.0)
    assert row["high"] > 0.05
    assert frame.loc[("hybrid", "recall_grade_1"), "denominator"] == 48


def test_the_figure_draws_both_errors_where_they_are() -> None:
    display = OptionErrorsDisplay(made_options.codes())
    frame = display.frame().set_index(["option", "error"])
    assert frame.loc[("top-K alone", "lost answers"), "numerator"] == 12
    assert frame.loc[("top-K alone", "false answers"), "value"] == 1.0
    marks = [line for line in display.plot().lines if line.get_marker() in ("o", "s")]
    assert sorted(float(line.get_xdata()[0]) for line in marks) == pytest.approx(sorted(frame["value"]))
    assert "top-K alone loses 12 of 48 answers and answers 30 of 30 off-topic queries" in display.caption


def test_identifiers_say_what_words_find_alone() -> None:
    caption = OptionIdentifiersDisplay(made_options.codes()).caption
    assert "12 answerable identifier queries" in caption
    assert "Words find an answer for 12 of 12 that the vectors miss (100%, 76–100%)" in caption
    assert "the hybrid search keeps 12 that global floor loses and loses 0 that it keeps" in caption
    assert "was not measured" in OptionIdentifiersDisplay(made_options.alike()).caption


def test_floors_can_be_copied_and_name_their_score() -> None:
    display = OptionUpkeepDisplay(made_options.codes())
    frame = display.frame()
    html = display._repr_html_()
    assert all(repr(float(value)) in html for value in frame["floor"])
    assert set(frame["metric"]) == {"cosine_similarity", "ts_rank", "maxsim"}
    assert "Rerank was timed 5 times: made up." in html


def test_pairs_say_how_they_are_compared() -> None:
    display = OptionPairsDisplay(made_options.codes())
    frame = display.frame()
    assert (frame["concern"] == "lost answers").sum() == 10, "every pair of five options"
    row = frame[
        (frame["concern"] == "lost answers") & (frame["first"] == "top-K alone") & (frame["second"] == "hybrid")
    ]
    assert row[["first_better", "second_better"]].to_numpy().tolist() == [[0, 12]]
    assert row["measurable"].item()
    assert "below 5%" in display.caption
