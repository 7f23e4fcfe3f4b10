"""Parameters of the hybrid study: those of a run, and what the other legs are."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from ...errors import ParameterError
from ...params import RunParams, Share
from ...retrieval.rerank import checked_address

SEED_DEPTH = 60
LATE_INTERACTION = "late-interaction"


def rerank_problems(value: str | None) -> list[str]:
    """Say what is wrong with a reranker: neither the late interaction nor an address, or one that holds a secret."""
    if value is None or value == LATE_INTERACTION:
        return []
    try:
        checked_address(value)
    except ParameterError as error:
        return [f"rerank: {error} Or name {LATE_INTERACTION!r}"]
    return []


class HybridParams(RunParams):
    """Parameters of one hybrid study.

    Scores come from a model with a lexical leg beside it, or from a run log of another system: one table with a column
    per signal (`signals`), or one TREC run per signal (`trec_runs`, with `qrels`).
    """

    proposed_threshold: float = Field(0.5, description="the number somebody wants to put on a score")
    depth: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="candidates taken from each leg; None: four times K, at least 60"
    )
    text_search: str | None = Field(
        None, description="PostgreSQL's text search configuration; None: by the language of the queries"
    )
    text_rank: Literal["ts_rank", "ts_rank_cd", "word_similarity"] = Field(
        "ts_rank", description="how words are ranked; word_similarity needs pg_trgm"
    )
    text_column: str | None = Field(None, description="column of the table with the passages' text, or their tsvector")
    rrf_k: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(60.0, description="k of reciprocal rank fusion")
    vector_weight: Share = Field(0.7, description="weight of the similarity in the weighted sum")
    rerank: str | None = Field(
        None, description='"late-interaction", or the http(s) address of a rerank endpoint; None: no reranker'
    )
    rerank_depth: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="candidates the reranker reads")
    signals: str | None = Field(None, description="run log: a table with query_id, doc_id and one column per signal")
    trec_runs: dict[str, str] = Field(default_factory=dict, description="run log: pairs of signal and TREC run file")
    signal_metrics: dict[str, str] = Field(
        default_factory=dict, description="what the run log's signals are: pairs of signal and metric"
    )
    unscored: Literal["drop", "keep"] = Field("drop", description="what becomes of candidates without a similarity")

    @field_validator("trec_runs", "signal_metrics", mode="before")
    @classmethod
    def _pairs(cls, value: Any) -> Any:
        if isinstance(value, str):
            pairs = [part.split("=", 1) for part in value.split(",") if part.strip()]
            if any(len(pair) != 2 for pair in pairs):
                raise ValueError("expected signal=value pairs, such as similarity=cosine_similarity")
            return {name.strip(): said.strip() for name, said in pairs}
        return value

    @property
    def from_log(self) -> bool:
        """Whether another system's run log is studied."""
        return self.signals is not None or bool(self.trec_runs)

    @property
    def uses_sample(self) -> bool:
        """Whether the labels are the bundled sample's."""
        return super().uses_sample and not self.from_log

    @property
    def candidate_depth(self) -> int:
        """Candidates of each leg: as asked for, else four times the budget and at least 60."""
        return self.depth if self.depth is not None else max(4 * (self.top_k or 0), SEED_DEPTH)

    def _source_problems(self) -> list[str]:
        problems = super()._source_problems()
        if self.from_log:
            ready = [name for name in ("scores", "vectors", "dsn", "service") if getattr(self, name) is not None]
            if ready:
                problems.append(f"a run log is a source of its own: {', '.join(ready)} cannot be used with it")
            if self.signals is not None and self.trec_runs:
                problems.append("give either signals or trec_runs, not both")
            if not self.signal_metrics:
                problems.append("a run log needs signal_metrics, such as similarity=cosine_similarity, fused=rrf")
        elif self.signal_metrics:
            problems.append("signal_metrics say what a run log holds; give signals or trec_runs")
        elif self.scores is not None:
            problems.append("a score file holds one score; give a run log (signals) with a column for each")
        if self.text_column is not None and self.table is None:
            problems.append("text_column is a column of `table`")
        return problems + rerank_problems(self.rerank)

    def _label_problems(self) -> list[str]:
        if not self.from_log:
            return super()._label_problems()
        given = ("labels", "corpus", "queries_sql", "qrels_sql")
        problems = [f"a run log brings its own labels: {name} cannot be used with it" for name in self._given(*given)]
        if self.trec_runs and self.qrels is None:
            problems.append("trec_runs need qrels, the TREC judgements")
        if self.signals is not None and self.qrels is not None:
            problems.append("a table of signals holds its judgements in a column; qrels cannot be used with it")
        return problems
