"""Smoothed distribution functions."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binomtest, gumbel_l, logistic

from calibration.choose.smooth import (
    BELIEVED_WITHIN,
    EPANECHNIKOV_FACTOR,
    Smoothed,
    bandwidth,
    count_bounds,
    heavy_tailed,
    kernel_steps,
    left_skewed,
)

values_of = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=60)


def directly(values: np.ndarray, thresholds: np.ndarray, h: float) -> np.ndarray:
    """Every threshold against every value."""
    u = np.clip((thresholds[:, None] - values[None, :]) / h, -1.0, 1.0)
    return (0.5 + 0.75 * u - 0.25 * u**3).mean(axis=1)


@settings(deadline=None)
@given(values_of)
def test_the_kernel_estimate_equals_a_direct_evaluation_rises_and_stays_in_0_1(values: list[float]) -> None:
    array = np.array(values)
    smoothed = Smoothed.fit(array, pooled_range=float(np.ptp(array)), shape=left_skewed, worth=0.0)
    grid = np.linspace(-9.0, 9.0, 601)
    found = smoothed.below(grid)
    assert found == pytest.approx(directly(array, grid, smoothed.width * EPANECHNIKOV_FACTOR), abs=1e-8)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert (np.diff(found) >= -1e-9).all()
    assert (found[0], found[-1]) == (0.0, 1.0)


def test_the_mixture_is_the_weighted_sum_and_missing_values_lie_below_everything() -> None:
    values = np.array([0.3, 0.4, 0.5, -np.inf])
    grid = np.array([-5.0, 0.4, 5.0])
    worths = (0.0, 3.0, 3e9)  # beside the three scored values: weights 0, a half, 1
    parts = [Smoothed.fit(values, pooled_range=0.2, shape=left_skewed, worth=worth).below(grid) for worth in worths]
    assert parts[1] == pytest.approx(0.5 * parts[0] + 0.5 * parts[2])
    assert parts[0] == pytest.approx([0.25, 0.25 + 0.75 * 0.5, 1.0])
    assert parts[2][1] == pytest.approx(0.25 + 0.75 * left_skewed(np.zeros(1))[0])


@given(values_of, st.floats(0.0, 2.0))
def test_the_bandwidth_is_the_rule_of_thumb_with_a_lower_end(values: list[float], pooled_range: float) -> None:
    array = np.sort(np.array(values, dtype=np.float64))
    found = bandwidth(array, pooled_range)
    assert found >= 0.01 * pooled_range
    if len(array) > 1:
        iqr = float(np.subtract(*np.percentile(array, [75, 25]))) / 1.34
        sd = float(np.std(array, ddof=1))
        spread = min(sd, iqr) if iqr > 0 else sd
        assert found == pytest.approx(max(0.9 * spread * len(array) ** -0.2, 0.01 * pooled_range, 1e-9))


def test_equal_values_smooth_to_a_step_not_to_an_error() -> None:
    smoothed = Smoothed.fit(np.full(3, 0.47), pooled_range=0.27, shape=heavy_tailed, worth=3.0)
    assert smoothed.below(np.array([0.2, 0.47, 0.7])) == pytest.approx([0.0, 0.5, 1.0])


@pytest.mark.parametrize(("shape", "family"), [(left_skewed, gumbel_l), (heavy_tailed, logistic)])
def test_shapes_are_the_standardised_families(shape: object, family: object) -> None:
    mean, variance = family.stats()  # type: ignore[attr-defined]
    z = np.linspace(-60.0, 60.0, 241)
    expected = family.cdf(z * np.sqrt(variance) + mean)  # type: ignore[attr-defined]
    assert shape(z) == pytest.approx(expected, abs=1e-12)  # type: ignore[operator]


@given(values_of)
def test_the_steps_of_all_values_average_to_the_kernel_estimate(values: list[float]) -> None:
    array, grid = np.array(values), np.linspace(-2.0, 2.0, 41)
    assert kernel_steps(array, grid, 0.3).mean(axis=0) == pytest.approx(directly(array, grid, 0.3))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_count_bounds_are_the_exact_binomial_ones(n: int) -> None:
    low, high = count_bounds(n)
    for k in range(n + 1):
        below = binomtest(k, n, alternative="less").proportion_ci(BELIEVED_WITHIN, method="exact").high
        above = binomtest(k, n, alternative="greater").proportion_ci(BELIEVED_WITHIN, method="exact").low
        assert (low[k], high[k]) == pytest.approx((above, below), abs=1e-10)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=60), st.integers(0, 5))
def test_the_held_share_rises_and_never_leaves_the_bounds_of_the_count(scored: list[float], missing: int) -> None:
    values = np.array(scored + [-np.inf] * missing)
    smoothed = Smoothed.fit(values, pooled_range=1.0, shape=heavy_tailed, worth=100.0)
    grid = np.linspace(-1.5, 1.5, 301)
    held = smoothed.held(grid)
    assert (np.diff(held) >= -1e-9).all()
    low, high = count_bounds(len(scored))
    counted = (np.array(scored)[None, :] < grid[:, None]).sum(axis=1)
    share = len(scored) / len(values)
    assert (held >= 1 - share + share * low[counted] - 1e-12).all()
    assert (held <= 1 - share + share * high[counted] + 1e-12).all()
    inside = (held > 1 - share + share * low[counted] + 1e-9) & (held < 1 - share + share * high[counted] - 1e-9)
    assert held[inside] == pytest.approx(smoothed.below(grid)[inside])


def test_a_tail_beyond_a_sharp_edge_is_cut_to_what_the_count_allows() -> None:
    smoothed = Smoothed.fit(np.linspace(0.0, 0.5, 100), pooled_range=1.0, shape=heavy_tailed, worth=100.0)
    beyond = np.array([0.505])
    assert 1.0 - smoothed.below(beyond)[0] > 0.04
    assert 1.0 - smoothed.held(beyond)[0] == pytest.approx(1.0 - 0.1 ** (1 / 100))


def test_without_a_scored_value_nothing_is_held() -> None:
    smoothed = Smoothed.fit(np.array([-np.inf]), pooled_range=1.0, shape=heavy_tailed, worth=1.0)
    assert smoothed.held(np.array([0.0, 1.0])).tolist() == [1.0, 1.0]
