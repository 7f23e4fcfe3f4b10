"""Folders of labels, written for a test, and what refuses them."""

import json
from pathlib import Path

import pytest

from calibration.errors import LabelError
from calibration.labels import read_labels

CORPUS = [{"_id": "d1", "title": "", "text": "one"}, {"_id": "d2", "title": "", "text": "two"}]
QUERIES = [{"_id": "q1", "text": "first"}, {"_id": "q2", "text": "second"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n"


def jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def beir(
    folder: Path,
    *,
    queries: list[dict[str, object]] = QUERIES,
    qrels: str = QRELS,
    corpus: list[dict[str, object]] | None = CORPUS,
) -> Path:
    jsonl(folder / "queries.jsonl", queries)
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    if corpus is not None:
        jsonl(folder / "corpus.jsonl", corpus)
    return folder


def refusal(folder: Path, **options: object) -> str:
    with pytest.raises(LabelError) as caught:
        read_labels(folder, **options)
    return str(caught.value)


def csv_refusal(folder: Path, qrels: str) -> str:
    (folder / "qrels.csv").write_text(qrels, encoding="utf-8")
    queries = jsonl(folder / "queries.jsonl", QUERIES)
    with pytest.raises(LabelError) as caught:
        read_labels(queries=queries, qrels=folder / "qrels.csv")
    return str(caught.value)
