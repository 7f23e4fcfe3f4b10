"""The counts table over many scores against scikit-learn's precision_recall_curve on the same array, in one run.

python tests/benchmarks/counts.py [--n 10000000] [--json FILE]
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import precision_recall_curve

from calibration.choose import count_at_thresholds

REPEATS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    positive = rng.random(options.n) < 0.01
    scores = np.where(positive, rng.normal(0.5, 0.1, options.n), rng.normal(0.1, 0.1, options.n)).astype(np.float32)
    ratios = []
    for _ in range(REPEATS):  # in turn, so that a drifting machine slows both
        start = time.perf_counter()
        ours = count_at_thresholds(scores, positive)
        middle = time.perf_counter()
        precision, _, thresholds = precision_recall_curve(positive, scores)
        ratios.append((middle - start) / (time.perf_counter() - middle))
    if len(thresholds) != len(ours.thresholds) or not np.allclose(precision[:-1], ours.precision[::-1]):
        sys.exit("the two curves differ")
    ratio = float(np.median(ratios))
    runs = ", ".join(f"{r:.2f}" for r in ratios)
    sys.stdout.write(f"{options.n} scores: {ratio:.2f} times precision_recall_curve (runs: {runs})\n")
    if options.json:
        options.json.write_text(json.dumps({"n": options.n, "ratio_to_sklearn": ratio}) + "\n", encoding="utf-8")
    return 0 if ratio <= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
