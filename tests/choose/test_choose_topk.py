"""The smallest cap that loses no more than noise, or than two answers in a hundred."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibration.choose import choose_top_k
from calibration.choose.topk import allowed_losses

ranks_of = st.lists(st.one_of(st.integers(1, 25).map(float), st.just(np.inf), st.just(np.nan)), max_size=40)


def test_by_hand() -> None:
    found = choose_top_k([1, 1, 1, 1, 2, 3, 7, np.inf], [True] * 8, k_max=10)
    assert found.hits == (4, 5, 6, 6, 6, 6, 7, 7, 7, 7)
    assert (found.value, found.n, found.chosen_by) == (2, 8, "labels")  # two lost queries may be luck, three are not


def test_a_passage_the_floor_cuts_needs_no_place() -> None:
    found = choose_top_k([1, 1, 9, 9, 9, 9], [True, True, False, False, False, False], k_max=10)
    assert (found.value, found.hits[-1]) == (1, 2)


def test_a_budget_always_wins_and_shows_what_it_costs() -> None:
    found = choose_top_k([1, 9, 9, 9], [True] * 4, k_max=10, budget=2)
    assert (found.value, found.chosen_by, found.hits[1], found.hits[9]) == (2, "budget", 1, 4)
    assert choose_top_k([1], [True], k_max=5, budget=8).k_max == 8


@pytest.mark.parametrize("ranks", [[], [np.inf, np.nan], [30.0]])
def test_without_a_single_hit_the_default_stands(ranks: list[float]) -> None:
    found = choose_top_k(ranks, [True] * len(ranks), k_max=10)
    assert (found.value, found.chosen_by, found.n) == (5, "default", len(ranks))
    assert choose_top_k(ranks, [True] * len(ranks), k_max=3).value == 3


@given(ranks_of, st.integers(1, 20))
def test_hits_never_fall_with_k_and_the_choice_loses_at_most_two(ranks: list[float], k_max: int) -> None:
    found = choose_top_k(ranks, [True] * len(ranks), k_max=k_max)
    assert list(found.hits) == sorted(found.hits)
    assert found.hits == tuple(sum(rank <= k for rank in ranks) for k in range(1, k_max + 1))
    if found.chosen_by == "labels":
        assert found.allowed == 2
        assert found.hits[-1] - found.hits[found.value - 1] <= 2
        assert found.hits[found.value - 1] > 0
        smaller = found.hits[: found.value - 1]
        assert all(found.hits[-1] - hits > 2 or hits == 0 for hits in smaller)
    if found.next_smaller is not None and found.next_smaller > 1:
        assert found.hits[found.next_smaller - 1] == found.hits[found.value - 2]
        assert found.hits[found.next_smaller - 2] < found.hits[found.next_smaller - 1]


@pytest.mark.parametrize(("most", "allowed"), [(1, 2), (99, 2), (149, 2), (150, 3), (434, 8), (1000, 20)])
def test_two_answers_in_a_hundred_may_be_lost_where_that_is_more_than_noise(most: int, allowed: int) -> None:
    assert allowed_losses(most) == allowed


def test_more_labels_of_the_same_ranking_do_not_drive_k_to_its_maximum() -> None:
    once = [1.0] * 80 + [2.0] * 12 + [3.0] * 6 + [15.0]
    few, many = (choose_top_k(once * times, [True] * 99 * times, k_max=20) for times in (1, 10))
    assert (few.value, many.value) == (3, 3)
    assert many.hits[-1] - many.hits[2] == 10


def test_the_next_smaller_cap_is_the_one_that_changes_anything() -> None:
    found = choose_top_k([1, 1, 1, 1, 3, 3, 5, 5, 5, 5], [True] * 10, k_max=10)
    assert (found.value, found.next_smaller) == (5, 3)
    assert choose_top_k([1] * 5, [True] * 5, k_max=10).next_smaller is None
