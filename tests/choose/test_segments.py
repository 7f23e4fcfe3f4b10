import numpy as np

from calibration.choose import Costs
from calibration.choose.segments import segment_floors


def bands(shift: float, n: int = 60) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Two kinds whose answers and noise are `shift` apart, 60 answers and 60 noise queries each."""
    rng = np.random.default_rng(7)
    relevant = np.concatenate([rng.normal(0.5, 0.05, n), rng.normal(0.5 + shift, 0.05, n)])
    noise = np.concatenate([rng.normal(0.3, 0.05, n), rng.normal(0.3 + shift, 0.05, n)])
    names = ["a"] * n + ["b"] * n
    return relevant, noise, names, names


def weigh(shift: float, **changed: object) -> object:
    relevant, noise, of_relevant, of_noise = bands(shift)
    values = {
        "floor": 0.5, "relevant_segments": of_relevant, "noise_segments": of_noise, "costs": Costs(), "seed": 1,
        "groups": np.arange(len(relevant)), "noise_groups": np.arange(len(noise)), **changed,
    }  # fmt: skip
    return segment_floors(relevant, noise, **values)


def test_a_kind_that_lies_higher_earns_a_floor_of_its_own_pulled_toward_the_global_one() -> None:
    # one floor for both must keep the answers of "a" and therefore lets the noise of "b" through
    found = weigh(0.25, floor=0.4)
    a, b = found.segments
    assert not a.recommended
    assert b.recommended
    assert 0.4 < b.pooled < b.own
    assert b.gain > 0


def test_kinds_that_lie_alike_do_not_and_say_why() -> None:
    for segment in weigh(0.0, floor=0.4).segments:
        assert not segment.recommended
        assert segment.reason


def test_a_small_kind_has_no_floor_of_its_own() -> None:
    relevant, noise, of_relevant, of_noise = bands(0.0)
    of_relevant = ["tiny"] * 3 + of_relevant[3:]
    found = segment_floors(
        relevant, noise, floor=0.4, relevant_segments=of_relevant, noise_segments=of_noise, costs=Costs(), seed=1,
        groups=np.arange(len(relevant)), noise_groups=np.arange(len(noise)),
    )  # fmt: skip
    tiny = next(segment for segment in found.segments if segment.name == "tiny")
    assert tiny.own is None
    assert not tiny.recommended
    assert "too few" in tiny.reason


def test_the_matrix_counts_by_hand() -> None:
    relevant, noise, of_relevant, _ = bands(0.25)
    found = weigh(0.25)
    own_of_a, of_all = found.floors[0], 0.5
    is_b = np.array(of_relevant) == "b"
    assert found.hits[0, 1] == (relevant[is_b] >= own_of_a).sum()
    assert found.false_answers[0, 1] == (noise[is_b] >= own_of_a).sum()
    assert found.hits[2, 0] == (relevant[~is_b] >= of_all).sum()
