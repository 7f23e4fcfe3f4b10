"""What a cap costs in passages and tokens, and what becomes of each grade at it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from handmade import Row, calibration_of, labels_of, scores_of

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.scores import query_table
from calibration.studies.grades import BELOW, BEYOND, KEPT, UNSCORED, grade_counts, passages_by_grade
from calibration.studies.price import Lengths, price_of
from calibration.studies.tokens import MOST, count_tokens, passage_lengths

QUERIES = {"a": "answerable", "b": "answerable", "o": "off_topic"}
ROWS: list[Row] = [
    ("a", "x", 0.9),
    ("a", "y", 0.6),
    ("a", "z", 0.5),
    ("b", "x", 0.55),
    ("b", "y", 0.1),
    ("o", "x", 0.8),
]


def with_texts(labels: Labels, texts: dict[str, str]) -> Labels:
    corpus = pd.DataFrame({"doc_id": list(texts), "title": "", "text": list(texts.values()), "document_id": None})
    return replace(labels, corpus=corpus)


def test_price_by_hand() -> None:
    labels = labels_of(QUERIES, [("a", "x", 1), ("b", "x", 1)])
    scores = scores_of(labels, ROWS)
    lengths = Lengths({"x": 10.0, "y": 100.0, "z": 1000.0}, "counting")
    price = price_of(scores.top, query_table(scores, labels), ScoreContract(), 0.5, top_k=2, k_max=4, lengths=lengths)
    assert price.by_k["passages"].tolist() == [1.0, 1.5, 2.0, 2.0]
    assert price.by_k["tokens"].tolist() == [10.0, 60.0, 560.0, 560.0]
    assert price.at(2) == (1.5, 60.0)
    assert (price.binds.numerator, price.binds.denominator, price.n) == (1, 2, 2)
    assert price.counted_by == "counting"


def test_a_price_without_texts_is_in_passages_and_one_without_queries_unknown() -> None:
    labels = labels_of(QUERIES, [("a", "x", 1), ("b", "x", 1)])
    scores = scores_of(labels, ROWS)
    table = query_table(scores, labels)
    price = price_of(scores.top, table, ScoreContract(), None, top_k=1, k_max=2, lengths=None)
    assert price.at(2) == (2.0, None)
    assert price.counted_by is None
    none = price_of(scores.top, table[table["query_id"] == "o"], ScoreContract(), None, top_k=1, k_max=2, lengths=None)
    assert (none.at(1), none.n, none.binds.value) == ((None, None), 0, None)


def test_the_price_of_a_calibration_is_what_its_outcome_accepts() -> None:
    rng = np.random.default_rng(5)
    kinds = {f"a{i}": "answerable" for i in range(30)} | {f"o{i}": "off_topic" for i in range(25)}
    rows: list[Row] = [(query, f"d{doc}", float(rng.uniform(0, 0.5))) for query in kinds for doc in range(15)]
    rows += [(f"a{i}", "answer", float(rng.normal(0.6, 0.15))) for i in range(30)]
    found = calibration_of(labels_of(kinds, [(f"a{i}", "answer", 1) for i in range(30)]), rows)
    accepted = found.in_sample.queries.loc[found.in_sample.queries["answerability"] == "answerable", "n_accepted"]
    assert found.price.at(found.top_k.value)[0] == pytest.approx(accepted.mean())
    at_k = found.surface[found.surface["top_k"] == 3]
    assert found.price.at(3)[0] == pytest.approx(
        at_k.loc[at_k["threshold"] >= found.floor, "passages"].iloc[0], abs=0.5
    )


def test_only_passages_that_may_be_sent_on_are_measured_and_all_of_them_or_none() -> None:
    labels = labels_of(QUERIES, [("a", "x", 1), ("b", "x", 1)])
    scores = scores_of(labels, ROWS)
    texts = {"x": "a" * 40, "y": "b" * 8, "z": "c" * 400, "never": "d"}
    found = passage_lengths(scores, with_texts(labels, texts), None, k_max=2)
    assert found is not None
    assert dict(found.tokens) == {"x": 10.0, "y": 2.0}
    assert found.counted_by == "an estimate of 4 characters a token"
    assert passage_lengths(scores, labels, None, k_max=2) is None
    assert passage_lengths(scores, with_texts(labels, {"x": "only"}), None, k_max=2) is None


@pytest.mark.parametrize("model", ["minilm", "wordllama", "multilingual-e5-small", "e5"])
def test_a_models_own_tokenizer_counts_where_it_lies_here(model: str) -> None:
    tokens, counted_by = count_tokens(["return policy", "one two three four five six seven eight nine ten"], model)
    assert counted_by == f"the tokenizer of {model}"
    assert tokens[0] == 2
    assert 10 <= tokens[1] <= 12


@pytest.mark.parametrize("model", [None, "openai:text-embedding-3-small", "nobody-knows"])
def test_without_a_tokenizer_characters_stand_in_and_are_said_to(model: str | None) -> None:
    assert count_tokens(["abcd", "日本"], model) == ([1.0, 0.5], "an estimate of 4 characters a token")


def test_a_long_list_is_counted_on_a_sample_and_no_text_is_cut() -> None:
    texts = [f"word{i} " * 3 for i in range(MOST + 500)]
    tokens, counted_by = count_tokens(texts, "minilm")
    assert counted_by == f"the tokenizer of minilm on {MOST:,} of {MOST + 500:,} passages"
    every, _ = count_tokens(texts[:MOST], "minilm")
    assert sum(tokens[:MOST]) == pytest.approx(sum(every), rel=0.05)
    assert count_tokens(["word " * 1000], "minilm")[0] == [1000.0]


def test_every_graded_passage_has_one_fate_and_kept_ones_are_the_recall() -> None:
    labels = labels_of(
        ["q", "r"], [("q", "x", 2), ("q", "y", 1), ("q", "z", 1), ("q", "w", 1), ("q", "n", 0), ("r", "x", 2)]
    )
    rows: list[Row] = [("q", "x", 0.9), ("q", "n", 0.8), ("q", "y", 0.7), ("q", "z", 0.1), ("r", "x", 0.6)]
    scores = scores_of(labels, rows)
    found = passages_by_grade(scores, labels, query_table(scores, labels), 0.5, 2)
    fates = {(row.grade, row.fate): 0 for row in found.itertuples()}
    for row in found.itertuples():
        fates[row.grade, row.fate] += 1
    assert fates == {(2, KEPT): 2, (1, BEYOND): 1, (1, BELOW): 1, (1, UNSCORED): 1}
    counts = grade_counts(found)
    assert counts["grade"].tolist() == [2, 1]
    assert counts["n"].tolist() == [2, 3]
    assert counts[KEPT].tolist() == [2, 0]


def test_kept_passages_of_each_grade_are_those_of_recall_by_grade() -> None:
    rng = np.random.default_rng(6)
    kinds = {f"a{i}": "answerable" for i in range(25)} | {f"o{i}": "off_topic" for i in range(25)}
    rows: list[Row] = [(query, f"d{doc}", float(rng.uniform(0, 0.4))) for query in kinds for doc in range(12)]
    rows += [(f"a{i}", f"good{j}", float(rng.normal(0.5, 0.15))) for i in range(25) for j in range(3)]
    qrels = [(f"a{i}", f"good{j}", 2 if j == 0 else 1) for i in range(25) for j in range(3)]
    qrels += [(f"a{i}", "absent", 1) for i in range(5)]
    found = calibration_of(labels_of(kinds, qrels), rows, rel_level=1)
    counts = grade_counts(found.grades).set_index("grade")
    for grade, rate in found.in_sample.recall_by_grade.items():
        assert (counts.loc[grade, KEPT], counts.loc[grade, "n"]) == (rate.numerator, rate.denominator)
    assert counts.loc[1, UNSCORED] == 5


def test_no_judgement_above_zero_gives_empty_counts() -> None:
    labels = labels_of({"o": "off_topic"}, [("o", "x", 0)])
    scores = scores_of(labels, [("o", "x", 0.3)])
    found = passages_by_grade(scores, labels, query_table(scores, labels), None, 5)
    assert len(found) == 0
    assert len(grade_counts(found)) == 0
