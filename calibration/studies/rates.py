"""Rates of a run at given floors and a cap: what is kept, what is lost, what is answered that should not be."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..choose.rates import Rate, mean_over_queries, proportion
from ..contract import ScoreContract
from ..labels import Labels
from ..scores import Scores, judged_top

FLOOR_MISS, RANK_MISS, INDEX_MISS = "floor miss", "rank miss", "index miss"


@dataclass(frozen=True)
class Outcome:
    """What a floor and a cap do, query by query and as rates.

    Attributes
    ----------
    queries : DataFrame
        The query table with `floor`, `accepted` (ids), `n_accepted`, `hit`, `cause` (of a miss; None otherwise) and
        `boundary` (some passage lies within the tolerance of the floor).
    rates : mapping of name to Rate
        Named as in recommendation.json.
    recall_by_grade : mapping of grade to Rate
    """

    queries: pd.DataFrame
    rates: Mapping[str, Rate]
    recall_by_grade: Mapping[int, Rate]


def outcome(
    scores: Scores,
    labels: Labels,
    table: pd.DataFrame,
    floor: float | Mapping[str, float | None] | None,
    top_k: int,
    *,
    seed: int,
    top: pd.DataFrame | None = None,
) -> Outcome:
    """Apply a floor under a cap.

    Parameters
    ----------
    table : DataFrame
        The query table, probes included.
    floor : float, None, or mapping of query_id to either
        None accepts everything within the cap. A mapping gives each query the floor of its own fold.
    top : DataFrame, optional
        `judged_top` of the same scores and labels, where it is at hand.
    """
    floors = {query: floor.get(query) if isinstance(floor, Mapping) else floor for query in table["query_id"]}
    top = judged_top(scores, labels) if top is None else top
    within = top[top["rank"] <= top_k]
    accepted = within[_accepted(within, floors, scores.contract)]
    queries = _per_query(table, floors, accepted, within, scores.contract, top_k)
    rates = _rates(queries, accepted, seed=seed)
    return Outcome(queries, rates, _recall_by_grade(queries, accepted, labels))


def unjudged_share(top: pd.DataFrame, table: pd.DataFrame, top_k: int) -> Rate:
    """Share of the answerable queries' first `top_k` passages that nobody has judged, whatever the floor.

    Parameters
    ----------
    top : DataFrame
        `judged_top`; a passage counts as unjudged also where unjudged ones are taken for noise.
    """
    answerable = table.loc[(table["answerability"] == "answerable") & ~table["probe"], "query_id"]
    first = top[(top["rank"] <= top_k) & top["query_id"].isin(set(answerable))]
    return proportion(int(first["relevance"].isna().sum()), len(first))


def _accepted(rows: pd.DataFrame, floors: Mapping[str, float | None], contract: ScoreContract) -> npt.NDArray[np.bool_]:
    bars = {query: -np.inf if floor is None else contract.lowest_accepted(floor) for query, floor in floors.items()}
    passed: npt.NDArray[np.bool_] = (rows["similarity"] >= rows["query_id"].map(bars).astype("float64")).to_numpy(
        dtype=np.bool_
    )
    return passed


def _per_query(
    table: pd.DataFrame,
    floors: Mapping[str, float | None],
    accepted: pd.DataFrame,
    within: pd.DataFrame,
    contract: ScoreContract,
    top_k: int,
) -> pd.DataFrame:
    by_rank = accepted.sort_values("rank", kind="stable")
    ids: dict[str, list[str]] = {}
    for query, doc in zip(
        by_rank["query_id"].to_numpy(dtype=object), by_rank["doc_id"].to_numpy(dtype=object), strict=True
    ):
        ids.setdefault(query, []).append(doc)
    numbers = {query: np.nan if floor is None else floor for query, floor in floors.items()}
    near = (within["similarity"] - within["query_id"].map(numbers).astype("float64")).abs() <= contract.tolerance
    query_ids = table["query_id"]
    out = table.assign(
        floor=pd.Series(list(floors.values()), index=table.index, dtype=object),
        accepted=pd.Series([ids.get(query, []) for query in query_ids], index=table.index, dtype=object),
        n_accepted=[len(ids.get(query, ())) for query in query_ids],
        hit=query_ids.isin(set(accepted.loc[accepted["state"] == "relevant", "query_id"])),
        accepted_unjudged=query_ids.isin(set(accepted.loc[accepted["state"] == "unjudged", "query_id"])),
        boundary=query_ids.isin(set(within.loc[near, "query_id"])),
    )
    return out.assign(cause=pd.Series(_causes(out, top_k), index=table.index, dtype=object))


def _causes(queries: pd.DataFrame, top_k: int) -> npt.NDArray[np.object_]:
    """Give the first reason that applies to a miss: never a candidate, beyond the cap, cut by the floor; else None."""
    causes = np.full(len(queries), None, dtype=object)
    missed = ((queries["answerability"] == "answerable") & ~queries["hit"]).to_numpy()
    causes[missed] = FLOOR_MISS
    causes[missed & ~(queries["best_relevant_rank"].astype("float64") <= top_k).to_numpy()] = RANK_MISS
    causes[missed & queries["best_relevant"].isna().to_numpy()] = INDEX_MISS
    return causes


def _rates(queries: pd.DataFrame, accepted: pd.DataFrame, *, seed: int) -> dict[str, Rate]:
    labelled = queries[~queries["probe"]]
    kind = labelled["answerability"]
    answerable = labelled[kind == "answerable"]
    off_topic, missing = labelled[kind == "off_topic"], labelled[kind == "missing_answer"]
    probes = queries[queries["probe"]]
    known = labelled[kind != "unknown"]
    answered = known[known["n_accepted"] > 0]
    without = answered[~answered["hit"]]
    # an accepted unjudged passage of an answerable query may yet be relevant; elsewhere nothing is
    surely_without = without[(without["answerability"] != "answerable") | ~without["accepted_unjudged"]]
    own = accepted[accepted["query_id"].isin(answerable["query_id"])]
    relevant = own[own["state"] == "relevant"]
    judged = own[own["state"] != "unjudged"]
    labelled_answers = answerable[answerable["n_relevant"] > 0]  # without any, recall is undefined
    n_relevant = int(answerable["n_relevant"].sum())
    return {
        "hit_rate": proportion(int(answerable["hit"].sum()), len(answerable)),
        "coverage": proportion(int((labelled["n_accepted"] > 0).sum()), len(labelled)),
        "empty_context_rate": proportion(int((answerable["n_accepted"] == 0).sum()), len(answerable)),
        "false_answer_rate_off_topic": proportion(int((off_topic["n_accepted"] > 0).sum()), len(off_topic)),
        "false_answer_rate_probes": proportion(int((probes["n_accepted"] > 0).sum()), len(probes)),
        "false_answer_rate_missing_answer": proportion(int((missing["n_accepted"] > 0).sum()), len(missing)),
        "risk_low": proportion(len(surely_without), len(answered)),
        "risk_high": proportion(len(without), len(answered)),
        "precision_judged": proportion(len(relevant), len(judged)),
        "precision_low": proportion(len(relevant), len(own)),
        "unjudged_share": proportion(int((own["state"] == "unjudged").sum()), len(own)),
        "recall_micro": proportion(len(relevant), n_relevant),
        "recall_macro": mean_over_queries(
            _recalls(labelled_answers, relevant), labelled_answers["group"].to_numpy(dtype=str), seed=seed
        ),
    }


def _recalls(answerable: pd.DataFrame, relevant: pd.DataFrame) -> npt.NDArray[np.float64]:
    found = answerable["query_id"].map(relevant.groupby("query_id").size()).astype("float64").fillna(0.0)
    return (found / answerable["n_relevant"]).to_numpy(dtype=np.float64)


def _recall_by_grade(queries: pd.DataFrame, accepted: pd.DataFrame, labels: Labels) -> dict[int, Rate]:
    known = set(queries.loc[~queries["probe"], "query_id"])
    judged = labels.qrels.loc[labels.qrels["query_id"].isin(known), "relevance"].value_counts()
    found = accepted["relevance"].value_counts()
    grades = sorted(int(grade) for grade in judged.index if grade > 0)
    return {grade: proportion(int(found.get(grade, 0)), int(judged[grade])) for grade in grades}
