"""Pulled scores kept by the hash of what they were pulled from, so that a second run and a notebook find them."""

import hashlib
import json
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..contract import ScoreContract
from ..errors import CalibrationError
from ..resources import cache_dir
from ..scores import Histogram, Sample, Scores

FORMAT = 2
KEEP_DAYS = 30
ONCE = "once-"
"""Begins the key of a pull that only one invocation may find again."""


def stage_key(inputs: Mapping[str, Any], *, once: str | None = None) -> str:
    """Hash of everything a pull depends on; with the name of the only invocation that may find it again, if any."""
    text = json.dumps({"format": FORMAT, **inputs}, sort_keys=True, ensure_ascii=True, default=str)
    return ("" if once is None else _of_session(once)) + hashlib.sha256(text.encode()).hexdigest()[:24]


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
        about = {**_about(scores), "facts": dict(facts)}
        (partial / "about.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        try:
            os.rename(partial, folder / key)
        except OSError:  # another process was first with the same pull
            if not (folder / key).is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def kept(key: str) -> bool:
    """Whether there is a kept pull, without reading it."""
    return (_folder() / key / "about.json").is_file()


def find(key: str) -> tuple[Scores, dict[str, Any]] | None:
    """Find a kept pull and its facts; None when there is none or it cannot be read."""
    folder = _folder() / key
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        everything = folder / "everything.parquet"
        with (folder / "histogram.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
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
            sample=None if about["sample"] is None else Sample(**about["sample"]),
        )
        facts: dict[str, Any] = about["facts"]
        os.utime(folder)
    except FileNotFoundError:
        if folder.exists():
            forget(key)
        return None
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile, CalibrationError):
        forget(key)  # damaged: it is pulled again, and what is here must not stand in the way
        return None
    return scores, facts


def content_hash(scores: Scores, facts: Mapping[str, Any]) -> str:
    """Hash of what was pulled; equal for two pulls of an unchanged source."""
    digest = hashlib.sha256()
    for frame in (scores.top, scores.judged, scores.everything):
        if frame is not None:
            digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    digest.update(scores.histogram.counts.tobytes())
    model = {name: value for name, value in facts["model"].items() if name not in ("embedded", "reused")}
    plain = {**_about(scores), "facts": {**facts, "model": model}}
    digest.update(json.dumps(plain, sort_keys=True, ensure_ascii=True, default=str).encode())
    return digest.hexdigest()


def parts_folder(key: str) -> Path:
    """Where finished parts of a pull wait for the rest."""
    return _folder() / f"parts-{key}"


def forget(key: str) -> None:
    """Remove a kept pull."""
    shutil.rmtree(_folder() / key, ignore_errors=True)


def forget_session(session: str) -> None:
    """Remove all that only one invocation may find again, by whichever of its processes it was kept."""
    for path in _folder().glob(f"*{_of_session(session)}*"):
        shutil.rmtree(path, ignore_errors=True)


def _of_session(session: str) -> str:
    return f"{ONCE}{hashlib.sha256(session.encode()).hexdigest()[:12]}-"


def _about(scores: Scores) -> dict[str, Any]:
    return {
        "contract": asdict(scores.contract),
        "query_ids": scores.query_ids,
        "n_documents": scores.n_documents,
        "exact": scores.exact,
        "depth": scores.depth,
        "n_invalid": scores.n_invalid,
        "n_missing": scores.n_missing,
        "level": scores.level,
        "sample": None if scores.sample is None else asdict(scores.sample),
    }


def _prune(folder: Path) -> None:
    """Remove pulls that nobody has used for a month, and after a day what killed processes left."""
    now = time.time()
    for entry in folder.iterdir():
        days = KEEP_DAYS if not entry.name.startswith((".partial-", ONCE, parts_folder(ONCE).name)) else 1
        with suppress(OSError):  # somebody else was faster
            if now - entry.stat().st_mtime > days * 86400:
                shutil.rmtree(entry, ignore_errors=True)


def _folder() -> Path:
    return cache_dir() / "pulls"
