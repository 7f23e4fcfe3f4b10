"""Parameters of the options study: those of a run, and what the reranker and the lexical leg are."""

from typing import Annotated, Literal

from pydantic import Field

from ...params import RunParams
from ..hybrid.params import LATE_INTERACTION, SEED_DEPTH, HybridParams, rerank_problems


class OptionsParams(RunParams):
    """Parameters of one comparison of the five options; the names are those of a hybrid study."""

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
    rerank: str = Field(LATE_INTERACTION, description='"late-interaction", or the address of a rerank endpoint')
    rerank_depth: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="candidates the reranker reads")
    unscored: Literal["drop", "keep"] = Field("drop", description="what becomes of candidates without a similarity")

    @property
    def candidate_depth(self) -> int:
        """Candidates of each leg: as asked for, else four times the budget, and all that a cap may let through."""
        return self.depth if self.depth is not None else max(4 * (self.top_k or 0), self.k_max, SEED_DEPTH)

    @property
    def search(self) -> HybridParams:
        """The hybrid search that the fifth option is."""
        values = {name: getattr(self, name) for name in OptionsParams.model_fields}
        return HybridParams(**{**values, "depth": self.candidate_depth})

    def _source_problems(self) -> list[str]:
        problems = super()._source_problems()
        if self.scores is not None:
            problems.append(
                "a score file holds one score; the options need the passages' texts, and vectors or a model"
            )
        if self.text_column is not None and self.table is None:
            problems.append("text_column is a column of `table`")
        return problems + rerank_problems(self.rerank)
