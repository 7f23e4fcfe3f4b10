"""The gap between the bands."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from calibration.choose import blocking, measure_gap

similarities = st.lists(st.one_of(st.floats(-1, 1), st.just(-np.inf)), max_size=30)


def test_under_twenty_queries_a_side_only_the_extremes_are_compared() -> None:
    relevant, noise = np.linspace(0.4, 0.9, 20), np.linspace(0.0, 0.45, 20)
    assert measure_gap(relevant[1:], noise).quantile is None
    full = measure_gap(relevant, noise)
    assert full.quantile == pytest.approx(np.quantile(relevant, 0.05) - np.quantile(noise, 0.95))
    assert full.extreme == pytest.approx(-0.05)
    assert (full.low, full.high) == (np.quantile(noise, 0.95), np.quantile(relevant, 0.05))


@pytest.mark.parametrize(
    ("relevant", "noise", "verdict"),
    [([0.5, 0.6], [0.1, 0.2], "clean"), ([0.5, 0.9], [0.1, 0.49], "narrow"), ([0.5, 0.9], [0.1, 0.6], "overlapping"),
     ([0.2, 0.3], [0.5, 0.6], "none"), ([], [0.1], "none"), ([0.1], [-np.inf], "none")],
)  # fmt: skip
def test_the_verdict_is_one_of_four_words(relevant: list[float], noise: list[float], verdict: str) -> None:
    assert measure_gap(relevant, noise).verdict == verdict


@given(similarities, similarities)
def test_who_blocks_the_gap_stands_in_it_and_is_there_only_without_one(
    relevant: list[float], noise: list[float]
) -> None:
    above, below = blocking(relevant, noise, at_most=100)
    gap = measure_gap(relevant, noise)
    if gap.extreme is None or gap.extreme > 0:
        assert (above, below) == ((), ())
    else:
        best, far = [r for r in relevant if np.isfinite(r)], [n for n in noise if np.isfinite(n)]
        assert sorted(noise[i] for i in above) == sorted(n for n in far if n >= min(best))
        assert sorted(relevant[i] for i in below) == sorted(r for r in best if r <= max(far))
        assert [noise[i] for i in above] == sorted((noise[i] for i in above), reverse=True)
