"""A run: parameters to scores to notebook to report, a folder per model, each stage skipped while its inputs stand."""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CalibrationError, NotebookError, ParameterError
from ..params import RunParams
from ..resources import bundled
from ..result import write_text
from ..studies.calibrate import SESSION, check, forget, pull
from ..studies.progress import SILENT, Reporter
from .folder import inputs_hash, publish, read_json, staging, stands
from .notebook import execute
from .values import scalars

REPORT, NOTEBOOK, MANIFEST = "report.html", "notebook.ipynb", "run.json"
RECOMMENDATION = "recommendation.json"
FILES = (RECOMMENDATION, "queries.jsonl", "scores.parquet", NOTEBOOK, REPORT)
COMPARISON_FILES = ("comparison.json", "comparison.ipynb", "comparison.html")
COMPARISON_MANIFEST = "comparison.run.json"


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


@dataclass(frozen=True)
class _Job:
    """What the notebooks of one invocation share; `contents` holds a hash of each model's scores."""

    params: Sequence[RunParams]
    contents: Sequence[str]
    staging: Path
    force: bool

    @property
    def out(self) -> Path:
        return Path(self.params[0].out)

    def named(self, text: str) -> str:
        """Write the folder of the run for the name of the staging folder."""
        name = self.staging.name
        return text.replace(f"{os.sep}{name}", "").replace(name, self.params[0].out)


def run(params: Sequence[RunParams], report: Reporter = SILENT, *, jobs: int = 2, force: bool = False) -> Run:
    """Calibrate every model and write its folder; compare when there are several.

    Scores are pulled here, one model after the other and with progress; then the notebooks, which find those scores,
    run side by side. A failure leaves finished models in place and no half-written file.

    Raises
    ------
    CalibrationError
        See `studies.calibrate` and `runs.notebook`.
    """
    _check(params)
    seconds: dict[str, float] = {}
    contents = []
    with ExitStack() as stack:
        # named, so that the notebooks of this invocation find what it pulled from sources that may change
        stack.enter_context(_environment(SESSION, uuid.uuid4().hex))
        folder = stack.enter_context(staging(Path(params[0].out)))
        for one in params:
            with _timed(seconds, f"scores {one.run_name}"):
                pulled = pull(one, report)
                stack.callback(forget, pulled.key)
                contents.append(pulled.content_hash())
        # one BLAS thread per kernel: two kernels with two threads each fight over two processors
        stack.enter_context(_environment("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1")))
        job = _Job(params, contents, folder, force)
        models = _notebooks(job, report, jobs)
        comparison = None
        if len(params) > 1:
            with _timed(seconds, "comparison"):
                comparison = _comparison(job, report)
    return Run(models, comparison, seconds)


def _check(params: Sequence[RunParams]) -> None:
    """Refuse what cannot end well before anything long begins."""
    names = [one.run_name for one in params]
    if not names:
        raise ParameterError("no model and no scores: there is nothing to run.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"two runs would share one folder: {', '.join(twice)}.")
    if len({one.out for one in params}) > 1:
        raise ParameterError("the models of one run share one `out`.")
    for one in params:
        check(one)


def _notebooks(job: _Job, report: Reporter, jobs: int) -> list[ModelRun]:
    """Run every model's notebook; when some fail, the others are finished first."""
    from joblib import Parallel, delayed

    with report.bar("notebooks and reports", len(job.params), "models") as step:

        def one(number: int) -> ModelRun | CalibrationError:
            try:
                return _model(job, number)
            except CalibrationError as error:
                return error
            finally:
                step(1)

        parallel = Parallel(n_jobs=min(jobs, len(job.params)), prefer="threads")
        results = parallel(delayed(one)(number) for number in range(len(job.params)))
    failures = [result for result in results if isinstance(result, CalibrationError)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise NotebookError("\n".join(str(failure) for failure in failures))
    return [result for result in results if isinstance(result, ModelRun)]


def _model(job: _Job, number: int) -> ModelRun:
    """Run one model's notebook aside, then put its files in place."""
    from ..report.html import render_report

    params = job.params[number]
    folder, staged = job.out / params.run_name, job.staging / params.run_name
    source = bundled("notebooks") / "calibrate.ipynb"
    inputs = inputs_hash(params, job.contents[number], source)
    if not job.force and stands(folder, inputs, FILES, manifest=MANIFEST):
        return ModelRun(params.run_name, folder, read_json(folder / RECOMMENDATION), True)
    seconds: dict[str, float] = {}
    values = scalars({**params.model_dump(mode="json"), "out": str(job.staging)})
    failed = folder / "notebook.failed.ipynb"
    with _timed(seconds, "notebook"):
        notebook = execute(source, staged / NOTEBOOK, values, failed=failed, change=job.named)
    with _timed(seconds, "report"):
        title = f"Similarity floor and top-K: {params.model or params.run_name}"
        write_text(staged / REPORT, render_report(notebook, title=title))
    recommendation = read_json(staged / RECOMMENDATION)
    facts = {
        "fingerprint": recommendation["fingerprint"],
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }
    publish(staged, folder, FILES, manifest=MANIFEST, params=params, inputs=inputs, facts=facts)
    failed.unlink(missing_ok=True)
    return ModelRun(params.run_name, folder, recommendation, False, seconds)


def _comparison(job: _Job, report: Reporter) -> Path:
    """Run the comparison notebook; its report and JSON lie beside the models' folders."""
    from ..report.html import render_report

    params, page = job.params[0], job.out / "comparison.html"
    source = bundled("notebooks") / "compare_models.ipynb"
    each = [inputs_hash(one, content, source) for one, content in zip(job.params, job.contents, strict=True)]
    inputs = inputs_hash(params, each, source)
    if not job.force and stands(job.out, inputs, COMPARISON_FILES, manifest=COMPARISON_MANIFEST):
        return page
    names = ",".join(one.model or "" for one in job.params)
    values = scalars({**params.model_dump(mode="json", exclude={"model"}), "models": names, "out": str(job.staging)})
    failed = job.out / "comparison.failed.ipynb"
    with report.bar("comparison", 1, "notebook") as step:
        notebook = execute(source, job.staging / "comparison.ipynb", values, failed=failed, change=job.named)
        write_text(job.staging / page.name, render_report(notebook, title="Embedding models side by side"))
        step(1)
    publish(
        job.staging,
        job.out,
        COMPARISON_FILES,
        manifest=COMPARISON_MANIFEST,
        params=params,
        inputs=inputs,
        facts={"models": names.split(",")},
    )
    failed.unlink(missing_ok=True)
    return page


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
