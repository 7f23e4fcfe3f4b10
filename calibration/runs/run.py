"""A run: parameters to pulled scores to notebook to report, one folder per model, each stage skipped while its inputs stand."""

import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..params import RunParams
from ..resources import bundled
from ..result import dumps, write_text
from ..studies import stage
from ..studies.calibrate import SESSION, pull
from ..studies.facts import public_parameters, versions
from ..studies.progress import SILENT, Reporter
from .notebook import execute

REPORT, NOTEBOOK, MANIFEST = "report.html", "notebook.ipynb", "run.json"
FILES = ("recommendation.json", "queries.jsonl", "scores.parquet", NOTEBOOK, REPORT)


@dataclass
class ModelRun:
    """What happened to one model: where its files are, and how long each stage took.

    Attributes
    ----------
    skipped : bool
        Whether all files were there already, made of the same inputs.
    seconds : dict
        Stage to wall time.
    """

    name: str
    folder: Path
    recommendation: dict[str, Any]
    skipped: bool
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """All models of one invocation, and the comparison when there are two or more."""

    models: list[ModelRun]
    comparison: Path | None
    seconds: dict[str, float]


def run(params: Sequence[RunParams], report: Reporter = SILENT, *, jobs: int = 2, force: bool = False) -> Run:
    """Calibrate every model and write its folder; compare when there are several.

    Scores are pulled here, one model after the other and with progress; then the notebooks, which find those scores, run
    side by side. A failure leaves finished models in place and no half-written file.

    Raises
    ------
    CalibrationError
        See `studies.calibrate` and `runs.notebook`.
    """
    names = [one.run_name for one in params]
    if len(set(names)) < len(names):
        raise ParameterError(f"two runs would share one folder: {', '.join(names)}.")
    out = Path(params[0].out)
    seconds: dict[str, float] = {}
    keys: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(_session())
        for one in params:
            with _timed(seconds, f"scores {one.run_name}"):
                keys.append(pull(one, report).key)
        try:
            # one BLAS thread per kernel: two kernels with two threads each fight over two processors
            stack.enter_context(_environment("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1")))
            models = _notebooks(params, keys, report, jobs=jobs, force=force)
            comparison = _comparison(params, models, keys, out, seconds, report, force=force) if len(params) > 1 else None
        finally:
            for one, key in zip(params, keys, strict=True):
                if one.source_kind == "database":
                    stage.forget(key)  # a live table is never taken from memory
    return Run(models, comparison, seconds)


def _notebooks(params: Sequence[RunParams], keys: Sequence[str], report: Reporter, *, jobs: int, force: bool) -> list[ModelRun]:
    from joblib import Parallel, delayed

    with report.bar("notebooks", len(params), "notebooks") as step:

        def one(model: RunParams, key: str) -> ModelRun:
            result = _one(model, key, force=force)
            step(1)
            return result

        parallel = Parallel(n_jobs=min(jobs, len(params)), prefer="threads")
        runs: list[ModelRun] = parallel(delayed(one)(model, key) for model, key in zip(params, keys, strict=True))
    return runs


def _one(params: RunParams, key: str, *, force: bool) -> ModelRun:
    """Run one model's notebook into a staging folder, then put its files in place, run.json last."""
    from ..report.html import render_report

    folder = Path(params.out) / params.run_name
    source = bundled("notebooks") / "calibrate.ipynb"
    inputs = _inputs_hash(params, key, source)
    standing = None if force else _standing(folder, inputs, FILES)
    if standing is not None:
        return ModelRun(params.run_name, folder, _read(folder / "recommendation.json"), True)
    seconds: dict[str, float] = {}
    staging = Path(params.out) / f".partial-{uuid.uuid4().hex[:8]}"
    staged = staging / params.run_name
    try:
        values = {**params.model_dump(mode="json"), "out": str(staging)}
        with _timed(seconds, "notebook"):
            notebook = execute(
                source, staged / NOTEBOOK, _scalars(values), replace={str(staging): params.out}
            )
        with _timed(seconds, "report"):
            write_text(staged / REPORT, render_report(notebook, title=f"Similarity floor and top-K: {params.model or params.run_name}"))
        _publish(staged, folder, inputs, params, key, seconds, FILES)
    except BaseException:
        _keep_failure(staged, folder)
        raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return ModelRun(params.run_name, folder, _read(folder / "recommendation.json"), False, seconds)


