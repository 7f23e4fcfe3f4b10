"""The explorer's table and the numbers the page computes on."""

import base64
import json
from dataclasses import replace

import made_calibrations
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from made_calibrations import made

from calibration.displays import ExplorerDisplay
from calibration.displays.explorer_data import as_json, explorer_data, floor_stops, kept_queries
from calibration.scores import judged_top
from calibration.studies.model import Calibration
from calibration.studies.rates import outcome


def decoded(rows: str) -> np.ndarray:
    return np.array([np.frombuffer(base64.b64decode(row), "<f8") for row in rows.split(",")])


def test_the_table_says_what_the_library_says_of_each_floor(drawn: Calibration) -> None:
    frame = ExplorerDisplay(drawn).frame()
    floors = frame["floor"].unique()
    assert np.isnan(floors[0])
    assert {drawn.floor, 0.78} <= set(floors)
    assert 6 <= len(floors) <= 8
    for floor in floors:
        asked = None if np.isnan(floor) else float(floor)
        found = outcome(drawn.scores, drawn.labels, drawn.table, asked, drawn.top_k.value, seed=1)
        here = frame[frame["floor"].isna() if asked is None else frame["floor"] == floor].set_index("rate")
        for name in ("hit_rate", "coverage", "precision_low", "false_answer_rate_probes"):
            rate = found.rates[name]
            assert (here.loc[name, "numerator"], here.loc[name, "denominator"]) == (rate.numerator, rate.denominator)


def test_the_page_holds_the_similarities_to_the_last_bit_and_no_text(drawn: Calibration) -> None:
    data = explorer_data(replace(drawn, texts={}))
    similarity = decoded(data["similarity"])
    assert similarity.shape == (len(drawn.table), 10)
    top = judged_top(drawn.scores, drawn.labels)
    row = drawn.table["query_id"].tolist().index("q007")
    mine = top[(top["query_id"] == "q007") & (top["rank"] <= 10)].sort_values("rank")
    assert similarity[row].tolist() == mine["similarity"].tolist()
    states = data["states"][row * 10 : row * 10 + 10]
    assert [{"+": "relevant", "-": "noise", ".": "unjudged"}[state] for state in states] == mine["state"].tolist()
    assert "texts" not in data
    assert "text of" not in as_json(data)


def test_texts_come_only_when_they_were_asked_for() -> None:
    found = made([("q", "answerable")], [("q", "d", 1)], [("q", "d", 0.9)], texts={"q": "what is it? " * 100})
    (text,) = explorer_data(found)["texts"]
    assert text.startswith("what is it?")
    assert len(text) <= 160


def test_fewer_passages_than_k_are_no_passages_and_not_zeros() -> None:
    found = made(
        [("q", "answerable"), ("nothing", "unknown"), ("o", "off_topic")],
        [("q", "d", 1)],
        [("q", "d", 0.0), ("o", "d", -0.25)],
    )
    data = explorer_data(found)
    assert decoded(data["similarity"])[:, :2].tolist()[0] == [0.0, pytest.approx(np.nan, nan_ok=True)]
    assert np.isnan(decoded(data["similarity"])[1]).all()
    assert data["states"][:10] == "+" + " " * 9
    assert data["classes"] == "auo"
    assert [name for name, *_ in data["rates"]][:3] == ["hit_rate", "empty_context_rate", "false_answer_rate_off_topic"]


@given(low=st.floats(-1, 1), width=st.floats(0, 2), more=st.lists(st.one_of(st.none(), st.floats(-1, 1)), max_size=2))
def test_the_slider_stops_at_round_floors_and_at_the_given_ones(
    low: float, width: float, more: list[float | None]
) -> None:
    stops = floor_stops(np.array([[low, low + width, np.nan]]), more)
    assert stops == sorted(set(stops))
    assert stops[0] <= low + 1e-9
    assert stops[-1] >= low + width - 1e-9
    assert {value for value in more if value is not None} <= set(stops)
    assert 2 <= len(stops) <= 420


@given(n=st.integers(0, 60), most=st.integers(1, 20))
def test_thinning_keeps_at_most_so_many_different_queries(n: int, most: int) -> None:
    kept = kept_queries(n, most).tolist()
    assert len(kept) == min(n, most)
    assert len(set(kept)) == len(kept)
    assert all(0 <= place < n for place in kept)


def test_more_queries_than_a_page_carries_are_thinned_and_it_says_so(
    drawn: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = explorer_data(drawn, most=42)
    assert data["total"] == len(drawn.table) == 210
    assert len(data["ids"]) == len(data["place"]) == 42
    assert [drawn.table["query_id"].iloc[place] for place in data["place"]] == data["ids"]
    assert "evenly spaced" not in ExplorerDisplay(drawn)._repr_html_()
    monkeypatch.setattr("calibration.displays.explorer.explorer_data", lambda found: data)
    assert "It moves over 42 of the 210 queries, evenly spaced" in ExplorerDisplay(drawn)._repr_html_()


def test_five_thousand_queries_stay_far_under_the_budget(drawn: Calibration) -> None:
    """The size follows queries x K, and has nothing to do with the corpus."""
    n, k = 5_000, 20
    ids = [f"a-rather-long-query-id-{i:06d}" for i in range(n)]
    table = pd.concat([drawn.table.iloc[:1]] * n, ignore_index=True).assign(query_id=ids)
    rng = np.random.default_rng(1)
    top = pd.DataFrame(
        {
            "query_id": np.repeat(ids, k),
            "doc_id": np.tile([f"passage-{i}" for i in range(k)], n),
            "similarity": rng.random(n * k),
            "rank": np.tile(np.arange(1, k + 1), n),
        }
    )
    params = drawn.params.model_copy(update={"k_max": k})
    data = explorer_data(replace(drawn, table=table, params=params, scores=replace(drawn.scores, top=top)))
    assert len(data["ids"]) == n
    assert len(as_json(data).encode()) < 1_600_000


@pytest.mark.parametrize("name", ["sample", "three_hits", "nothing_relevant", "hostile"])
def test_the_section_stays_inert_and_its_data_are_plain_json(name: str) -> None:
    found = getattr(made_calibrations, name)()
    html = BeautifulSoup(ExplorerDisplay(found)._repr_html_(), "html.parser")
    section = html.select_one("section.cal-explorer")
    data = json.loads(section["data-explorer"])
    assert len(data["ids"]) == len(found.table)
    assert section.find(["script", "button", "input"]) is None
    assert section.select_one(".cal-static table") is not None
    assert max(len(query_id) for query_id in data["ids"]) <= 60
    assert not set("".join(data["ids"])) & set("\x00\x07\u202e\u2066\u2028\u2029")
