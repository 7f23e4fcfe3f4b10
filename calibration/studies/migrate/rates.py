"""Agreement of two sides in numbers: ranking, accepted sets, the index, empty answers, risk and coverage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...choose.rates import Rate, proportion
from ...contract import accept, convert
from ...errors import ContractError
from ...labels import Labels
from .pairs import SIDES
from .side import Side

Step = Literal["exact", "deployed"]
NEAR = 0.02
"""How far from the threshold a best candidate is "near", as a similarity; other scales take this share of their
best candidates' spread."""


@dataclass(frozen=True)
class Agreement:
    """How far the two sides agree in one comparison, exact or deployed.

    Attributes
    ----------
    ranking : Rate
        Queries whose first top-K documents come in the same order; ties within the tolerance are no difference.
    accepted : Rate
        Queries with the same accepted set.
    documents : Rate
        Documents accepted by both / accepted by either.
    answered_before, answered_after : Rate
        Queries with a non-empty accepted set: coverage.
    new_answers, lost_answers : list of str
        Queries whose no-answer decision changed.
    """

    step: Step
    ranking: Rate
    accepted: Rate
    documents: Rate
    answered_before: Rate
    answered_after: Rate
    new_answers: list[str]
    lost_answers: list[str]


def agreement(pairs: pd.DataFrame, old: Side, new: Side, query_ids: Sequence[str], step: Step) -> Agreement:
    """Compare ranking and accepted sets, apart."""
    suffix = "exact_accepted" if step == "exact" else "accepted"
    before, after = pairs[f"old_{suffix}"], pairs[f"new_{suffix}"]
    differ = set(pairs.loc[before != after, "query_id"])
    answered = {side: set(pairs.loc[pairs[f"{side}_{suffix}"], "query_id"]) for side in SIDES}
    tolerance = 2 * max(old.rounding, new.rounding)
    n = len(query_ids)
    same = n - len(differently_ordered(pairs, step, min(old.k, new.k), tolerance))
    return Agreement(
        step=step,
        ranking=proportion(same, n),
        accepted=proportion(n - len(differ), n),
        documents=proportion(int((before & after).sum()), int((before | after).sum())),
        answered_before=proportion(len(answered["old"]), n),
        answered_after=proportion(len(answered["new"]), n),
        new_answers=[query for query in query_ids if query in answered["new"] - answered["old"]],
        lost_answers=[query for query in query_ids if query in answered["old"] - answered["new"]],
    )


def differently_ordered(pairs: pd.DataFrame, step: Step, k: int, tolerance: float) -> list[str]:
    """Name the queries whose first k documents come in another order on the two sides, ties apart."""
    column = "exact_rank" if step == "exact" else "rank"
    within = (pairs[f"old_{column}"] <= k) | (pairs[f"new_{column}"] <= k)
    differ = within & (pairs[f"old_{column}"] != pairs[f"new_{column}"])
    rows = pairs[pairs["query_id"].isin(set(pairs.loc[differ, "query_id"]))]
    return [
        str(query)
        for query, group in rows.groupby("query_id", sort=False)
        if not same_order(group, column, k, tolerance)
    ]


def same_order(rows: pd.DataFrame, column: str, k: int, tolerance: float) -> bool:
    """Tell whether one query's first k documents come in the same order on both sides, ties apart."""
    ranks = {side: rows[f"{side}_{column}"].to_numpy(dtype=np.float64) for side in SIDES}
    scale = {side: rows[f"{side}_similarity"].to_numpy(dtype=np.float64) for side in SIDES}
    lists = {}
    for side in SIDES:
        first = np.flatnonzero(ranks[side] <= k)
        lists[side] = first[np.argsort(ranks[side][first])]
    # every document that one side shows among its first must, by the other side's scores, stand where it stands or tie
    for shown, judged in (("old", "new"), ("new", "old")):
        similarity = scale[judged][lists[shown]]
        if len(lists[shown]) != len(lists[judged]) or np.isnan(similarity).any():
            return False
        if len(similarity) == 0:
            continue
        best_so_far = np.minimum.accumulate(similarity)
        if (similarity[1:] > best_so_far[:-1] + tolerance).any():
            return False
        if similarity.min() < scale[judged][lists[judged]].min() - tolerance:
            return False
    return True


def index_recall(pairs: pd.DataFrame, side: str, k: int) -> dict[str, Rate]:
    """Measure what a side's deployed search returns of the exact answer, over rows that can be indexed.

    Returns
    -------
    dict
        at_k: of the first K documents; at_floor: of those among them that pass the threshold.
    """
    first = pairs[f"{side}_exact_rank"] <= k
    passing = pairs[f"{side}_exact_accepted"]
    return {
        "at_k": proportion(int((first & pairs[f"{side}_rank"].notna()).sum()), int(first.sum())),
        "at_floor": proportion(int((passing & pairs[f"{side}_accepted"]).sum()), int(passing.sum())),
    }


def missing_candidates(pairs: pd.DataFrame, side: str, k: int) -> dict[str, list[str]]:
    """Name, per query, the exact best that a side's deployed search did not return."""
    missed = pairs[(pairs[f"{side}_exact_rank"] <= k) & pairs[f"{side}_rank"].isna()]
    return {str(query): rows["doc_id"].tolist() for query, rows in missed.groupby("query_id", sort=False)}


