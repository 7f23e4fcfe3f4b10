"""Scores of several models, pulled side by side in processes of their own."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import CalibrationError
from ..params import RunParams
from ..studies.calibrate import embeds_here, found, pull
from ..studies.progress import Reporter
from .session import timed


@dataclass(frozen=True)
class Kept:
    """Scores that were pulled and kept: a hash of what they hold, and how long it took."""

    content: str
    seconds: float


def pull_all(params: Sequence[RunParams], report: Reporter, jobs: int) -> list[Kept]:
    """Pull every model's scores, `jobs` models at a time, each in a process of its own.

    One after the other, here and with bars, are pulled: models that run on this machine; all of them when fewer than
    two others remain, or when the parts of each pull are what is spread over processes or a cluster.

    Raises
    ------
    CalibrationError
        What failed; side by side, once the others are done. What they pulled from sources that do not change is kept.
    """
    spread = any(one.workers > 1 or one.backend != "loky" for one in params)
    # a process of its own costs seconds, which scores that are there already are not worth; and the three offline
    # models, side by side on two processors, were measured to be no faster than one after the other
    todo = [] if spread else [i for i, one in enumerate(params) if not (embeds_here(one) or found(one))]
    if min(jobs, len(todo)) < 2:
        return [_pulled(one, report) for one in params]
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=min(jobs, len(todo)), backend="loky", batch_size=1)
    environment, elsewhere = dict(os.environ), report.elsewhere()
    done = dict(zip(todo, parallel(delayed(_elsewhere)(params[i], elsewhere, environment) for i in todo), strict=True))
    failures = [one for one in done.values() if isinstance(one, CalibrationError)]
    if failures:
        kind = type(failures[0]) if len({type(one) for one in failures}) == 1 else CalibrationError
        raise failures[0] if len(failures) == 1 else kind("\n".join(str(failure) for failure in failures))
    kept = {number: one for number, one in done.items() if isinstance(one, Kept)}
    return [kept.get(number) or _pulled(one, report) for number, one in enumerate(params)]


def _pulled(params: RunParams, report: Reporter) -> Kept:
    seconds: dict[str, float] = {}
    with timed(seconds, "scores"):
        pulled = pull(params, report)
        content = pulled.content_hash()
    return Kept(content, seconds["scores"])


def _elsewhere(params: RunParams, report: Reporter, environment: Mapping[str, str]) -> Kept | CalibrationError:
    """Pull in a process that may have served another run before, whose session and cache would be the wrong ones."""
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
    try:
        return _pulled(params, report)
    except CalibrationError as error:
        return error
