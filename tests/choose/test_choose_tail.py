"""The upper end of far noise: where it thins out, and where it ends."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import expon, genpareto

from calibration.choose.smooth import EPANECHNIKOV_FACTOR, Smoothed, bandwidth, heavy_tailed
from calibration.choose.tail import MOST, FarNoise, exceeding

WORTH = 100.0


def fit(values: np.ndarray, worth: float = WORTH) -> FarNoise:
    found = FarNoise.fit(values, pooled_range=1.0, shape=heavy_tailed, worth=worth)
    assert isinstance(found, FarNoise)
    return found


def plain(values: np.ndarray) -> Smoothed:
    return Smoothed.fit(values, pooled_range=1.0, shape=heavy_tailed, worth=WORTH)


def test_the_tail_of_three_exceedances_by_hand() -> None:
    # places .65/3, 1.65/3, 2.65/3: mean of over * (2 place - 1) is .6444, 2 / .6444 - 2 = 1.1034, times 3 / (3 + 5)
    curvature = 3 / 8 * (2 / (1.9333333333333333 / 3) - 2)
    assert curvature == pytest.approx(0.4138, abs=1e-4)
    at = np.array([-1.0, 0.0, 1.0, 3.0, 6.8, 7.0])
    expected = genpareto(c=-curvature, scale=2 * (1 + curvature)).sf(at)
    assert exceeding(np.array([1.0, 2.0, 3.0]), at) == pytest.approx(expected)
    assert expected[-2:] == pytest.approx([0.0, 0.0], abs=1e-3)


def test_an_exponential_tail_stays_exponential_and_an_even_one_ends() -> None:
    shares = (np.arange(1, 401) - 0.5) / 400
    at = np.array([0.5, 1.0, 2.0, 4.0])
    assert exceeding(expon.ppf(shares), at) == pytest.approx(np.exp(-at), abs=0.01)
    assert exceeding(shares, np.array([0.25, 0.75, 1.02])) == pytest.approx([0.75, 0.25, 0.0], abs=0.01)


@given(st.lists(st.floats(2**-10, 1, width=32), min_size=2, max_size=40))
def test_the_tail_falls_from_1_and_keeps_what_was_seen(over: list[float]) -> None:
    seen = np.sort(np.array(over, dtype=np.float64))
    at = np.linspace(-0.1, 3.0, 200)
    found = exceeding(seen, at)
    assert found[0] == 1.0
    assert (np.diff(found) <= 1e-12).all()
    assert (found >= 0.0).all()
    assert exceeding(seen, seen[:-1][seen[:-1] < 0.999 * seen[-1]]).all()  # an end below a seen value would deny it


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=60))
def test_far_noise_is_a_distribution_function_whatever_the_scores(values: list[float]) -> None:
    below = fit(np.array(values)).below(np.linspace(-60.0, 60.0, 1201))
    assert (np.diff(below) >= -1e-9).all()
    assert (below[0], below[-1]) == pytest.approx((0.0, 1.0), abs=1e-6)


def test_each_value_is_smoothed_by_a_width_that_falls_with_the_root_of_the_density() -> None:
    values = np.concatenate([np.linspace(0.0, 0.6, 30), np.linspace(0.6, 0.61, 30)[1:]])
    far, at = fit(values, worth=0.0), np.linspace(-0.2, 0.8, 50)
    first = 0.5 * bandwidth(values, 1.0)
    steps = (values[:, None] - values) / (first * EPANECHNIKOV_FACTOR)
    density = np.where(np.abs(steps) < 1, 1 - steps**2, 0).sum(axis=1)
    widths = first * (np.exp(np.log(density).mean()) / density) ** 0.5
    assert widths[45] < 0.7 * widths[15]
    u = np.clip((at[:, None] - values) / (widths * EPANECHNIKOV_FACTOR), -1, 1)
    assert far.below(at) == pytest.approx((0.5 + 0.75 * u - 0.25 * u**3).mean(axis=1))


def test_a_dense_upper_edge_ends_nearer_than_the_plain_mixture_says_and_a_long_tail_does_not() -> None:
    rng = np.random.default_rng(2)
    edge = np.minimum(rng.normal(0.4, 0.1, 50), 0.48 + 0.01 * rng.random(50))
    above = np.array([0.52])
    assert 1 - fit(edge).below(above)[0] < 0.7 * (1 - plain(edge).below(above)[0])
    long = 0.3 + 0.1 * rng.standard_t(3, 50)
    above = np.array([long.max()])
    assert 1 - fit(long).below(above)[0] > 0.9 * (1 - plain(long).below(above)[0])


def test_equal_scores_and_scores_equal_up_to_rounding_have_no_tail() -> None:
    at = np.array([0.2, 0.4, 0.6])
    for values in (np.full(30, 0.4), 0.4 + 1e-17 * np.arange(30), np.append(np.full(30, 0.4), 0.4 + 1e-16)):
        assert fit(values).below(at) == pytest.approx([0.0, 0.5, 1.0], abs=1e-3)


def test_of_very_many_scores_quantiles_are_smoothed() -> None:
    values = np.random.default_rng(3).normal(0.3, 0.1, 20 * MOST)
    at = np.linspace(0.0, 0.6, 61)
    assert fit(values).below(at) == pytest.approx((values[None, :] < at[:, None]).mean(axis=1), abs=0.005)
