"""Curves, gap and recommendation from the summaries of 3 billion scores: seconds and peak memory.

python tests/benchmarks/summaries.py [--passages 10000000] [--queries 300] [--json FILE]

The summaries are made up (nothing of that size is scored here): per query a histogram over all passages, the best 100,
and the judged pairs, as a pull leaves them.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.params import RunParams
from calibration.scores import Histogram, Scores
from calibration.studies.analyse import analyse

BINS, DEPTH = 2000, 100
SECONDS, BYTES = 10.0, 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    labels, scores = made(options.passages, options.queries)
    start = time.perf_counter()
    found = analyse(scores, labels, None, RunParams(scores="made.csv"), name="made", facts={})
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if found.floor is None or len(found.curves) == 0:
        sys.exit("no recommendation, or no curves")
    total = int(scores.histogram.counts.sum())
    print(
        f"{total} scores: floor {found.floor}, top-K {found.top_k.value}: {seconds:.1f} s, peak {memory / 1e6:.0f} MB"
    )
    if options.json:
        document = {"scores": total, "seconds": seconds, "memory": memory}
        options.json.write_text(json.dumps(document) + "\n", encoding="utf-8")
    return 0 if seconds <= SECONDS and memory < BYTES else 1


def made(passages: int, queries: int) -> tuple[Labels, Scores]:
    """Two thirds of the queries have an answer, the others are about something else."""
    rng = np.random.default_rng(0)
    ids = [f"q{i}" for i in range(queries)]
    kinds = np.where(np.arange(queries) % 3 == 0, "off_topic", "answerable")
    table = pd.DataFrame({"query_id": ids, "text": "", "kind": "-", "answerability": kinds, "group": ids, "must": "-"})
    middles = np.linspace(-1, 1, BINS)
    shares = np.exp(-0.5 * (middles / 0.1) ** 2)
    counts = np.round(shares / shares.sum() * passages).astype(np.int64)[None, :].repeat(queries, axis=0)
    best = np.where(kinds == "answerable", rng.normal(0.62, 0.06, queries), rng.normal(0.42, 0.04, queries))
    similarity = best[:, None] - np.sort(rng.exponential(0.05, (queries, DEPTH)), axis=1)
    similarity[:, 0] = best
    docs = rng.integers(0, passages, (queries, DEPTH)).astype(str)
    top = pd.DataFrame(
        {
            "query_id": np.repeat(ids, DEPTH),
            "doc_id": docs.ravel(),
            "similarity": similarity.ravel(),
            "rank": np.tile(np.arange(1, DEPTH + 1), queries),
        }
    ).drop_duplicates(["query_id", "doc_id"])
    relevant = np.flatnonzero(kinds == "answerable")
    ranks = rng.choice([1, 1, 1, 2, 4, 30], len(relevant))
    judged = pd.DataFrame(
        {
            "query_id": [ids[row] for row in relevant],
            "doc_id": [docs[row, rank - 1] for row, rank in zip(relevant, ranks, strict=True)],
            "relevance": 1,
            "similarity": [similarity[row, rank - 1] for row, rank in zip(relevant, ranks, strict=True)],
            "rank": pd.array(ranks, dtype="Int64"),
        }
    )
    labels = Labels(table.astype("str"), judged[["query_id", "doc_id", "relevance"]], None, 1, "unknown")
    return labels, Scores(
        contract=ScoreContract(),
        query_ids=ids,
        top=top,
        judged=judged,
        histogram=Histogram(np.linspace(-1, 1, BINS + 1), counts),
        everything=None,
        n_documents=passages,
        exact=True,
        depth=DEPTH,
    )


if __name__ == "__main__":
    sys.exit(main())
