"""A small labelled set cut from the bundled sample, and the command run on it as its users run it."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from calibration.resources import bundled

QUERY_CANARY, PASSAGE_CANARY = "canary-7f3a", "canary-9b1c"
MARKUP = "<img src=x onerror=alert(1)>"
KINDS = {"answerable": 12, "off_topic": 4, "missing_answer": 3}
PASSAGES = 24


def write_labels(folder: Path) -> Path:
    """Write queries, qrels and corpus; one query and one passage carry a canary and markup."""
    folder.mkdir(parents=True, exist_ok=True)
    sample = bundled("data") / "sample"
    queries = _cut(_lines(sample / "queries.jsonl"))
    asked = {query["_id"] for query in queries}
    with (sample / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        qrels = [row for row in csv.DictReader(file, delimiter="\t") if row["query-id"] in asked]
    wanted = {row["corpus-id"] for row in qrels if row["score"] != "0"}
    corpus = list(_lines(sample / "corpus.jsonl"))
    corpus.sort(key=lambda passage: passage["_id"] not in wanted)
    corpus = corpus[: max(PASSAGES, len(wanted))]
    kept = {passage["_id"] for passage in corpus}
    queries[0]["text"] += f" {QUERY_CANARY} {MARKUP}"
    corpus[0]["text"] = f"{PASSAGE_CANARY} {MARKUP} {corpus[0]['text']}"
    corpus[0]["title"] = f"{PASSAGE_CANARY} {MARKUP}"
    _write(folder / "queries.jsonl", queries)
    _write(folder / "corpus.jsonl", corpus)
    rows = [f"{row['query-id']}\t{row['corpus-id']}\t{row['score']}" for row in qrels if row["corpus-id"] in kept]
    (folder / "qrels.tsv").write_text("\n".join(["query_id\tdoc_id\trelevance", *rows]) + "\n", encoding="utf-8")
    return folder


def environment(cache: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a user, without what this session's own may say."""
    foreign = ("PGPASSWORD", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CALIBRATION_DSN", "CALIBRATION_RUN", "JUPYTER_PATH")
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    return {**kept, "CALIBRATION_CACHE": str(cache), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", **(more or {})}


def calibrate(
    *arguments: object, cwd: Path, cache: Path, env: Mapping[str, str] | None = None, ok: bool = True
) -> "subprocess.CompletedProcess[str]":
    """Run the command to its end in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "calibration", *map(str, arguments)],
        cwd=cwd,
        env=environment(cache, env),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert not ok or done.returncode == 0, done.stderr
    return done


def document(folder: Path, name: str = "recommendation.json") -> dict[str, Any]:
    """Read a JSON file of a run."""
    return json.loads((folder / name).read_text(encoding="utf-8"))


def settled(recommendation: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same in every run on the same inputs."""
    return {name: value for name, value in recommendation.items() if name not in ("date", "versions")}


def files_with(folder: Path, text: str) -> list[str]:
    """Names of all files below a folder whose bytes hold a text, hidden ones too."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert found
    return [str(path.relative_to(folder)) for path in found if text.encode() in path.read_bytes()]


def _cut(queries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    left, kept = dict(KINDS), []
    for query in queries:
        if left.get(query["answerability"], 0) > 0:
            left[query["answerability"]] -= 1
            kept.append(query)
    return kept


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
