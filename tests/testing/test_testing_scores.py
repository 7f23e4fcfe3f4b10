"""Assertions that users put into their own suites."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibration.contract import ScoreContract
from calibration.errors import ContractError, ParameterError
from calibration.testing import assert_same_accepted, assert_same_ranking

COSINE, SQUARED = ScoreContract(), ScoreContract("squared_l2")
OLD = {"q1": {"A": 0.9, "B": 0.7, "C": 0.3}, "q2": {"A": 0.1}}
NEW = {"q1": {"A": 0.2, "B": 0.6, "C": 1.4}, "q2": {"A": 1.8}}


def test_a_converted_rule_accepts_the_same() -> None:
    assert_same_accepted(OLD, COSINE, 0.8, NEW, SQUARED, 0.4)
    assert_same_accepted(OLD, COSINE, None, NEW, SQUARED, None)
    assert_same_ranking(OLD, COSINE, NEW, SQUARED)


def test_a_copied_number_is_found_and_the_ranking_does_not_find_it() -> None:
    assert_same_ranking(OLD, COSINE, NEW, SQUARED)
    with pytest.raises(AssertionError) as failed:
        assert_same_accepted(OLD, COSINE, 0.8, NEW, SQUARED, 0.8)
    assert str(failed.value) == (
        "the accepted sets differ for 1 of 2 queries (1 conversion):\n"
        "  - query 'q1', document 'B': accepted on the new side only, conversion "
        "(0.7 against >= 0.8, 0.6 against <= 0.8)"
    )


def test_a_copied_direction_is_found() -> None:
    # the adapter still calls the distance a similarity
    with pytest.raises(AssertionError, match=r"document 'A': accepted on the old side only, conversion \(0\.9"):
        assert_same_accepted(OLD, COSINE, 0.8, {"q1": {"A": 0.1, "B": 0.3, "C": 0.7}, "q2": {"A": 0.9}}, COSINE, 0.8)


def test_c21_what_storage_decides_is_boundary_and_passes_only_if_asked() -> None:
    # by the tolerance of 1e-6, accepted begins at 0.799999
    old, rounded = {"q": {"A": 0.7999989}}, {"q": {"A": 0.7999991}}
    with pytest.raises(AssertionError, match=r"1 boundary.*\n.*'A': accepted on the new side only, boundary"):
        assert_same_accepted(old, COSINE, 0.8, rounded, COSINE, 0.8)
    assert_same_accepted(old, COSINE, 0.8, rounded, COSINE, 0.8, allow_boundary=True)
    # near the floor on one side alone is no rounding
    moved = {"q": {"A": 0.801}}
    with pytest.raises(AssertionError, match="1 conversion"):
        assert_same_accepted(old, COSINE, 0.8, moved, COSINE, 0.8, allow_boundary=True)


def test_c21_a_document_on_the_boundary_is_decided_alike_under_both_metrics() -> None:
    for floats in (0.79999996, 0.8, 0.80000004):
        assert_same_accepted({"q": {"A": 0.8}}, COSINE, 0.8, {"q": {"A": 2 - 2 * floats}}, SQUARED, 0.4)


def test_the_coarser_storage_decides_how_wide_the_boundary_is() -> None:
    half = ScoreContract(tolerance=2e-4)
    old, new = {"q": {"A": 0.79990}}, {"q": {"A": 0.80001}}
    with pytest.raises(AssertionError, match="1 boundary"):
        assert_same_accepted(old, COSINE, 0.8, new, half, 0.8)
    assert_same_accepted(old, COSINE, 0.8, new, half, 0.8, allow_boundary=True)


def test_top_k_is_part_of_the_rule() -> None:
    old = {"q": {"A": 0.9, "B": 0.8, "C": 0.7}}
    turned = {"q": {"A": 0.9, "B": 0.7, "C": 0.8}}
    tied = {"q": {"A": 0.9, "B": 0.7, "C": 0.7000005}}
    assert_same_accepted(old, COSINE, 0.5, turned, COSINE, 0.5)
    with pytest.raises(AssertionError, match="2 rank"):
        assert_same_accepted(old, COSINE, 0.5, turned, COSINE, 0.5, top_k=2)
    with pytest.raises(AssertionError, match="2 boundary"):
        assert_same_accepted({"q": {"A": 0.9, "B": 0.7000005, "C": 0.7}}, COSINE, 0.5, tied, COSINE, 0.5, top_k=2)


def test_what_is_absent_or_not_scored_is_no_matter_of_the_floor() -> None:
    old = {"q": {"A": 0.9, "B": 0.85}}
    with pytest.raises(AssertionError) as failed:
        assert_same_accepted(old, COSINE, 0.8, {"q": {"A": None}}, COSINE, 0.8)
    for words in ("1 absent, 1 not scored", "'A': accepted on the old side only, not scored", "absent against >= 0.8"):
        assert words in str(failed.value)


def test_c45_unscored_documents_are_kept_where_the_contract_says_so() -> None:
    scores: dict[str, dict[str, float | None]] = {"q": {"A": 0.41, "B": None, "C": 0.0, "D": 0.12}}
    keep = ScoreContract(unscored="keep")
    assert_same_accepted(scores, keep, 0.3, scores, keep, 0.3)
    with pytest.raises(AssertionError, match=r"'B': accepted on the new side only, not scored"):
        assert_same_accepted(scores, COSINE, 0.3, scores, keep, 0.3)


def test_c23_a_threshold_of_zero_is_one() -> None:
    scores = {"q": {"A": 0.3, "B": 0.0, "C": -0.1}}
    with pytest.raises(AssertionError, match="'C': accepted on the new side only"):
        assert_same_accepted(scores, COSINE, 0.0, scores, COSINE, None)


def test_queries_on_one_side_and_no_queries_are_failures() -> None:
    with pytest.raises(AssertionError, match="1 queries are on one side only: 'q2'"):
        assert_same_accepted(OLD, COSINE, 0.8, {"q1": NEW["q1"]}, SQUARED, 0.4)
    with pytest.raises(AssertionError, match="nothing was compared"):
        assert_same_ranking({}, COSINE, {}, SQUARED)


def test_a_threshold_that_is_none_of_its_contract_is_an_error() -> None:
    with pytest.raises(ContractError, match=r"threshold 78 is outside.*0\.78"):
        assert_same_accepted(OLD, COSINE, 78, NEW, SQUARED, 0.4)
    with pytest.raises(ContractError, match="no floor on 'rrf'"):
        assert_same_accepted(OLD, COSINE, 0.8, NEW, ScoreContract("rrf"), 0.4)


def test_c11_the_long_vector_turns_the_ranking() -> None:
    products = ScoreContract("inner_product", normalisation="query_unit_l2")
    with pytest.raises(AssertionError, match=r"'long' before 'A' on the old side \(7, 0\.9\), behind it on the new"):
        assert_same_ranking({"q": {"A": 0.9, "long": 7.0}}, products, {"q": {"A": 0.9, "long": 0.7}}, COSINE)


def test_ties_within_tolerance_are_no_difference_and_one_sided_scores_are() -> None:
    assert_same_ranking({"q": {"A": 0.5, "B": 0.5000005}}, COSINE, {"q": {"A": 0.5000005, "B": 0.5}}, COSINE)
    with pytest.raises(AssertionError, match="scored on one side only: 'B'"):
        assert_same_ranking({"q": {"A": 0.5, "B": None}}, COSINE, {"q": {"A": 0.5, "B": 0.1}}, COSINE)


values = st.lists(st.integers(0, 8), min_size=2, max_size=8)


@given(st.data(), values)
def test_a_turned_pair_is_found_exactly_when_there_is_one(data: st.DataObject, first: list[int]) -> None:
    second = data.draw(st.lists(st.integers(0, 8), min_size=len(first), max_size=len(first)))
    old, new = np.array(first) / 10, np.array(second) / 10
    turned = ((old[:, None] > old[None, :] + 0.15) & (new[:, None] < new[None, :] - 0.15)).any()
    sides = [{"q": {str(place): float(value) for place, value in enumerate(side)}} for side in (old, new)]
    contract = ScoreContract(tolerance=0.15)
    if turned:
        with pytest.raises(AssertionError, match="before"):
            assert_same_ranking(sides[0], contract, sides[1], contract)
    else:
        assert_same_ranking(sides[0], contract, sides[1], contract)


@pytest.mark.parametrize("top_k", [0, -1, 1.5])
def test_a_limit_that_lets_nothing_through_would_pass_anything(top_k: int) -> None:
    with pytest.raises(ParameterError, match=r"top_k is .*, expected a whole number from 1 on"):
        assert_same_accepted(OLD, COSINE, 0.8, NEW, SQUARED, 0.8, top_k=top_k)


@pytest.mark.parametrize("nothing", [{"q": {}}, {"q": {"A": None, "B": float("nan")}}])
def test_where_nothing_has_a_score_nothing_was_compared(nothing: dict[str, dict[str, float | None]]) -> None:
    rejected = {"q": {"A": 0.5, "B": 0.4}}
    for old, new, side in ((nothing, nothing, "old"), (nothing, rejected, "old"), (rejected, nothing, "new")):
        with pytest.raises(AssertionError, match=f"no document has a score on the {side} side"):
            assert_same_accepted(old, COSINE, 0.8, new, COSINE, 0.8)
    with pytest.raises(AssertionError, match="no document has a score on the old side"):
        assert_same_ranking(nothing, COSINE, nothing, COSINE)


def test_ids_of_another_type_are_other_ids() -> None:
    numbers, texts = {"q": {1: 0.9}}, {"q": {"1": 0.9}}
    with pytest.raises(AssertionError, match=r"document '1': accepted on the new side only, absent(.|\n)*document 1: "):
        assert_same_accepted(numbers, COSINE, 0.8, texts, COSINE, 0.8)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="scored on one side only: '1', 1"):
        assert_same_ranking(numbers, COSINE, texts, COSINE)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="2 queries are on one side only: '1', 1"):
        assert_same_ranking({1: {"A": 0.9}}, COSINE, {"1": {"A": 0.9}}, COSINE)  # type: ignore[dict-item]
