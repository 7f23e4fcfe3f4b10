"""Candidates of several legs side by side: one row per query and passage, one column per signal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..contract import ScoreContract
from ..errors import ContractError, LabelError, listed
from ..scores import Scores

SIMILARITY, LEXICAL = "similarity", "lexical"
"""Names of the two legs; a design may have more."""

PAIR = ["query_id", "doc_id"]
Floats = npt.NDArray[np.float64]


class Leg(NamedTuple):
    """What one way of searching gave.

    Attributes
    ----------
    rows : DataFrame
        query_id, doc_id, score (higher is better; NaN = not scored), rank from 1 within the query.
    contract : ScoreContract
        What the scores mean; a floor on them is stated on this scale and no other.
    """

    rows: pd.DataFrame
    contract: ScoreContract


@dataclass(frozen=True)
class Candidates:
    """What a hybrid search looks at, before anything is accepted.

    Attributes
    ----------
    query_ids : list of str
        All queries that were asked; one without candidates stays.
    rows : DataFrame
        query_id, doc_id, a float column per signal (NaN = not scored, which is not 0.0), and `<leg>_rank` (NaN = not
        among what that leg returned).
    contracts : mapping of signal to ScoreContract
    """

    query_ids: list[str]
    rows: pd.DataFrame
    contracts: Mapping[str, ScoreContract]

    @property
    def signals(self) -> list[str]:
        """Names of the signals."""
        return list(self.contracts)

    def values(self, *signals: str) -> Floats:
        """Give some signals as an (n, s) array."""
        unknown = [name for name in signals if name not in self.contracts]
        if unknown:
            raise ContractError(f"no signal {', '.join(unknown)}; there are: {', '.join(self.contracts)}.")
        return self.rows[list(signals)].to_numpy(dtype=np.float64)

    def ranks(self, *legs: str) -> Floats:
        """Give the ranks within some legs as an (n, s) array, NaN where a leg did not return the passage."""
        return self.rows[[f"{leg}_rank" for leg in legs]].to_numpy(dtype=np.float64)

    def with_signal(self, name: str, values: npt.ArrayLike, contract: ScoreContract) -> "Candidates":
        """Add a signal, such as a fused score; those it was made of stay beside it."""
        rows = self.rows.assign(**{name: np.asarray(values, dtype=np.float64)})
        return replace(self, rows=rows, contracts={**self.contracts, name: contract})


def vector_leg(scores: Scores) -> Leg:
    """Make a leg of a pull; every similarity there is travels along, also below the depth of the search."""
    rows = scores.observed.rename(columns={"similarity": "score"})
    # a pull's similarity is on the contract's scale already, where higher is better
    return Leg(rows[[*PAIR, "score", "rank"]], scores.contract)


def join_legs(legs: Mapping[str, Leg], query_ids: Sequence[str], *, depth: int) -> Candidates:
    """Put the first `depth` of every leg side by side.

    A score that a leg knows of another leg's candidate travels along; its rank does not, since that leg did not return
    it.

    Raises
    ------
    LabelError
        Rows of queries that were not asked, or a leg that names a passage twice for one query.

    Examples
    --------
    >>> near = pd.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a", "b"], "score": [0.9, 0.2], "rank": [1, 2]})
    >>> words = pd.DataFrame({"query_id": ["q"], "doc_id": ["b"], "score": [0.1], "rank": [1]})
    >>> legs = {"similarity": Leg(near, ScoreContract()), "lexical": Leg(words, ScoreContract("score"))}
    >>> join_legs(legs, ["q"], depth=1).rows.drop(columns="query_id").to_dict("list")
    {'doc_id': ['a', 'b'], 'similarity': [0.9, 0.2], 'similarity_rank': [1.0, nan], 'lexical': [nan, 0.1], 'lexical_rank': [nan, 1.0]}
    """  # noqa: E501
    _check(legs, query_ids)
    returned = [leg.rows.loc[leg.rows["rank"].astype("float64") <= depth, PAIR] for leg in legs.values()]
    rows = pd.concat(returned, ignore_index=True).drop_duplicates(PAIR, ignore_index=True)
    for name, leg in legs.items():
        found = leg.rows[[*PAIR, "score", "rank"]].rename(columns={"score": name, "rank": f"{name}_rank"})
        rows = rows.merge(found, on=PAIR, how="left")
        rank = rows[f"{name}_rank"].astype("float64")
        rows[name] = rows[name].astype("float64")
        rows[f"{name}_rank"] = rank.where(rank <= depth)
    order = pd.Index(query_ids).get_indexer(pd.Index(rows["query_id"]))
    rows = rows.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    return Candidates(list(query_ids), rows, {name: leg.contract for name, leg in legs.items()})


def _check(legs: Mapping[str, Leg], query_ids: Sequence[str]) -> None:
    known, problems = set(query_ids), []
    for name, leg in legs.items():
        strange = leg.rows.loc[~leg.rows["query_id"].isin(known), "query_id"].unique().tolist()
        problems += [f"leg {name!r} has candidates of {query!r}, which was not asked" for query in strange]
        twice = leg.rows[leg.rows.duplicated(PAIR)].drop_duplicates(PAIR)
        problems += [
            f"leg {name!r} returns {doc!r} more than once for {query!r}"
            for query, doc in zip(twice["query_id"], twice["doc_id"], strict=True)
        ]
    if problems:
        raise LabelError("the legs cannot be joined:\n" + listed(problems))
