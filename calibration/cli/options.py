"""Options that commands share; their names are those of the parameters."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def number(text: str) -> float:
    """Read a number as programs write it; a decimal comma or a percentage is refused with what to type."""
    try:
        return float(text.strip()) if "_" not in text else float("x")
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number{_hint(text)}") from None


def whole(text: str) -> int:
    """Read a whole number; Python's 1_0 is refused, since nobody means ten by it."""
    try:
        return int(text.strip()) if "_" not in text else int("x")
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number{_hint(text)}") from None


def _hint(text: str) -> str:
    from ..params import number_hint

    return number_hint(text) if "," in text or "%" in text else ""


Out = Annotated[str | None, typer.Option("--out", help="folder of the results", metavar="DIR")]
Model = Annotated[
    list[str] | None, typer.Option("--model", help="embedding model; may be given several times", metavar="NAME")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="calibration.toml; read by default when it is here", metavar="FILE")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="any other parameter, such as target=0.95", metavar="NAME=VALUE")
]
LabelsFolder = Annotated[
    str | None, typer.Option("--labels", help="folder with queries, qrels and corpus", metavar="DIR")
]
Queries = Annotated[str | None, typer.Option("--queries", help="file of queries (CSV, TSV, JSONL)", metavar="FILE")]
Qrels = Annotated[str | None, typer.Option("--qrels", help="file of judgements", metavar="FILE")]
Corpus = Annotated[str | None, typer.Option("--corpus", help="file of passages", metavar="FILE")]
RelLevel = Annotated[int | None, typer.Option("--rel-level", parser=whole, help="smallest relevant grade", metavar="N")]
Unjudged = Annotated[
    Literal["unknown", "nonrelevant"] | None,
    typer.Option("--unjudged", help="what a passage without judgement is"),
]
ByKind = Annotated[
    list[str] | None,
    typer.Option("--answerability", help="kind=answerability, such as no_link=missing_answer", metavar="KIND=WHAT"),
]
ScoresFile = Annotated[str | None, typer.Option("--scores", help="score file: no database, no model", metavar="FILE")]
Vectors = Annotated[str | None, typer.Option("--vectors", help="npz or parquet of vectors", metavar="FILE")]
Dsn = Annotated[str | None, typer.Option("--dsn", help="your database (or CALIBRATION_DSN); read only", metavar="DSN")]
Service = Annotated[str | None, typer.Option("--service", help="name in the Postgres service file", metavar="NAME")]
TableName = Annotated[str | None, typer.Option("--table", help="table or view with the vectors", metavar="TABLE")]
IdColumn = Annotated[
    str | None, typer.Option("--id-column", help="column with the passages' ids, as judged", metavar="COLUMN")
]
VectorColumn = Annotated[str | None, typer.Option("--vector-column", help="column with the vectors", metavar="COLUMN")]
DocumentColumn = Annotated[
    str | None, typer.Option("--document-column", help="column with a passage's document", metavar="COLUMN")
]
Where = Annotated[str | None, typer.Option("--where", help="SQL condition kept on every query", metavar="SQL")]
Metric = Annotated[
    str | None, typer.Option("--metric", help="what the scores are; cosine_similarity by default", metavar="NAME")
]
ScoreTransform = Annotated[
    str | None,
    typer.Option("--score-transform", help="formula the file's scores went through: (1+cos)/2", metavar="FORMULA"),
]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint", metavar="URL")]
Preset = Annotated[
    Literal["completeness", "balanced", "refusal"] | None,
    typer.Option("--preset", help="what a lost answer weighs against a false one: 10:1, 3:1 or 1:3"),
]
MissCost = Annotated[
    float | None, typer.Option("--miss-cost", parser=number, help="cost of a lost answer", metavar="COST")
]
FalseCost = Annotated[
    float | None, typer.Option("--false-cost", parser=number, help="cost of a false answer", metavar="COST")
]
OffTopicShare = Annotated[
    float | None,
    typer.Option("--off-topic-share", parser=number, help="share of off-topic queries in the traffic", metavar="SHARE"),
]
TopK = Annotated[
    int | None, typer.Option("--top-k", parser=whole, help="a budget; chosen from labels by default", metavar="K")
]
OldFloor = Annotated[
    float | None, typer.Option("--old-floor", parser=number, help="the floor in use today", metavar="FLOOR")
]
ExcludeSubject = Annotated[
    list[str] | None,
    typer.Option("--exclude-subject", help="probe subject your corpus is about", metavar="SUBJECT"),
]
Language = Annotated[list[str] | None, typer.Option("--language", help="language of the probes", metavar="CODE")]
AllowDangling = Annotated[bool, typer.Option("--allow-dangling", help="accept judgements of absent passages")]
NoProbes = Annotated[bool, typer.Option("--no-probes", help="do not measure far noise with probe queries")]
TextColumn = Annotated[
    str | None, typer.Option("--text-column", help="column of the text, or its tsvector", metavar="COLUMN")
]
TextSearch = Annotated[
    str | None,
    typer.Option("--text-search", help="text search configuration; by language of the queries", metavar="NAME"),
]
TextRank = Annotated[
    Literal["ts_rank", "ts_rank_cd", "word_similarity"] | None,
    typer.Option("--text-rank", help="how words are ranked; word_similarity needs pg_trgm"),
]
Unscored = Annotated[Literal["drop", "keep"] | None, typer.Option("--unscored", help="candidates without a similarity")]
Depth = Annotated[int | None, typer.Option("--depth", parser=whole, help="candidates of each leg", metavar="N")]
RrfK = Annotated[float | None, typer.Option("--rrf-k", parser=number, help="k of reciprocal rank fusion", metavar="K")]
Rerank = Annotated[str | None, typer.Option("--rerank", help="late-interaction, or a rerank endpoint", metavar="NAME")]
RerankDepth = Annotated[
    int | None, typer.Option("--rerank-depth", parser=whole, help="candidates it reads", metavar="N")
]
Workers = Annotated[
    int | None, typer.Option("--workers", parser=whole, help="processes that read and score side by side", metavar="N")
]
Backend = Annotated[
    Literal["loky", "dask"] | None, typer.Option("--backend", help="where they run: here, or on a Dask cluster")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="the Dask scheduler, such as tcp://host:8786", metavar="ADDRESS")
]
ShowText = Annotated[bool, typer.Option("--show-text", help="put query and passage text into the report")]
AsJson = Annotated[bool, typer.Option("--json", help="machine-readable output on stdout")]
