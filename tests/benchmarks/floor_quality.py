"""How good the floors are: held-out regret of our rule and of each peer on real scores, and whether promises are kept.

    python tests/benchmarks/floor_quality.py DATASETS [--json FILE]

DATASETS is a folder of labelled sets (corpus, queries, qrels; or vectors.npz beside the labels). Each set is embedded
with each offline model through the cache, then split by group again and again: n answerable and at most 100 off-topic
queries choose a floor, the others pay for it. Regret is that cost minus the best possible on the same held-out queries;
a refusal costs what accepting everything costs. Intervals are paired: the same splits for every rule, resampled within
each set. A pair of set and model that cannot tell answers from noise has no right floor, only a right refusal, whose
price is a convention; such pairs are named, and counted apart.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from floor_peers import Peer, peers
from floor_promises import Promises, measure_promises
from floor_sets import Bands, Split, bands_of_texts, bands_of_vectors, splits
from tqdm import tqdm

from calibration.choose import Costs, choose_floor, empirical_cost
from calibration.embed import VectorCache
from calibration.errors import CalibrationError
from calibration.resources import cache_dir

OURS = "calibration"
SIZES = (10, 20, 50)
PAIRS = ((1.0, 1.0), (3.0, 1.0), (10.0, 1.0), (1.0, 3.0))
HELD_OUT = 15
"""Answerable queries that must be left to judge on."""
SIGNAL = 0.6
"""AUC of best relevant against noise, over the whole bands, from which a model is taken to tell them apart."""
TUNED_ON = ("chroma_chunks", "xquad_de", "insurance_tickets_voyage2")
"""The rule's constants were chosen on these: their regrets are no evidence for it."""

Floats = npt.NDArray[np.float64]


