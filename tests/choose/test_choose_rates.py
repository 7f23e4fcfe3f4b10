"""Rates that carry where they come from."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binomtest

from calibration.choose import mean_over_queries, proportion


def test_c75_five_of_five_is_no_certainty() -> None:
    rate = proportion(5, 5)
    assert (rate.value, rate.low, rate.high) == (1.0, pytest.approx(0.5655, abs=1e-4), 1.0)
    mean = mean_over_queries([1.0] * 5, list("abcde"), seed=1)
    assert (mean.value, mean.low, mean.high) == (1.0, pytest.approx(0.5655, abs=1e-4), 1.0)
    assert mean == mean_over_queries([1.0] * 5, list("abcde"), seed=1)


def test_c70_an_undefined_rate_keeps_its_count_and_has_no_value() -> None:
    for rate in (proportion(0, 0), mean_over_queries([], [], seed=1)):
        assert (rate.value, rate.numerator, rate.denominator, rate.low, rate.high) == (None, 0, 0, None, None)
    assert str(proportion(0, 0)) == "undefined (0 of 0)"
    assert str(proportion(0, 4)) == "0.0% (0 of 4)"


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_is_wilsons_and_holds_the_value(a: int, b: int) -> None:
    rate = proportion(a, a + b)
    if a + b:
        interval = binomtest(a, a + b).proportion_ci(0.95, method="wilson")
        assert (rate.low, rate.high) == (interval.low, interval.high)
        assert rate.low <= rate.value <= rate.high


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from("abcdef")), min_size=1, max_size=30))
def test_a_mean_over_queries_is_the_mean_inside_its_interval(pairs: list[tuple[float, str]]) -> None:
    values, groups = [value for value, _ in pairs], [group for _, group in pairs]
    rate = mean_over_queries(values, groups, seed=3, resamples=200)
    assert rate.value == pytest.approx(np.mean(values))
    assert rate.denominator == len(pairs)
    assert 0.0 <= rate.low < rate.high <= 1.0


def test_paraphrases_are_resampled_together() -> None:
    values = [0.0] * 10 + [1.0] * 10
    apart = mean_over_queries(values, [str(i) for i in range(20)], seed=1)
    together = mean_over_queries(values, [str(i // 5) for i in range(20)], seed=1)
    assert together.high - together.low > 1.5 * (apart.high - apart.low)


def test_the_bootstrap_interval_covers_the_mean_of_the_population() -> None:
    rng = np.random.default_rng(9)
    covered = 0
    for seed in range(300):
        rate = mean_over_queries(rng.beta(2, 1, 40), range(40), seed=seed, resamples=300)
        covered += rate.low <= 2 / 3 <= rate.high
    assert covered >= 0.9 * 300
