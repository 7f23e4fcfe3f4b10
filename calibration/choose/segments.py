"""A floor per segment (query kind, collection): only where it pays beyond paired noise, pulled to the global one."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from .heldout import FOLDS, folds_by_group
from .outcome import Costs
from .rule import MIN_NOISE, MIN_RELEVANT, pick
from .smooth import Floats

POOLING = 20.0
"""Queries of a segment at which its own floor and the global one weigh the same."""
BEYOND = 1.96
"""Standard errors of the paired difference that a gain must exceed."""


@dataclass(frozen=True)
class Segment:
    """One segment and what a floor of its own would bring.

    Attributes
    ----------
    own, pooled : float or None
        Its own floor of least expected cost, and that pulled toward the global floor; None where it is too small.
    gain, standard_error : float or None
        Cross-fitted cost per query saved by the pooled floor against the global one, paired by query, and its standard
        error.
    recommended : bool
    needed : int or None
        Answerable queries that would settle it, if the gain is real; None where there is none to settle.
    reason : str
    """

    name: str
    n: int
    n_noise: int
    own: float | None
    pooled: float | None
    gain: float | None
    standard_error: float | None
    recommended: bool
    needed: int | None
    reason: str


@dataclass(frozen=True)
class Segments:
    """All segments, and the matrix of what each one's floor does to the others.

    Attributes
    ----------
    hits, false_answers : ndarray of int, (segments + 1, segments)
        Rows: the floor of each segment, and last the global floor. Columns: the segment it is used on.
    """

    segments: tuple[Segment, ...]
    floors: tuple[float | None, ...]
    hits: npt.NDArray[np.int64]
    false_answers: npt.NDArray[np.int64]


def segment_floors(
    relevant: Floats,
    noise: Floats,
    *,
    floor: float,
    relevant_segments: Sequence[str],
    noise_segments: Sequence[str],
    costs: Costs,
    groups: Sequence[object] | npt.ArrayLike,
    noise_groups: Sequence[object] | npt.ArrayLike,
    seed: int,
) -> Segments:
    """Weigh a floor of its own for every segment.

    Parameters
    ----------
    relevant, noise : ndarray
        As for `choose_floor`.
    floor : float
        The global floor.
    relevant_segments, noise_segments : sequence of str
        Segment of each query. A segment with fewer than 20 noise queries of its own is judged against all noise.
    """
    names = sorted(set(relevant_segments))
    of_relevant = np.asarray(relevant_segments, dtype=str)
    of_noise = np.asarray(noise_segments, dtype=str)
    rng = np.random.default_rng(seed)
    folds = folds_by_group(groups, FOLDS, rng)
    noise_folds = folds_by_group(noise_groups, FOLDS, rng)
    data = _Bands(relevant, noise, folds, noise_folds, costs)
    global_floors = [data.choose(folds != fold, noise_folds != fold) for fold in range(FOLDS)]
    masks = {name: _masks(name, of_relevant, of_noise) for name in names}
    segments = tuple(_segment(name, data, *masks[name], global_floors, floor) for name in names)
    floors = tuple(segment.pooled for segment in segments)
    hits, false_answers = _matrix(relevant, noise, [*floors, floor], [masks[name] for name in names])
    return Segments(segments, floors, hits, false_answers)


@dataclass(frozen=True)
class _Bands:
    relevant: Floats
    noise: Floats
    folds: npt.NDArray[np.int64]
    noise_folds: npt.NDArray[np.int64]
    costs: Costs

    def choose(self, keep: npt.NDArray[np.bool_], keep_noise: npt.NDArray[np.bool_]) -> float | None:
        relevant, noise = self.relevant[keep], self.noise[keep_noise]
        if np.isfinite(relevant).sum() < MIN_RELEVANT or np.isfinite(noise).sum() < MIN_NOISE:
            return None
        return pick(relevant, noise, self.costs)[0]


def _masks(
    name: str, of_relevant: npt.NDArray[np.str_], of_noise: npt.NDArray[np.str_]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    own_noise = of_noise == name
    return of_relevant == name, own_noise if own_noise.sum() >= MIN_NOISE else np.ones(len(of_noise), dtype=np.bool_)


def _segment(
    name: str,
    data: _Bands,
    mask: npt.NDArray[np.bool_],
    noise_mask: npt.NDArray[np.bool_],
    global_floors: list[float | None],
    floor: float,
) -> Segment:
    n, m = int(mask.sum()), int(noise_mask.sum())
    own = data.choose(mask, noise_mask)
    if own is None:
        few = f"{n} answerable queries are too few for a floor of their own"
        return Segment(name, n, m, None, None, None, None, False, None, few)
    pooled = _pooled(own, floor, n)
    lost, kept = np.zeros(len(data.relevant)), np.zeros(len(data.noise))
    for fold, global_floor in enumerate(global_floors):
        here = mask & (data.folds == fold)
        here_noise = noise_mask & (data.noise_folds == fold)
        rest = mask & (data.folds != fold)
        chosen = data.choose(rest, noise_mask & (data.noise_folds != fold))
        if chosen is None or global_floor is None:
            continue
        bar = _pooled(chosen, global_floor, int(rest.sum()))
        lost[here] = _below(data.relevant[here], global_floor) - _below(data.relevant[here], bar)
        kept[here_noise] = _below(data.noise[here_noise], bar) - _below(data.noise[here_noise], global_floor)
    gain, error = _paired(lost[mask], kept[noise_mask], data.costs)
    recommended = gain > BEYOND * error and gain > 0
    needed = ceil(n * (BEYOND * error / gain) ** 2) if gain > 0 and not recommended else None
    return Segment(name, n, m, own, pooled, gain, error, recommended, needed, _reason(gain, error, needed))


def _pooled(own: float, floor: float, n: int) -> float:
    weight = n / (n + POOLING)
    return weight * own + (1.0 - weight) * floor


def _below(values: Floats, bar: float) -> Floats:
    below: Floats = (~(values >= bar)).astype(np.float64)
    return below


def _paired(saved_misses: Floats, saved_false: Floats, costs: Costs) -> tuple[float, float]:
    """Mean saving per query and its standard error; at least one discordant query's worth of error, never zero."""
    gain = costs.miss_weight * float(saved_misses.mean()) + costs.false_weight * float(saved_false.mean())
    variance = 0.0
    for weight, saved in ((costs.miss_weight, saved_misses), (costs.false_weight, saved_false)):
        n = len(saved)
        variance += weight**2 * max(float(saved.var()), 1.0 / n) / n
    return gain, sqrt(variance)


def _reason(gain: float, error: float, needed: int | None) -> str:
    if needed is None and gain > 0:
        return f"saves {gain:.3f} per query (standard error {error:.3f}) on unseen queries"
    if needed is None:
        return "its own floor saves nothing on unseen queries"
    within = f"saves {gain:.3f} per query, within noise (standard error {error:.3f})"
    return f"{within}; about {needed} answerable queries would settle it"


def _matrix(
    relevant: Floats,
    noise: Floats,
    floors: list[float | None],
    masks: list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    hits = np.zeros((len(floors), len(masks)), dtype=np.int64)
    false_answers = np.zeros_like(hits)
    for row, floor in enumerate(floors):
        bar = -np.inf if floor is None else floor
        for column, (mask, noise_mask) in enumerate(masks):
            hits[row, column] = int(((relevant[mask] >= bar) & np.isfinite(relevant[mask])).sum())
            false_answers[row, column] = int(((noise[noise_mask] >= bar) & np.isfinite(noise[noise_mask])).sum())
    return hits, false_answers
