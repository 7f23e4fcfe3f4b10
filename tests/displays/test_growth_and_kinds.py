"""What is said of a growing corpus, of kinds of queries, and of judgements in doubt."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from calibration.choose.ceiling import Ceiling
from calibration.choose.segments import Segment, Segments
from calibration.displays import CeilingDisplay, SegmentsDisplay, SuspectsDisplay
from calibration.studies.model import Calibration


def test_segments_show_counts_of_every_floor_on_every_kind(drawn: Calibration) -> None:
    paying = Segment("keywords", 40, 25, 0.42, 0.4, 0.2, 0.05, recommended=True, needed=None, reason="pays")
    other = Segment("question", 60, 25, None, None, None, None, recommended=False, needed=None, reason="too few")
    hits = np.array([[30, 50], [40, 60], [35, 58]])
    false_answers = np.array([[1, 2], [25, 25], [5, 6]])
    display = SegmentsDisplay(replace(drawn, segments=Segments((paying, other), (0.4, None), hits, false_answers)))
    assert display.frame()["segment"].tolist() == ["keywords", "question"]
    assert "pays for these: kind of query keywords 0.4." in display.caption
    last = display.matrix().iloc[-1]
    assert last["floor"] == drawn.floor
    assert (last["question"].text, last["question"].detail) == ("58 of 60 kept", "6 of 25 false answers")
    tables = BeautifulSoup(display._repr_html_(), "html.parser").select("table")
    assert [len(table.select("tbody tr")) for table in tables] == [2, 3]


def test_collections_stand_beside_kinds(drawn: Calibration) -> None:
    one = Segment("law", 40, 25, 0.42, 0.4, 0.01, 0.05, recommended=False, needed=90, reason="within noise")
    segments = Segments((one, replace(one, name="a_b")), (0.4, 0.4), np.ones((3, 2), int), np.ones((3, 2), int))
    display = SegmentsDisplay(replace(drawn, segments=segments, collections=segments))
    assert display.frame()["segment_by"].tolist() == ["kind", "kind", "collection", "collection"]
    assert "No kind of query earns" in display.caption
    assert "No collection earns" in display.caption
    tables = BeautifulSoup(display._repr_html_(), "html.parser").select("table")
    assert len(tables) == 4
    assert [head.get_text(strip=True) for head in tables[3].select("thead th")][2:] == ["law", "a_b"]
    only = SegmentsDisplay(replace(drawn, segments=None, collections=segments))
    assert len(only.matrix("kind")) == 0
    assert len(only.matrix("collection")) == 3


def test_without_segments_the_display_says_so(three_hits: Calibration) -> None:
    display = SegmentsDisplay(replace(three_hits, segments=None))
    assert "nothing is compared" in display.caption
    assert "<table" not in display._repr_html_()


def test_the_ceiling_says_when_it_is_not_extrapolated(drawn: Calibration) -> None:
    small = Ceiling(0.3, 80, np.array([80]), np.array([0.3]), None, None, None)
    display = CeilingDisplay(replace(drawn, ceiling=small))
    assert display.empty
    assert "80 passages it is not extrapolated" in display.caption


def test_the_ceiling_is_drawn_with_its_interval(drawn: Calibration) -> None:
    sizes = np.array([100, 300, 1000])
    grown = Ceiling(0.3, 1000, sizes, np.array([0.2, 0.25, 0.3]), 0.1, 0.08, 0.12)
    display = CeilingDisplay(replace(drawn, ceiling=grown))
    further = display.frame()[display.frame()["extrapolated"]]
    assert further["passages"].iloc[-1] == 10_000
    assert further["ceiling"].iloc[-1] == pytest.approx(0.4)
    assert further["low"].iloc[-1] == pytest.approx(0.38)
    assert "0.4 at ten times the corpus" in display.caption
    assert "<svg" in display._repr_html_()


def test_suspects_are_few_and_counted(drawn: Calibration) -> None:
    many = pd.DataFrame(
        {"query_id": [f"q{i}" for i in range(30)], "doc_id": "d", "relevance": 0, "similarity": 0.9, "why": "so"}
    )
    display = SuspectsDisplay(replace(drawn, suspects=many))
    soup = BeautifulSoup(display._repr_html_(), "html.parser")
    assert len(soup.select("tbody tr")) == 12
    assert "The first 12 of 30." in soup.get_text()
    assert SuspectsDisplay(replace(drawn, suspects=many.iloc[:0])).caption == "No judgement looks wrong by its score."
