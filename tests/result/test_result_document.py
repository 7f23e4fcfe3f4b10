"""recommendation.json against its schema, whatever the answer is."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema
import numpy as np
import pytest
from handmade import Row, bands_of, calibration_of, labels_of

from calibration.contract import ScoreContract
from calibration.result import dumps, queries_records, recommendation_document, recommendation_schema, scores_frame
from calibration.studies.model import Calibration


def separated(n: int, n_off: int = 30, **parameters: Any) -> Calibration:
    rng = np.random.default_rng(1)
    labels, rows = bands_of(rng.uniform(0.5, 0.9, n).tolist(), rng.uniform(0.05, 0.3, n_off).tolist())
    return calibration_of(labels, rows, **parameters)


def without_noise() -> Calibration:
    labels = labels_of(["q1", "q2"], [("q1", "a", 1), ("q2", "a", 1)])
    return calibration_of(labels, [("q1", "a", 0.5), ("q2", "a", 0.6)])


def one_query() -> Calibration:
    return calibration_of(labels_of(["q"], [("q", "a", 1)]), [("q", "a", 0.5)])


def documents() -> Calibration:
    labels = labels_of({"q1": "answerable", "o1": "off_topic"}, [("q1", "g", 2), ("q1", "x", 1)], rel_level=2)
    rows: list[Row] = [("q1", "g#1", 0.5), ("q1", "g#2", 0.4), ("q1", "x#1", 0.2), ("o1", "g#1", 0.1)]
    return calibration_of(labels, rows, documents={"g#1": "g", "g#2": "g", "x#1": "x"}, rel_level=2)


def overlapping() -> Calibration:
    rng = np.random.default_rng(2)
    labels, rows = bands_of(rng.normal(0.4, 0.1, 25).tolist(), rng.normal(0.4, 0.1, 25).tolist())
    return calibration_of(labels, rows)


def negated_distance() -> Calibration:
    labels, rows = bands_of([2.0, 2.5, 3.0], [11.0, 12.0, 13.0])
    contract = ScoreContract("l2", normalisation="none")
    return calibration_of(labels, rows, contract=contract, metric="l2")


def nothing_scored() -> Calibration:
    labels = labels_of({"q": "answerable", "u": "unknown", "m": "missing_answer"}, [("q", "a", 1)])
    return calibration_of(labels, [("q", "a", None)])


CASES = {
    "certified": lambda: separated(40, old_floor=0.78, top_k=3),
    "uncertified": lambda: separated(12),
    "extremes": lambda: separated(3, 4),
    "none": overlapping,
    "no noise": without_noise,
    "one query": one_query,
    "document": documents,
    "score file off the cosine scale": negated_distance,
    "nothing scored": nothing_scored,
}
STATUS = {"certified": "certified", "none": "none", "no noise": "none", "one query": "none", "nothing scored": "none"}


@cache
def of_case(name: str) -> Calibration:
    return CASES[name]()


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[str, Calibration]:
    return request.param, of_case(request.param)


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, float):
        yield value


def test_the_schema_is_a_schema_and_says_what_no_floor_means() -> None:
    schema = recommendation_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    document = recommendation_document(separated(12))
    jsonschema.validate(document, schema)
    for wrong in ({"floor": None}, {"status": "none"}, {"status": "sure"}, {"top_k": 0}, {"surplus": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | wrong, schema)


def test_the_document_validates_and_holds_no_nan_nor_text(case: tuple[str, Calibration]) -> None:
    name, found = case
    document = recommendation_document(found)
    jsonschema.validate(document, recommendation_schema())
    assert document["status"] == STATUS.get(name, "uncertified")
    assert (document["floor"] is None) == (document["status"] == "none")
    assert np.isfinite(list(numbers(document))).all()
    text = dumps(document)
    assert json.loads(text) == document
    assert "text of" not in text
    assert document["top_k"] >= 1
    assert document["reason"].endswith(".")
    assert document["level"] == ("document" if name == "document" else "passage")


def test_the_records_are_one_per_query_without_text(case: tuple[str, Calibration]) -> None:
    _, found = case
    records = queries_records(found)
    assert [record["query_id"] for record in records] == found.table["query_id"].tolist()
    labelled = [record["query_id"] for record in records if not record["probe"]]
    assert labelled == found.labels.queries["query_id"].tolist()
    text = "".join(dumps(record, indent=None) + "\n" for record in records)
    assert [json.loads(line) for line in text.splitlines()] == records
    assert "text of" not in text
    hits = sum(record["hit"] is True for record in records)
    assert hits == found.in_sample.rates["hit_rate"].numerator
    for record in records:
        assert (record["hit"] is None) == (record["answerability"] != "answerable")
        assert (record["cause"] is None) == (record["hit"] is not False)


def test_the_certificate_is_the_one_the_status_speaks_of() -> None:
    document = recommendation_document(of_case("certified"))
    assert document["certificate"] == document["certificate"] | {"n": 40, "needed": 22, "top_k": 3, "certified": True}
    assert document["floor"] <= document["certificate"]["bound"]
    assert "With 90% confidence at least 90% of such queries" in document["reason"]
    assert document["labels_needed"] == {"answerable_for_certificate": 0, "needed": None}
    assert document["old_floor"]["floor"] == 0.78
    few = recommendation_document(separated(12))
    assert few["labels_needed"]["answerable_for_certificate"] == 10


def test_conversions_lead_back_to_the_floor() -> None:
    document = recommendation_document(separated(12))
    rows = {row["metric"]: row for row in document["conversions"]}
    assert rows["cosine_distance"]["value"] == 1 - document["floor"]
    assert rows["cosine_distance"]["operator"] == "<="
    raw = recommendation_document(negated_distance())
    assert raw["conversions"] == [{"metric": "l2", "operator": "<=", "value": -raw["floor"]}]
    assert 3.0 < -raw["floor"] < 11.0


def test_blocking_queries_are_named_with_a_floor_and_without() -> None:
    none = overlapping()
    document = recommendation_document(none)
    far = none.bands["far_noise"]
    assert document["gap"]["blocking"]["noise"][0] == far.query_ids[int(np.argmax(far.similarity))]
    relevant = np.append(np.random.default_rng(1).uniform(0.5, 0.9, 30), 0.2).tolist()
    labels, rows = bands_of(relevant, np.random.default_rng(2).uniform(0.1, 0.3, 30).tolist())
    offered = recommendation_document(calibration_of(labels, rows))
    assert offered["floor"] is not None
    assert offered["gap"]["blocking"]["relevant"] == ["q30"]
    assert len(offered["gap"]["blocking"]["noise"]) == 5


def test_grades_and_unknown_queries_have_their_places() -> None:
    document = recommendation_document(documents())
    grades = document["rates"]["in_sample"]["recall_by_grade"]
    assert {grade: rate["denominator"] for grade, rate in grades.items()} == {"1": 1, "2": 1}
    document = recommendation_document(nothing_scored())
    assert document["queries"] == {"answerable": 1, "off_topic": 0, "missing_answer": 1, "unknown": 1, "probes": 0}
    assert document["rates"]["in_sample"]["coverage"]["denominator"] == 3


def test_zero_is_written_as_zero_and_missing_as_null() -> None:
    labels = labels_of(["q", "r"], [("q", "a", 1), ("r", "a", 1)])
    found = calibration_of(labels, [("q", "a", 0.0)])
    q, r = queries_records(found)
    assert (q["best_relevant"], q["top_similarity"]) == (0.0, 0.0)
    assert (r["best_relevant"], r["best_relevant_rank"], r["top_similarity"], r["cause"]) == (
        None,
        None,
        None,
        "index miss",
    )
    frame = scores_frame(found)
    assert frame["similarity"].dtype == np.float32
    assert frame["similarity"].isna().tolist() == [False, True]
    assert frame["similarity"].iloc[0] == 0.0


def test_bands_of_the_score_table() -> None:
    kinds = {"a": "answerable", "o": "off_topic", "m": "missing_answer", "u": "unknown"}
    rows: list[Row] = [(query, doc, 0.5 - i / 10) for query in kinds for i, doc in enumerate("xyz")]
    for unjudged, of_a in (("unknown", "unjudged"), ("nonrelevant", "near_noise")):
        labels = labels_of(kinds, [("a", "x", 1), ("a", "y", 0)], unjudged=unjudged)
        frame = scores_frame(calibration_of(labels, rows, probes=["p"])).set_index(["query_id", "doc_id"])["band"]
        assert frame["a"].to_dict() == {"x": "relevant", "y": "near_noise", "z": of_a}
        assert set(frame["o"]) == {"far_noise"}
        assert set(frame["m"]) == {"missing_answer"}
        assert set(frame["u"]) == {"unjudged"}


def test_the_cap_has_its_price_and_what_the_next_smaller_one_would_lose() -> None:
    labels = labels_of({"q1": "answerable", "q2": "answerable", "o": "off_topic"}, [("q1", "a", 1), ("q2", "b", 1)])
    rows: list[Row] = [("q1", "a", 0.9), ("q2", "a", 0.8), ("q2", "b", 0.7), ("o", "a", 0.2)]
    price = recommendation_document(calibration_of(labels, rows, top_k=2))["top_k_price"]
    assert price == price | {
        "passages_per_query": 1.5,
        "tokens_per_query": None,
        "tokens_counted_by": None,
        "queries": 2,
    }
    assert (price["cap_binds"]["numerator"], price["cap_binds"]["denominator"]) == (0, 2)
    assert price["next_smaller"] == {"top_k": 1, "hits_lost": 1, "passages_saved": 0.5, "tokens_saved": None}
    assert recommendation_document(calibration_of(labels, rows, top_k=1))["top_k_price"]["next_smaller"] is None


def test_unjudged_passages_of_the_top_k_are_counted_and_said_to_be_many() -> None:
    labels = labels_of({"q": "answerable", "o": "off_topic"}, [("q", "a", 1), ("q", "b", 0)], unjudged="nonrelevant")
    rows: list[Row] = [("q", doc, 0.9 - i / 10) for i, doc in enumerate("abcde")] + [("o", "a", 0.2)]
    found = calibration_of(labels, rows, top_k=4)
    share = recommendation_document(found)["unjudged_top_k"]
    assert (share["numerator"], share["denominator"]) == (2, 4)
    assert any("2 of 4 (50%) are unjudged" in caveat for caveat in found.caveats)
    few = calibration_of(labels, rows, top_k=2)
    assert few.unjudged.numerator == 0
    assert not any("unjudged" in caveat for caveat in few.caveats)


def test_segments_are_written_by_kind_and_by_collection() -> None:
    found = separated(40)
    kinds = found.labels.queries["query_id"].str[-1].map(lambda digit: "even" if digit in "02468" else "odd")
    labels = replace(found.labels, queries=found.labels.queries.assign(collection=kinds))
    rows = found.scores.top[["query_id", "doc_id", "similarity"]].itertuples(index=False, name=None)
    document = recommendation_document(calibration_of(labels, rows))
    jsonschema.validate(document, recommendation_schema())
    assert document["segments"]["kind"] is None
    assert [segment["name"] for segment in document["segments"]["collection"]] == ["even", "odd"]
    assert document["segments"]["collection"][0]["n"] == 20
