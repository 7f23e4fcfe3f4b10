"""Folds by group, cross-fitting and the permutation gate."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from calibration.choose import (
    Costs,
    Recommendation,
    choose_floor,
    cross_fit,
    folds_along,
    folds_by_group,
    held_out_cost,
    pick,
)
from calibration.choose.gate import permutation_gate
from calibration.choose.heldout import FOLDS
from calibration.choose.smooth import Smoothed, bandwidth, heavy_tailed, left_skewed

names = st.lists(st.sampled_from("abcdefghijklm"), min_size=1, max_size=40)
PAIRS = {"1:1": (1.0, 1.0), "3:1": (3.0, 1.0), "10:1": (10.0, 1.0), "1:3": (1.0, 3.0)}


@given(names, st.integers(2, 6), st.integers(0, 1000))
def test_folds_never_tear_a_group_and_are_as_even_as_groups_allow(groups: list[str], n: int, seed: int) -> None:
    folds = folds_by_group(groups, n, np.random.default_rng(seed))
    assert all(len(set(folds[np.array(groups) == name])) == 1 for name in set(groups))
    loads = np.bincount(folds)
    assert len(loads) == min(n, len(set(groups)))
    largest = max(groups.count(name) for name in set(groups))
    assert loads.max() - loads.min() <= largest


@given(names, names, st.integers(0, 1000))
def test_a_group_on_both_sides_stays_in_one_fold(groups: list[str], others: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    folds_of_others = folds_by_group(others, FOLDS, rng)
    folds = folds_along(groups, others, folds_of_others, FOLDS, rng)
    joint = dict(zip(others, folds_of_others.tolist(), strict=True))
    for name, fold in zip(groups, folds.tolist(), strict=True):
        assert joint.setdefault(name, fold) == fold


def test_each_fold_pays_at_the_floor_of_the_others_by_refitting() -> None:
    rng = np.random.default_rng(5)
    relevant, noise, costs = rng.normal(0.5, 0.1, 23), rng.normal(0.3, 0.05, 31), Costs()
    relevant[0] = noise[0] = -np.inf
    ours, theirs = folds_by_group(range(23), FOLDS, rng), folds_by_group(range(31), FOLDS, rng)
    cost, floors = cross_fit(relevant, noise, ours, theirs, costs)
    misses = answers = 0
    for fold, floor in enumerate(floors):
        refitted, _ = pick(relevant[ours != fold], noise[theirs != fold], costs)
        assert floor == refitted
        misses += int((relevant[ours == fold] < refitted).sum())
        answers += int((noise[theirs == fold] >= refitted).sum())
    assert cost == pytest.approx(1.5 * misses / 23 + 0.5 * answers / 31)


def test_a_fold_without_a_floor_accepts_what_has_a_score() -> None:
    fold = np.array([0, 0])
    cost = held_out_cost(np.array([0.5, -np.inf]), np.array([0.1, -np.inf]), fold, fold, [None], Costs())
    assert cost == pytest.approx(1.5 * 0.5 + 0.5 * 0.5)


def test_the_gate_hands_out_the_folds_it_used() -> None:
    rng = np.random.default_rng(6)
    relevant, noise = rng.normal(0.6, 0.1, 30), rng.normal(0.2, 0.05, 40)
    groups, far = np.repeat(np.arange(10), 3).astype(str), np.arange(40).astype(str)
    costs = Costs()
    gate, held = permutation_gate(
        relevant, noise, costs, relevant_groups=groups, noise_groups=far, seed=1, permutations=20
    )
    ours, theirs = np.array(held.relevant_folds), np.array(held.noise_folds)
    _, floors = cross_fit(relevant, noise, ours, theirs, costs)
    assert floors == held.floors
    assert gate.passed
    assert gate.bar < gate.gain < 0.5  # accepting everything costs a half
    assert all(len(set(ours[groups == name])) == 1 for name in set(groups))


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10_000))
def test_the_gate_does_not_know_the_order_of_queries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    relevant, noise = rng.normal(0.5, 0.1, 12), rng.normal(0.3, 0.05, 25)
    ids, far = np.array([f"r{i}" for i in range(12)]), np.array([f"n{i}" for i in range(25)])
    a, b = rng.permutation(12), rng.permutation(25)
    one = choose_floor(relevant, noise, groups=ids, noise_groups=far, permutations=19)
    other = choose_floor(relevant[a], noise[b], groups=ids[a], noise_groups=far[b], permutations=19)
    assert one.floor == other.floor
    assert one.gate is not None
    assert other.gate is not None
    assert one.gate.gain == pytest.approx(other.gate.gain)
    assert [one.held_out.relevant_folds[i] for i in a] == list(other.held_out.relevant_folds)


def test_the_gain_of_the_gate_is_that_of_smoothed_bands_with_pooled_bandwidths() -> None:
    rng = np.random.default_rng(8)
    relevant, noise, costs = rng.normal(0.5, 0.1, 14), rng.normal(0.3, 0.05, 22), Costs()
    relevant[0] = noise[0] = -np.inf
    gate, _ = permutation_gate(
        relevant, noise, costs, relevant_groups=range(14), noise_groups=range(22), seed=1, permutations=19
    )
    values = np.sort(np.concatenate([relevant[1:], noise[1:]]))
    reach = float(np.ptp(values))
    grid = np.linspace(values[0] - 0.15 * reach, values[-1] + 0.15 * reach, 160)
    miss = Smoothed(np.sort(relevant[1:]), 1 / 14, bandwidth(values, reach, 13), left_skewed, 20 / 33).below(grid)
    refused = Smoothed(np.sort(noise[1:]), 1 / 22, bandwidth(values, reach, 21), heavy_tailed, 100 / 121).below(grid)
    cost = 1.5 * miss + 0.5 * (1.0 - refused)
    accept_all = 1.5 / 14 + 0.5 * 21 / 22
    assert gate.gain == pytest.approx(accept_all - cost.min(), abs=1e-9)


def test_few_relabellings_ask_for_more_than_all_of_them_and_fewer_are_refused() -> None:
    rng = np.random.default_rng(9)
    relevant, noise = rng.normal(0.6, 0.05, 20), rng.normal(0.2, 0.05, 30)
    found = choose_floor(relevant, noise, permutations=19)
    assert found.gate is not None
    assert found.gate.passed
    with pytest.raises(ValueError, match="at least 19"):
        choose_floor(relevant, noise, permutations=18)


@pytest.mark.parametrize("pair", PAIRS)
def test_without_a_signal_a_floor_is_offered_in_at_most_one_draw_of_twenty(pair: str) -> None:
    miss, false = PAIRS[pair]
    rng = np.random.default_rng(20)
    draws, offered = 60, 0
    for seed in range(draws):
        found = choose_floor(
            rng.normal(0.4, 0.1, 20),
            rng.normal(0.4, 0.1, 40),
            miss_cost=miss,
            false_cost=false,
            permutations=19,
            seed=seed,
        )
        offered += found.floor is not None
    assert offered <= 8  # of 60; P(more | 5 %) is 1 %


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("n_noise", [20, 24, 100])
def test_a_clean_gap_at_twenty_queries_is_never_refused(pair: str, n_noise: int) -> None:
    miss, false = PAIRS[pair]
    rng = np.random.default_rng(21)
    for seed in range(10):
        relevant, noise = rng.uniform(0.5, 0.8, 20), rng.uniform(0.05, 0.3, n_noise)
        found = choose_floor(relevant, noise, miss_cost=miss, false_cost=false, permutations=39, seed=seed)
        assert found.floor is not None, found
        assert noise.max() < found.floor < relevant.min()


def test_paraphrases_are_no_further_evidence() -> None:
    """Ten needs, four wordings each, no signal: as few floors as with ten queries."""
    rng = np.random.default_rng(22)
    offered, draws = 0, 40
    for seed in range(draws):
        groups = np.repeat(np.arange(10), 4)
        relevant = rng.normal(0.4, 0.1, 10)[groups] + rng.normal(0, 0.01, 40)
        found = choose_floor(
            relevant, rng.normal(0.4, 0.1, 40), miss_cost=1, groups=groups.astype(str), permutations=39, seed=seed
        )
        offered += found.floor is not None
    assert offered <= 6


def test_one_need_in_eight_wordings_is_one_query() -> None:
    rng = np.random.default_rng(23)
    found = choose_floor(rng.uniform(0.5, 0.6, 8), rng.uniform(0.1, 0.2, 30), groups=["a"] * 8, permutations=19)
    assert isinstance(found, Recommendation)
    assert not found.smoothed
    assert found.held_out is None
    assert found.caveats[0].startswith(
        "1 best relevant and 30 noise similarities (paraphrases counted once) are too few"
    )


def test_a_clean_gap_between_paraphrased_needs_is_never_refused() -> None:
    rng = np.random.default_rng(24)
    for seed in range(10):
        groups = np.repeat(np.arange(10), 2).astype(str)
        relevant = rng.uniform(0.5, 0.8, 10)[np.repeat(np.arange(10), 2)] + rng.normal(0, 0.01, 20)
        found = choose_floor(
            relevant, rng.uniform(0.05, 0.3, 30), groups=groups, permutations=49, resamples=0, seed=seed
        )
        assert found.floor is not None, found
