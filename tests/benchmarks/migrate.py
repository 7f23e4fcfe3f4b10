"""A migration study against the two exact pulls it needs, in one run, on the embedded server.

python tests/benchmarks/migrate.py [--rows 10000] [--width 384] [--queries 200] [--json FILE]

The pulls are those of a calibration: facts, one proven pass over the vectors, every score. The study does them for both
sides, hashes both corpora, asks the operator for every pair that decides, searches as deployed, and compares.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from deployed import Corpus, unit

from calibration.contract import read_contract
from calibration.scores.similarity import BlockScorer
from calibration.sources.postgres import PostgresSource
from calibration.sources.postgres.server import embedded_server, remove_embedded
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import migrate

REPEATS = 5
LIMIT = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, options.width))
    vectors = unit(centres[rng.integers(0, 200, options.rows)] + rng.normal(size=(options.rows, options.width)))
    queries = unit(centres[rng.integers(0, 200, options.queries)] + rng.normal(size=(options.queries, options.width)))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        with embedded_server(cache) as dsn:
            corpus = Corpus(Path(folder), dsn, [f"d{row}" for row in range(options.rows)], vectors, queries)
            old = corpus.contract("pgvector cosine_distance", 0.5, name="old")
            exact = corpus.contract("pgvector l2", name="exact")
            deployed = corpus.contract("pgvector l2", name="deployed", source={"index": {"ef_search": 40}})
            corpus.run(
                "SET maintenance_work_mem = '256MB'", "CREATE INDEX ON corpus USING hnsw (embedding vector_l2_ops)"
            )
            found = {name: measure(corpus, old, new) for name, new in (("exact", exact), ("hnsw", deployed))}
        remove_embedded(cache)
    for name, (ratio, seconds, pulls) in found.items():
        sys.stdout.write(f"{name}: {ratio:.2f} times the two exact pulls ({seconds:.2f} s, pulls {pulls:.2f} s)\n")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        # both sides are asked at once and pulls one after the other, so waiting for a core counts against the study
        sys.stdout.write(f"the machine is busy (load {load:.1f} on {cores} cores): not a fair measurement\n")
    if options.json:
        options.json.write_text(json.dumps({name: row[0] for name, row in found.items()}) + "\n", encoding="utf-8")
    return 0 if all(row[0] <= LIMIT for row in found.values()) else 1


def measure(corpus: Corpus, old: str, new: str) -> tuple[float, float, float]:
    """Median ratio, and the median seconds of both, in turn so that a drifting machine slows both."""
    rows = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for path in (old, new):
            pull(corpus, read_contract(path).contract.metric)
        middle = time.perf_counter()
        migrate(MigrateParams(old=old, new=new, queries=corpus.queries_file))
        rows.append((middle - start, time.perf_counter() - middle))
    pulls, studies = np.array(rows).T
    return float(np.median(studies / pulls)), float(np.median(studies)), float(np.median(pulls))


def pull(corpus: Corpus, metric: str) -> None:
    """Pull as a calibration does, without the labels."""
    source = PostgresSource(corpus.dsn, "corpus", metric=metric)
    source.preflight()
    scorer = BlockScorer(corpus.queries, metric)
    for block in source.blocks(corpus.queries, strategy="fetch"):
        scorer.score(block.vectors)


if __name__ == "__main__":
    sys.exit(main())
