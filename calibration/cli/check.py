"""`calibrate check`: the gate against a committed recommendation."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .errors import REGRESSION

if TYPE_CHECKING:
    from ..params import RunParams
    from ..studies.check.baseline import Baseline
    from ..studies.check.study import Check

Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        parser=o.number,
        help="loss of a rate that is allowed, such as 0.02; by default what is within noise",
        metavar="SHARE",
    ),
]

Config = Annotated[
    Path | None,
    typer.Option("--config", help="calibration.toml of the live system, instead of the recorded one", metavar="FILE"),
]


def check(
    baseline: Annotated[Path, typer.Argument(help="a committed recommendation.json, or the folder it lies in")],
    model: Annotated[str | None, typer.Option("--model", help="model to check; the baseline's", metavar="NAME")] = None,
    tolerance: Tolerance = None,
    labels: o.LabelsFolder = None,
    scores: o.ScoresFile = None,
    vectors: o.Vectors = None,
    dsn: o.Dsn = None,
    service: o.Service = None,
    table: o.TableName = None,
    where: o.Where = None,
    base_url: o.BaseUrl = None,
    settings: o.Set = None,
    config: Config = None,
    as_json: o.AsJson = False,
    junit: Annotated[Path | None, typer.Option("--junit", help="write JUnit XML", metavar="FILE")] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="write Markdown for a pull request", metavar="FILE")
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="choose the floor anew and put it in place of the baseline")
    ] = False,
) -> None:
    """Check that a floor still stands.

    Asks the frozen queries of a committed recommendation.json and its queries.jsonl again, at its floor and top-K, and
    compares query by query. The system is described by run.json beside the baseline, else by calibration.toml; options
    win. Ends with 3 when the floor is stale or something got worse. Nothing changes without --accept.
    """
    given = {
        "labels": labels, "scores": scores, "vectors": vectors, "dsn": dsn, "service": service, "table": table,
        "where": where, "base_url": base_url,
    }  # fmt: skip
    from ..studies.check.baseline import read_baseline
    from .live import live_parameters
    from .progress import Bars

    files = {"--junit": junit, "--markdown": markdown}
    if accept:
        _refuse_beside_accept({**files, "--tolerance": tolerance})
        _finish(baseline)
    _clear(files, baseline)
    found = read_baseline(baseline)
    params = live_parameters(found, given, model, config, settings or ())
    if accept:
        typer.echo(_accept(found, params, as_json=as_json))
        return
    from ..result import write_text
    from ..studies.check.study import check_baseline

    result = check_baseline(found, params, tolerance=tolerance, report=Bars())
    from ..result.check_document import check_document, check_junit
    from ..result.check_words import check_markdown, check_text
    from ..result.files import dumps

    if junit is not None:
        write_text(junit, check_junit(result))
    if markdown is not None:
        write_text(markdown, check_markdown(result))
    typer.echo(dumps(check_document(result)) if as_json else check_text(result))
    _leave(result)


def _leave(result: "Check") -> None:
    if not result.ok:
        raise typer.Exit(REGRESSION)


def _refuse_beside_accept(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise typer.BadParameter(f"--accept compares nothing; leave out {' and '.join(given)}")


def _finish(baseline: Path) -> None:
    from ..result.accept import finish

    folder = baseline if baseline.is_dir() else baseline.parent
    if finish(folder):
        typer.echo(f"calibrate: the interrupted --accept in {folder} is finished; choosing the floor anew", err=True)


def _clear(files: Mapping[str, Path | None], baseline: Path) -> None:
    """Take away what an earlier check wrote: where this one cannot be made, the old result must not stand for it."""
    from ..studies.check.baseline import MANIFEST, QUERIES, RECOMMENDATION

    folder = baseline if baseline.is_dir() else baseline.parent
    own = {path.resolve() for path in (baseline, *(folder / name for name in (RECOMMENDATION, QUERIES, MANIFEST)))}
    targets = {name: path for name, path in files.items() if path is not None}
    for name, path in targets.items():
        if path.resolve() in own:
            raise typer.BadParameter(f"{name} {path} is a file of the baseline; name another")
    if len({path.resolve() for path in targets.values()}) < len(targets):
        raise typer.BadParameter("--junit and --markdown name one file; name two")
    for path in targets.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)


def _accept(found: "Baseline", params: "RunParams", *, as_json: bool) -> str:
    from ..result.accept import accept_baseline, written
    from ..result.files import dumps
    from .progress import Bars

    document: dict[str, Any] = accept_baseline(found, params, Bars())
    if as_json:
        return dumps(document)
    floors = ["no floor" if one["floor"] is None else f"floor {one['floor']!r}" for one in (found.document, document)]
    caps = [one["top_k"] for one in (found.document, document)]
    return (
        f"{found.path}: {floors[0]}, top-K {caps[0]} -> {floors[1]}, top-K {caps[1]}\n"
        f"accepted as the new baseline: commit {', '.join(written(found))}"
    )
