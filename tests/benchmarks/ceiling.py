"""Whether a tenth of a corpus tells the noise ceiling of the whole, by the function that the report uses.

    python tests/benchmarks/ceiling.py DATASETS [--json FILE]

A random tenth of the passages is kept, again and again; the ceiling at the full size is predicted from it and compared
with the measured one, for the same off-topic queries. The mean of the predictions says how far the line is right, the
single draws what a user must expect who has one small corpus. Tenths of fewer than 500 passages are extrapolated here
only: users are told nothing from so few.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from floor_sets import Floats, far_similarities
from tqdm import tqdm

from calibration.choose.ceiling import QUANTILE, noise_ceiling
from calibration.embed import VectorCache
from calibration.resources import cache_dir

KEPT = 100
"""Best matches a query that a run keeps, and so all that the prediction may see."""
CLOSE = 0.03


def main() -> int:
    options = _options()
    cache = VectorCache(cache_dir())
    pairs = [(options.datasets / name, model) for name in options.sets for model in options.models]
    rows = []
    for folder, model in tqdm(pairs, desc="sets", unit="set", file=sys.stderr):
        similarity = far_similarities(folder, model, cache)
        rows.append({"set": folder.name, "model": model, **_measure(similarity, options)})
    _show(rows)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--sets", nargs="*", default=["chroma_chunks", "clinc_oos", "jaquad_ja"])
    parser.add_argument("--models", nargs="*", default=["minilm", "wordllama"])
    parser.add_argument("--share", type=float, default=0.1, help="of the passages that is kept")
    parser.add_argument("--draws", type=int, default=50, help="random parts per set and model")
    parser.add_argument("--seed", type=int, default=20240601)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _measure(similarity: Floats, options: argparse.Namespace) -> dict[str, Any]:
    """Predict the whole from each part; the differences are predicted minus measured."""
    n_queries, n_passages = similarity.shape
    measured = float(np.quantile(similarity.max(axis=1), QUANTILE))
    part = round(options.share * n_passages)
    rng = np.random.default_rng(options.seed)
    errors, covered = [], []
    for _ in range(options.draws):
        some = similarity[:, rng.choice(n_passages, part, replace=False)]
        tops = -np.sort(-some, axis=1)[:, :KEPT]
        ceiling = noise_ceiling(list(tops), part, smallest=1)
        expected = None if ceiling is None else ceiling.at(n_passages)
        if expected is None:
            raise SystemExit(f"nothing is extrapolated from {part} passages and {n_queries} queries")
        errors.append(expected[0] - measured)
        covered.append(expected[1] <= measured <= expected[2])
    size = np.abs(errors)
    return {
        "passages": n_passages, "part": part, "queries": n_queries, "measured": measured, "draws": options.draws,
        "mean_difference": float(np.mean(errors)), "mean_size": float(size.mean()), "worst": float(size.max()),
        "close": float((size <= CLOSE).mean()), "covered": float(np.mean(covered)),
    }  # fmt: skip


def _show(rows: list[dict[str, Any]]) -> None:
    say = sys.stdout.write
    say(
        f"{'set':16s}{'model':24s}{'part':>6s}{'whole':>7s}{'measured':>10s}{'predicted':>11s}{'off by':>8s}"
        f"{'one draw':>10s}{'worst':>7s}{f'within {CLOSE}':>13s}{'interval':>10s}\n"
    )
    for row in rows:
        say(
            f"{row['set']:16s}{row['model']:24s}{row['part']:6d}{row['passages']:7d}{row['measured']:10.3f}"
            f"{row['measured'] + row['mean_difference']:11.3f}{row['mean_difference']:+8.3f}{row['mean_size']:10.3f}"
            f"{row['worst']:7.3f}{row['close']:13.0%}{row['covered']:10.0%}\n"
        )
    say(
        "predicted, off by: mean over the draws; one draw, worst: mean and largest distance of a single draw; "
        "interval: share of draws whose interval holds the measured value\n"
    )


if __name__ == "__main__":
    sys.exit(main())
