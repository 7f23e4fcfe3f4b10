"""`calibrate run` on a table, from the shell to the report, against an empty papermill notebook plus the same pull.

python tests/benchmarks/end_to_end.py [--rows 10000 100000] [--queries 200] [--repeats 5] [--json FILE]

Both are whole processes, in turns: `calibrate run` on a generated table with query vectors from a file; and a Python
process that pulls the same scores and executes a notebook of one empty cell with papermill.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pull

BARE = """
import sys
sys.path.insert(0, {benchmarks!r})
import nbformat, papermill, pull
pull.ours_once({dsn!r}, {rows}, {queries})
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", metadata={{"tags": ["parameters"]}})])
notebook.metadata["kernelspec"] = {{"name": "python3", "language": "python", "display_name": "Python 3"}}
papermill.execute_notebook(notebook, {out!r}, progress_bar=False)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--port", type=int, default=54_330)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from calibration.sources.postgres.server import start_private_server

    found = []
    with tempfile.TemporaryDirectory(prefix="end-to-end-") as name:
        folder = Path(name)
        server = start_private_server(folder / "server", tcp_port=options.port, password="benchmark")  # noqa: S106
        try:
            for rows in options.rows:
                pull.load(server.conninfo, rows)
                found.append(measured(folder, server.conninfo, rows, options.queries, options.repeats))
                print(json.dumps(found[-1]), flush=True)
        finally:
            server.remove()
    if options.json:
        options.json.write_text(json.dumps({"table": found}, indent=2) + "\n", encoding="utf-8")
    return 0


def measured(folder: Path, dsn: str, rows: int, queries: int, repeats: int) -> dict[str, Any]:
    """Median seconds of both ways, and of their ratio pair by pair."""
    labelled(folder, rows, queries)
    out = folder / "runs"
    run = [sys.executable, "-m", "calibration", "run", "--labels", str(folder), "--table", pull.TABLE, "--no-probes"]
    run += ["--vectors", str(folder / "queries.npz"), "--metric", "cosine_similarity", "--out", str(out), "--force"]
    bare = BARE.format(
        benchmarks=str(Path(__file__).parent), dsn=dsn, rows=rows, queries=queries, out=str(folder / "empty.ipynb")
    )
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(seconds(run, dsn, folder))
        theirs.append(seconds([sys.executable, "-W", "ignore", "-c", bare], dsn, folder))
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return {
        "rows": rows,
        "queries": queries,
        "run": round(statistics.median(ours), 2),
        "empty_notebook_and_pull": round(statistics.median(theirs), 2),
        "ratio": round(statistics.median(ratios), 2),
    }


def labelled(folder: Path, rows: int, queries: int) -> None:
    """Labels of the queries that `pull.ours` asks, and their vectors."""
    ids = [f"q{i}" for i in range(queries)]
    judged = pull.judged_rows(rows, queries)
    lines = [json.dumps({"_id": name, "text": f"question {name}"}) for name in ids]
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pairs = [f"{name}\t{doc}\t1" for name, docs in zip(ids, judged, strict=True) for doc in sorted(set(docs.tolist()))]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(pairs) + "\n", encoding="utf-8")
    np.savez(folder / "queries.npz", query_ids=np.array(ids), query_vectors=pull.asked(queries))


def seconds(command: list[str], dsn: str, folder: Path) -> float:
    """Wall time of a process that must succeed."""
    environment = {**os.environ, "CALIBRATION_DSN": dsn, "CALIBRATION_CACHE": str(folder / "cache")}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    if done.returncode:
        sys.exit(f"{command[:4]} failed:\n{done.stderr[-2000:]}")
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
