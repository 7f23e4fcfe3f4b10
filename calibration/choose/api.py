"""`choose_floor`: arrays in, a recommendation or the statement that there is none out."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .certify import certify
from .gap import blocking, measure_gap
from .gate import PERMUTATIONS, permutation_gate
from .outcome import Certificate, Costs, Gap, NoFloor, Recommendation
from .rule import MIN_NOISE, MIN_RELEVANT, WINDOW, between_scores, pick, pooled_range
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
        NaN or plus infinity among the similarities, lengths that do not fit, costs out of range.

    Examples
    --------
    >>> round(choose_floor([0.47, 0.52, 0.45], [0.18, 0.12, 0.20]).floor, 4)
    0.262
    >>> choose_floor([0.5, 0.6], []).floor is None
    True
    """
    costs = Costs(miss_cost, false_cost, off_topic_share)
    relevant = _checked(best_relevant, "best_relevant")
    noise = _checked(far_noise, "far_noise")
    relevant_groups = _groups(groups, relevant, "groups", "r")
    far_groups = _groups(noise_groups, noise, "noise_groups", "n")
    gap = measure_gap(relevant, noise)
    certificate = certify(relevant, None, groups=relevant_groups, target=target, confidence=confidence, top_k=top_k)
    refusal = _too_little(relevant, noise, costs, gap, certificate)
    if refusal is not None:
        return refusal
    seen = np.concatenate([relevant, noise, np.asarray([] if observed is None else observed, dtype=np.float64)])
    if np.isfinite(relevant).sum() < MIN_RELEVANT or np.isfinite(noise).sum() < MIN_NOISE:
        return _small(relevant, noise, seen, costs, gap, certificate)
    gate, floors = permutation_gate(
        relevant, noise, costs, relevant_groups=relevant_groups, noise_groups=far_groups, seed=seed, permutations=permutations
    )
    if not gate.passed:
        above, below = blocking(relevant, noise)
        return NoFloor(
            f"no threshold is worth having: chosen on some queries and paid on others, it saves {gate.gain:.3f} per query over "
            f"accepting everything or refusing everything, and relabelled bands save up to {gate.bar:.3f} by luck",
            "a model or chunking that separates answers from noise better, corrected labels of the blocking queries, or more labels",
            costs, gap, certificate, gate, above, below, floors,
        )  # fmt: skip
    threshold, cost = pick(relevant, noise, costs)
    floor = between_scores(threshold, seen, window=WINDOW * pooled_range(relevant, noise))
    if not (noise < floor).any():
        return NoFloor(
            f"the floor of least expected cost, {floor:.4g}, refuses none of the {len(noise)} noise similarities: accepting everything is as good",
            "off-topic queries that lie lower, or a higher weight of false answers", costs, gap, certificate, gate, (), (), floors,
        )  # fmt: skip
    return Recommendation(
        floor=floor,
        costs=costs,
        expected_cost=cost,
        gap=gap,
        certificate=certify(relevant, floor, groups=relevant_groups, target=target, confidence=confidence, top_k=top_k),
        gate=gate,
        variability=_variability(relevant, noise, relevant_groups, far_groups, costs, seed),
        smoothed=True,
        held_out_floors=floors,
    )


def _small(
    relevant: Floats, noise: Floats, seen: Floats, costs: Costs, gap: Gap, certificate: Certificate
) -> Recommendation | NoFloor:
    """Too few values to smooth: a quarter up the extreme gap when there is one."""
    n_relevant, n_noise = int(np.isfinite(relevant).sum()), int(np.isfinite(noise).sum())
    few = f"{n_relevant} best relevant and {n_noise} noise similarities are too few to smooth (at least {MIN_RELEVANT} and {MIN_NOISE})"
    needed = f"{max(0, MIN_RELEVANT - n_relevant)} more answerable queries and {max(0, MIN_NOISE - n_noise)} more off-topic ones"
    if gap.extreme is None or gap.extreme <= 0:
        above, below = blocking(relevant, noise)
        return NoFloor(f"{few}, and they overlap", needed, costs, gap, certificate, None, above, below)
    top = float(noise[np.isfinite(noise)].max())
    floor = between_scores(top + 0.25 * gap.extreme, seen, window=0.25 * gap.extreme)
    if floor <= top:  # a gap too thin to stand in
        return NoFloor(f"{few}, and the gap between them is narrower than rounding", needed, costs, gap, certificate)
    return Recommendation(
        floor=floor,
        costs=costs,
        expected_cost=None,
        gap=gap,
        certificate=Certificate(
            certificate.target, certificate.confidence, certificate.n, certificate.bound, certificate.needed, certificate.top_k
        ),
        gate=None,
        variability=None,
        smoothed=False,
        caveats=(f"{few}: the floor is a quarter up the gap between the extremes, and labels may still move it a lot",),
    )


def _too_little(
    relevant: Floats, noise: Floats, costs: Costs, gap: Gap, certificate: Certificate
) -> NoFloor | None:
    if not np.isfinite(relevant).any():
        return NoFloor(
            "no relevant passage was scored within the cap, so nothing says what a floor must keep",
            "answerable queries whose relevant passages are in the corpus", costs, gap, certificate,
        )  # fmt: skip
    if not np.isfinite(noise).any():
        bound = float(relevant[np.isfinite(relevant)].min())
        return NoFloor(
            f"no noise was measured, so nothing says what a floor should refuse; the labels only bound it from above, by {bound:.4g}",
            f"{MIN_NOISE} off-topic queries, or a model to embed the bundled probe queries", costs, gap, certificate,
        )  # fmt: skip
    return None


def _variability(
    relevant: Floats, noise: Floats, relevant_groups: npt.NDArray[np.str_], noise_groups: npt.NDArray[np.str_], costs: Costs, seed: int
) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    floors = []
    for _ in range(RESAMPLES):
        drawn = relevant[_resample(relevant_groups, rng)]
        far = noise[_resample(noise_groups, rng)]
        if np.isfinite(drawn).sum() >= 2 and np.isfinite(far).sum() >= 2:
            floors.append(pick(drawn, far, costs)[0])
    low, high = np.quantile(floors, [0.05, 0.95]) if floors else (np.nan, np.nan)
    return float(low), float(high)


def _resample(groups: npt.NDArray[np.str_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    names, codes = np.unique(groups, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names) + 1))
    drawn = rng.integers(0, len(names), len(names))
    return np.concatenate([order[starts[i] : starts[i + 1]] for i in drawn])


def _checked(values: npt.ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, expected one value per query")
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ValueError(f"{name} holds {int((np.isnan(array) | np.isposinf(array)).sum())} NaN or infinite values; leave them out and count them")
    return array


def _groups(groups: Sequence[object] | npt.ArrayLike | None, values: Floats, name: str, prefix: str) -> npt.NDArray[np.str_]:
    if groups is None:
        return np.array([f"{prefix}{i}" for i in range(len(values))], dtype=np.str_)
    array = np.asarray(groups, dtype=np.str_)
    if array.shape != values.shape:
        raise ValueError(f"{name} has {len(array)} labels for {len(values)} queries")
    return array


