"""Does `check` warn of risen noise before the false answers leave their interval?

The bundled sample grows by passages of another corpus, three at a time, up to twice its size, in several orders.

    python tests/benchmarks/growth_warning.py CORPUS.jsonl [CORPUS.jsonl …]
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

from calibration import parameters
from calibration.resources import bundled
from calibration.result import save
from calibration.studies.calibrate import calibrate
from calibration.studies.check.baseline import Baseline, read_baseline
from calibration.studies.check.study import Check, check_baseline

MODELS, ORDERS, STEP = ("minilm", "wordllama"), 3, 3
GATES = ("false_answer_rate_off_topic", "false_answer_rate_probes")


def left_interval(baseline: Baseline, found: Check) -> bool:
    """Whether a false-answer rate lies outside the interval that the baseline claims."""
    claimed = baseline.document["rates"]["in_sample"]
    now = {rate.measure.name: rate.now.value for rate in found.rates}
    return any(not claimed[name]["low"] <= now[name] <= claimed[name]["high"] for name in GATES)


def grow(model: str, more: list[dict[str, str]], folder: Path) -> tuple[int | None, int | None]:
    """Passages added at the first warning, and when a rate first left its interval."""
    sample = bundled("data") / "sample"
    for name in ("queries.jsonl", "qrels.tsv", "corpus.jsonl"):
        shutil.copy(sample / name, folder / name)
    params = parameters({"labels": str(folder), "rel_level": 1, "model": model})
    save(calibrate(params), folder / "baseline")
    baseline = read_baseline(folder / "baseline")
    warned = left = None
    for start in range(0, 80, STEP):
        with (folder / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
            for number, row in enumerate(more[start : start + STEP], start):
                row = {"_id": f"added-{number}", "title": row.get("title") or "", "text": row["text"]}
                corpus.write(json.dumps(row) + "\n")
        found = check_baseline(baseline, params)
        if warned is None and found.ceiling is not None and found.ceiling.warned:
            warned = start + STEP
        if left is None and left_interval(baseline, found):
            left = start + STEP
        if warned is not None and left is not None:
            break
    return warned, left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+", type=Path)
    for path in parser.parse_args().corpora:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        for order in range(ORDERS):
            shuffled = [rows[i] for i in np.random.default_rng(order).permutation(len(rows))]
            for model in MODELS:
                with tempfile.TemporaryDirectory() as folder:
                    warned, left = grow(model, shuffled, Path(folder))
                print(
                    f"{path.parent.name or path.stem} order {order} {model}: warned at {warned}, left at {left}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
