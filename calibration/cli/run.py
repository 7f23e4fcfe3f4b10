"""`calibrate run`: the main job."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .config import run_parameters

if TYPE_CHECKING:
    from ..runs import ModelRun, Run
    from .progress import Bars


def run(
    out: o.Out = None,
    model: o.Model = None,
    labels: o.LabelsFolder = None,
    queries: o.Queries = None,
    qrels: o.Qrels = None,
    corpus: o.Corpus = None,
    scores: o.ScoresFile = None,
    vectors: o.Vectors = None,
    dsn: o.Dsn = None,
    service: o.Service = None,
    table: o.TableName = None,
    id_column: o.IdColumn = None,
    vector_column: o.VectorColumn = None,
    document_column: o.DocumentColumn = None,
    where: o.Where = None,
    metric: o.Metric = None,
    score_transform: o.ScoreTransform = None,
    base_url: o.BaseUrl = None,
    rel_level: o.RelLevel = None,
    unjudged: o.Unjudged = None,
    answerability: o.ByKind = None,
    allow_dangling: o.AllowDangling = False,
    preset: o.Preset = None,
    miss_cost: o.MissCost = None,
    false_cost: o.FalseCost = None,
    off_topic_share: o.OffTopicShare = None,
    top_k: o.TopK = None,
    old_floor: o.OldFloor = None,
    exclude_subject: o.ExcludeSubject = None,
    language: o.Language = None,
    no_probes: o.NoProbes = False,
    show_text: o.ShowText = False,
    workers: o.Workers = None,
    backend: o.Backend = None,
    scheduler: o.Scheduler = None,
    settings: o.Set = None,
    config: o.Config = None,
    force: Annotated[bool, typer.Option("--force", help="make every file anew")] = False,
    jobs: Annotated[int, typer.Option("--jobs", help="models pulled, and notebooks run, side by side", min=1)] = 2,
    export: Annotated[
        str | None,
        typer.Option(
            "--export", help="also write figures/ and tables/ of each run: svg, png, csv, parquet", metavar="KINDS"
        ),
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Calibrate one or more models.

    Writes one folder per model with an HTML report and a recommendation, and a comparison of two or more models.
    Without arguments: the bundled sample, three offline models and an embedded PostgreSQL. Every parameter can stand in
    calibration.toml; options win. `--export svg,csv` also writes figures and tables as files, of a finished run too.
    """
    given: dict[str, Any] = {
        "out": out, "model": model, "labels": labels, "queries": queries, "qrels": qrels, "corpus": corpus,
        "scores": scores, "vectors": vectors, "dsn": dsn, "service": service, "table": table, "id_column": id_column,
        "vector_column": vector_column, "document_column": document_column, "where": where, "metric": metric,
        "score_transform": score_transform, "base_url": base_url, "rel_level": rel_level, "unjudged": unjudged,
        "allow_dangling": allow_dangling or None, "preset": preset, "miss_cost": miss_cost, "false_cost": false_cost,
        "off_topic_share": off_topic_share, "top_k": top_k, "old_floor": old_floor,
        "exclude_subjects": exclude_subject, "languages": language,
        "show_text": show_text or None, "probes": False if no_probes else None,
        "workers": workers, "backend": backend, "scheduler": scheduler,
        "answerability_by_kind": ",".join(answerability) if answerability else None,
    }  # fmt: skip
    params = run_parameters(given, config, settings or ())
    from .progress import Bars

    kinds = None if export is None else _kinds(export)
    from ..runs import run as run_all

    result = run_all(params, Bars(), jobs=jobs, force=force)
    typer.echo(_as_json(result) if as_json else _summary(result))
    for one in result.models:
        _export(one, kinds, Bars())


def _kinds(text: str) -> list[str]:
    """Refuse what is no kind of file before anything long begins."""
    from ..displays.exporting import export_kinds

    return export_kinds(text)


def _export(one: "ModelRun", kinds: list[str] | None, report: "Bars") -> None:
    """Write a run's figures and tables, or say that those that lie there are old."""
    folders = [one.folder / name for name in ("figures", "tables")]
    if kinds is not None:
        from ..displays import export, read_run

        with report.bar(f"{one.name}: figures and tables", None, "files"):
            written = export(read_run(one.folder), one.folder, kinds)
        report.note(f"{one.name}: {len(written)} files in {' and '.join(sorted({str(p.parent) for p in written}))}")
        others = sorted({path.suffix for folder in folders for path in folder.glob("*.*")} - {f".{k}" for k in kinds})
        if others and not one.skipped:
            report.note(f"{one.name}: {', '.join(others)} files there are of an earlier run; --export writes them anew")
    elif not one.skipped and any(folder.is_dir() for folder in folders):
        report.note(
            f"{one.name}: figures/ and tables/ in {one.folder} are of an earlier run; --export writes them anew"
        )


def _summary(result: "Run") -> str:
    width = max(len(one.name) for one in result.models)
    lines = []
    for one in result.models:
        document = one.recommendation
        floor = "no floor" if document["floor"] is None else f"floor {document['floor']!r}"
        lines.append(f"{one.name:{width}}  {floor:<18} top-K {document['top_k']:<3} {_status(document)}")
    lines.append("")
    lines += [
        f"{one.name:{width}}  {one.folder / 'report.html'}{'  (unchanged)' if one.skipped else ''}"
        for one in result.models
    ]
    if result.comparison is not None:
        lines.append(f"{'comparison':{width}}  {result.comparison}")
    lines += ["", *_times(result)]
    return "\n".join(lines)


def _status(document: dict[str, Any]) -> str:
    if document["floor"] is None:
        return str(document["reason"])
    rates = document["rates"]["in_sample"]
    parts = [document["status"], f"keeps {_of(rates['hit_rate'])} answers"]
    for name, words in (("false_answer_rate_off_topic", "off-topic queries"), ("false_answer_rate_probes", "probes")):
        if rates[name]["denominator"]:
            parts.append(f"answers {_of(rates[name])} {words}")
            break
    return ", ".join(parts)


def _of(rate: dict[str, Any]) -> str:
    return f"{rate['numerator']} of {rate['denominator']}"


def _times(result: "Run") -> list[str]:
    stages = dict(result.seconds)
    for one in result.models:
        stages |= {f"{name} {one.name}": value for name, value in one.seconds.items()}
    return ["seconds  " + "  ".join(f"{name} {value:.1f}" for name, value in stages.items())]


def _as_json(result: "Run") -> str:
    from ..result import dumps

    return dumps(
        {
            "models": [
                {
                    "model": one.name,
                    "status": one.recommendation["status"],
                    "floor": one.recommendation["floor"],
                    "top_k": one.recommendation["top_k"],
                    "folder": str(one.folder),
                    "report": str(one.folder / "report.html"),
                    "unchanged": one.skipped,
                    "seconds": _rounded(one.seconds),
                }
                for one in result.models
            ],
            "comparison": None if result.comparison is None else str(result.comparison),
            "seconds": _rounded(result.seconds),
        }
    )


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in seconds.items()}
