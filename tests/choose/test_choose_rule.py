"""The rule that picks a threshold, and the place it is moved to."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from calibration.choose import (
    Costs,
    Recommendation,
    between_scores,
    choose_floor,
    empirical_cost,
    pick,
    smoothed_cost,
)
from calibration.choose.rule import FLAT, GRID, MARGIN, NEAR, lowered

scores_of = st.lists(st.floats(0.0, 1.0), max_size=40)


@given(scores_of, st.floats(0.0, 1.0), st.floats(1e-3, 0.5))
def test_between_scores_stays_inside_the_window_and_clear_of_scores(
    observed: list[float], threshold: float, window: float
) -> None:
    floor = between_scores(threshold, observed, window=window)
    assert threshold - window <= floor <= threshold
    distances = np.abs(np.array(observed) - floor)
    spaces = np.diff(
        np.unique([threshold - window, *[s for s in observed if threshold - window < s < threshold], threshold])
    )
    if (spaces >= 4 * MARGIN).any() and len(observed):
        assert distances.min() >= MARGIN * (1 - 1e-6)


@given(scores_of, st.floats(0.0, 1.0))
def test_without_a_window_there_is_always_room_below(observed: list[float], threshold: float) -> None:
    floor = between_scores(threshold, observed)
    assert floor <= threshold
    assert all(abs(score - floor) >= MARGIN * (1 - 1e-6) for score in observed)


def test_a_floor_is_the_shortest_decimal_that_fits() -> None:
    assert between_scores(0.31274, [0.2, 0.5]) == 0.312
    assert between_scores(0.31274, [0.2, 0.3119, 0.5]) == 0.312
    assert between_scores(0.31274, [0.2, 0.31201, 0.5]) == 0.3127
    assert between_scores(np.nextafter(0.29, 0.0), []) == 0.289


def test_where_scores_leave_no_room_the_widest_space_is_taken() -> None:
    dense = np.arange(0.30, 0.32, 1e-6)
    dense = dense[np.abs(dense - 0.311) > 4e-6]
    floor = between_scores(0.315, dense, window=0.01)
    assert abs(floor - 0.311) < 4e-6
    assert np.abs(dense - floor).min() > 1e-6


def test_empirical_cost_by_hand() -> None:
    costs = Costs(miss=3.0, false_answer=1.0, off_topic_share=0.2)
    relevant, noise = [0.5, 0.2, -np.inf, 0.6], [0.1, 0.3, -np.inf, 0.7, 0.05]
    assert empirical_cost(relevant, noise, 0.25, costs) == pytest.approx(0.8 * 3 * 2 / 4 + 0.2 * 1 * 2 / 5)
    assert empirical_cost(relevant, noise, None, costs) == pytest.approx(0.8 * 3 * 1 / 4 + 0.2 * 1 * 4 / 5)


@pytest.mark.parametrize("field", ["miss", "false_answer", "off_topic_share"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_costs_out_of_range_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Costs(**{field: value})


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.floats(0.2, 0.9), min_size=5, max_size=30),
    st.lists(st.floats(0.0, 0.6), min_size=20, max_size=40),
    st.sampled_from([Costs(1, 1), Costs(3, 1), Costs(10, 1), Costs(1, 3)]),
)
def test_the_pick_is_a_minimum_or_the_low_end_of_the_flat_part(
    relevant: list[float], noise: list[float], costs: Costs
) -> None:
    threshold, cost = pick(relevant, noise, costs)
    pooled = np.array(relevant + noise)
    reach = 0.15 * float(np.ptp(pooled))
    grid = np.linspace(pooled.min() - reach, pooled.max() + reach, GRID)
    curve = smoothed_cost(relevant, noise, grid, costs)
    slack = max(0.0, FLAT * (costs.miss_weight - costs.false_weight))
    assert smoothed_cost(relevant, noise, np.array([threshold]), costs)[0] == pytest.approx(cost)
    gap = min(relevant) - max(noise)
    if threshold == max(noise) + 0.1 * gap:
        assert gap >= 5 / (5 + len(relevant)) * (np.median(relevant) - np.median(noise))
        return
    assert curve.min() <= cost <= curve.min() + slack + 1e-12
    if slack == 0.0:
        assert threshold == grid[np.argmin(curve)]
    else:  # nothing between it and the minimum is worse, what lies just below is
        at = int(np.flatnonzero(grid == threshold)[0])
        assert (curve[at : int(np.argmin(curve)) + 1] <= curve.min() + slack).all()
        assert at == 0 or curve[at - 1] > curve.min() + slack


@pytest.mark.parametrize("pair", [(1, 1), (3, 1), (10, 1), (1, 3)])
def test_in_a_gap_that_is_wide_for_the_number_of_queries_the_floor_stands_in_the_gap(pair: tuple[float, float]) -> None:
    rng = np.random.default_rng(6)
    for n in (5, 20, 50):
        relevant, noise = rng.uniform(0.0, 0.3, n), rng.uniform(-1.3, -1.0, 40)
        wide = 5 / (5 + n) * float(np.median(relevant) - np.median(noise))  # the bands are wide apart: it moves little
        noise += relevant.min() - noise.max() - 1.3 * wide
        assert noise.max() < pick(relevant, noise, Costs(*pair))[0] < relevant.min()


def test_in_a_narrow_gap_heavy_misses_pull_the_floor_below_it() -> None:
    rng = np.random.default_rng(7)
    relevant, noise = rng.normal(0.5, 0.1, 10), rng.normal(0.2, 0.04, 40)
    noise = noise + relevant.min() - noise.max() - 0.01
    assert pick(relevant, noise, Costs(10, 1))[0] < noise.max()


def test_a_heavier_miss_never_raises_the_floor() -> None:
    rng = np.random.default_rng(3)
    relevant, noise = rng.normal(0.5, 0.1, 60), rng.normal(0.3, 0.06, 100)
    floors = [pick(relevant, noise, Costs(miss, false))[0] for miss, false in ((1, 3), (1, 1), (3, 1), (10, 1))]
    assert floors == sorted(floors, reverse=True)
    assert len(set(floors)) == 4
    shares = [pick(relevant, noise, Costs(3, 1, share))[0] for share in (0.05, 0.2, 0.5, 0.9)]
    assert shares == sorted(shares)


def test_the_scale_of_scores_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    relevant, noise = rng.normal(0.5, 0.1, 40), rng.normal(0.3, 0.06, 60)
    here = pick(relevant, noise, Costs())[0]
    there = pick(20 * relevant - 7, 20 * noise - 7, Costs())[0]
    assert there == pytest.approx(20 * here - 7, abs=1e-9)


def test_above_a_sharp_upper_edge_of_the_noise_dear_false_answers_do_not_push_the_floor_through_the_answers() -> None:
    rng = np.random.default_rng(8)
    relevant = rng.normal(0.6, 0.08, 20)
    noise = np.minimum(rng.normal(0.45, 0.1, 100), 0.5 + 0.01 * rng.random(100))
    floor = pick(relevant, noise, Costs(1, 3))[0]
    assert noise.max() - 0.01 < floor < noise.max() + 0.01
    # a noise without that edge leaves the same floor higher
    assert pick(relevant, rng.normal(0.45, 0.1, 100), Costs(1, 3))[0] > floor + 0.03


def test_a_floor_goes_down_to_the_bound_of_its_certificate_only_where_that_is_cheap() -> None:
    rng = np.random.default_rng(5)
    relevant, noise, costs = rng.normal(0.55, 0.08, 50), rng.normal(0.3, 0.06, 100), Costs()
    threshold, cost = pick(relevant, noise, costs)
    grid = np.linspace(threshold - 0.15, threshold, 40)
    rise = smoothed_cost(relevant, noise, grid, costs) - cost
    for bound, price in zip(grid.tolist(), rise.tolist(), strict=True):
        found = lowered(threshold, bound, relevant, noise, costs)
        assert found == (bound if price <= NEAR * (1.5 - 0.5) else threshold)  # twice .5 is as much
    assert rise.max() > NEAR > rise[-2]
    assert lowered(threshold, threshold + 0.1, relevant, noise, costs) == threshold
    heavy = Costs(10, 1)  # ten points of false answers at most, however much a miss weighs
    start, least = pick(relevant, noise, heavy)
    lower = start - np.linspace(0.0, 0.3, 60)
    prices = smoothed_cost(relevant, noise, lower, heavy) - least
    assert [lowered(start, bound, relevant, noise, heavy) == bound for bound in lower.tolist()] == [
        bool(price <= NEAR * 1.0) for price in prices
    ]
    assert prices.max() > NEAR
    assert lowered(threshold, threshold - 1e-4, relevant, noise, Costs(1, 3)) == threshold


def test_a_lowered_floor_is_certified_and_says_from_where() -> None:
    rng = np.random.default_rng(0)
    seen = 0
    for seed in range(30):
        relevant, noise = rng.normal(0.5, 0.1, 50), rng.normal(0.3, 0.05, 100)
        found = choose_floor(relevant, noise, permutations=49, seed=seed)
        if isinstance(found, Recommendation) and found.lowered_from is not None:
            seen += 1
            assert found.floor < found.lowered_from
            assert found.status == "certified"
            assert found.certificate.bound is not None
            assert found.floor < found.certificate.bound
    assert seen > 0
