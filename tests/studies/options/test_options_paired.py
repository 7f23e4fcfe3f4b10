"""Pairs of options on the same queries: exact, corrected, and silent about noise."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.choose.paired import compare_pairs
from calibration.studies.options.paired import compare_all, tarone_level, visible

NAMES = list("abcde")


def test_one_pair_is_mcnemars_test() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.random(60) < 0.6, rng.random(60) < 0.9
    groups = rng.integers(0, 40, 60)
    (pair,) = compare_all(({"one": one.astype(float), "other": other.astype(float)}, groups)).pairs
    known = compare_pairs(one, other, groups)
    assert pair.p_value == known.p_value
    assert (pair.first_better, pair.second_better) == (known.worse_groups, known.better_groups)


def test_a_difference_needs_more_queries_when_more_pairs_can_differ() -> None:
    good, six = np.ones(20), np.array([0.0] * 6 + [1.0] * 14)
    two = compare_all(({"a": good, "b": six}, range(20)))
    assert two.beats("a", "b")
    turned = np.roll(six, 6)
    three = compare_all(({"a": good, "b": six, "c": turned}, range(20)))
    assert not three.beats("a", "b"), "three pairs that can differ share the five percent"
    assert three.level == 0.025, "two pairs differ in six queries, which never show at that level; the third may"
    idle = compare_all(({"a": good, "b": six, "c": good, "d": good}, range(20)))
    assert idle.level is None, "three pairs differ in six queries, and none could show at a third of the five percent"


def test_paraphrases_of_one_need_count_once() -> None:
    good, bad = np.ones(12), np.zeros(12)
    assert compare_all(({"a": good, "b": bad}, range(12))).beats("a", "b")
    assert not compare_all(({"a": good, "b": bad}, ["one need"] * 12)).beats("a", "b")


def test_further_queries_decide_only_where_the_others_do_not_object() -> None:
    few, many = ({"a": np.ones(5), "b": np.zeros(5)}, range(5)), ({"a": np.ones(40), "b": np.zeros(40)}, range(40))
    assert compare_all(few, many).beats("a", "b")
    against = ({"a": np.zeros(5), "b": np.ones(5)}, range(5))
    assert not compare_all(against, many).beats("a", "b")
    assert not compare_all(against, many).beats("b", "a")


def test_no_winner_from_noise() -> None:
    """Five options that are equal in truth: a difference of any pair is found in at most one of twenty data sets."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        values = {name: (rng.random(80) < 0.8).astype(float) for name in NAMES}
        found = compare_all((values, range(80)))
        wrong += any(pair.measurable for pair in found.pairs)
    assert wrong <= 0.05 * 200


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 3), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_nothing(rows: list[tuple[bool, bool, bool]], random: object) -> None:
    table = np.array(rows, dtype=np.float64)
    groups = np.arange(len(rows)) // 2
    order = np.array(random.sample(range(len(rows)), len(rows)))  # type: ignore[attr-defined]
    one = compare_all(({name: table[:, i] for i, name in enumerate("abc")}, groups))
    other = compare_all(({name: table[order, i] for i, name in enumerate("abc")}, groups[order]))
    assert one == other


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=20))
def test_the_level_lies_between_bonferronis_and_that_of_one_test(discordant: list[int]) -> None:
    level = tarone_level(discordant)
    assert level is None or 0.05 / len(discordant) <= level <= 0.05
    assert (level is None) <= (max(discordant) < visible(0.05 / len(discordant)))
