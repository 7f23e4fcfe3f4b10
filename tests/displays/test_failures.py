"""Failing queries: near misses first, what accepted what, and the way into the explorer."""

from dataclasses import replace

import pytest
from bs4 import BeautifulSoup, Tag
from made_calibrations import made

from calibration.displays import FailuresDisplay
from calibration.studies.model import Calibration
from calibration.studies.rates import outcome

QUERIES = [
    ("far", "answerable"),
    ("near", "answerable"),
    ("deep", "answerable"),
    ("deeper", "answerable"),
    ("fine", "answerable"),
    ("faint", "off_topic"),
    ("loud", "off_topic"),
]
ROWS = [
    ("far", "d1", 0.2), ("near", "d2", 0.45), ("near", "wrong", 0.6),
    ("deep", "w1", 0.9), ("deep", "w2", 0.8), ("deep", "d3", 0.7),
    ("deeper", "w1", 0.9), ("deeper", "w2", 0.8), ("deeper", "w3", 0.75), ("deeper", "d4", 0.7),
    ("fine", "d5", 0.8), ("faint", "d5", 0.55), ("loud", "d5", 0.65),
]  # fmt: skip
QRELS = [("far", "d1", 1), ("near", "d2", 1), ("deep", "d3", 1), ("deeper", "d4", 1), ("fine", "d5", 1)]


@pytest.fixture
def at_half() -> Calibration:
    """Floor 0.5 and K = 2, applied by the library."""
    found = made(QUERIES, QRELS, ROWS, top_k=2)
    return replace(found, in_sample=outcome(found.scores, found.labels, found.table, 0.5, 2, seed=1))


def listed(display: FailuresDisplay) -> list[Tag]:
    return BeautifulSoup(display._repr_html_(), "html.parser").find_all("table")[1].select("tbody tr")


def test_near_misses_come_first_and_so_do_the_surest_wrong_answers(at_half: Calibration) -> None:
    frame = FailuresDisplay(at_half).frame()
    assert frame["query_id"].tolist() == ["deep", "deeper", "near", "far", "loud", "faint"]
    assert frame["what"].tolist() == ["rank miss"] * 2 + ["floor miss"] * 2 + ["off-topic but answered"] * 2
    assert frame["margin"].round(6).tolist()[2:4] == [0.05, 0.3]
    assert frame["margin"].notna().sum() == 2, "only a floor miss lacks similarity"


def test_what_accepted_what_is_said(at_half: Calibration) -> None:
    frame = FailuresDisplay(at_half).frame().set_index("query_id")
    assert frame["n_accepted"].to_dict() == {"deep": 2, "deeper": 2, "near": 1, "far": 0, "loud": 1, "faint": 1}
    assert frame["first_accepted"].dropna().to_dict() == {
        "deep": "w1", "deeper": "w1", "near": "wrong", "loud": "d5", "faint": "d5",
    }  # fmt: skip
    rows = {row.th.get_text(): row.get_text(" ", strip=True) for row in listed(FailuresDisplay(at_half))}
    assert "0.45 rank 2, lacks 0.05" in rows["near"]
    assert "1 first: wrong" in rows["near"]
    assert rows["far"].endswith("nothing")


def test_texts_of_passages_stand_there_only_when_they_were_asked_for(at_half: Calibration) -> None:
    assert "what d5 says" not in FailuresDisplay(at_half)._repr_html_()
    display = FailuresDisplay(replace(at_half, texts={"d5": "what d5 says", "loud": "what loud asks"}))
    (row,) = [row.get_text(" ", strip=True) for row in listed(display) if row.th.get_text() == "loud"]
    assert "first: d5: what d5 says" in row
    assert row.endswith("what loud asks")


def test_each_row_names_the_place_of_its_query_in_the_explorer(at_half: Calibration) -> None:
    places = {
        row.th.get_text(): int(row.select_one("[data-query]")["data-query"]) for row in listed(FailuresDisplay(at_half))
    }
    assert places == {name: place for place, (name, _) in enumerate(QUERIES) if name != "fine"}