def positions(pairs: pd.DataFrame, old: Side, query_ids: Sequence[str], near: float | None) -> pd.DataFrame:
    """Say where each query's best candidate of the old side lies.

    Returns
    -------
    DataFrame
        query_id, best (similarity; NaN without a candidate), position (above | near | below; a query without a
        candidate is below).
    """
    best = pairs.groupby("query_id")["old_similarity"].max().reindex(list(query_ids))
    values = best.to_numpy(dtype=np.float64)
    margin = near_margin(old, values, near)
    away = values - old.floor
    position = np.where(np.abs(away) <= margin, "near", np.where(away > margin, "above", "below"))
    return pd.DataFrame({"query_id": list(query_ids), "best": values, "position": position})


def near_margin(old: Side, best: np.ndarray, near: float | None) -> float:
    """Give the distance from the threshold that counts as near."""
    if near is not None:
        return near
    if old.contract.on_cosine_scale or not np.isfinite(best).any():
        return NEAR
    return NEAR * float(np.nanmax(best) - np.nanmin(best))


def wrong_migrations(pairs: pd.DataFrame, old: Side, new: Side, query_ids: Sequence[str]) -> pd.DataFrame:
    """Show on the new side's exact candidates what copying the number, or number and direction, would accept.

    Returns
    -------
    DataFrame
        rule, comparison (of the raw score), documents (accepted), gained and lost (against the old side, exact),
        empty (queries without an answer), changed (queries whose no-answer decision changes). The right rule first.
    """
    known = pairs[pairs["new_exact_rank"] <= new.k]
    raw = _as_compared(known["new_score"].to_numpy(dtype=np.float64), new)
    number = old.threshold
    higher = {"old": old.file.contract.higher_is_better, "new": new.file.contract.higher_is_better}
    right = _converted(old, new)
    before = set(zip(*(pairs.loc[pairs["old_exact_accepted"], name] for name in ("query_id", "doc_id")), strict=True))
    rules = [("converted", right, higher["new"])] if right is not None else []
    if right is None or abs(right - number) > 0 or higher["old"] != higher["new"]:
        rules.append(("number copied", number, higher["new"]))
    if higher["old"] != higher["new"]:
        rules.append(("number and direction copied", number, higher["old"]))
    return pd.DataFrame([_applied(rule, known, raw, old, before, query_ids) for rule in rules])


def _converted(old: Side, new: Side) -> float | None:
    try:
        return convert(old.threshold, old.file.contract, new.file.contract).value
    except ContractError:
        return None


def _as_compared(raw: np.ndarray, side: Side) -> np.ndarray:
    """Turn a backend's numbers into those that the application compares with its threshold."""
    if side.file.contract.score_transform == side.contract.score_transform:
        return raw
    scores: np.ndarray = side.file.contract.transform.forward(raw)
    return scores


def _applied(
    rule: tuple[str, float, bool],
    known: pd.DataFrame,
    raw: np.ndarray,
    old: Side,
    before: set[tuple[str, str]],
    query_ids: Sequence[str],
) -> dict[str, Any]:
    name, threshold, higher = rule
    sign = 1.0 if higher else -1.0
    inclusive = old.file.contract.threshold_inclusive
    # a squared distance moves twice as far as the similarity
    tolerance = 2 * old.file.contract.tolerance
    accepted = known[accept(sign * raw, sign * threshold, inclusive=inclusive, tolerance=tolerance)]
    after = set(zip(accepted["query_id"], accepted["doc_id"], strict=True))
    answered = {query for query, _ in after}
    had = {query for query, _ in before}
    symbol = (">" if higher else "<") + ("=" if inclusive else "")
    return {
        "rule": name,
        "comparison": f"{symbol} {threshold!r}",
        "documents": len(after),
        "gained": len(after - before),
        "lost": len(before - after),
        "empty": len(set(query_ids) - answered),
        "changed": len(answered ^ had),
    }


def risk_and_coverage(pairs: pd.DataFrame, labels: Labels, query_ids: Sequence[str], suffix: str) -> dict[str, Rate]:
    """Measure risk and coverage of one side's accepted sets, each with its own denominator.

    Parameters
    ----------
    suffix : str
        The column of decisions, such as "old_accepted".

    Returns
    -------
    dict
        coverage (answered / all queries), risk_low and risk_high (answered without a relevant document / answered with
        known answerability; the low one gives unjudged documents of answerable queries the benefit of the doubt) and
        hit_rate (answerable with a relevant document / answerable).
    """
    kind = dict(zip(labels.queries["query_id"], labels.queries["answerability"], strict=True))
    grades = _grades(labels)
    accepted = pairs[pairs[suffix]]
    lists = {str(query): rows["doc_id"].tolist() for query, rows in accepted.groupby("query_id", sort=False)}
    hit, unsure = set(), set()
    for query, names in lists.items():
        found = [grades.get((query, name)) for name in names]
        if any(grade is not None and grade >= labels.rel_level for grade in found):
            hit.add(query)
        elif kind.get(query) == "answerable" and labels.unjudged == "unknown" and None in found:
            unsure.add(query)
    answered = [query for query in lists if kind.get(query, "unknown") != "unknown"]
    without = [query for query in answered if query not in hit]
    answerable = [query for query in query_ids if kind.get(query) == "answerable"]
    return {
        "coverage": proportion(len(lists), len(query_ids)),
        "risk_low": proportion(sum(query not in unsure for query in without), len(answered)),
        "risk_high": proportion(len(without), len(answered)),
        "hit_rate": proportion(sum(query in hit for query in answerable), len(answerable)),
    }


def _grades(labels: Labels) -> Mapping[tuple[str, str], int]:
    rows = labels.qrels
    return dict(zip(zip(rows["query_id"], rows["doc_id"], strict=True), rows["relevance"].astype(int), strict=True))
