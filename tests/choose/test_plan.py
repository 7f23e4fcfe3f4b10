import pytest
from scipy.stats import binom

from calibration.choose.plan import best_target, plan, visible_loss


@pytest.mark.parametrize(("n", "misses"), [(10, 0), (22, 0), (22, 1), (100, 5)])
def test_a_certified_target_is_the_exact_binomial_bound(n: int, misses: int) -> None:
    target = best_target(n, misses, 0.9)
    # at that hit rate, so few misses happen with exactly the probability that the confidence leaves
    assert binom.cdf(misses, n, 1 - target) == pytest.approx(0.1)


def test_needed_labels_and_rows() -> None:
    found = plan((21, 22), target=0.9, confidence=0.9)
    assert found.needed == 22
    assert [row.certifies for row in found.rows] == [False, True]
    assert found.rows[0].interval[0] < 0.9 < found.rows[0].interval[1]


def test_more_labels_move_the_floor_less() -> None:
    spreads = [row.floor_spread for row in plan((10, 50, 200)).rows]
    assert spreads[0] > spreads[1] > spreads[2] > 0


def test_a_loss_is_visible_from_six_on_and_never_with_fewer_queries() -> None:
    assert [visible_loss(n) for n in (3, 5, 6, 60, 1000)] == [4, 6, 6, 6, 6]
