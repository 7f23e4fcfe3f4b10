"""Certificates from order statistics."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import quantile_test

from calibration.choose import certify, choose_floor, labels_for_certificate

shares = st.sampled_from([0.5, 0.75, 0.8, 0.9, 0.95])


@pytest.mark.parametrize(("target", "needed"), [(0.8, 11), (0.9, 22), (0.95, 45)])
def test_without_a_miss_so_many_queries_are_needed(target: float, needed: int) -> None:
    assert labels_for_certificate(target, 0.9) == needed
    best = np.linspace(0.4, 0.8, needed)
    assert certify(best, 0.4, target=target).certified
    short = certify(best[1:], 0.3, target=target)
    assert (short.certified, short.bound, short.n, short.needed) == (False, None, needed - 1, needed)


@settings(deadline=None)
@given(st.integers(1, 60), shares, shares, st.integers(0, 2**32 - 1))
def test_the_bound_is_that_of_scipy(n: int, target: float, confidence: float, seed: int) -> None:
    best = np.random.default_rng(seed).uniform(0.2, 0.9, n)
    test = quantile_test(best, p=1 - target, alternative="greater")
    low = float(test.confidence_interval(confidence_level=confidence).low)
    found = certify(best, 0.1, target=target, confidence=confidence)
    assert found.bound == (low if np.isfinite(low) else None)
    assert (found.bound is not None) == (n >= found.needed)
    assert found.certified == (found.bound is not None)


def test_certified_if_and_only_if_the_floor_is_at_or_below_the_bound() -> None:
    best = np.linspace(0.4, 0.8, 50)
    bound = certify(best, None).bound
    assert bound is not None
    assert certify(best, bound).certified
    assert not certify(best, np.nextafter(bound, 1.0)).certified
    assert not certify(best, None).certified
    assert certify(best, -1.0).certified


def test_a_group_counts_once_and_as_its_weakest_query() -> None:
    groups = np.repeat(np.arange(22), 2).astype(str)
    best = np.linspace(0.4, 0.8, 44)
    assert certify(best, 0.3, groups=groups).n == 22
    best[::2] = -np.inf  # one paraphrase of every group is never found
    assert certify(best, -1.0, groups=groups).bound is None


def test_answers_that_rank_beyond_the_cap_are_misses_at_every_floor() -> None:
    best = np.full(100, 0.5)
    best[:5] = -np.inf
    assert certify(best, 0.5).certified
    best[:10] = -np.inf
    assert certify(best, -1.0).bound is None


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_promise_of_everything_or_nothing_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        choose_floor([0.5], [0.1], target=share)
    with pytest.raises(ValueError, match="between 0 and 1"):
        labels_for_certificate(0.9, share)


def test_the_promise_is_broken_in_at_most_the_stated_share_of_draws() -> None:
    rng = np.random.default_rng(11)
    broken = 0
    for _ in range(600):
        bound = certify(rng.normal(0.5, 0.1, 40), None).bound
        assert bound is not None
        kept = 1.0 - 0.5 * (1.0 + np.vectorize(_erf)((bound - 0.5) / (0.1 * np.sqrt(2))))
        broken += kept < 0.9
    assert broken / 600 <= 0.1


def _erf(x: float) -> float:
    from math import erf

    return erf(x)
