import numpy as np
import pytest

from calibration.choose.ceiling import Ceiling, _subset_weights, noise_ceiling


def tops_of(corpus: np.ndarray, depth: int = 100) -> list[np.ndarray]:
    return [np.sort(row)[::-1][:depth] for row in corpus]


def test_subset_weights_are_the_chances_of_a_hand_counted_corpus() -> None:
    # of {a > b > c} every pair is drawn equally often: ab, ac, bc; the best is a, a, b
    assert _subset_weights(2, 3, 3) == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert _subset_weights(3, 3, 3) == pytest.approx([1.0, 0.0, 0.0])
    assert _subset_weights(1, 4, 4) == pytest.approx([0.25] * 4)


def test_expected_ceilings_of_subsets_agree_with_drawing_them() -> None:
    rng = np.random.default_rng(1)
    corpus = rng.normal(0.1, 0.1, (300, 1000))
    ceiling = noise_ceiling(tops_of(corpus), 1000)
    assert ceiling is not None
    size = int(ceiling.sizes[0])
    drawn = [np.quantile(corpus[:, rng.choice(1000, size, replace=False)].max(axis=1), 0.95) for _ in range(60)]
    assert ceiling.values[0] == pytest.approx(np.mean(drawn), abs=0.01)


def test_a_tenth_of_a_corpus_predicts_the_whole() -> None:
    rng = np.random.default_rng(2)
    corpus = rng.normal(0.1, 0.08, (200, 10_000))
    tenth, whole = noise_ceiling(tops_of(corpus[:, :1000]), 1000), noise_ceiling(tops_of(corpus), 10_000)
    assert tenth is not None
    assert whole is not None
    expected = tenth.at(10_000)
    assert expected is not None
    assert expected[0] == pytest.approx(whole.value, abs=0.03)
    assert expected[1] <= expected[0] <= expected[2]


def test_growth_is_positive_and_a_floor_is_reached_where_the_line_says() -> None:
    rng = np.random.default_rng(3)
    ceiling = noise_ceiling(tops_of(rng.normal(0.0, 0.1, (100, 2000))), 2000)
    assert ceiling is not None
    assert ceiling.growth is not None
    assert ceiling.growth > 0
    until = ceiling.holds_until(ceiling.value + ceiling.growth)
    assert until == pytest.approx(20_000)
    assert ceiling.holds_until(ceiling.value) == pytest.approx(2000)
    assert ceiling.holds_until(ceiling.value + 4 * ceiling.growth) is None


def test_small_corpora_are_not_extrapolated_and_nothing_gives_nothing() -> None:
    small = noise_ceiling([[0.3, 0.2], [0.4, 0.1]], 499)
    assert small is not None
    assert small.growth is None
    assert small.at(5000) is None
    assert small.holds_until(0.5) is None
    assert noise_ceiling([], 1000) is None
    assert noise_ceiling([[]], 1000) is None


def test_a_falling_interval_is_ordered() -> None:
    ceiling = Ceiling(0.4, 1000, np.array([1000]), np.array([0.4]), 0.05, 0.03, 0.07)
    assert ceiling.at(10_000) == pytest.approx((0.45, 0.43, 0.47))
    smaller = ceiling.at(100)
    # artanh 0.45 - artanh 0.4 = 0.06105, one decade down from artanh 0.4 = 0.42365, and so on
    assert smaller == pytest.approx((0.34745, 0.32499, 0.36902), abs=1e-4)


def test_a_ceiling_near_1_never_passes_1() -> None:
    rng = np.random.default_rng(4)
    corpus = np.tanh(rng.normal(1.0, 0.3, (100, 1000)))
    ceiling = noise_ceiling(tops_of(corpus), 1000)
    assert ceiling is not None
    value, low, high = ceiling.at(1e9) or (np.nan,) * 3
    assert low <= value <= high <= 1.0
    assert value > ceiling.value
    assert ceiling.holds_until(value) is None
    until = ceiling.holds_until((ceiling.at(50_000) or (np.nan,))[0])
    assert until == pytest.approx(50_000)


def test_the_interval_is_never_narrower_than_predictions_were_off() -> None:
    corpus = np.tile(np.random.default_rng(6).normal(0.1, 0.1, (1, 1000)), (100, 1))  # resampling changes nothing
    ceiling = noise_ceiling(tops_of(corpus), 1000)
    assert ceiling is not None
    value, low, high = ceiling.at(10_000) or (np.nan,) * 3
    assert (value - low, high - value) == pytest.approx((0.03, 0.03))


def test_equal_similarities_of_1_do_not_break_the_fit() -> None:
    ceiling = noise_ceiling([[1.0 + 1e-7] * 100] * 30, 1000)
    assert ceiling is not None
    assert ceiling.growth == pytest.approx(0.0, abs=1e-6)


def test_a_trial_may_extrapolate_from_a_smaller_corpus() -> None:
    tops = tops_of(np.random.default_rng(5).normal(0.1, 0.1, (50, 120)))
    small = noise_ceiling(tops, 120, smallest=50)
    assert small is not None
    assert small.growth is not None
    assert small.growth > 0
