"""What a floor and a cap do, query by query and as rates."""

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from handmade import Judgement, Row, labels_of, probes_of, scores_of
from hypothesis import given, settings

from calibration.choose import Rate
from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.scores import query_table
from calibration.studies.rates import Outcome, outcome


def at(
    labels: Labels, rows: list[Row], floor: Any, top_k: int = 10, *, probes: tuple[str, ...] = (), **kw: Any
) -> Outcome:
    scores = scores_of(labels, rows, probes=probes, **kw)
    return outcome(scores, labels, query_table(scores, labels, probes_of(probes)), floor, top_k, seed=1)


def counts(rate: Rate) -> tuple[float, int]:
    return rate.numerator, rate.denominator


def test_c50_a_query_that_got_nothing_stays_in_every_denominator() -> None:
    labels = labels_of(["q1", "q2"], [("q1", "d1", 1), ("q2", "d2", 1)])
    found = at(labels, [("q1", "d1", 0.6), ("q2", "d2", 0.2)], 0.5)
    assert found.rates["recall_macro"].value == 0.5
    assert counts(found.rates["coverage"]) == (1, 2)
    assert counts(found.rates["hit_rate"]) == (1, 2)
    assert counts(found.rates["empty_context_rate"]) == (1, 2)
    assert found.queries.loc[found.queries["n_accepted"] == 0, "query_id"].tolist() == ["q2"]
    gone = at(labels, [("q1", "d1", 0.6)], 0.5)
    assert gone.rates["recall_macro"].value == 0.5
    assert gone.queries["cause"].tolist() == [None, "index miss"]


def test_c70_precision_of_nothing_is_undefined() -> None:
    labels = labels_of(["q1", "q2"], [("q1", "d1", 1), ("q2", "d2", 1)])
    found = at(labels, [("q1", "d1", 0.6), ("q2", "d2", 0.2)], 0.5)
    assert counts(found.rates["precision_judged"]) == (1, 1)
    assert counts(found.rates["recall_micro"]) == (1, 2)
    nothing = at(labels, [("q1", "d1", 0.6), ("q2", "d2", 0.2)], 0.9)
    assert nothing.rates["precision_judged"].value is None
    assert nothing.rates["risk_high"].value is None
    assert counts(nothing.rates["coverage"]) == (0, 2)


def test_c55_graded_labels_at_two_levels() -> None:
    qrels, rows = [("q", d, g) for d, g in zip("abcd", (3, 2, 1, 0), strict=True)], list[Row]()
    rows = [("q", d, s) for d, s in zip("abcd", (0.60, 0.50, 0.45, 0.20), strict=True)]
    for level, precision, recall in ((1, (3, 3), (3, 3)), (2, (2, 3), (2, 2))):
        rates = at(labels_of(["q"], qrels, rel_level=level), rows, 0.4).rates
        assert counts(rates["precision_judged"]) == precision
        assert counts(rates["recall_micro"]) == recall
    grades = at(labels_of(["q"], qrels), rows, 0.47).recall_by_grade
    assert {grade: counts(rate) for grade, rate in grades.items()} == {1: (0, 1), 2: (1, 1), 3: (1, 1)}


def test_c57_both_precisions_and_the_share_nobody_judged() -> None:
    qrels = [("q", "a", 1), ("q", "b", 1), ("q", "c", 0)]
    rows = [("q", d, 0.9 - i / 100) for i, d in enumerate("abcde")]
    rates = at(labels_of(["q"], qrels), rows, 0.5).rates
    assert rates["precision_judged"].value == pytest.approx(2 / 3)
    assert rates["precision_low"].value == 0.4
    assert rates["unjudged_share"].value == 0.4
    strict = at(labels_of(["q"], qrels, unjudged="nonrelevant"), rows, 0.5).rates
    assert strict["precision_judged"].value == strict["precision_low"].value == 0.4
    assert strict["unjudged_share"].value == 0.0


def test_c58_a_question_that_should_get_no_answer() -> None:
    labels = labels_of({"on": "answerable", "off": "off_topic", "mis": "missing_answer"}, [("on", "d1", 1)])
    rows = [("on", "d1", 0.6), ("off", "d7", 0.3), ("mis", "d7", 0.3)]
    refused, answered = at(labels, rows, 0.5).rates, at(labels, rows, 0.2).rates
    for rates, kept in ((refused, 0), (answered, 1)):
        assert rates["recall_macro"].value == 1.0
        assert counts(rates["false_answer_rate_off_topic"]) == (kept, 1)
        assert counts(rates["false_answer_rate_missing_answer"]) == (kept, 1)
        assert counts(rates["risk_low"]) == counts(rates["risk_high"]) == (2 * kept, 1 + 2 * kept)


