"""Recompute a published threshold sweep from its pair scores with our counts, and explain what differs.

    python tests/benchmarks/published_sweep.py DATASETS

DATASETS holds `scores_bugspotter/` with synthetic_pairs_scores.csv (label and one column of scores per model) and
threshold_sweep.csv (the authors' counts per model and threshold).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.choose import survival

COUNTS = ["tp", "fp", "fn", "tn"]


def main(datasets: Path) -> int:
    folder = datasets / "scores_bugspotter"
    pairs = pd.read_csv(folder / "synthetic_pairs_scores.csv")
    published = pd.read_csv(folder / "threshold_sweep.csv")
    matched, differing = 0, []
    for model, rows in published.groupby("model"):
        scored = pairs[pairs[model].notna()]
        duplicate = scored["label"] == 1
        positive, negative = scored.loc[duplicate, model].to_numpy(), scored.loc[~duplicate, model].to_numpy()
        thresholds = rows["threshold"].to_numpy()
        ours = pd.DataFrame({"tp": survival(positive, thresholds), "fp": survival(negative, thresholds)})
        ours["fn"], ours["tn"] = len(positive) - ours["tp"], len(negative) - ours["fp"]
        same = (ours[COUNTS].to_numpy() == rows[COUNTS].to_numpy()).all(axis=1)
        matched += int(same.sum())
        for i in np.flatnonzero(~same):
            threshold = thresholds[i]
            at = scored.loc[(scored[model] - threshold).abs() < 5e-7, ["label", model]]
            differing.append((model, threshold, ours.iloc[i].to_dict(), rows.iloc[i][COUNTS].to_dict(), len(at)))
    sys.stdout.write(f"{matched} of {len(published)} rows equal the published counts\n")
    explained = 0
    for model, threshold, ours, theirs, at in differing:
        shift = sum(abs(ours[name] - theirs[name]) for name in ("tp", "fp"))
        explained += shift <= at
        sys.stdout.write(
            f"{model} at {threshold:.2f}: ours {ours}, published {theirs}; {at} pair(s) score {threshold:.2f} to six "
            f"decimals, so the published counts decided {shift:g} of them on digits that the rounded scores have lost\n"
        )
    sys.stdout.write(f"{explained} of {len(differing)} differences are such ties\n")
    return 0 if explained == len(differing) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
