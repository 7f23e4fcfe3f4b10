"""What other tools would have chosen."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibration.choose import POLICIES, as_chooser, largest_gap, low_in_the_gap
from calibration.choose.outcome import Costs
from calibration.choose.policies import conformal

RELEVANT = np.array([0.5, 0.6, 0.7, 0.8])
NOISE = np.array([0.1, 0.2, 0.3, 0.55])


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("top-K only", None),
        ("fixed 0.78", 0.78),
        ("max F0.5", 0.6),
        ("max F1", 0.5),
        ("max F2", 0.5),
        ("equal error rate", 0.55),
        ("Youden", 0.5),
        ("target recall 95 %", 0.5),
        ("conformal 90 %", None),
        ("middle of the extreme gap", None),
        ("low in the extreme gap", None),
    ],
)
def test_by_hand(name: str, floor: float | None) -> None:
    assert POLICIES[name](RELEVANT, NOISE) == floor
    assert as_chooser(POLICIES[name])(RELEVANT, NOISE, Costs()) == floor


def test_ways_up_the_extreme_gap() -> None:
    assert POLICIES["middle of the extreme gap"](RELEVANT, NOISE[:3]) == pytest.approx(0.4)
    assert low_in_the_gap(RELEVANT, NOISE[:3]) == pytest.approx(0.35)
    assert low_in_the_gap(np.append(RELEVANT, -np.inf), NOISE[:3]) == pytest.approx(0.35)
    assert low_in_the_gap(RELEVANT, np.array([-np.inf])) is None


@pytest.mark.parametrize(("n", "place"), [(8, None), (9, 0), (19, 1), (20, 1), (29, 2)])
def test_the_conformal_rank_is_exact_in_spite_of_binary_fractions(n: int, place: int | None) -> None:
    values = np.linspace(0.2, 0.8, n)
    assert conformal(0.9)(values, NOISE) == (None if place is None else values[place])


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_stands_degenerate_bands(name: str) -> None:
    policy = POLICIES[name]
    for relevant, noise in ((RELEVANT, np.array([-np.inf])), (np.array([-np.inf]), NOISE), (RELEVANT, NOISE[:0])):
        floor = policy(relevant, noise)
        assert floor is None or np.isfinite(floor)


def test_target_recall_keeps_the_target() -> None:
    values = np.linspace(0.2, 0.8, 40)
    floor = POLICIES["target recall 95 %"](values, NOISE)
    assert floor is not None
    assert (values >= floor).mean() == 0.95


@pytest.mark.parametrize(
    ("scores", "cap", "kept"),
    [
        ([0.9, 0.85, 0.4, 0.35, 0.1], 4, 2),
        ([0.9, 0.85, 0.4, 0.35, 0.1], 1, 1),
        ([0.5, 0.49, 0.48, 0.1], 3, 3),
        ([0.5, 0.49, 0.48], 3, 1),
        ([0.2], 5, 1),
        ([0.3, 0.3, 0.3], 5, 1),
        ([], 5, 0),
    ],
)
def test_the_largest_gap_by_hand(scores: list[float], cap: int, kept: int) -> None:
    assert largest_gap(np.array(scores, dtype=np.float64), cap) == kept


@given(st.lists(st.integers(-90, 90), min_size=1, max_size=30), st.integers(1, 20), st.integers(0, 9))
def test_the_largest_gap_keeps_at_least_one_passage_and_looks_at_differences_only(
    scores: list[int], cap: int, shift: int
) -> None:
    ordered = np.sort(np.array(scores, dtype=np.float64))[::-1]
    kept = largest_gap(ordered, cap)
    assert 1 <= kept <= min(cap, len(ordered))
    assert largest_gap(ordered + shift, cap) == kept
    assert largest_gap(2 * ordered, cap) == kept
