"""Pairs of queries: what is more than noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.choose.paired import (
    LEVEL,
    beyond_tolerance,
    compare_pairs,
    mcnemar,
    smallest_visible_loss,
)
from calibration.choose.plan import visible_loss


def pairs(n: int, worse: int, better: int) -> tuple[list[bool], list[bool]]:
    before = [True] * (n - better) + [False] * better
    after = [False] * worse + [True] * (n - worse)
    return before, after


def test_the_exact_p_of_the_textbook() -> None:
    # 2 * (1 + 9) / 2**9: one of nine discordant pairs, or fewer, on either side
    assert mcnemar(8, 1) == pytest.approx(2 * 10 / 512)
    assert mcnemar(1, 8) == mcnemar(8, 1)
    assert mcnemar(5, 5) == 1.0


def test_sixty_answerable_queries_six_lost_fail_and_two_never_do() -> None:
    for n_before_missed in range(0, 40, 5):
        kept = 60 - n_before_missed
        missed = [False] * n_before_missed
        six = compare_pairs([True] * kept + missed, [False] * 6 + [True] * (kept - 6) + missed)
        two = compare_pairs([True] * kept + missed, [False] * 2 + [True] * (kept - 2) + missed)
        same = compare_pairs([True] * kept + missed, [True] * kept + missed)
        assert (six.regressed, two.regressed, same.regressed) == (True, False, False)
        assert (six.worse, six.better, same.p_value) == (6, 0, 1.0)


def test_what_a_check_can_see_is_what_plan_promises() -> None:
    assert smallest_visible_loss() == visible_loss(60) == 6


def test_paraphrases_of_one_need_count_once() -> None:
    before, after = pairs(20, 8, 0)
    apart = compare_pairs(before, after)
    together = compare_pairs(before, after, ["a"] * 8 + [f"g{i}" for i in range(12)])
    assert apart.regressed
    assert (together.worse, together.worse_groups, together.regressed) == (8, 1, False)


def test_a_win_in_a_group_offsets_a_loss_in_it() -> None:
    found = compare_pairs([True, False], [False, True], ["g", "g"])
    assert (found.worse, found.better, found.worse_groups, found.better_groups) == (1, 1, 0, 0)


def test_no_queries_at_all_are_no_regression_by_themselves() -> None:
    assert compare_pairs([], []) == compare_pairs([], [], [])
    assert compare_pairs([], []).n == 0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_only_a_change_for_the_worse_regresses(drawn: list[tuple[bool, bool]]) -> None:
    before, after = [one for one, _ in drawn], [other for _, other in drawn]
    found = compare_pairs(before, after)
    back = compare_pairs(after, before)
    assert not (found.regressed and back.regressed)
    assert found.p_value == back.p_value
    assert (found.worse, found.better) == (back.better, back.worse)
    if found.regressed:
        assert sum(after) < sum(before)


def test_runs_without_a_true_change_fail_in_at_most_five_percent() -> None:
    """Three gates on 60 answerable, 25 off-topic and 200 probe queries, each query by chance, two thousand times."""
    rng = np.random.default_rng(6)
    failed = 0
    for _ in range(2000):
        gates = [(60, rng.uniform(0.5, 1.0)), (25, rng.uniform(0.4, 1.0)), (200, rng.uniform(0.7, 1.0))]
        runs = [(rng.random(n) < rate, rng.random(n) < rate) for n, rate in gates]
        failed += any(compare_pairs(before, after).regressed for before, after in runs)
    assert 0 < failed <= LEVEL * 2000


def test_c95_a_baseline_that_stays_where_it_is() -> None:
    nightly = [0.94, 0.93, 0.92, 0.91, 0.90]
    assert [beyond_tolerance(0.94, recall, 0.02) for recall in nightly] == [False, False, False, True, True]
    assert not beyond_tolerance(0.9, 0.7, 0.2), "0.9 - 0.7 is 0.20000000000000007 in binary"


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, 20))))
def test_exactly_the_tolerance_is_within_it(drawn: tuple[int, int, int]) -> None:
    n, hits, percent = drawn
    tolerance = percent / 100
    lost = round(n * percent / 100)
    if abs(lost - n * percent / 100) < 1e-12 and lost <= hits:
        assert not beyond_tolerance(hits / n, (hits - lost) / n, tolerance)
        if lost < hits:
            assert beyond_tolerance(hits / n, (hits - lost - 1) / n, tolerance)
