"""Options shared by commands, and how they become the parameters of a run."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..params import RunParams


def number(text: str) -> float:
    """Read a number as people type it in scripts; a decimal comma or a percentage is refused with what to type."""
    try:
        return float(text.strip()) if "_" not in text else float("x")
    except ValueError:
        hint = _hint(text)
        raise typer.BadParameter(f"{text!r} is not a number{hint}") from None


def _hint(text: str) -> str:
    plain = text.strip()
    percent = plain.endswith("%")
    try:
        value = float(plain.rstrip("%").replace(",", ".")) / (100 if percent else 1)
    except ValueError:
        return ""
    return f"; use {value:g}"


Out = Annotated[str | None, typer.Option("--out", help="folder of the run", metavar="DIR")]
Model = Annotated[list[str] | None, typer.Option("--model", help="embedding model; may be given several times", metavar="NAME")]
Config = Annotated[Path | None, typer.Option("--config", help="calibration.toml; read by default when it is here", metavar="FILE")]
LabelsFolder = Annotated[str | None, typer.Option("--labels", help="folder with queries, qrels and corpus", metavar="DIR")]
Queries = Annotated[str | None, typer.Option("--queries", help="file of queries (CSV, TSV, JSONL)", metavar="FILE")]
Qrels = Annotated[str | None, typer.Option("--qrels", help="file of judgements", metavar="FILE")]
Corpus = Annotated[str | None, typer.Option("--corpus", help="file of passages", metavar="FILE")]
RelLevel = Annotated[int | None, typer.Option("--rel-level", help="smallest relevant grade", metavar="N")]
Unjudged = Annotated[str | None, typer.Option("--unjudged", help="unknown or nonrelevant", metavar="WHAT")]
ByKind = Annotated[
    list[str] | None, typer.Option("--answerability", help="kind=answerability, such as no_link=missing_answer", metavar="KIND=WHAT")
]
ScoresFile = Annotated[str | None, typer.Option("--scores", help="score file: no database, no model", metavar="FILE")]
Vectors = Annotated[str | None, typer.Option("--vectors", help="npz or parquet of vectors", metavar="FILE")]
Dsn = Annotated[str | None, typer.Option("--dsn", help="your database (or CALIBRATION_DSN); read only", metavar="DSN")]
Service = Annotated[str | None, typer.Option("--service", help="name in the Postgres service file", metavar="NAME")]
TableName = Annotated[str | None, typer.Option("--table", help="table or view with the vectors", metavar="TABLE")]
IdColumn = Annotated[str | None, typer.Option("--id-column", metavar="COLUMN")]
VectorColumn = Annotated[str | None, typer.Option("--vector-column", metavar="COLUMN")]
DocumentColumn = Annotated[str | None, typer.Option("--document-column", metavar="COLUMN")]
Where = Annotated[str | None, typer.Option("--where", help="SQL condition kept on every query", metavar="SQL")]
Metric = Annotated[str | None, typer.Option("--metric", help="what the scores are; cosine_similarity by default", metavar="NAME")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint", metavar="URL")]
Preset = Annotated[str | None, typer.Option("--preset", help="completeness, balanced or refusal", metavar="NAME")]
MissCost = Annotated[float | None, typer.Option("--miss-cost", parser=number, metavar="COST")]
FalseCost = Annotated[float | None, typer.Option("--false-cost", parser=number, metavar="COST")]
OffTopicShare = Annotated[
    float | None, typer.Option("--off-topic-share", parser=number, help="share of off-topic queries in the traffic", metavar="SHARE")
]
TopK = Annotated[int | None, typer.Option("--top-k", help="a budget; chosen from labels by default", metavar="K")]
OldFloor = Annotated[float | None, typer.Option("--old-floor", parser=number, help="the floor in use today", metavar="FLOOR")]
ExcludeSubject = Annotated[
    list[str] | None, typer.Option("--exclude-subject", help="probe subject your corpus is about", metavar="SUBJECT")
]
Language = Annotated[list[str] | None, typer.Option("--language", help="language of the probes", metavar="CODE")]
NoProbes = Annotated[bool, typer.Option("--no-probes", help="do not measure far noise with probe queries")]
ShowText = Annotated[bool, typer.Option("--show-text", help="put query and passage text into the report")]
AsJson = Annotated[bool, typer.Option("--json", help="machine-readable output on stdout")]

CONFIG = "calibration.toml"
ONE_OFF_MODEL = "minilm"
"""Model of a user's own labels when none is named: the quickest good one."""


def merged(given: Mapping[str, Any], config: Path | None) -> dict[str, Any]:
    """Parameters of calibration.toml with what the command line says over them."""
    from ..params import read_config

    path = config or (Path(CONFIG) if Path(CONFIG).is_file() else None)
    values = read_config(path) if path is not None else {}
    values |= {name: value for name, value in given.items() if value is not None and value is not False and value != []}
    models = values.pop("models", None)
    if "model" in values and isinstance(values["model"], list):
        models = values.pop("model")
    elif "model" in values:
        models = [values.pop("model")]
    values["models"] = models
    return values


def run_parameters(given: Mapping[str, Any], config: Path | None) -> "list[RunParams]":
    """One set of parameters per model.

    A password in a dsn is moved into PGPASSWORD, where libpq and the notebooks' kernels find it and no file does.
    """
    from ..params import SAMPLE_MODELS, parameters

    values = merged(given, config)
    models: list[str | None] = values.pop("models") or []
    if "dsn" not in values and "service" not in values and "scores" not in values and os.environ.get("CALIBRATION_DSN"):
        values["dsn"] = os.environ["CALIBRATION_DSN"]
    if isinstance(values.get("dsn"), str):
        from ..studies.machine import detach_password

        values["dsn"] = detach_password(values["dsn"])
    if not models:
        own = any(values.get(name) is not None for name in ("labels", "queries", "queries_sql", "dsn", "service"))
        ready = values.get("scores") is not None or values.get("vectors") is not None
        models = [None] if ready else [ONE_OFF_MODEL] if own else list(SAMPLE_MODELS)
    if "out" not in values:
        values["out"] = f"reports/runs/{_run_name(values)}"
    return [parameters({**values, "model": model}) for model in models]


def _run_name(values: Mapping[str, Any]) -> str:
    from ..params import safe_name

    for name in ("labels", "scores", "vectors", "table", "queries"):
        if values.get(name) is not None:
            return safe_name(Path(str(values[name])).stem)
    return "sample"