@dataclass
class Results:
    """Regret per split and refusals, by (rule, n, pair) and then by bands."""

    regret: dict[tuple[str, int, tuple[float, float]], dict[str, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    refused: dict[tuple[str, int, tuple[float, float]], list[bool]] = field(default_factory=lambda: defaultdict(list))
    seconds: list[float] = field(default_factory=list)


def main() -> int:
    options = _options()
    all_bands = list(_bands(options))
    rules, missing = peers()
    if options.no_peers:
        rules = rules[:1]
    results, without_signal = Results(), Results()
    for bands in tqdm(all_bands, desc="sets", unit="set", file=sys.stderr):
        for n in options.sizes:
            if len(bands.relevant) >= n + HELD_OUT:
                _compare(bands, n, rules, options, results if bands.auc() >= SIGNAL else without_signal)
    rows, apart = _rows(results, options.seed), _rows(without_signal, options.seed)
    if missing:
        sys.stdout.write(f"Peers that could not be imported: {'; '.join(missing)}\n")
    for title, part in (("with a signal", rows), (f"without (AUC below {SIGNAL:g})", apart)):
        if part:
            names = ", ".join(bands.name for bands in all_bands if (bands.auc() >= SIGNAL) == (part is rows))
            sys.stdout.write(f"\nHeld-out regret, mean over pairs of set and model {title}: {names}\n")
            _show(part)
    seconds = results.seconds + without_signal.seconds
    sys.stdout.write(f"seconds per choice: median {np.median(seconds):.3f}, longest {max(seconds):.3f}\n")
    promises = None if options.no_promises else measure_promises(all_bands, options.seed, options.splits)
    if promises is not None:
        _show_promises(promises)
    if options.json:
        extra = {} if promises is None else {"promises": promises.as_dict()}
        named = {bands.name: bands.auc() for bands in all_bands}
        document = {"rows": rows, "rows_without_signal": apart, "auc": named, "missing_peers": missing, **extra}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--sets", nargs="*", help=f"folders to use (default: all that were not tuned on: {TUNED_ON})")
    parser.add_argument("--models", nargs="*", default=["minilm", "wordllama"])
    parser.add_argument("--splits", type=int, default=25, help="random splits per set, model and n")
    parser.add_argument("--slow-splits", type=int, default=5, help="of which slow peers see so many")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--off-topic", type=int, default=100, help="off-topic queries seen, at most half of them")
    parser.add_argument("--seed", type=int, default=20240601)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-peers", action="store_true", help="only ours and the empirical cost")
    parser.add_argument("--no-promises", action="store_true", help="no certificates, intervals and refusals")
    return parser.parse_args()


def _bands(options: argparse.Namespace) -> Iterator[Bands]:
    """Give the bands of every set, with its own vectors if it has some, else under every model."""
    cache = VectorCache(cache_dir())
    folders = [path for path in sorted(options.datasets.iterdir()) if path.is_dir()]
    wanted = options.sets or [path.name for path in folders if path.name not in TUNED_ON]
    for folder in folders:
        if folder.name not in wanted:
            continue
        ways: list[str | None] = [None] if (folder / "vectors.npz").is_file() else list(options.models)
        for model in ways:
            sys.stderr.write(f"{folder.name}: {model or 'its own vectors'}\n")
            try:
                yield bands_of_vectors(folder) if model is None else bands_of_texts(folder, model, cache)
            except CalibrationError as error:  # a folder of other data
                sys.stderr.write(f"{folder.name} is left out: {str(error).splitlines()[0]}\n")
                break


def _compare(bands: Bands, n: int, rules: list[Peer], options: argparse.Namespace, results: Results) -> None:
    for at, split in enumerate(splits(bands, n, options.off_topic, options.splits, options.seed)):
        once: dict[str, float | None] = {}
        for pair in PAIRS:
            costs = Costs(*pair)
            best = _best_possible(split, costs)
            start = time.perf_counter()
            found = choose_floor(split.relevant, split.noise, miss_cost=pair[0], false_cost=pair[1], resamples=0)
            results.seconds.append(time.perf_counter() - start)
            floors: dict[str, float | None] = {OURS: found.floor}
            for rule in rules:
                if rule.slow and at >= options.slow_splits:
                    continue
                if rule.knows_costs or rule.name not in once:
                    once[rule.name] = rule.choose(split.relevant, split.noise, costs)
                floors[rule.name] = once[rule.name]
            for name, floor in floors.items():
                paid = empirical_cost(split.held_relevant, split.held_noise, floor, costs)
                results.regret[name, n, pair][bands.name].append(paid - best)
                results.refused[name, n, pair].append(floor is None)


def _best_possible(split: Split, costs: Costs) -> float:
    relevant, noise = np.sort(split.held_relevant), np.sort(split.held_noise)
    thresholds = np.unique(np.concatenate([relevant, noise, [max(relevant[-1], noise[-1]) + 1.0]]))
    miss = np.searchsorted(relevant, thresholds) / len(relevant)
    kept = 1.0 - np.searchsorted(noise, thresholds) / len(noise)
    return float((costs.miss_weight * miss + costs.false_weight * kept).min())


def _rows(results: Results, seed: int) -> list[dict[str, Any]]:
    """Give means over bands, and the paired difference to ours with its 95 % interval."""
    rows = []
    for (name, n, pair), by_bands in results.regret.items():
        ours = results.regret[OURS, n, pair]
        differences = [np.array(values) - np.array(ours[key][: len(values)]) for key, values in by_bands.items()]
        rng = np.random.default_rng(seed)
        draws = [d[rng.integers(0, len(d), (1000, len(d)))].mean(axis=1) for d in differences]
        low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
        same = [np.mean(ours[key][: len(values)]) for key, values in by_bands.items()]
        rows.append(
            {
                "rule": name, "ours": name == OURS, "n": n, "miss_cost": pair[0], "false_cost": pair[1],
                "regret": float(np.mean([np.mean(values) for values in by_bands.values()])),
                "refusals": float(np.mean(results.refused[name, n, pair])),
                "ours_on_the_same_splits": float(np.mean(same)),
                "worse_than_ours": float(np.mean([d.mean() for d in differences])),
                "low": float(low), "high": float(high), "splits": sum(map(len, by_bands.values())),
                "by_set": {key: float(np.mean(values)) for key, values in by_bands.items()},
            }
        )  # fmt: skip
    return rows


def _show(rows: list[dict[str, Any]]) -> None:
    say = sys.stdout.write
    columns = [(n, pair) for n in sorted({row["n"] for row in rows}) for pair in PAIRS]
    table = {(row["rule"], row["n"], (row["miss_cost"], row["false_cost"])): row for row in rows}
    say(f"{'rule':36s}" + "".join(f"{f'n={n} {a:g}:{b:g}':>10s}" for n, (a, b) in columns) + "\n")
    for name in sorted({row["rule"] for row in rows}, key=lambda name: table[name, *columns[0]]["worse_than_ours"]):
        cells = [table[name, n, pair] for n, pair in columns]
        marks = [" " if c["ours"] else "*" if c["low"] > 0 else "!" if c["high"] < 0 else "~" for c in cells]
        say(f"{name:36s}" + "".join(f"{c['regret']:>9.4f}{m}" for c, m in zip(cells, marks, strict=True)) + "\n")
    say("* worse than ours, ~ within noise, ! better than ours (95 %, paired on the splits that the rule saw)\n")
    for n, (a, b) in columns:
        others = [row for row in rows if not row["ours"] and row["n"] == n]
        others = [row for row in others if (row["miss_cost"], row["false_cost"]) == (a, b)]
        best = min(others, key=lambda row: row["worse_than_ours"])
        share = best["ours_on_the_same_splits"] / max(best["regret"], 1e-12)
        say(
            f"n={n} {a:g}:{b:g}: ours {table[OURS, n, (a, b)]['regret']:.4f} ({table[OURS, n, (a, b)]['refusals']:.1%} "
            f"refused), best peer {best['rule']}; ours is {share:.2f} of it, saves {best['worse_than_ours']:.4f} "
            f"[{best['low']:.4f}, {best['high']:.4f}] on {best['splits']} splits\n"
        )


def _show_promises(promises: Promises) -> None:
    for line in promises.lines():
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