def _comparison(
    params: Sequence[RunParams],
    models: Sequence[ModelRun],
    keys: Sequence[str],
    out: Path,
    seconds: dict[str, float],
    report: Reporter,
    *,
    force: bool,
) -> Path:
    """Run the comparison notebook; its report and JSON lie beside the models' folders."""
    from ..report.html import render_report

    source = bundled("notebooks") / "compare_models.ipynb"
    inputs = _inputs_hash(params[0], [_inputs_hash(one, key, source) for one, key in zip(params, keys, strict=True)], source)
    files = ("comparison.json", "comparison.ipynb", "comparison.html")
    if not force and _standing(out, inputs, files, manifest="comparison.run.json") is not None:
        return out / "comparison.html"
    staging = out / f".partial-{uuid.uuid4().hex[:8]}"
    try:
        values = {**params[0].model_dump(mode="json"), "out": str(staging)}
        values["models"] = ",".join(one.model or "" for one in params)
        values.pop("model")
        with report.bar("comparison", 1, "notebooks") as step, _timed(seconds, "comparison"):
            notebook = execute(source, staging / "comparison.ipynb", _scalars(values), replace={str(staging): params[0].out})
            write_text(staging / "comparison.html", render_report(notebook, title="Embedding models side by side"))
            step(1)
        _publish(staging, out, inputs, params[0], "", {}, files, manifest="comparison.run.json")
    except BaseException:
        _keep_failure(staging, out)
        raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return out / "comparison.html"


def _scalars(values: dict[str, Any]) -> dict[str, Any]:
    """Lists and mappings as the text a notebook's scalar parameters carry."""
    found = {}
    for name, value in values.items():
        if isinstance(value, list):
            value = ", ".join(str(item) for item in value)
        elif isinstance(value, dict):
            value = ", ".join(f"{key}={item}" for key, item in value.items())
        found[name] = value
    return found


def _publish(
    staged: Path, folder: Path, inputs: str, params: RunParams, key: str, seconds: dict[str, float], files: Sequence[str], *, manifest: str = MANIFEST
) -> None:
    """Put finished files in place; the manifest goes away first and comes last, so a torn run is seen and repeated."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / manifest).unlink(missing_ok=True)
    hashes = {}
    for name in files:
        hashes[name] = _file_hash(staged / name)
        os.replace(staged / name, folder / name)
    (folder / f"{Path(NOTEBOOK).stem}.failed.ipynb").unlink(missing_ok=True)
    about = {
        "schema_version": 1,
        "parameters": public_parameters(params),
        "inputs": inputs,
        "scores": key,
        "files": hashes,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "versions": versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    document = folder / "recommendation.json"
    if manifest == MANIFEST and document.exists():
        about["fingerprint"] = _read(document)["fingerprint"]
    write_text(folder / manifest, dumps(about) + "\n")


def _keep_failure(staged: Path, folder: Path) -> None:
    """Keep the readable remains of a failed notebook beside whatever an earlier run left."""
    for failed in staged.glob("*.failed.ipynb"):
        folder.mkdir(parents=True, exist_ok=True)
        os.replace(failed, folder / failed.name)


def _standing(folder: Path, inputs: str, files: Sequence[str], *, manifest: str = MANIFEST) -> dict[str, Any] | None:
    """The manifest, when it names the same inputs and every file is as it was written."""
    try:
        about = _read(folder / manifest)
        whole = about["inputs"] == inputs and all(_file_hash(folder / name) == about["files"][name] for name in files)
    except (OSError, ValueError, KeyError):
        return None
    return about if whole else None


def _inputs_hash(params: RunParams, key: str | list[str], source: Path) -> str:
    """Hash of everything the files of a run are made of: scores, parameters, notebook, and this package's code."""
    parts = {
        "scores": key,
        "parameters": params.model_dump(mode="json"),
        "notebook": _file_hash(source),
        "code": _code_hash(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:24]


def _code_hash() -> str:
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".css", ".j2", ".html", ".json") and "bundled" not in path.parts:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


@contextmanager
def _session() -> Iterator[None]:
    """Name this invocation, so that its notebooks find what it pulled from sources that may change."""
    with _environment(SESSION, uuid.uuid4().hex):
        yield


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
