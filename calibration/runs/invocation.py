"""A run: parameters to scores to notebook to report, a folder per model, each stage skipped while its inputs stand."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CalibrationError, NotebookError, ParameterError
from ..params import HOW_ONLY, RunParams
from ..resources import bundled
from ..result import write_text
from ..studies.calibrate import check
from ..studies.check.baseline import MANIFEST, QUERIES, RECOMMENDATION, REPORT, SCORES
from ..studies.facts import command, public_parameters
from ..studies.progress import SILENT, Reporter
from .folder import inputs_hash, publish, read_json, staging, stands, unstaged
from .notebook import execute
from .page import Page, fill
from .pulls import pull_all
from .session import session, timed
from .values import scalars

NOTEBOOK = "notebook.ipynb"
FILES = (RECOMMENDATION, QUERIES, SCORES, NOTEBOOK, REPORT)
COMPARISON = Page("compare_models.ipynb", "comparison", "Embedding models side by side")


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

    def each(self) -> Iterator[tuple[RunParams, str]]:
        """Give every model's parameters with the hash of its scores."""
        return zip(self.params, self.contents, strict=True)


def run(params: Sequence[RunParams], report: Reporter = SILENT, *, jobs: int = 2, force: bool = False) -> Run:
    """Calibrate every model and write its folder; compare when there are several.

    Scores are pulled first, `jobs` models side by side; then the notebooks, which find those scores, run so, too. A
    failure leaves finished models in place and no half-written file.

    Raises
    ------
    CalibrationError
        See `studies.calibrate` and `runs.notebook`.
    """
    _check(params)
    seconds: dict[str, float] = {}
    contents = []
    with ExitStack() as stack:
        stack.enter_context(session())
        folder = stack.enter_context(staging(Path(params[0].out)))
        for one, pulled in zip(params, pull_all(params, report, jobs), strict=True):
            contents.append(pulled.content)
            seconds[f"scores {one.run_name}"] = pulled.seconds
        job = _Job(params, contents, folder, force)
        models = _notebooks(job, report, jobs)
        comparison = None
        if len(params) > 1:
            with timed(seconds, "comparison"):
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
    inputs = inputs_hash(params.model_dump(mode="json", exclude=set(HOW_ONLY)), job.contents[number], source)
    if not job.force and stands(folder, inputs, FILES, manifest=MANIFEST):
        return ModelRun(params.run_name, folder, read_json(folder / RECOMMENDATION), True)
    seconds: dict[str, float] = {}
    values = scalars({**params.model_dump(mode="json"), "out": str(job.staging)})
    failed = folder / "notebook.failed.ipynb"
    with timed(seconds, "notebook"):
        notebook = execute(source, staged / NOTEBOOK, values, failed=failed, change=unstaged(job.staging, params.out))
    with timed(seconds, "report"):
        title = f"Similarity floor and top-K: {params.model or params.run_name}"
        write_text(staged / REPORT, render_report(notebook, title=title))
    recommendation = read_json(staged / RECOMMENDATION)
    about = {
        "parameters": public_parameters(params),
        "command": command(params),
        "fingerprint": recommendation["fingerprint"],
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
    }
    publish(staged, folder, FILES, manifest=MANIFEST, inputs=inputs, about=about)
    failed.unlink(missing_ok=True)
    return ModelRun(params.run_name, folder, recommendation, False, seconds)


def _comparison(job: _Job, report: Reporter) -> Path:
    """Run the comparison notebook; its report and JSON lie beside the models' folders."""
    params = job.params[0]
    models = [one.model or "" for one in job.params]
    values = {**params.model_dump(mode="json", exclude={"model"}), "models": ",".join(models)}
    about = {"parameters": public_parameters(params), "command": command(params), "models": models}
    each = [
        {"parameters": one.model_dump(mode="json", exclude=set(HOW_ONLY)), "scores": hash_} for one, hash_ in job.each()
    ]
    return fill(
        COMPARISON, values, job.out, job.staging, content=each, about=about, force=job.force, report=report
    ).page