def test_c59_recall_is_measured_against_the_labels_not_the_list() -> None:
    labels = labels_of(["q"], [("q", f"d{i}", 1) for i in range(4)])
    rows = [("q", "d0", 0.6), ("q", "d1", 0.3), ("q", "d2", 0.29), ("q", "d3", 0.28)]
    assert at(labels, rows, 0.5, top_k=3).rates["recall_micro"].value == 0.25
    assert at(labels, rows, None, top_k=3).rates["recall_micro"].value == 0.75
    assert at(labels, rows[:1], None).rates["recall_macro"].value == 0.25


def test_c54_no_rate_of_documents_exceeds_one() -> None:
    labels = labels_of(["q1"], [("q1", "g", 1)])
    rows = [("q1", "g#1", 0.50), ("q1", "g#2", 0.45), ("q1", "x#1", 0.20)]
    found = at(labels, rows, 0.3, documents={"g#1": "g", "g#2": "g", "x#1": "x"})
    assert found.queries["accepted"].tolist() == [["g"]]
    assert counts(found.rates["recall_micro"]) == (1, 1)
    assert counts(found.rates["precision_judged"]) == (1, 1)


def test_c23_floor_zero_and_no_floor_are_two_things() -> None:
    rows = [("q", "a", 0.3), ("q", "b", 0.0), ("q", "c", -0.1)]
    labels = labels_of(["q"], [("q", "c", 1)])
    assert at(labels, rows, 0.0).queries["accepted"].tolist() == [["a", "b"]]
    assert at(labels, rows, None).queries["accepted"].tolist() == [["a", "b", "c"]]
    assert at(labels, rows, 0.0).queries["boundary"].tolist() == [True]


def test_each_miss_has_the_first_cause_that_applies() -> None:
    labels = labels_of(["hit", "floor", "rank", "index"], [(q, "a", 1) for q in ("hit", "floor", "rank", "index")])
    rows = [("hit", "a", 0.9), ("floor", "a", 0.3), ("index", "b", 0.9)]
    rows += [("rank", "a", 0.1), ("rank", "b", 0.9), ("rank", "c", 0.8)]
    found = at(labels, rows, 0.5, top_k=2)
    assert dict(zip(found.queries["query_id"], found.queries["cause"], strict=True)) == {
        "hit": None, "floor": "floor miss", "rank": "rank miss", "index": "index miss",
    }  # fmt: skip


def test_unknown_queries_count_in_coverage_never_in_risk_and_probes_in_neither() -> None:
    labels = labels_of({"q": "answerable", "u": "unknown"}, [("q", "a", 1)])
    rates = at(labels, [("q", "a", 0.6), ("u", "a", 0.6), ("p", "a", 0.6)], 0.5, probes=("p",)).rates
    assert counts(rates["coverage"]) == (2, 2)
    assert counts(rates["risk_high"]) == (0, 1)
    assert counts(rates["false_answer_rate_off_topic"]) == (0, 0)
    assert counts(rates["false_answer_rate_probes"]) == (1, 1)


def test_risk_is_bounded_by_what_nobody_judged() -> None:
    labels = labels_of(["q", "r"], [("q", "a", 1), ("r", "a", 1), ("r", "b", 0)])
    rates = at(labels, [("q", "c", 0.6), ("q", "a", 0.1), ("r", "b", 0.6), ("r", "a", 0.1)], 0.5).rates
    assert counts(rates["risk_low"]) == (1, 2)
    assert counts(rates["risk_high"]) == (2, 2)


def test_a_query_said_to_be_answerable_without_a_relevant_judgement_is_a_miss_without_a_recall() -> None:
    labels = labels_of(["q", "hopeless"], [("q", "a", 1)])
    rates = at(labels, [("q", "a", 0.6), ("hopeless", "a", 0.6)], 0.5).rates
    assert counts(rates["hit_rate"]) == (1, 2)
    assert counts(rates["recall_macro"]) == (1, 1)
    assert at(labels_of(["hopeless"]), [("hopeless", "a", 0.6)], 0.5).rates["recall_macro"].value is None


def test_each_query_may_have_the_floor_of_its_fold() -> None:
    labels = labels_of(["q", "r", "s"], [(q, "a", 1) for q in "qrs"])
    rows = [(q, "a", 0.5) for q in "qrs"]
    found = at(labels, rows, {"q": 0.4, "r": 0.6, "s": None})
    assert found.queries["hit"].tolist() == [True, False, True]
    assert found.queries["floor"].tolist() == [0.4, 0.6, None]


def test_exclusive_floors_are_exclusive_here_too() -> None:
    labels, rows = labels_of(["q"], [("q", "a", 1)]), [("q", "a", 0.5)]
    assert at(labels, rows, 0.5).rates["hit_rate"].value == 1.0
    exclusive = ScoreContract(threshold_inclusive=False)
    assert at(labels, rows, 0.5, contract=exclusive).rates["hit_rate"].value == 0.0


