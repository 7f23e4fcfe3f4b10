"""`choose_floor`: a recommendation, or the statement that there is none."""

import numpy as np
import pytest

from calibration.choose import Costs, NoFloor, Recommendation, blocking, choose_floor, measure_gap
from calibration.choose.rule import MARGIN


def overlapping(seed: int = 1, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0.5, 0.1, n), rng.normal(0.3, 0.06, 100)


def test_c37_low_in_the_gap_of_three_and_three() -> None:
    found = choose_floor([0.47, 0.52, 0.45], [0.18, 0.12, 0.20])
    assert isinstance(found, Recommendation)
    assert 0.20 < found.floor <= 0.45
    assert found.floor < (0.20 + 0.45) / 2
    assert (found.status, found.smoothed, found.expected_cost, found.variability) == ("uncertified", False, None, None)
    assert "too few" in found.caveats[0]


def test_c38_above_the_noise_and_at_most_the_weakest_answer() -> None:
    found = choose_floor([0.86, 0.84], [0.72, 0.75, 0.78, 0.80])
    assert isinstance(found, Recommendation)
    assert 0.80 < found.floor <= 0.84


def test_c71_far_probes_give_a_floor_between_the_bands() -> None:
    rng = np.random.default_rng(2)
    relevant = np.append(rng.uniform(0.66, 0.9, 29), 0.659)
    noise = np.append(rng.uniform(0.1, 0.39, 39), 0.40)
    found = choose_floor(relevant, noise)
    assert isinstance(found, Recommendation)
    assert 0.40 < found.floor < 0.659
    assert found.gap.verdict == "clean"


def test_c71_near_questions_as_the_only_noise_give_none_and_are_named() -> None:
    rng = np.random.default_rng(3)
    relevant, near = rng.normal(0.69, 0.03, 30), rng.normal(0.69, 0.03, 30)
    near[7] = 0.82
    found = choose_floor(relevant, near)
    assert isinstance(found, NoFloor)
    assert found.gate is not None
    assert not found.gate.passed
    assert found.blocking_noise[0] == 7
    assert found.floor is None
    assert "no threshold is worth having" in found.reason
    assert found.needed


def test_c60_one_mislabelled_probe_is_named_and_the_gap_without_it_is_narrow() -> None:
    relevant, noise = [0.680, 0.71, 0.8, 0.75], [0.676, 0.62, 0.55, 0.721]
    found = choose_floor(relevant, noise)
    assert isinstance(found, NoFloor)
    assert found.gap.verdict == "overlapping"
    assert found.blocking_noise == (3,)
    assert found.blocking_relevant == (0, 1)
    without = measure_gap(relevant, noise[:3])
    assert without.verdict == "narrow"
    assert (without.low, without.high) == (0.676, 0.680)
    assert without.extreme == pytest.approx(0.004)
    assert blocking(relevant, noise[:3]) == ((), ())


def test_a_floor_in_spite_of_an_overlap_names_the_queries_in_it() -> None:
    relevant, noise = overlapping()
    found = choose_floor(relevant, noise, permutations=39)
    assert isinstance(found, Recommendation)
    assert found.gap.extreme is not None
    assert found.gap.extreme < 0
    assert noise[list(found.blocking_noise)].tolist() == sorted(noise, reverse=True)[: len(found.blocking_noise)]
    assert relevant[found.blocking_relevant[0]] == relevant.min()


def test_c67_only_relevant_scores_bound_the_floor_and_claim_nothing() -> None:
    found = choose_floor([0.1, 0.4, 0.35], [])
    assert isinstance(found, NoFloor)
    assert "no noise was measured" in found.reason
    assert "0.1" in found.reason
    none_relevant = choose_floor([], [0.1, 0.4, 0.35])
    assert isinstance(none_relevant, NoFloor)
    assert "nothing says what a floor must keep" in none_relevant.reason


def test_c66_noise_that_outranks_the_answer_gives_no_floor() -> None:
    found = choose_floor([0.2], [0.9])
    assert isinstance(found, NoFloor)
    assert (found.blocking_noise, found.blocking_relevant) == ((0,), (0,))


def test_zero_is_a_similarity_and_can_be_the_floor() -> None:
    found = choose_floor([0.3, 0.31, 0.32], [-0.1, -0.09, 0.0])
    assert isinstance(found, Recommendation)
    assert 0.0 < found.floor < 0.3
    lower = choose_floor([0.3, 0.31], [-0.1, -0.1])
    assert lower.floor == pytest.approx(0.0, abs=MARGIN)
    assert lower.floor is not None


def test_minus_infinity_is_a_miss_that_no_floor_changes() -> None:
    relevant, noise = overlapping()
    found = choose_floor(np.append(relevant, [-np.inf] * 3), np.append(noise, -np.inf), permutations=39)
    assert isinstance(found, Recommendation)
    assert found.floor == pytest.approx(choose_floor(relevant, noise, permutations=39).floor, abs=0.02)
    assert found.gap.n_relevant == len(relevant)
    assert found.certificate.n == len(relevant) + 3
    nothing = choose_floor([-np.inf] * 8, noise)
    assert isinstance(nothing, NoFloor)


def test_an_unscored_off_topic_query_is_not_refused_by_the_floor() -> None:
    """With all scored noise above every answer, one query that returned nothing does not make a floor worth having."""
    rng = np.random.default_rng(4)
    found = choose_floor(rng.uniform(0.2, 0.3, 30), np.append(rng.uniform(0.5, 0.6, 30), -np.inf), permutations=39)
    assert isinstance(found, NoFloor)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused_with_their_count(bad: float) -> None:
    with pytest.raises(ValueError, match="best_relevant holds 2 NaN or infinite"):
        choose_floor([0.5, bad, bad], [0.1])
    with pytest.raises(ValueError, match="far_noise holds 1"):
        choose_floor([0.5], [bad])


def test_other_input_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="groups has 1 labels for 2 queries"):
        choose_floor([0.5, 0.6], [0.1], groups=["a"])
    with pytest.raises(ValueError, match="shape"):
        choose_floor([[0.5]], [0.1])
    with pytest.raises(ValueError, match="permutations"):
        choose_floor([0.5], [0.1], permutations=0)


def test_the_same_input_gives_the_same_answer_and_keeps_clear_of_observed_scores() -> None:
    relevant, noise = overlapping()
    observed = np.random.default_rng(5).uniform(0.0, 0.7, 3000)
    one, other = (choose_floor(relevant, noise, observed=observed, permutations=39) for _ in range(2))
    assert one == other
    assert one.floor is not None
    assert np.abs(np.concatenate([observed, relevant, noise]) - one.floor).min() >= MARGIN * (1 - 1e-6)


def test_traffic_without_off_topic_questions_needs_no_floor() -> None:
    relevant, noise = overlapping()
    assert choose_floor(relevant, noise, off_topic_share=0.0, permutations=19).floor is None
    assert choose_floor(relevant, noise, off_topic_share=1.0, permutations=19).floor is None


def test_variability_surrounds_the_threshold() -> None:
    relevant, noise = overlapping()
    found = choose_floor(relevant, noise, permutations=19)
    assert isinstance(found, Recommendation)
    assert found.variability is not None
    low, high = found.variability
    assert low <= found.floor <= high
    assert low < high
    assert found.certificate == choose_floor(relevant, noise, permutations=39).certificate
    assert found.costs == Costs()
