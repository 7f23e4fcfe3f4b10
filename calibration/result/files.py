"""Writing the files of a run, each whole or not at all."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..studies.check.baseline import QUERIES, RECOMMENDATION, SCORES
from ..studies.compare import Comparison, comparison_document
from ..studies.model import Calibration
from .document import queries_records, recommendation_document, scores_frame, strip_nan

COMPARISON = "comparison.json"


def save(calibration: Calibration, folder: Path | str) -> dict[str, Any]:
    """Write recommendation.json, queries.jsonl and scores.parquet into a folder and return the recommendation."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document = recommendation_document(calibration)
    frame = scores_frame(calibration)
    write_atomic(folder / SCORES, lambda path: frame.to_parquet(path, index=False))
    lines = "".join(dumps(record, indent=None) + "\n" for record in queries_records(calibration))
    write_text(folder / QUERIES, lines)
    write_text(folder / RECOMMENDATION, dumps(document) + "\n")
    return document


def save_comparison(comparison: Comparison, folder: Path | str) -> dict[str, Any]:
    """Write comparison.json into a folder and return what it says."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = strip_nan(comparison_document(comparison))
    write_text(folder / COMPARISON, dumps(document) + "\n")
    return document


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """JSON that every parser reads: no NaN; non-ASCII ids as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8 with plain newlines."""
    write_atomic(path, lambda partial: partial.write_bytes(text.encode("utf-8")))


def write_atomic(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file beside the target, then put it in place in one step."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        write(partial)
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
