"""What a cap costs: passages and tokens a query sends on, at every K, with the floor in place."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..choose.rates import Rate, proportion
from ..contract import ScoreContract


@dataclass(frozen=True)
class Lengths:
    """Tokens of each passage, as far as they were needed; counts only, no text.

    Attributes
    ----------
    tokens : mapping of doc_id to float
    counted_by : str
        How, in words: "the tokenizer of minilm", "an estimate of 4 characters a token".
    """

    tokens: Mapping[str, float]
    counted_by: str


@dataclass(frozen=True)
class Price:
    """Mean price of an answerable query.

    Attributes
    ----------
    by_k : DataFrame
        top_k from 1, `passages` and `tokens` per answerable query (NaN where unknown).
    n : int
        Answerable queries.
    counted_by : str or None
        How tokens were counted; None where the passages have no texts here.
    binds : Rate
        Answerable queries with more passages at or above the floor than the recommended cap lets through.
    """

    by_k: pd.DataFrame
    n: int
    counted_by: str | None
    binds: Rate

    def at(self, k: int) -> tuple[float | None, float | None]:
        """Passages and tokens per answerable query at a cap; None where unknown."""
        passages, tokens = self.by_k.loc[self.by_k["top_k"] == k, ["passages", "tokens"]].to_numpy(np.float64)[0]
        return (None if np.isnan(passages) else float(passages), None if np.isnan(tokens) else float(tokens))


def price_of(
    top: pd.DataFrame,
    table: pd.DataFrame,
    contract: ScoreContract,
    floor: float | None,
    *,
    top_k: int,
    k_max: int,
    lengths: Lengths | None,
) -> Price:
    """Price every K up to `k_max` on the answerable queries.

    Parameters
    ----------
    top : DataFrame
        query_id, doc_id, similarity, rank: the passages of every query.
    """
    answerable = set(table.loc[(table["answerability"] == "answerable") & ~table["probe"], "query_id"])
    n = len(answerable)
    own = top[top["query_id"].isin(answerable) & contract.accept(top["similarity"], floor)]
    binds = proportion(int(own.loc[own["rank"] > top_k, "query_id"].nunique()), n)
    sent = own[own["rank"] <= k_max]
    rank = sent["rank"].to_numpy(dtype=np.int64) - 1
    tokens = sent["doc_id"].map({} if lengths is None else lengths.tokens).astype("float64")
    by_k = pd.DataFrame(
        {
            "top_k": np.arange(1, k_max + 1),
            "passages": _per_query(np.ones(len(sent)), rank, k_max, n),
            "tokens": _per_query(tokens.to_numpy(dtype=np.float64), rank, k_max, n),
        }
    )
    return Price(by_k, n, None if lengths is None or by_k["tokens"].isna().all() else lengths.counted_by, binds)


def _per_query(weights: npt.ArrayLike, rank: npt.NDArray[np.int64], k_max: int, n: int) -> npt.NDArray[np.float64]:
    """Sum over the ranks up to each K, per query."""
    totals = np.cumsum(np.bincount(rank, weights=weights, minlength=k_max)[:k_max])
    mean: npt.NDArray[np.float64] = totals / n if n else np.full(k_max, np.nan)
    return mean
