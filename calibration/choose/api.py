"""`choose_floor`: arrays in, a recommendation or the statement that there is none out."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from .certify import certify
from .gap import blocking, measure_gap
from .gate import PERMUTATIONS, permutation_gate
from .outcome import Costs, NoFloor, Recommendation
from .policies import low_in_the_gap
from .rule import MARGIN, MIN_NOISE, MIN_RELEVANT, WINDOW, between_scores, pick, pooled_range
from .smooth import Floats

RESAMPLES = 200


def choose_floor(
    best_relevant: npt.ArrayLike,
    far_noise: npt.ArrayLike,
    *,
    miss_cost: float = 3.0,
    false_cost: float = 1.0,
    off_topic_share: float = 0.5,
    groups: Sequence[object] | npt.ArrayLike | None = None,
    noise_groups: Sequence[object] | npt.ArrayLike | None = None,
    observed: npt.ArrayLike | None = None,
    target: float = 0.9,
    confidence: float = 0.9,
    top_k: int | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 20240601,
) -> Recommendation | NoFloor:
    """Choose the similarity floor of least expected cost, or say that these scores support none.

    Parameters
    ----------
    best_relevant : array_like of float
        Highest similarity of a relevant passage, per answerable query; minus infinity where none could be accepted
        whatever the floor (never a candidate, or beyond the cap).
    far_noise : array_like of float
        Highest similarity over the corpus, per off-topic query; minus infinity where nothing was scored.
    miss_cost, false_cost : float
        Cost of an answerable query that loses its answer, and of an off-topic query that gets one.
    off_topic_share : float
        Share of off-topic queries in the traffic, in [0, 1].
    groups, noise_groups : sequence, optional
        One label per query; queries of a group (paraphrases) are never split between folds.
    observed : array_like, optional
        All similarities the floor must not stand on; the two bands always count.
    target, confidence : float
        Of the certificate.
    top_k : int, optional
        The cap behind `best_relevant`; written into the certificate.

    Returns
    -------
    Recommendation or NoFloor
        `.floor` is a number or None.

    Raises
    ------
    ValueError
        NaN or plus infinity among the similarities, lengths that do not fit, costs or shares out of range.

    Examples
    --------
    >>> round(choose_floor([0.47, 0.52, 0.45], [0.18, 0.12, 0.20]).floor, 4)
    0.262
    >>> choose_floor([0.5, 0.6], []).floor is None
    True
    """
    costs = Costs(miss_cost, false_cost, off_topic_share)
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}, expected at least 1")
    relevant = _checked(best_relevant, "best_relevant")
    noise = _checked(far_noise, "far_noise")
    relevant_groups = _groups(groups, relevant, "groups", "r")
    far_groups = _groups(noise_groups, noise, "noise_groups", "n")
    gap = measure_gap(relevant, noise)
    promise = partial(certify, relevant, groups=relevant_groups, target=target, confidence=confidence, top_k=top_k)
    above, below = blocking(relevant, noise)
    no_floor = partial(
        NoFloor, costs=costs, gap=gap, certificate=promise(None), blocking_noise=above, blocking_relevant=below
    )
    scored, heard = relevant[np.isfinite(relevant)], noise[np.isfinite(noise)]
    if len(scored) == 0 or len(heard) == 0:
        return no_floor(*_one_sided(scored))
    seen = np.concatenate([relevant, noise, np.asarray([] if observed is None else observed, dtype=np.float64)])
    n_relevant, n_noise = (
        len(np.unique(names[np.isfinite(values)]))
        for names, values in ((relevant_groups, relevant), (far_groups, noise))
    )
    if n_relevant < MIN_RELEVANT or n_noise < MIN_NOISE:
        few, needed = _too_few(n_relevant, n_noise)
        floor = _in_gap(scored, heard, seen)
        if floor is None:
            return no_floor(f"{few}, and no gap between them is wide enough to stand in", needed)
        said = f"{few}; the floor is a quarter up the gap between the extremes, and labels may still move it a lot"
        return Recommendation(floor, costs, None, gap, promise(None), None, None, smoothed=False, caveats=(said,))
    gate, held_out = permutation_gate(
        relevant,
        noise,
        costs,
        relevant_groups=relevant_groups,
        noise_groups=far_groups,
        seed=seed,
        permutations=permutations,
    )
    no_floor = partial(no_floor, gate=gate, held_out=held_out)
    if not gate.passed:
        return no_floor(
            f"no threshold is worth having: chosen on some queries and paid on others, it saves {gate.gain:.3f} per "
            f"query over accepting everything or refusing everything, and relabelled bands save up to {gate.bar:.3f} "
            "by luck",
            "a model or chunking that separates answers from noise better, corrected labels of the blocking queries, "
            "or more labels",
        )
    threshold, cost = pick(relevant, noise, costs)
    floor = between_scores(threshold, seen, window=WINDOW * pooled_range(relevant, noise))
    if not (heard < floor).any():
        return no_floor(
            f"the floor of least expected cost, {floor:.4g}, refuses none of the {len(heard)} noise similarities: "
            "accepting everything is as good",
            "off-topic queries that lie lower, or a higher weight of false answers",
        )
    return Recommendation(
        floor=floor,
        costs=costs,
        expected_cost=cost,
        gap=gap,
        certificate=promise(floor),
        gate=gate,
        variability=_variability(relevant, noise, relevant_groups, far_groups, costs, seed),
        smoothed=True,
        held_out=held_out,
        blocking_noise=above,
        blocking_relevant=below,
    )


def _one_sided(scored: Floats) -> tuple[str, str]:
    """Give reason and need where one of the bands has no score."""
    if len(scored) == 0:
        return (
            "no relevant passage was scored within the cap, so nothing says what a floor must keep",
            "answerable queries whose relevant passages are in the corpus",
        )
    return (
        "no noise was measured, so nothing says what a floor should refuse; the labels only bound it from above, by "
        f"{scored.min():.4g}",
        f"{MIN_NOISE} off-topic queries, or a model to embed the bundled probe queries",
    )


def _too_few(n_relevant: int, n_noise: int) -> tuple[str, str]:
    """Say what is too little to smooth, and how much more would do."""
    missing = {"answerable": MIN_RELEVANT - n_relevant, "off-topic": MIN_NOISE - n_noise}
    return (
        f"{n_relevant} best relevant and {n_noise} noise similarities (paraphrases counted once) are too few to "
        f"smooth: at least {MIN_RELEVANT} and {MIN_NOISE} are needed",
        " and ".join(f"{count} more {kind} queries" for kind, count in missing.items() if count > 0),
    )


def _in_gap(relevant: Floats, noise: Floats, seen: Floats) -> float | None:
    """Go a quarter up the extreme gap; None without a gap, or with one too thin to keep clear of the scores."""
    threshold, top = low_in_the_gap(relevant, noise), float(noise.max())
    if threshold is None:
        return None
    floor = between_scores(threshold, seen, window=threshold - top)
    return floor if floor - top > MARGIN / 2 else None


def _variability(
    relevant: Floats,
    noise: Floats,
    relevant_groups: npt.NDArray[np.str_],
    noise_groups: npt.NDArray[np.str_],
    costs: Costs,
    seed: int,
) -> tuple[float, float] | None:
    """5th and 95th percentile of the chosen threshold over resampled groups."""
    rng = np.random.default_rng(seed)
    draw_relevant, draw_noise = _resampler(relevant_groups, rng), _resampler(noise_groups, rng)
    floors = []
    for _ in range(RESAMPLES):
        drawn, far = relevant[draw_relevant()], noise[draw_noise()]
        if np.isfinite(drawn).sum() >= 2 and np.isfinite(far).sum() >= 2:
            floors.append(pick(drawn, far, costs)[0])
    if not floors:
        return None
    low, high = np.quantile(floors, [0.05, 0.95])
    return float(low), float(high)


def _resampler(groups: npt.NDArray[np.str_], rng: np.random.Generator) -> Callable[[], npt.NDArray[np.int64]]:
    """Prepare draws of as many groups as there are, with replacement, as positions of their queries."""
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes

    def draw() -> npt.NDArray[np.int64]:
        drawn = rng.integers(0, len(sizes), len(sizes))
        counts = sizes[drawn]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        positions: npt.NDArray[np.int64] = order[np.repeat(starts[drawn], counts) + within]
        return positions

    return draw


def _checked(values: npt.ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, expected one value per query")
    if np.isnan(array).any() or np.isposinf(array).any():
        bad = int((np.isnan(array) | np.isposinf(array)).sum())
        raise ValueError(f"{name} holds {bad} NaN or infinite values; leave them out and count them")
    return array


def _groups(
    groups: Sequence[object] | npt.ArrayLike | None, values: Floats, name: str, prefix: str
) -> npt.NDArray[np.str_]:
    if groups is None:
        return np.array([f"{prefix}{i}" for i in range(len(values))], dtype=np.str_)
    array = np.asarray(groups, dtype=str)
    if array.shape != values.shape:
        raise ValueError(f"{name} has {len(array)} labels for {len(values)} queries")
    return array
