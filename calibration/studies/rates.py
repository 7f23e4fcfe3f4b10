"""Rates of a run at given floors and a cap: what is kept, what is lost, what is answered that should not be."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
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
    floor: float | None | Mapping[str, float | None],
    top_k: int,
    *,
    seed: int,
) -> Outcome:
    """Apply a floor under a cap.

    Parameters
    ----------
    table : DataFrame
        The query table, probes included.
    floor : float, None, or mapping of query_id to either
        None accepts everything within the cap. A mapping gives each query the floor of its own fold.
    """
    contract = scores.contract
    floors = pd.Series(
        [floor.get(q) if isinstance(floor, Mapping) else floor for q in table["query_id"]], index=table["query_id"], dtype=object
    )
    top = judged_top(scores, labels)
    top = top[top["rank"] <= top_k]
    accepted = top[_accepted(top, floors, contract)]
    queries = _per_query(table, floors, accepted, top, contract, top_k)
    return Outcome(queries, _rates(queries, accepted, labels, scores, seed=seed), _recall_by_grade(queries, accepted, labels))


def _accepted(rows: pd.DataFrame, floors: pd.Series, contract: ScoreContract) -> np.ndarray:
    mask = np.zeros(len(rows), dtype=bool)
    of_row = rows["query_id"].map(floors.to_dict()).to_numpy(dtype=object)
    similarity = rows["similarity"].to_numpy(dtype=np.float64)
    missing = np.array([value is None for value in of_row], dtype=bool)
    numbers = np.array([np.nan if value is None else value for value in of_row], dtype=np.float64)
    mask[missing] = contract.accept(similarity[missing], None)
    for value in np.unique(numbers[~missing]):
        here = numbers == value
        mask[here] = contract.accept(similarity[here], float(value))
    return mask


def _per_query(
    table: pd.DataFrame, floors: pd.Series, accepted: pd.DataFrame, top: pd.DataFrame, contract: ScoreContract, top_k: int
) -> pd.DataFrame:
    ids = accepted.groupby("query_id", sort=False)["doc_id"].agg(list)
    hits = set(accepted.loc[accepted["state"] == "relevant", "query_id"])
    open_questions = set(accepted.loc[accepted["state"] == "unjudged", "query_id"])
    out = table.assign(floor=floors.to_numpy(dtype=object))
    out["accepted"] = [ids.get(q, []) for q in out["query_id"]]
    out["n_accepted"] = [len(found) for found in out["accepted"]]
    out["hit"] = out["query_id"].isin(hits)
    out["accepted_unjudged"] = out["query_id"].isin(open_questions)
    out["cause"] = [_cause(row, top_k) for row in out.itertuples()]
    floor_of_row = top["query_id"].map({q: np.nan if value is None else value for q, value in floors.items()})
    near = top.loc[(top["similarity"] - floor_of_row).abs() <= contract.tolerance, "query_id"]
    return out.assign(boundary=out["query_id"].isin(set(near)))


def _cause(row: object, top_k: int) -> str | None:
    """First reason that applies: never a candidate, beyond the cap, cut by the floor."""
    if row.answerability != "answerable" or row.hit:  # type: ignore[attr-defined]
        return None
    if np.isnan(row.best_relevant):  # type: ignore[attr-defined]
        return INDEX_MISS
    rank = row.best_relevant_rank  # type: ignore[attr-defined]
    if pd.isna(rank) or rank > top_k:
        return RANK_MISS
    return FLOOR_MISS


def _rates(queries: pd.DataFrame, accepted: pd.DataFrame, labels: Labels, scores: Scores, *, seed: int) -> dict[str, Rate]:
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
    judged = own[own["relevance"].notna() | (own["state"] == "noise")]
    recalls = _recalls(answerable, relevant)
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
        "recall_macro": mean_over_queries(recalls, answerable["group"].to_numpy(dtype=str), seed=seed),
    }


def _recalls(answerable: pd.DataFrame, relevant: pd.DataFrame) -> np.ndarray:
    found = relevant.groupby("query_id").size()
    return np.array([found.get(q, 0) / n for q, n in zip(answerable["query_id"], answerable["n_relevant"], strict=True)])


def _recall_by_grade(queries: pd.DataFrame, accepted: pd.DataFrame, labels: Labels) -> dict[int, Rate]:
    known = set(queries.loc[~queries["probe"], "query_id"])
    judged = labels.qrels[labels.qrels["query_id"].isin(known)]
    grades = sorted(int(grade) for grade in judged["relevance"].unique() if grade > 0)
    found = accepted[accepted["relevance"].notna()]["relevance"].astype("int64")
    return {grade: proportion(int((found == grade).sum()), int((judged["relevance"] == grade).sum())) for grade in grades}
