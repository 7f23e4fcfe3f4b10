"""The deploy sheet as a reader sees it: numbers in full, refusals with reasons, the query with its plan."""

from dataclasses import replace

import numpy as np
import pytest
from bs4 import BeautifulSoup

from calibration.displays import DeployDisplay
from calibration.result import recommendation_document
from calibration.studies.model import Calibration

PLAN = {
    "lines": ["Limit", "  ->  Index Scan using chunks_hnsw on chunks"],
    "reason": None,
    "column_type": "vector",
    "uses_index": "chunks_hnsw",
    "fitting": ["chunks_hnsw"],
    "operator": "<=>",
}


def page(found: Calibration) -> BeautifulSoup:
    return BeautifulSoup(DeployDisplay(found)._repr_html_(), "html.parser")


def planned(found: Calibration, **plan: object) -> Calibration:
    return replace(found, facts={**found.facts, "search_plan": {**PLAN, **plan}})


def shown(found: Calibration) -> dict[tuple[str, str], str]:
    rows = page(found).select("tbody tr")
    return {
        (row.select_one("th bdi").get_text(), row.select_one("th .cal-detail").get_text()): row.select_one(
            "td code"
        ).get_text()
        for row in rows
    }


def test_each_number_stands_there_in_full_with_its_comparison(drawn: Calibration) -> None:
    rows = shown(drawn)
    display = DeployDisplay(drawn)
    assert len(rows) == len(display.frame())
    assert rows["LlamaIndex PGVectorStore", "similarity_cutoff of SimilarityPostprocessor"].startswith(">= ")
    for row in display.frame().to_dict("records"):
        said = rows[row["system"], row["setting"]]
        if isinstance(row["why_not"], str):
            assert said == "no number works"
        else:
            comparison, value = said.split(" ")
            assert (comparison, float(value)) == (row["comparison"], row["value"])


def test_a_strict_system_gets_the_end_of_the_boundary(three_hits: Calibration) -> None:
    apart = DeployDisplay(three_hits).frame().set_index(["system", "setting"])["value"]
    floor = three_hits.floor
    clear = not three_hits.in_sample.queries["boundary"].any()
    assert clear
    assert apart["Weaviate, cosine", "distance"] == pytest.approx(1 - floor, abs=1e-15)
    assert apart["Qdrant, Cosine", "score_threshold"] == pytest.approx(floor - 1e-6, abs=1e-12)


def test_on_the_boundary_every_number_is_its_end(three_hits: Calibration) -> None:
    near = replace(three_hits, choice=replace(three_hits.choice, floor=0.47))
    queries = near.in_sample.queries.assign(boundary=True)
    near = replace(near, in_sample=replace(near.in_sample, queries=queries))
    values = DeployDisplay(near).frame().set_index(["system", "setting"])["value"]
    assert values["Weaviate, cosine", "distance"] == pytest.approx(0.53 + 1e-6, abs=1e-12)
    assert "WHERE distance <= 0.530001" in (DeployDisplay(near).sql or "")


def test_where_no_number_works_it_says_why(drawn: Calibration) -> None:
    notes = " ".join(note.get_text() for note in page(drawn).select(".cal-note"))
    assert "LangChain PGVector, MAX_INNER_PRODUCT: its relevance is" in notes
    plain = replace(drawn, scores=replace(drawn.scores, contract=replace(drawn.scores.contract, normalisation="none")))
    notes = " ".join(note.get_text() for note in page(plain).select(".cal-note"))
    assert "Faiss, METRIC_L2" in notes
    assert "unit length" in notes
    assert shown(plain)["Faiss, METRIC_L2", "distances of search"] == "no number works"


def test_without_a_floor_the_query_takes_the_best(nothing_relevant: Calibration) -> None:
    display = DeployDisplay(nothing_relevant)
    assert display.frame().empty
    assert display.caption.startswith("There is no floor to deploy")
    assert "WHERE distance" not in (display.sql or "")
    assert page(nothing_relevant).find("table") is None


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({}, "searches by the index chunks_hnsw"),
        ({"uses_index": None}, "fits, but for a table of this size"),
        ({"uses_index": None, "fitting": []}, "no index for <=> (vector_cosine_ops) is there"),
        ({"lines": [], "reason": "cannot plan", "uses_index": None}, "would not plan it: cannot plan"),
    ],
)
def test_the_plan_is_shown_and_said(drawn: Calibration, plan: dict, words: str) -> None:
    found = planned(drawn, **plan)
    text = page(found).get_text()
    assert words in text
    assert ("Index Scan using chunks_hnsw" in text) == ("lines" not in plan)
    assert DeployDisplay(drawn).about_the_plan == "", "no database was asked"


def test_the_filter_and_the_model_stay_in_the_query(drawn: Calibration) -> None:
    update = {"where": "tenant = 'a' -- ours", "model_column": "Model", "model": "it's", "table": 'app."My.Docs"'}
    sql = DeployDisplay(replace(drawn, params=drawn.params.model_copy(update=update))).sql
    assert sql is not None
    assert "(tenant = 'a' -- ours\n    ) AND (\"Model\" = 'it''s')" in sql
    assert 'FROM app."My.Docs"' in sql


def test_the_json_says_the_same(drawn: Calibration) -> None:
    document = recommendation_document(planned(drawn))["deploy"]
    display = DeployDisplay(planned(drawn))
    assert document["sql"] == display.sql
    assert document["plan"]["lines"] == display.plan
    assert [row["value"] for row in document["consumers"]] == [
        None if np.isnan(value) else value for value in display.frame()["value"]
    ]


def test_more_passages_than_an_hnsw_index_gives_by_default_need_a_setting(drawn: Calibration) -> None:
    few, many = planned(drawn), planned(replace(drawn, top_k=replace(drawn.top_k, value=60)))
    for found in (many, replace(many, facts={**many.facts, "search_plan": {**PLAN, "uses_index": None}})):
        assert "at most hnsw.ef_search (40) rows: set it to 60" in DeployDisplay(found).about_the_plan
    assert "ef_search" not in DeployDisplay(few).about_the_plan
