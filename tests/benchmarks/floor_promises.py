"""Whether certificates, intervals and refusals keep what they promise, on samples drawn from real bands."""

import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from floor_sets import Bands, Split, splits

from calibration.choose import NoFloor, Rate, Recommendation, choose_floor, covering, proportion

Floats = npt.NDArray[np.float64]
Key = tuple[int, tuple[float, float]]
PAIRS = ((1.0, 1.0), (3.0, 1.0), (10.0, 1.0), (1.0, 3.0))
TARGET = 0.9
LARGE = 200
"""Values a band must have on both sides to stand for a population."""
WITHOUT_SIGNAL = 4
"""Draws without a signal for each draw of the intervals: a share of one in fifty needs many."""


@dataclass
class Promises:
    """Raw tallies, by (n, pair)."""

    certified: dict[Key, list[bool]] = field(default_factory=lambda: defaultdict(list))
    broken: dict[Key, list[bool]] = field(default_factory=lambda: defaultdict(list))
    false_answers: dict[Key, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    covered: dict[tuple[str, int], list[bool]] = field(default_factory=lambda: defaultdict(list))
    offered_without_signal: dict[Key, list[bool]] = field(default_factory=lambda: defaultdict(list))
    refused_in_a_gap: dict[Key, list[bool]] = field(default_factory=lambda: defaultdict(list))

    def lines(self) -> Iterator[str]:
        """Say everything measured, one line each."""
        for (n, (a, b)), held in self.certified.items():
            both = np.array(self.false_answers[n, (a, b)]).reshape(-1, 2)
            with_, without = both.mean(axis=0) if len(both) else (np.nan, np.nan)
            yield (
                f"certificates n={n} {a:g}:{b:g}: certified in {np.mean(held):.0%} of offered floors, broken in "
                f"{np.mean(self.broken[n, (a, b)]):.1%} of them all (promised: at most 10 %); false-answer rate of "
                f"certified floors {with_:.3f}, of the same splits' cheapest floors {without:.3f}"
            )
        for (which, n), hits in self.covered.items():
            yield f"95 % intervals, {which}, n={n}: cover in {np.mean(hits):.1%} of {len(hits)} draws"
        for (n, (a, b)), offered in self.offered_without_signal.items():
            yield f"no signal n={n} {a:g}:{b:g}: a floor offered in {np.mean(offered):.1%} of {len(offered)} draws"
        for (n, (a, b)), refused in self.refused_in_a_gap.items():
            yield f"clean gap n={n} {a:g}:{b:g}: refused in {np.mean(refused):.1%} of {len(refused)} splits"

    def as_dict(self) -> dict[str, Any]:
        """Give shares for JSON."""
        names = ("certified", "broken", "covered", "offered_without_signal", "refused_in_a_gap")
        return {name: {str(key): float(np.mean(v)) for key, v in getattr(self, name).items()} for name in names}


def measure_promises(all_bands: list[Bands], seed: int, count: int) -> Promises:
    """Measure on splits (certificates, gaps) and on draws from large bands (intervals, no signal)."""
    found = Promises()
    for bands in all_bands:
        for n in (25, 50):
            if len(bands.relevant) < n + 15:
                continue
            for split in splits(bands, n, 100, count, seed + 1):
                _gap(found, n, split.relevant, split.noise)
                _certificate(found, bands, n, split)
            if min(len(bands.relevant), len(bands.noise)) >= LARGE:
                _draws(found, bands, n, count, seed)
                _without_signal(found, bands, n, WITHOUT_SIGNAL * count, seed)
    return found


def _draws(found: Promises, bands: Bands, n: int, count: int, seed: int) -> None:
    """Draw samples with the bands as populations, whose rates are then known."""
    rng = np.random.default_rng([seed, n, zlib.crc32(bands.name.encode())])
    for _ in range(count):
        relevant, noise = rng.choice(bands.relevant, n), rng.choice(bands.noise, 100)
        for pair in PAIRS:
            result = _choose(relevant, noise, pair)
            if isinstance(result, Recommendation):
                _intervals(found, bands, n, relevant, noise, result)


def _without_signal(found: Promises, bands: Bands, n: int, count: int, seed: int) -> None:
    """Draw both samples from one band."""
    rng = np.random.default_rng([seed, n, zlib.crc32(bands.name.encode()), 1])
    for draw in range(count):
        pool = rng.permutation(bands.relevant if rng.random() < 0.5 else bands.noise)
        for pair in PAIRS:
            same = _choose(pool[:n], pool[n : n + 100], pair, seed=draw)
            found.offered_without_signal[n, pair].append(same.floor is not None)


def _certificate(found: Promises, bands: Bands, n: int, split: Split) -> None:
    """Judge certified floors on all answerable queries of the set: those seen are few, or the set is small."""
    for pair in PAIRS:
        result = _choose(split.relevant, split.noise, pair)
        if result.floor is None:
            continue
        certified = result.status == "certified"
        found.certified[n, pair].append(certified)
        found.broken[n, pair].append(certified and float((bands.relevant >= result.floor).mean()) < TARGET)
        if certified:
            cheapest = result.floor if result.lowered_from is None else result.lowered_from
            rates = float((split.held_noise >= result.floor).mean()), float((split.held_noise >= cheapest).mean())
            found.false_answers[n, pair].append(rates)


def _intervals(found: Promises, bands: Bands, n: int, relevant: Floats, noise: Floats, result: Recommendation) -> None:
    if result.held_out is None:
        return
    held = result.held_out
    bars = np.array([-np.inf if floor is None else floor for floor in held.floors])
    sides = (
        ("hit rate", relevant, bands.relevant, held.relevant_folds),
        ("false-answer rate", noise, bands.noise, held.noise_folds),
    )
    for name, seen, population, folds in sides:
        truth = float((population >= result.floor).mean())
        inside = proportion(int((seen >= result.floor).sum()), len(seen))
        outside = proportion(int((seen >= bars[np.array(folds)]).sum()), len(seen))
        for which, rate in (
            ("in-sample", inside),
            ("held-out, Wilson", outside),
            ("held-out", covering(inside, outside)),
        ):
            found.covered[f"{which} {name}", n].append(_covers(rate, truth))


def _covers(rate: Rate, truth: float) -> bool:
    return rate.low is not None and rate.high is not None and rate.low - 1e-12 <= truth <= rate.high + 1e-12


def _gap(found: Promises, n: int, relevant: Floats, noise: Floats) -> None:
    """Move the noise down until a clean gap of a fifth of the pooled spread is left."""
    moved = noise - (noise.max() - relevant.min()) - 0.2 * float(np.ptp(relevant) + np.ptp(noise))
    for pair in PAIRS:
        found.refused_in_a_gap[n, pair].append(_choose(relevant, moved, pair).floor is None)


def _choose(relevant: Floats, noise: Floats, pair: tuple[float, float], seed: int = 0) -> Recommendation | NoFloor:
    return choose_floor(relevant, noise, miss_cost=pair[0], false_cost=pair[1], resamples=0, seed=seed)
