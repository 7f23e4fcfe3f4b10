"""Pulled scores kept by the hash of what they were pulled from, so that a second run and a notebook find them."""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..contract import ScoreContract
from ..resources import cache_dir
from ..scores import Histogram, Scores

FORMAT = 1
KEEP_DAYS = 30


def stage_key(inputs: Mapping[str, Any]) -> str:
    """Hash of everything a pull depends on."""
    text = json.dumps({"format": FORMAT, **inputs}, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def store(key: str, scores: Scores, facts: Mapping[str, Any]) -> None:
    """Keep a pull; it appears whole or not at all, also when the process is killed."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    _prune(folder)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder))
    try:
        scores.top.to_parquet(partial / "top.parquet", index=False)
        scores.judged.to_parquet(partial / "judged.parquet", index=False)
        if scores.everything is not None:
            scores.everything.to_parquet(partial / "everything.parquet", index=False)
        np.savez_compressed(partial / "histogram.npz", edges=scores.histogram.edges, counts=scores.histogram.counts)
        about = {
            "contract": asdict(scores.contract),
            "query_ids": scores.query_ids,
            "n_documents": scores.n_documents,
            "exact": scores.exact,
            "depth": scores.depth,
            "n_invalid": scores.n_invalid,
            "n_missing": scores.n_missing,
            "level": scores.level,
            "facts": dict(facts),
        }
        (partial / "about.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        try:
            os.rename(partial, folder / key)
        except OSError:  # another process was first with the same pull
            if not (folder / key).is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def find(key: str) -> tuple[Scores, dict[str, Any]] | None:
    """Find a kept pull and its facts; None when there is none or it cannot be read."""
    folder = _folder() / key
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        everything = folder / "everything.parquet"
        with np.load(folder / "histogram.npz", allow_pickle=False) as arrays:
            histogram = Histogram(arrays["edges"], arrays["counts"])
        scores = Scores(
            contract=ScoreContract(**about["contract"]),
            query_ids=about["query_ids"],
            top=pd.read_parquet(folder / "top.parquet"),
            judged=pd.read_parquet(folder / "judged.parquet"),
            histogram=histogram,
            everything=pd.read_parquet(everything) if everything.exists() else None,
            n_documents=about["n_documents"],
            exact=about["exact"],
            depth=about["depth"],
            n_invalid=about["n_invalid"],
            n_missing=about["n_missing"],
            level=about["level"],
        )
        os.utime(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent, or damaged: it is pulled again
    return scores, about["facts"]


def forget(key: str) -> None:
    """Remove a kept pull."""
    shutil.rmtree(_folder() / key, ignore_errors=True)


def _prune(folder: Path) -> None:
    """Remove pulls that nobody has used for a month, and what killed processes left."""
    now = time.time()
    for entry in folder.iterdir():
        age = now - entry.stat().st_mtime
        if age > KEEP_DAYS * 86400 or (entry.name.startswith(".partial-") and age > 3600):
            shutil.rmtree(entry, ignore_errors=True)


def _folder() -> Path:
    return cache_dir() / "pulls"
