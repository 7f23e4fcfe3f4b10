"""What the displays of a hybrid study say, on logs checkable by hand."""

import inspect
from xml.etree import ElementTree as ET

import made_hybrids
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from calibration import displays
from calibration.displays import (
    CaveatsDisplay,
    CollapseDisplay,
    DepthDisplay,
    Display,
    FigureDisplay,
    GateDesignsDisplay,
    GatesDisplay,
    LegsDisplay,
    RangesDisplay,
    ReproduceDisplay,
    SeparationDisplay,
)
from calibration.studies.hybrid.study import Hybrid

OF_HYBRID = [
    kind
    for kind in (getattr(displays, name) for name in displays.__all__)
    if next(iter(inspect.signature(kind).parameters), None) == "hybrid"
]
CASES = ("two_legs", "one_query", "no_similarity", "hostile")


@pytest.fixture
def study(request: pytest.FixtureRequest) -> Hybrid:
    return getattr(made_hybrids, request.param)()


def test_all_seven_are_found_by_their_parameter() -> None:
    assert len(OF_HYBRID) == 7


@pytest.mark.parametrize("study", CASES, indirect=True)
@pytest.mark.parametrize("kind", [*OF_HYBRID, CaveatsDisplay, ReproduceDisplay], ids=lambda kind: kind.__name__)
def test_every_display_gives_numbers_words_and_html(kind: type[Display], study: Hybrid) -> None:
    display = kind(study)
    assert isinstance(display.frame(), pd.DataFrame)
    assert display.caption.endswith((".", "…", "!"))
    assert "None" not in display.caption
    assert "nan" not in display.caption
    html = BeautifulSoup(display._repr_html_(), "html.parser")
    assert html.find_all(["script", "img", "iframe"]) == []
    for table in html.find_all("table"):
        assert table.find("caption").get_text().strip()
    if isinstance(display, FigureDisplay):
        for narrow in (False, True):
            root = ET.fromstring(display.svg(narrow=narrow))  # noqa: S314 - our own
            assert root.get("aria-label") == display.alt
        assert display.plot() is not None


def test_ranges_name_what_carries_no_floor_and_why() -> None:
    display = RangesDisplay(made_hybrids.two_legs())
    frame = display.frame().set_index("score")
    assert frame.loc[["rrf", "minmax_sum"], "carries_floor"].tolist() == [False, False]
    assert frame.loc["similarity", "carries_floor"]
    assert frame["floor"].isna().loc["rrf"]
    assert "No floor can stand on rrf or minmax sum" in display.caption
    assert "depends on ranks only" in display._repr_html_()


def test_both_aucs_and_the_tied_pair_stand_in_one_figure() -> None:
    display = SeparationDisplay(made_hybrids.two_legs())
    pair = made_hybrids.two_legs().pair
    assert pair is not None
    svg = display.svg()
    assert "raw similarity: AUC" in svg
    assert "fused score (rrf): AUC" in svg
    assert pair.on_topic in display.caption
    assert pair.off_topic in display.caption
    assert f"both best candidates score {pair.score:.4f} by rrf" in display.caption
    panels = display.plot().child_axes
    rings = [line for ax in panels for line in ax.lines if line.get_markersize() == 9]
    assert [ring.get_xdata()[0] for ring in rings[2:]] == pytest.approx([pair.score] * 2)
    assert rings[0].get_xdata()[0] - rings[1].get_xdata()[0] > 0.3


def test_collapse_says_the_sentence_with_its_counts() -> None:
    display = CollapseDisplay(made_hybrids.two_legs())
    assert "On similarity 0.5 keeps 83.3% of relevant candidates (20 of 24)" in display.caption
    assert "on lexical 0.5 keeps 0% of relevant candidates (0 of 24)" in display.caption
    assert "rrf and minmax_sum cannot be cut at all" in display.caption
    frame = display.frame().set_index("score")
    assert frame.loc["similarity", ["kept", "relevant"]].tolist() == [20, 24]
    assert frame.loc["similarity", "share_at_pass_through"] == 1.0
    assert frame["share"].isna().loc["rrf"]


def test_the_gate_before_the_fusion_loses_the_codes() -> None:
    display = GatesDisplay(made_hybrids.two_legs())
    assert "before the fusion, 0.5 leaves 20 of 24 relevant passages within the first 2" in display.caption
    assert "loses 4 of 24 strong lexical candidates" in display.caption
    near = made_hybrids.two_legs().get("similarity")
    assert near is not None
    assert near.pass_through == 0.1
    assert "pass everything from 0.1 on" in display.caption


def test_legs_name_the_kind_for_which_words_pay() -> None:
    display = LegsDisplay(made_hybrids.two_legs())
    assert "Of code queries, words alone find an answer for" in display.caption
    frame = display.frame().set_index("kind")
    assert frame.loc["all", "n"] == 24
    assert frame.loc["code", "only_lexical"] >= 2
    assert frame.loc["question", "only_lexical"] == 0


def test_depth_reaches_all_that_the_legs_returned() -> None:
    frame = DepthDisplay(made_hybrids.two_legs()).frame()
    assert frame.loc[(frame["leg"] == "either") & (frame["depth"] == 6), "found"].item() == 24


def test_designs_show_the_recommended_one_first_and_say_the_rule() -> None:
    found = made_hybrids.two_legs()
    display = GateDesignsDisplay(found)
    assert found.recommended == "lexical floor", "codes and questions alike are found by their words here"
    assert "A candidate passes with lexical at or above" in display.caption
    assert "similarity at or above" not in display.caption
    assert f"“{found.recommended}” costs least" in display.caption
    heads = [head.get_text() for head in BeautifulSoup(display._repr_html_(), "html.parser").select("thead th")]
    assert next(filter(None, heads)) == found.recommended
    assert "cannot return nothing" in GateDesignsDisplay(made_hybrids.one_query()).caption


def test_names_of_two_thresholds_stand_apart() -> None:
    found = made_hybrids.two_legs()
    ax = GatesDisplay(found).plot()
    proposed, gate = (
        next(text for text in ax.texts if text.get_text().startswith(word)) for word in ("proposed", "gate")
    )
    assert found.params.proposed_threshold > found.get("similarity").pass_through
    assert (proposed.get_horizontalalignment(), gate.get_horizontalalignment()) == ("left", "right")