KINDS = {"a1": "answerable", "a2": "answerable", "o": "off_topic", "m": "missing_answer", "u": "unknown"}
grades = st.dictionaries(
    st.tuples(st.sampled_from(["a1", "a2"]), st.sampled_from("vwxyz")), st.integers(0, 2), min_size=1
)
tables = st.dictionaries(
    st.tuples(st.sampled_from(list(KINDS)), st.sampled_from("vwxyz")),
    st.integers(-4, 8).map(lambda i: i / 10),
    min_size=1,
)


def world(judged: dict[tuple[str, str], int], table: dict[tuple[str, str], float]) -> tuple[Labels, list[Row]]:
    qrels: list[Judgement] = [(query, doc, grade) for (query, doc), grade in judged.items()]
    # keep to data whose direction is not in question
    rows = [(query, doc, score) for (query, doc), score in table.items()]
    rows += [(query, "good", 0.9) for query in ("a1", "a2")]
    return labels_of(KINDS, [*qrels, ("a1", "good", 1), ("a2", "good", 1)]), rows


@settings(deadline=None, max_examples=15)
@given(grades, tables, st.floats(-0.5, 1.0), st.floats(-0.5, 1.0), st.integers(1, 4))
def test_recall_coverage_and_hits_never_rise_with_the_floor(
    judged: dict[tuple[str, str], int], table: dict[tuple[str, str], float], one: float, other: float, top_k: int
) -> None:
    labels, rows = world(judged, table)
    low, high = (at(labels, rows, floor, top_k).rates for floor in sorted((one, other)))
    for name in ("recall_micro", "recall_macro", "coverage", "hit_rate", "false_answer_rate_off_topic"):
        assert high[name].numerator <= low[name].numerator, name
        assert high[name].denominator == low[name].denominator, name
    assert high["empty_context_rate"].numerator >= low["empty_context_rate"].numerator
    for rates in (low, high):
        for name, rate in rates.items():
            assert rate.value is None or 0.0 <= rate.low <= rate.value + 1e-12 <= rate.high + 1e-9 <= 1.0 + 2e-9, name


@settings(deadline=None, max_examples=12)
@given(grades, tables, st.floats(-0.5, 1.0), st.integers(1, 4), st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(
    judged: dict[tuple[str, str], int], table: dict[tuple[str, str], float], floor: float, top_k: int, seed: int
) -> None:
    labels, rows = world(judged, table)
    scores = scores_of(labels, rows)
    shuffled = replace(scores, top=scores.top.sample(frac=1, random_state=seed, ignore_index=True))
    one, other = (outcome(each, labels, query_table(each, labels), floor, top_k, seed=1) for each in (scores, shuffled))
    pd.testing.assert_frame_equal(one.queries, other.queries)
    assert one.rates == other.rates
    assert one.recall_by_grade == other.recall_by_grade


@settings(deadline=None, max_examples=12)
@given(grades, tables, st.floats(-0.5, 1.0), st.floats(-0.5, 1.0))
def test_an_unjudged_document_leaves_judged_only_measures_as_they_are(
    judged: dict[tuple[str, str], int], table: dict[tuple[str, str], float], floor: float, score: float
) -> None:
    labels, rows = world(judged, table)
    before = at(labels, rows, floor, top_k=20)
    after = at(labels, [*rows, ("a1", "new", score), ("a2", "new", score)], floor, top_k=20)
    for name in ("precision_judged", "recall_micro", "recall_macro", "hit_rate"):
        assert after.rates[name] == before.rates[name], name
    assert after.recall_by_grade == before.recall_by_grade


@settings(deadline=None, max_examples=12)
@given(grades, tables, st.floats(-0.5, 1.0), st.integers(1, 4))
def test_hits_misses_and_causes_add_up(
    judged: dict[tuple[str, str], int], table: dict[tuple[str, str], float], floor: float, top_k: int
) -> None:
    labels, rows = world(judged, table)
    found = at(labels, rows, floor, top_k)
    answerable = found.queries[found.queries["answerability"] == "answerable"]
    assert (answerable["hit"] == answerable["cause"].isna()).all()
    assert found.queries.loc[found.queries["answerability"] != "answerable", "cause"].isna().all()
    hits = (answerable["best_relevant_rank"].astype(float) <= top_k) & (answerable["best_relevant"] >= floor - 1e-6)
    assert (answerable["hit"] == hits).all()
    assert found.rates["risk_low"].numerator <= found.rates["risk_high"].numerator
    assert found.queries["n_accepted"].max() <= top_k
    assert np.all(
        [len(ids) == n for ids, n in zip(found.queries["accepted"], found.queries["n_accepted"], strict=True)]
    )
