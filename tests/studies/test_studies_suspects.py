"""Judgements that look wrong by their scores, and the growth of noise, on sets small enough to check by hand."""

import pytest
from handmade import labels_of, scores_of

from calibration.scores import find_bands, query_table
from calibration.studies.growth import ceiling_of
from calibration.studies.suspects import suspects

ANSWERS = {"q1": 0.70, "q2": 0.72, "q3": 0.74, "q4": 0.76, "q5": 0.78, "q6": 0.10}
OFF_TOPIC = {"o1": 0.20, "o2": 0.25, "o3": 0.30, "o4": 0.35, "o5": 0.90}


@pytest.fixture
def world():
    kinds = dict.fromkeys(ANSWERS, "answerable") | dict.fromkeys(OFF_TOPIC, "off_topic")
    labels = labels_of(kinds, [*[(q, f"a-{q}", 1) for q in ANSWERS], ("q1", "wrong", 0), ("q2", "near", 0)])
    rows = [
        *[(q, f"a-{q}", s) for q, s in ANSWERS.items()],
        *[(q, "x", s) for q, s in OFF_TOPIC.items()],
        ("q1", "wrong", 0.95),  # far above the answer of its query, and like a typical answer
        ("q2", "near", 0.73),  # above it by less than half the spread of answers: a near-miss as they all are
    ]
    scores = scores_of(labels, rows)
    return scores, labels, find_bands(scores, labels, query_table(scores, labels))


def test_the_three_kinds_of_suspects_are_found_and_near_misses_are_not(world) -> None:
    found = suspects(*world).set_index("query_id")
    assert set(found.index) == {"q1", "q6", "o5"}
    assert found.loc["q1", "doc_id"] == "wrong"
    assert found.loc["q1", "relevance"] == 0
    assert "best answer" in found.loc["q6", "why"]
    assert "off-topic" in found.loc["o5", "why"]


def test_the_most_glaring_comes_first(world) -> None:
    # excess: q1 .95 - .73 (median) = .22; q6 .30 - .10 = .20; o5 .90 - .73 = .17
    assert suspects(*world)["query_id"].tolist() == ["q1", "q6", "o5"]


def test_too_few_answers_and_too_little_noise_suspect_nothing() -> None:
    labels = labels_of({"q1": "answerable", "o1": "off_topic"}, [("q1", "d", 1), ("q1", "e", 0)])
    scores = scores_of(labels, [("q1", "d", 0.1), ("q1", "e", 0.9), ("o1", "d", 0.95)])
    assert suspects(scores, labels, find_bands(scores, labels, query_table(scores, labels))).empty


def test_candidate_lists_of_another_system_have_no_corpus_size_and_so_no_ceiling(world) -> None:
    scores, _, bands = world
    assert scores.n_documents is None
    assert ceiling_of(scores, bands, seed=1) is None
