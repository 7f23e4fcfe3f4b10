"""A similarity meets a floor."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibration.contract import (
    DEFAULT_TOLERANCE,
    Decision,
    ScoreContract,
    accept,
    decide,
    lowest_accepted,
    on_boundary,
)
from calibration.errors import ContractError

similarities = st.floats(-1.0, 1.0, allow_nan=False)


def test_c45_a_row_without_a_score_is_neither_accepted_nor_rejected() -> None:
    decisions = decide([0.41, None, 0.0, 0.12], 0.3)
    assert [Decision(value).name for value in decisions] == ["ACCEPTED", "NOT_SCORED", "REJECTED", "REJECTED"]
    assert accept([0.41, None, 0.0, 0.12], 0.3).tolist() == [True, False, False, False]


@pytest.mark.parametrize("missing", [None, np.nan, np.inf, -np.inf])
def test_c77_what_is_no_number_passes_no_gate_and_no_absence_of_one(missing: float | None) -> None:
    for floor in (-1.0, 0.0, None):
        assert decide([missing], floor).tolist() == [Decision.NOT_SCORED]
        assert not accept([missing], floor).any()


def test_c23_a_floor_of_zero_is_a_floor() -> None:
    scores = [0.3, 0.0, -0.1]
    assert accept(scores, 0.0).tolist() == [True, True, False]
    assert accept(scores, None).tolist() == [True, True, True]
    assert accept([0.0], 0.5).tolist() == [False]


def test_a_floor_that_is_nan_is_refused_not_obeyed() -> None:
    with pytest.raises(ContractError, match="None for no floor"):
        accept([0.5], float("nan"))


@pytest.mark.parametrize(("distance", "floor"), [(0.2, 0.8), (0.1, 0.9), (0.3, 0.7)])
def test_c22_the_boundary_row_is_decided_by_the_contract_not_by_binary_fractions(distance: float, floor: float) -> None:
    similarity = ScoreContract("cosine_distance").similarity([distance])
    assert ScoreContract("cosine_distance").accept(similarity, floor).tolist() == [True]
    exclusive = ScoreContract("cosine_distance", threshold_inclusive=False)
    assert exclusive.accept(similarity, floor).tolist() == [False]
    assert on_boundary(similarity, floor).tolist() == [True]


@pytest.mark.parametrize(("document", "cosine"), [((0.8, 0.6), 0.8), ((0.4, np.sqrt(0.84)), 0.4)])
@pytest.mark.parametrize("inclusive", [True, False])
def test_c21_float32_storage_decides_alike_under_every_metric(
    document: tuple[float, float], cosine: float, inclusive: bool
) -> None:
    query, stored = np.float32([1, 0]), np.float32(document)
    product = float(np.float64(query) @ np.float64(stored))
    raw = {
        "cosine_similarity": product / float(np.linalg.norm(np.float64(stored))),
        "cosine_distance": 1.0 - product / float(np.linalg.norm(np.float64(stored))),
        "l2": float(np.float32(np.linalg.norm(query - stored))),
        "squared_l2": float(((np.float64(query) - np.float64(stored)) ** 2).sum()),
        "inner_product": product,
        "negative_inner_product": -product,
    }
    for metric, score in raw.items():
        contract = ScoreContract(metric, threshold_inclusive=inclusive)
        similarity = contract.similarity([score])
        assert contract.accept(similarity, cosine).tolist() == [inclusive], metric
        assert on_boundary(similarity, cosine).tolist() == [True], metric


@given(similarities, similarities, st.booleans())
def test_lowest_accepted_is_where_acceptance_begins(similarity: float, floor: float, inclusive: bool) -> None:
    bar = lowest_accepted(floor, inclusive=inclusive)
    assert accept([similarity], floor, inclusive=inclusive).tolist() == [similarity >= bar]
    assert accept([bar], floor, inclusive=inclusive).all()
    assert not accept([np.nextafter(bar, -np.inf)], floor, inclusive=inclusive).any()


@given(st.lists(similarities, min_size=1, max_size=20), similarities, similarities)
def test_acceptance_never_rises_with_the_floor(scores: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert (accept(scores, high) <= accept(scores, low)).all()


def test_tolerance_is_wider_than_float32_rounding_and_narrower_than_a_difference_that_counts() -> None:
    assert np.finfo(np.float32).eps < DEFAULT_TOLERANCE <= 1e-6


@pytest.mark.parametrize("tolerance", [np.nan, -1e-9])
def test_a_tolerance_that_is_none_is_refused(tolerance: float) -> None:
    with pytest.raises(ContractError, match=r"the tolerance is .*, expected a number from 0 on"):
        accept([0.5], 0.3, tolerance=tolerance)
