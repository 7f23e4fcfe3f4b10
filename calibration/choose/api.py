"""`choose_floor`: arrays in, a recommendation or the statement that there is none out."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from .certify import certify
from .gap import blocking, measure_gap
from .gate import FEWEST, PERMUTATIONS, permutation_gate
from .outcome import Costs, NoFloor, Recommendation
from .policies import low_in_the_gap
from .rule import MARGIN, MIN_NOISE, MIN_RELEVANT, WINDOW, between_scores, lowered, pick, pooled_range, smoothed_cost
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
    resamples: int = RESAMPLES,
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
    permutations : int
        Relabellings of the gate, at least 19.
    resamples : int
        Draws behind `variability`; 0 leaves it out.

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
    if permutations < FEWEST:
        raise ValueError(f"permutations is {permutations}, expected at least {FEWEST}")
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
            f"no threshold is worth having: the best one would save {max(gate.gain, 0.0):.3f} per query over accepting "
            f"everything or refusing everything, and relabelled bands save up to {max(gate.bar, 0.0):.3f} by luck",
            "a model or chunking that separates answers from noise better, corrected labels of the blocking queries, "
            "or more labels",
        )
    window = WINDOW * pooled_range(relevant, noise)
    cheapest = between_scores(pick(relevant, noise, costs)[0], seen, window=window)
    bound = lowered(cheapest, promise(None).bound, relevant, noise, costs)
    floor = cheapest if bound == cheapest else between_scores(bound, seen, window=window)
    if not (heard < floor).any():
        return no_floor(
            f"the floor of least expected cost, {floor:.4g}, refuses none of the {len(heard)} noise similarities: "
            "accepting everything is as good",
            "off-topic queries that lie lower, or a higher weight of false answers",
        )
    return Recommendation(
        floor=floor,
        costs=costs,
        expected_cost=float(smoothed_cost(relevant, noise, np.array([floor]), costs)[0]),
        gap=gap,
        certificate=promise(floor),
        gate=gate,
        variability=_variability(
            relevant, noise, relevant_groups, far_groups, costs, floor, promise(None).bound, resamples, seed
        ),
        smoothed=True,
        held_out=held_out,
        blocking_noise=above,
        blocking_relevant=below,
        lowered_from=None if floor == cheapest else cheapest,
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
    floor: float,
    bound: float | None,
    resamples: int,
    seed: int,
) -> tuple[float, float] | None:
    """5th and 95th percentile of the chosen threshold over resampled groups, with the floor itself within.

    The bound of the certificate keeps its rank among the answers.
    """
    rng = np.random.default_rng(seed)
    rank = None if bound is None else int((relevant < bound).sum())
    draw_relevant, draw_noise = _resampler(relevant_groups, rng), _resampler(noise_groups, rng)
    floors = []
    for _ in range(resamples):
        drawn, far = relevant[draw_relevant()], noise[draw_noise()]
        if np.isfinite(drawn).sum() >= 2 and np.isfinite(far).sum() >= 2:
            own = None if rank is None else float(np.sort(drawn)[min(rank, len(drawn) - 1)])
            floors.append(lowered(pick(drawn, far, costs)[0], own, drawn, far, costs))
    if not floors:
        return None
    low, high = np.quantile(floors, [0.05, 0.95])
    return min(float(low), floor), max(float(high), floor)


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
