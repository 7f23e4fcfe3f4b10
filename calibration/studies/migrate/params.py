"""Parameters of a migration study."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator


class MigrateParams(BaseModel):
    """Parameters of one migration study; paths are relative to the working folder."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    old: str | None = Field(None, description="contract file of the search in use; None: a small made-up example")
    new: str | None = Field(
        None, description="contract file of the search to switch to; without a threshold the old one is converted"
    )
    queries: str | None = Field(
        None, description="query vectors (npz or parquet), or a file of questions (CSV, TSV, JSONL) for `model`"
    )
    model: str | None = Field(None, description="model that embeds the questions")
    labels: str | None = Field(None, description="folder with queries and qrels, for risk and coverage")
    qrels: str | None = Field(None, description="file of judgements, beside a file of questions")
    rel_level: int | None = Field(None, description="smallest relevant grade; needed when grades go beyond 0/1")
    top_k: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="cap on accepted documents where a contract names none; 10"
    )
    near: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] | None = Field(
        None, description="how close to the threshold a best candidate counts as near; 0.02 on the cosine scale"
    )
    out: str = Field("reports/migration", description="folder of the page")

    @model_validator(mode="after")
    def _both_or_example(self) -> "MigrateParams":
        if (self.old is None) != (self.new is None):
            raise ValueError("a migration has two sides; give both contract files, old and new")
        if self.old is None and (self.queries, self.labels, self.qrels) != (None, None, None):
            raise ValueError("the made-up example brings its own queries; give the contract files, old and new")
        return self
