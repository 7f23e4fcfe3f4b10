"""Both sides on one table: every candidate of every query with ranks, raw scores and decisions; and why some flip."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...sources.base import Floats64
from ...sources.search import Candidates, Queries
from .side import Side, check_agreement

CONVERSION, BOUNDARY, INDEX_MISS = "conversion", "boundary rounding", "index miss"
FILTER, NOT_INDEXABLE, CORPUS = "filter", "not indexable", "corpus"
CAUSES = (CONVERSION, BOUNDARY, INDEX_MISS, FILTER, NOT_INDEXABLE, CORPUS)
SIDES = ("old", "new")
FLIPS = ["query_id", "doc_id", "change", "cause", "detail", "exact", "deployed", "old_similarity", "new_similarity",
         "old_score", "new_score"]  # fmt: skip


def pair_table(old: Side, new: Side, queries: Queries) -> pd.DataFrame:
    """Line up all candidates of both sides, exact and deployed.

    Returns
    -------
    DataFrame
        query_id, doc_id and, for each side with its prefix: score (the backend's own, NaN where it has none),
        similarity, exact_rank and rank (1 is best, NaN beyond the candidates), exact_accepted, accepted. A deployed
        candidate's score is the one its search gave. Rows of a query stand together, in the order of the queries.
    """
    union = [_union(lists) for lists in zip(*(found.ids for side in (old, new) for found in _lists(side)), strict=True)]
    rows = np.repeat(np.arange(len(union)), [len(names) for names in union])
    parts: dict[str, Any] = {
        "query_id": [queries.ids[row] for row in rows],
        "doc_id": [name for names in union for name in names],
    }
    with ThreadPoolExecutor(len(SIDES)) as pool:  # both backends are asked at once
        columns = list(pool.map(lambda side: _side_columns(side, queries, union, rows), (old, new)))
    for prefix, own in zip(SIDES, columns, strict=True):
        parts |= {f"{prefix}_{name}": values for name, values in own.items()}
    return pd.DataFrame(parts).astype({"query_id": "str", "doc_id": "str"})


def _side_columns(side: Side, queries: Queries, union: list[list[str]], rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    raw = np.concatenate([*side.searcher.scores_of(queries, union), np.zeros(0)])
    found, product = _placed(side.exact, union)
    known = ~np.isnan(found)
    check_agreement(side.contract, product[known], raw[known])
    similarity = side.similarity(raw)
    exact_rank = _ranked(np.where(known, similarity, np.nan), rows)
    columns = {
        "score": raw, "similarity": similarity, "exact_rank": exact_rank, "rank": exact_rank,
        "exact_accepted": side.accept(similarity) & (exact_rank <= side.k),
    }  # fmt: skip
    if side.deployed is None:
        return {**columns, "accepted": columns["exact_accepted"]}
    rank, given = _placed(side.deployed, union)
    score = np.where(np.isnan(given), raw, given)
    similarity = side.similarity(score)
    accepted = side.accept(similarity) & (rank <= side.k)
    return {**columns, "score": score, "similarity": similarity, "rank": rank, "accepted": accepted}


def flips(pairs: pd.DataFrame, old: Side, new: Side, moved: Sequence[str] = ()) -> pd.DataFrame:
    """List every document whose acceptance differs, each with the first cause that applies.

    conversion
        The rules disagree although both searches are exact: the similarity lies between the two thresholds, the caps
        differ, or the metrics order the documents differently.
    boundary rounding
        The exact decisions differ within the tolerance of the threshold, or of the last rank; the tolerance is the
        contract's, or what the storage type needs where that is wider.
    index miss
        The exact decisions agree, but a side's search did not return the document, or returned it only because it
        missed a better one.
    filter
        The same, where the search has a filter and came back with fewer candidates than exist and than its index hands
        out: the filter was applied after the approximate scan. Also a document that only one side's filter lets
        through, and those that such documents push out of the first K.
    not indexable
        A side's row has no vector, or a zero vector under a cosine, so neither index nor score exists.
    corpus
        Only one side holds the document, or its vectors point in different directions; and those that such documents
        push out of the first K.

    Returns
    -------
    DataFrame
        query_id, doc_id, change (gained | lost), cause, detail, exact and deployed (which comparison it flips in),
        similarities and raw scores of both sides. Gained means: the new side accepts it.
    """
    exact = pairs["old_exact_accepted"] != pairs["new_exact_accepted"]
    deployed = pairs["old_accepted"] != pairs["new_accepted"]
    found = pairs.assign(exact=exact, deployed=deployed)[exact | deployed]
    judge = _Judge(pairs, old, new, set(moved)) if len(found) else None
    rows = (
        []
        if judge is None
        else [judge.row({str(name): value for name, value in row.items()}) for row in found.to_dict("records")]
    )
    return pd.DataFrame(rows, columns=FLIPS).astype({"query_id": "str", "doc_id": "str"})


class _Judge:
    def __init__(self, pairs: pd.DataFrame, old: Side, new: Side, moved: set[str]) -> None:
        self._sides = {"old": old, "new": new}
        self._moved = moved
        self._declared = max(old.file.contract.tolerance, new.file.contract.tolerance)
        self._tolerance = max(old.rounding, new.rounding)
        # floors of two scales are comparable only where both are cosines, or one and the same metric
        self._one_scale = old.contract.scale == new.contract.scale
        self._floors_apart = self._one_scale and abs(old.floor - new.floor) > self._declared
        self._last = {side: _last_similarity(pairs, side, self._sides[side].k) for side in SIDES}
        self._lists = {side: _returned(pairs, side) for side in SIDES}
        self._better = {side: _missed_best(pairs, side, self._sides[side].k) for side in SIDES}
        self._foreign = {side: _foreign(pairs, side, self._sides[side].k) for side in SIDES}
        self._there = {side: max(map(len, where.exact.ids), default=0) for side, where in self._sides.items()}

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        accepted = row["new_accepted"] if row["deployed"] else row["new_exact_accepted"]
        cause, detail = self._cause(row)
        kept = {name: row[name] for name in FLIPS if name in row}
        return {**kept, "change": "gained" if accepted else "lost", "cause": cause, "detail": detail}

    def _cause(self, row: dict[str, Any]) -> tuple[str, str]:
        missing = [side for side in SIDES if np.isnan(row[f"{side}_similarity"])]
        if missing:
            return self._one_sided(row, missing[0])
        if row["exact"]:
            if self._moved and row["doc_id"] in self._moved:
                return CORPUS, "its vectors differ between the sides"
            return self._rule(row)
        for side in ("new", "old"):
            if row[f"{side}_accepted"] != row[f"{side}_exact_accepted"]:
                return self._search(row, side)
        return BOUNDARY, "raw scores of two calls differ by rounding"

    def _rule(self, row: dict[str, Any]) -> tuple[str, str]:
        if self._floors_apart and self._between(row):
            return CONVERSION, "its similarity lies between the two thresholds"
        beyond = [side for side in SIDES if not row[f"{side}_exact_rank"] <= self._sides[side].k]
        if not beyond:
            near = min(abs(row[f"{side}_similarity"] - self._sides[side].floor) for side in SIDES)
            if near <= 2 * self._tolerance:
                return BOUNDARY, f"within {self._tolerance:g} of the threshold"
            return CONVERSION, "the sides score it differently"
        side = beyond[0]
        if abs(row[f"{side}_similarity"] - self._last[side].get(row["query_id"], np.inf)) <= 2 * self._tolerance:
            return BOUNDARY, f"tied with the last of the {self._sides[side].k} documents"
        foreign = self._foreign[side].get(row["query_id"])
        if foreign is not None:
            cause, _ = self._one_sided({"doc_id": foreign}, "new" if side == "old" else "old")
            return cause, f"pushed out of the {side} {self._sides[side].k} by {foreign}, which only that side has"
        if self._sides["old"].k != self._sides["new"].k:
            return CONVERSION, f"top-K differs: {self._sides['old'].k}, then {self._sides['new'].k}"
        return CONVERSION, "the metrics order the documents differently"

    def _between(self, row: dict[str, Any]) -> bool:
        low, high = sorted(side.floor for side in self._sides.values())
        return all(low - self._declared <= row[f"{name}_similarity"] <= high + self._declared for name in SIDES)

    def _search(self, row: dict[str, Any], side: str) -> tuple[str, str]:
        where = self._sides[side]
        query = row["query_id"]
        within = row[f"{side}_rank"] <= where.k and row[f"{side}_exact_rank"] <= where.k
        if not where.approximate or within or query not in self._better[side]:
            return BOUNDARY, "raw scores of two calls differ by rounding"
        returned, there = self._lists[side].get(query, 0), min(where.k, self._there[side])
        words = f"{side} search returned {returned} of {there}"
        reach = there if where.searcher.reach is None else min(there, where.searcher.reach)
        if where.searcher.filtered and returned < reach:
            return FILTER, f"filter after approximate scan: {words}"
        return INDEX_MISS, words + ("" if row[f"{side}_exact_accepted"] else ", better ones missing")

    def _one_sided(self, row: dict[str, Any], side: str) -> tuple[str, str]:
        where, name = self._sides[side], row["doc_id"]
        if name in where.left_out:
            return NOT_INDEXABLE, f"{where.left_out[name]} on the {side} side"
        if not where.searcher.complete:
            return INDEX_MISS, f"not among the candidates in the {side} score file"
        if where.searcher.filtered:
            return FILTER, f"not let through by the {side} filter, or not there"
        return CORPUS, f"not in the {side} corpus"


def _lists(side: Side) -> list[Candidates]:
    return [side.exact] if side.deployed is None else [side.exact, side.deployed]


def _union(lists: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))


def _placed(found: Candidates, union: Sequence[Sequence[str]]) -> tuple[Floats64, Floats64]:
    """Rank and raw score of each candidate of the union; NaN for those the search did not return."""
    ranks, scores = [], []
    for names, values, wanted in zip(found.ids, found.scores, union, strict=True):
        place = {name: row for row, name in enumerate(names)}
        rows = [place.get(name) for name in wanted]
        ranks += [np.nan if row is None else row + 1 for row in rows]
        scores += [np.nan if row is None else values[row] for row in rows]
    return np.array(ranks, dtype=np.float64), np.array(scores, dtype=np.float64)


def _ranked(similarity: Floats64, rows: npt.NDArray[np.int64]) -> Floats64:
    """Rank from 1 within each query, best first, equal ones in the order both sides share; NaN stays NaN."""
    order = np.lexsort((np.arange(len(rows)), -similarity, rows))  # NaN sorts last
    first = np.searchsorted(rows, rows)  # rows are sorted
    ranks = np.empty(len(rows), dtype=np.float64)
    ranks[order] = np.arange(len(rows)) - first[order] + 1
    return np.where(np.isnan(similarity), np.nan, ranks)


def _last_similarity(pairs: pd.DataFrame, side: str, k: int) -> dict[str, float]:
    last = pairs[pairs[f"{side}_exact_rank"] == k]
    return dict(zip(last["query_id"], last[f"{side}_similarity"], strict=True))


def _foreign(pairs: pd.DataFrame, side: str, k: int) -> dict[str, str]:
    """Name, per query, the first of a side's exact best that has no score on the other side."""
    other = "new" if side == "old" else "old"
    rows = pairs[(pairs[f"{side}_exact_rank"] <= k) & pairs[f"{other}_similarity"].isna()]
    rows = rows.sort_values(f"{side}_exact_rank", kind="stable").drop_duplicates("query_id")
    return dict(zip(rows["query_id"], rows["doc_id"], strict=True))


def _returned(pairs: pd.DataFrame, side: str) -> dict[str, int]:
    counts = pairs[pairs[f"{side}_rank"].notna()].groupby("query_id").size()
    return {str(query): int(count) for query, count in counts.items()}


def _missed_best(pairs: pd.DataFrame, side: str, k: int) -> set[str]:
    """Give the queries whose deployed search did not return some of the exact best."""
    return set(pairs.loc[(pairs[f"{side}_exact_rank"] <= k) & pairs[f"{side}_rank"].isna(), "query_id"])
