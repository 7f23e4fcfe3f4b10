"""Parameters: strict, complete, every problem at once."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration import CalibrationError, RunParams, parameters, parameters_from
from calibration.errors import ContractError
from calibration.params import number_hint, safe_name, unknown_names


def problems_of(**values: object) -> str:
    with pytest.raises(CalibrationError) as caught:
        parameters(values)
    return str(caught.value)


def test_defaults_are_those_of_the_sample() -> None:
    params = parameters({})
    assert params.uses_sample
    assert params.source_kind == "embedded"
    assert params.top_k is None
    assert params.old_floor is None


def test_all_problems_are_said_at_once() -> None:
    said = problems_of(modle="x", top_k="5", off_topic_share=1.5, probes=1)
    assert "unknown parameter 'modle' (did you mean 'model'?)" in said
    assert "top_k: Input should be a valid integer, found '5'; use the number 5, without quotes" in said
    assert "off_topic_share" in said
    assert "probes" in said


def test_c65_a_decimal_comma_or_a_percentage_says_what_to_type() -> None:
    assert "use 0.3" in problems_of(old_floor="0,3")
    assert "use 0.78" in problems_of(old_floor="78%")
    assert "off_topic_share" in problems_of(off_topic_share="0.5")
    assert "off_topic_share" in problems_of(off_topic_share=True)


def test_c26_a_percentage_as_floor_is_refused_before_any_query() -> None:
    assert problems_of(old_floor=78) == "floor 78 is outside [-1, 1] for cosine similarity. Did you mean 0.78?"
    assert "Did you mean 0.78" in problems_of(old_floor=78, scores="s.csv")


def test_c26_a_floor_on_another_scale_waits_for_the_lengths_of_vectors() -> None:
    assert parameters({"old_floor": 78, "metric": "inner_product"}).old_floor == 78


def test_c23_zero_is_a_floor_and_none_is_not() -> None:
    assert parameters({"old_floor": 0.0}).old_floor == 0.0
    assert parameters({"old_floor": 0}).old_floor == 0.0
    assert parameters({"old_floor": None}).old_floor is None


@pytest.mark.parametrize("floor", [math.nan, math.inf, -math.inf])
def test_a_floor_is_finite(floor: float) -> None:
    assert "not a finite number" in problems_of(old_floor=floor)


@pytest.mark.parametrize("metric", ["rrf", "minmax_per_query"])
def test_a_metric_that_carries_no_floor_is_refused_with_its_reason(metric: str) -> None:
    with pytest.raises(ContractError, match="Put the floor on the raw similarity"):
        parameters({"metric": metric, "scores": "s.csv"})


def test_a_raw_score_needs_a_score_file() -> None:
    assert "is for score files" in problems_of(metric="score")
    assert parameters({"metric": "score", "scores": "s.csv"}).metric == "score"


def test_c06_the_formula_of_a_score_file_is_one_of_its_metric() -> None:
    assert parameters({"scores": "s.csv", "score_transform": "(1+cos)/2"}).score_transform == "(1+cos)/2"
    assert "`score_transform` is for score files" in problems_of(score_transform="(1+cos)/2", model="minilm")
    assert "did you mean '(1+x)/2'" in problems_of(scores="s.csv", score_transform="(1+c)/2")
    assert "makes different scores equal" in problems_of(scores="s.csv", score_transform="max(0,cos)")
    said = problems_of(scores="s.csv", metric="squared_l2", score_transform="(1+cos)/2")
    assert "the metric is 'squared_l2', whose value formulas call 'd'" in said


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"dsn": "host=h", "service": "s", "table": "t"}, "either dsn or service"),
        ({"dsn": "host=h"}, "go together"),
        ({"table": "t"}, "go together"),
        ({"scores": "s.csv", "vectors": "v.npz"}, "only one source"),
        ({"scores": "s.csv", "dsn": "host=h", "table": "t"}, "only one source"),
        ({"scores": "s.csv", "labels": "l"}, "brings its own judgements: labels"),
        ({"scores": "s.csv", "qrels": "q.csv", "corpus": "c.csv"}, "qrels, corpus cannot be used"),
        ({"queries_sql": "select", "dsn": "host=h", "table": "t"}, "queries_sql and qrels_sql go together"),
        ({"queries_sql": "a", "qrels_sql": "b"}, "need a `dsn` or a `service`"),
        ({"queries_sql": "a", "qrels_sql": "b", "dsn": "host=h", "table": "t", "labels": "l"}, "SQL or from files"),
        ({"queries": "q.csv"}, "queries and qrels go together"),
        ({"corpus": "c.csv"}, "a corpus needs labels"),
        ({"out": " "}, "must not be blank"),
        ({"model": ""}, "must not be blank"),
    ],
)
def test_contradictions_are_refused(values: dict[str, object], words: str) -> None:
    assert words in problems_of(**values)


def test_queries_may_stand_beside_a_score_file() -> None:
    assert parameters({"scores": "s.csv", "queries": "q.csv"}).source_kind == "scores"


@pytest.mark.parametrize(
    "dsn",
    ["postgresql://u:S3cretPw@h/db", "host=h password=S3cretPw", "host=h sslpassword=S3cretPw", "host = = S3cretPw"],
)
def test_c88_no_dsn_with_a_password_and_none_in_the_message(dsn: str) -> None:
    assert "S3cretPw" not in problems_of(dsn=dsn, table="t")


def test_a_budget_beyond_k_max_deepens_the_search() -> None:
    assert parameters({"top_k": 50}).k_max == 50


def test_scalars_of_a_notebook_become_lists() -> None:
    values = {"languages": "en, pl", "exclude_subjects": "", "answerability_by_kind": "a=off_topic,b = unknown"}
    params = parameters(values)
    assert params.languages == ["en", "pl"]
    assert params.exclude_subjects == []
    assert params.answerability_by_kind == {"a": "off_topic", "b": "unknown"}
    assert "kind=answerability pairs" in problems_of(answerability_by_kind="a")


def test_a_namespace_gives_only_what_are_parameters() -> None:
    params = parameters_from({"model": "wordllama", "pd": object(), "_": 1})
    assert params == RunParams(model="wordllama")


def test_parameters_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        parameters({}).model = "x"  # type: ignore[misc]


@pytest.mark.parametrize(("name", "hint"), [("flor", "floor"), ("TOPK", "")])
def test_c86_an_unknown_name_comes_with_the_closest(name: str, hint: str) -> None:
    [said] = unknown_names({name: 1}, {"floor", "zzz"})
    assert (hint in said) if hint else ("did you mean" not in said)


@given(st.text(max_size=60))
def test_c91_a_safe_name_is_one_folder_below(name: str) -> None:
    safe = safe_name(name)
    assert re.fullmatch(r"[^/\\\s]+", safe)
    assert safe not in (".", "..")
    assert not safe.startswith(".")
    assert safe_name(safe) == safe


def test_c91_model_names_become_folder_names() -> None:
    assert parameters({"model": "BAAI/bge-m3"}).run_name == "BAAI-bge-m3"
    assert parameters({"scores": "a/b/scores 1.csv"}).run_name == "scores-1"


@given(st.floats(min_value=-99, max_value=99, allow_nan=False))
def test_a_number_with_a_comma_is_understood(value: float) -> None:
    assert number_hint(f"{value:.3f}".replace(".", ",")) == f"; use {float(f'{value:.3f}'):g}"
