"""The one strict model of a run's parameters, shared by the command, calibration.toml and the notebooks."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from .errors import ContractError, ParameterError, listed

HOW_ONLY = frozenset({"workers", "backend", "scheduler"})
"""Parameters that change how a result is reached and never the result."""
SAMPLE_MODELS = ("minilm", "multilingual-e5-small", "wordllama")
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Weight = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Proportion = Annotated[float, Field(gt=0.0, lt=1.0)]


class RunParams(BaseModel):
    """Parameters of one calibration of one model.

    Paths are relative to the working folder. Secrets are not parameters: a password belongs into PGPASSWORD or a
    Postgres service file, an API key into OPENAI_API_KEY.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    # what is asked
    model: str | None = Field(None, description="name of an embedding model; None where vectors or scores are ready")
    labels: str | None = Field(
        None, description="folder with queries, qrels and corpus (BEIR layout); None: the sample"
    )
    queries: str | None = Field(None, description="file of queries (CSV, TSV, JSONL), instead of the folder's")
    qrels: str | None = Field(None, description="file of judgements, instead of the folder's")
    corpus: str | None = Field(None, description="file of passages, instead of the folder's")
    queries_sql: str | None = Field(None, description="SQL giving query_id, text, … from the user's database")
    qrels_sql: str | None = Field(None, description="SQL giving query_id, doc_id, relevance")
    rel_level: int | None = Field(None, description="smallest relevant grade; needed when grades go beyond 0/1")
    unjudged: Literal["unknown", "nonrelevant"] = Field("unknown", description="what a passage without judgement is")
    answerability_by_kind: dict[str, str] = Field(
        default_factory=dict, description="pairs of query kind and answerability"
    )
    allow_dangling: bool = Field(False, description="accept judgements of passages that are not in the corpus")

    # where scores come from
    scores: str | None = Field(
        None, description="score file (query_id, doc_id, score, relevance): no database, no model"
    )
    vectors: str | None = Field(None, description="npz or parquet of query and passage vectors")
    dsn: str | None = Field(None, description="the user's database, without password; read only")
    service: str | None = Field(None, description="name in the Postgres service file, instead of a dsn")
    table: str | None = Field(None, description="table or view with the vectors")
    id_column: str = Field("id", description="column with the passages' ids, the ones the judgements name")
    vector_column: str = Field("embedding", description="column with the vectors (vector or halfvec)")
    document_column: str | None = Field(None, description="column naming the document a passage belongs to")
    model_column: str | None = Field(None, description="column naming the model of each vector")
    model_value: str | None = Field(None, description="what `model_column` must say; defaults to the model's name")
    where: str | None = Field(None, description="SQL condition kept on every query unchanged")
    metric: str = Field(
        "cosine_similarity", description="what the scores are: cosine_similarity, cosine_distance, l2, …"
    )
    score_transform: str = Field("none", description="formula the file's scores went through, such as (1+cos)/2")
    strategy: Literal["auto", "fetch", "sql", "sample"] = Field(
        "auto",
        description="how vectors become scores: fetched once, computed by the server (sql), or exact for the best "
        "passages only (sample); auto: sql for fewer than eight queries, else fetch",
    )
    workers: Annotated[int, Field(ge=1, le=1000)] = Field(1, description="processes that read and score side by side")
    backend: Literal["loky", "dask"] = Field("loky", description="where they run: this machine, or a Dask cluster")
    scheduler: str | None = Field(None, description="address of the Dask scheduler")
    statement_timeout: Annotated[int, Field(ge=0)] = Field(
        600, description="seconds after which the server ends a statement; 0: never"
    )
    base_url: str | None = Field(None, description="OpenAI-compatible endpoint")
    dimensions: Annotated[int, Field(gt=0)] | None = Field(None, description="shortened embeddings, where supported")
    query_prefix: str | None = Field(None, description="put before every query; part of the model's identity")
    passage_prefix: str | None = Field(None, description="put before every passage; part of the model's identity")

    # the noise
    probes: bool = Field(True, description="measure far noise with the bundled probe queries")
    probes_file: str | None = Field(None, description="own probe queries")
    languages: list[str] = Field(
        default_factory=list, description="languages of the probes, such as en, pl; none: those of the labels"
    )
    exclude_subjects: list[str] = Field(
        default_factory=list, description="subjects of the probes that the corpus is about"
    )

    # the choice
    preset: Literal["completeness", "balanced", "refusal"] = Field(
        "balanced", description="what a lost answer weighs against a false one: 10:1, 3:1 or 1:3"
    )
    miss_cost: Weight | None = Field(None, description="cost of a lost answer; overrides the preset")
    false_cost: Weight | None = Field(None, description="cost of a false answer; overrides the preset")
    off_topic_share: Share = Field(0.5, description="share of off-topic queries in the traffic")
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="a budget; None: chosen from labels")
    k_max: Annotated[int, Field(ge=1, le=1000)] = Field(
        20, description="deepest cap looked at, and the one of the certificate without a budget"
    )
    target: Proportion = Field(0.9, description="hit rate the certificate promises")
    confidence: Proportion = Field(0.9, description="confidence of the certificate")
    old_floor: float | None = Field(None, description="the floor in use today, shown beside the new one")
    inclusive: bool = Field(True, description="whether a similarity equal to the floor is accepted")
    seed: Annotated[int, Field(ge=0)] = Field(20240601, description="of folds, relabellings and resamples")

    # the output
    out: str = Field("reports/runs/sample", description="folder of the runs, one folder per model in it")
    show_text: bool = Field(False, description="put query and passage text into the report")

    @field_validator("languages", "exclude_subjects", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        # a notebook's parameters are scalars: "en, pl" there is ["en", "pl"] here
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        return value

    @field_validator("answerability_by_kind", mode="before")
    @classmethod
    def _mapped(cls, value: Any) -> Any:
        if isinstance(value, str):
            pairs = [part.split("=", 1) for part in value.split(",") if part.strip()]
            if any(len(pair) != 2 for pair in pairs):
                raise ValueError("expected kind=answerability pairs, such as no_link=missing_answer")
            return {kind.strip(): answer.strip() for kind, answer in pairs}
        return value

    @field_validator("dsn")
    @classmethod
    def _no_password(cls, dsn: str | None) -> str | None:
        # the library never sees one: `calibrate` moves it into the environment before a notebook knows of it
        if dsn is not None:
            from psycopg import ProgrammingError
            from psycopg.conninfo import conninfo_to_dict

            try:
                parts = conninfo_to_dict(dsn)
            except ProgrammingError:
                raise ValueError(
                    "not a Postgres connection string (postgresql://user@host/db or key=value pairs)"
                ) from None
            if parts.get("password") or parts.get("sslpassword"):
                raise ValueError("a dsn must not carry a password; put it into PGPASSWORD or a service file")
        return dsn

    @field_validator("out", "model")
    @classmethod
    def _not_blank(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("must not be blank")
        return value

    @field_validator("old_floor")
    @classmethod
    def _floor_in_range(cls, floor: float | None) -> float | None:
        if floor is not None and not abs(floor) < float("inf"):
            raise ValueError("not a finite number")
        return floor

    @model_validator(mode="after")
    def _consistent(self) -> "RunParams":
        from .contract import ScoreContract, check_floor_in_range

        contract = ScoreContract(self.metric, score_transform=self.score_transform)
        metric = contract.definition
        if not metric.carries_floor:
            raise ContractError(f"no floor on {metric.name!r}: {metric.reason}.")
        if self.old_floor is not None and not metric.needs_unit_vectors:
            check_floor_in_range(self.old_floor, contract)  # other metrics: once the vectors' lengths are known
        problems = self._source_problems() + self._label_problems()
        if self.top_k is not None and self.top_k > self.k_max:
            # the cap the user gives is the fixed one; look at least as deep
            object.__setattr__(self, "k_max", self.top_k)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _given(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]

    def _source_problems(self) -> list[str]:
        from .contract import metric_named

        problems = []
        database = bool(self._given("dsn", "service"))
        sources = self._given("scores", "vectors") + (["a database"] if database else [])
        if "scores" in sources and len(sources) > 1:
            problems.append(f"only one source of scores can be used, found {' and '.join(sources)}")
        if self.dsn is not None and self.service is not None:
            problems.append("give either dsn or service, not both")
        if database != (self.table is not None):
            problems.append("a database (`dsn` or `service`) and `table`, the table with the vectors, go together")
        if self.scores is None and metric_named(self.metric).to_cosine is None:
            problems.append(f"the metric {self.metric!r} is for score files; vectors give cosine, L2 or inner product")
        if self.scores is None and self.score_transform != "none":
            problems.append("`score_transform` is for score files; vectors give the metric itself")
        if (self.backend == "dask") != (self.scheduler is not None):
            problems.append("`backend` dask and `scheduler`, its address, go together")
        return problems

    def _label_problems(self) -> list[str]:
        problems = []
        files, statements = self._given("labels", "queries", "qrels", "corpus"), self._given("queries_sql", "qrels_sql")
        if self.scores is not None:
            unused = [name for name in files + statements if name != "queries"]
            if unused:
                problems.append(f"a score file brings its own judgements: {', '.join(unused)} cannot be used with it")
            return problems
        if len(statements) == 1:
            problems.append("queries_sql and qrels_sql go together")
        if statements and files:
            problems.append(f"labels come from SQL or from files, found {', '.join(statements + files)}")
        if statements and not self._given("dsn", "service"):
            problems.append("queries_sql and qrels_sql need a `dsn` or a `service`")
        if self.labels is None and ("queries" in files) != ("qrels" in files):
            problems.append("queries and qrels go together, or beside a labels folder")
        if files == ["corpus"] and not statements:
            problems.append("a corpus needs labels: queries and qrels, or a labels folder")
        return problems

    @property
    def uses_sample(self) -> bool:
        """Whether the labels are the bundled sample's."""
        own = (self.labels, self.queries, self.queries_sql, self.scores)
        return all(value is None for value in own)

    @property
    def source_kind(self) -> Literal["scores", "vectors", "database", "embedded"]:
        """Where similarities come from."""
        if self.scores is not None:
            return "scores"
        if self.dsn is not None or self.service is not None:
            return "database"
        return "vectors" if self.vectors is not None else "embedded"

    @property
    def run_name(self) -> str:
        """Safe folder name of this model's run."""
        return safe_name(self.model or Path(self.scores or self.vectors or self.table or "scores").stem)


Params = TypeVar("Params", bound=BaseModel)


def parameters(values: Mapping[str, Any]) -> RunParams:
    """Validate the parameters of a calibration; see `validated`."""
    return validated(RunParams, values)


def validated(kind: type[Params], values: Mapping[str, Any]) -> Params:
    """Validate parameters of one kind; every problem is reported at once and in the user's words.

    Raises
    ------
    ParameterError
        Unknown names (with the closest known one), wrong types, values out of range, contradictions.
    """
    problems = unknown_names(values, kind.model_fields)
    known = {name: value for name, value in values.items() if name in kind.model_fields}
    try:
        params = kind(**known)
    except ValidationError as error:
        for item in error.errors():
            name = ".".join(str(part) for part in item["loc"]) or "parameters"
            message = item["msg"].removeprefix("Value error, ")
            shown = "" if name in ("dsn", "parameters") else f", found {item['input']!r}"
            problems.append(f"{name}: {message}{shown}{number_hint(item['input'])}")
    if problems:
        raise ParameterError("parameters cannot be used:\n" + listed(problems))
    return params


def unknown_names(values: Mapping[str, Any], known: Mapping[str, Any] | set[str]) -> list[str]:
    """Name the parameters that do not exist, each with the closest that does.

    Examples
    --------
    >>> unknown_names({"flor": 0.3}, {"floor"})
    ["unknown parameter 'flor' (did you mean 'floor'?)"]
    """
    problems = []
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, list(known), n=1)
            problems.append(f"unknown parameter {name!r}" + (f" (did you mean {close[0]!r}?)" if close else ""))
    return problems


def parameters_from(namespace: Mapping[str, Any]) -> RunParams:
    """Validate the parameters that a notebook's namespace holds under their names."""
    return validated_from(RunParams, namespace)


def validated_from(kind: type[Params], namespace: Mapping[str, Any]) -> Params:
    """`parameters_from` for parameters of another kind."""
    return validated(kind, {name: namespace[name] for name in kind.model_fields if name in namespace})


def safe_name(name: str) -> str:
    """Make a name safe as a single folder name.

    Examples
    --------
    >>> safe_name("BAAI/bge-m3"), safe_name("out_{model} v1"), safe_name("..")
    ('BAAI-bge-m3', 'out_{model}-v1', '-')
    """
    kept = "".join(c if c.isalnum() or c in "._-{}+=" else "-" for c in name).strip(".")
    return kept or "-"


def number_hint(found: object) -> str:
    """Say which number was probably meant by a text that is none; empty when nothing comes to mind.

    Examples
    --------
    >>> number_hint("0,3"), number_hint("78%"), number_hint("much")
    ('; use 0.3', '; use 0.78', '')
    """
    if not isinstance(found, str):
        return ""
    text = found.strip().replace(",", ".")
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return ""
    return f"; use {value:g}" if "," in found or "%" in found else f"; use the number {value:g}, without quotes"
