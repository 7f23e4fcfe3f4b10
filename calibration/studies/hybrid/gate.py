"""What a gate lets through: rates of a design, curves before and after the fusion, depth, and what each leg finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...choose import Costs, Rate, proportion
from ...contract import ScoreContract
from ...retrieval import LEXICAL, SIMILARITY, Candidates, Floor, Leg, gate

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
POINTS = 120


@dataclass(frozen=True)
class Asked:
    """Candidates in the order a design shows them, and what is known of them and of their queries.

    Attributes
    ----------
    candidates : Candidates
    relevant : ndarray of bool
        One per candidate.
    place : ndarray of int, (n,)
        Position of the candidate in its query's list; those a design never shows come last.
    table : DataFrame
        query_id, answerability, probe, n_relevant.
    top_k : int
    exempt : ndarray of bool, optional
        Candidates that pass every gate.
    """

    candidates: Candidates
    relevant: Flags
    place: npt.NDArray[np.int64]
    table: pd.DataFrame
    top_k: int
    exempt: Flags | None = None

    def passed(self, floors: Sequence[Floor]) -> Flags:
        """Tell which candidates meet any of the floors; all of them where there is none."""
        if not floors:
            return np.ones(len(self.relevant), dtype=np.bool_)
        return gate(self.candidates, floors, exempt=self.exempt).passed

    def shown(self, passed: Flags) -> Flags:
        """Tell which candidates are shown: the first K of their query among those that passed."""
        codes = pd.Index(self.candidates.query_ids).get_indexer(pd.Index(self.candidates.rows["query_id"]))
        order = np.lexsort((self.place, codes))
        through = passed[order].astype(np.int64)
        running = np.cumsum(through)
        first = np.diff(codes[order], prepend=-1) != 0
        before = np.maximum.accumulate(np.where(first, running - through, 0))
        out = np.zeros(len(order), dtype=np.bool_)
        out[order] = (through > 0) & (running - before <= self.top_k)
        return out


def rates(asked: Asked, passed: Flags) -> dict[str, Rate]:
    """Give what a design does whose gate lets `passed` through and which shows the first K of them."""
    shown = asked.shown(passed)
    rows = asked.candidates.rows["query_id"]
    answered, hit = set(rows[shown]), set(rows[shown & asked.relevant])
    table = asked.table
    answerable = table[table["answerability"] == "answerable"]
    labelled, probes = table[~table["probe"]], table[table["probe"]]
    off_topic = labelled[labelled["answerability"] == "off_topic"]
    missing = labelled[labelled["answerability"] == "missing_answer"]

    def among(queries: pd.DataFrame, found: set[str]) -> Rate:
        return proportion(int(queries["query_id"].isin(found).sum()), len(queries))

    own = rows.isin(set(answerable["query_id"])).to_numpy()
    found = int((shown & asked.relevant & own).sum())
    empty = set(answerable["query_id"]) - answered
    return {
        "hit_rate": among(answerable, hit),
        "recall": proportion(found, int(answerable["n_relevant"].sum())),
        "empty_context_rate": among(answerable, empty),
        "false_answer_rate_off_topic": among(off_topic, answered),
        "false_answer_rate_probes": among(probes, answered),
        "false_answer_rate_missing_answer": among(missing, answered),
        "coverage": among(labelled, answered),
    }


def expected_cost(found: Mapping[str, Rate], costs: Costs, far: str) -> float | None:
    """Weigh lost answers and false answers of a design; None where one of the two was not measured.

    Parameters
    ----------
    far : str
        Name of the false-answer rate that counts.
    """
    hit, false = found["hit_rate"].value, found[far].value
    return None if hit is None or false is None else costs.miss_weight * (1.0 - hit) + costs.false_weight * false


def gate_curve(asked: Asked, score: str, strong: Flags, also: Sequence[float | None]) -> pd.DataFrame:
    """Put a gate on one score at every threshold and show the first K of what is left.

    Parameters
    ----------
    strong : ndarray of bool
        Relevant candidates with a strong lexical score.
    also : sequence of float or None
        Thresholds to look at besides those evenly spaced over the range.

    Returns
    -------
    DataFrame
        threshold, found and recall (relevant passages shown, of all that are labelled), found_without (the same
        without a gate), strong_lost and strong_lost_share. Above the last threshold no score passes.
    """
    contract = asked.candidates.contracts[score]
    values = asked.candidates.values(score)[:, 0]
    answerable = asked.table[asked.table["answerability"] == "answerable"]
    own = asked.relevant & asked.candidates.rows["query_id"].isin(set(answerable["query_id"])).to_numpy()
    n, n_strong = int(answerable["n_relevant"].sum()), int(strong.sum())
    rows = []
    for threshold in _thresholds(values, also, contract):
        passed = asked.passed([Floor(score, float(threshold), contract)])
        lost = int((strong & ~passed).sum())
        rows.append((float(threshold), int((asked.shown(passed) & own).sum()), lost))
    frame = pd.DataFrame(rows, columns=["threshold", "found", "strong_lost"])
    return frame.assign(
        n=n,
        found_without=int((asked.shown(asked.passed([])) & own).sum()),
        recall=frame["found"] / n if n else np.nan,
        n_strong=n_strong,
        strong_lost_share=frame["strong_lost"] / n_strong if n_strong else np.nan,
    )


def strong_words(asked: Asked, floor: float | None) -> tuple[Flags, str]:
    """Tell which relevant candidates have a strong lexical score, and what that means here."""
    candidates = asked.candidates
    if LEXICAL not in candidates.contracts:
        return np.zeros(len(asked.relevant), dtype=np.bool_), "there is no lexical leg"
    answerable = set(asked.table.loc[asked.table["answerability"] == "answerable", "query_id"])
    own = asked.relevant & candidates.rows["query_id"].isin(answerable).to_numpy()
    if floor is not None:
        accepted = candidates.contracts[LEXICAL].accept(candidates.values(LEXICAL)[:, 0], floor)
        return own & accepted, f"at or above the lexical floor {floor:.4g}"
    return own & (candidates.ranks(LEXICAL)[:, 0] <= 1), "first by words"


def depth_curve(
    legs: Mapping[str, Leg], table: pd.DataFrame, relevant: pd.DataFrame, depths: Sequence[int]
) -> pd.DataFrame:
    """Give the share of relevant passages among the first d of each leg, and of either.

    Returns
    -------
    DataFrame
        depth, leg ("either" for the union), found, n, recall.
    """
    answerable = table.loc[table["answerability"] == "answerable", "query_id"]
    wanted = relevant[relevant["query_id"].isin(set(answerable))].drop_duplicates()
    best = wanted
    for name, leg in legs.items():
        found = leg.rows[["query_id", "doc_id", "rank"]].rename(columns={"rank": name})
        best = best.merge(found, on=["query_id", "doc_id"], how="left").astype({name: "float64"})
    names = list(legs)
    best = best.assign(either=best[names].min(axis=1))
    n = len(best)
    rows = [
        {"depth": depth, "leg": name, "found": int((best[name] <= depth).sum()), "n": n}
        for depth in depths
        for name in (*names, "either")
    ]
    frame = pd.DataFrame(rows, columns=["depth", "leg", "found", "n"])
    return frame.assign(recall=frame["found"] / n if n else np.nan)


def by_kind(asked: Asked) -> pd.DataFrame:
    """Count, per kind of query, what the first K of each leg find, and what only one of them does.

    Returns
    -------
    DataFrame
        kind, n (answerable queries), similarity, lexical, fused, only_similarity, only_lexical, neither, and the 95 %
        Wilson interval of the share of only_lexical (low, high). "all" comes last.
    """
    candidates, k = asked.candidates, asked.top_k
    if not {SIMILARITY, LEXICAL} <= set(candidates.contracts):
        return pd.DataFrame()
    rows = candidates.rows["query_id"]
    ranks = candidates.ranks(SIMILARITY, LEXICAL)
    hits = {name: set(rows[asked.relevant & (ranks[:, i] <= k)]) for i, name in enumerate((SIMILARITY, LEXICAL))}
    hits["fused"] = set(rows[asked.shown(np.ones(len(rows), dtype=np.bool_)) & asked.relevant])
    answerable = asked.table[asked.table["answerability"] == "answerable"]
    kinds = [*answerable["kind"].unique().tolist(), "all"]
    return pd.DataFrame([_kind(kind, answerable, hits) for kind in (kinds if len(kinds) > 2 else ["all"])])


def _kind(kind: str, answerable: pd.DataFrame, hits: Mapping[str, set[str]]) -> dict[str, object]:
    chosen = answerable if kind == "all" else answerable[answerable["kind"] == kind]
    ids = set(chosen["query_id"])
    near, words = hits[SIMILARITY] & ids, hits[LEXICAL] & ids
    only = proportion(len(words - near), len(ids))
    return {
        "kind": kind,
        "n": len(ids),
        "similarity": len(near),
        "lexical": len(words),
        "fused": len(hits["fused"] & ids),
        "only_similarity": len(near - words),
        "only_lexical": len(words - near),
        "neither": len(ids - near - words),
        "low": only.low,
        "high": only.high,
    }


def _thresholds(values: Floats, also: Sequence[float | None], contract: ScoreContract) -> Floats:
    scored = values[np.isfinite(values)]
    if len(scored) == 0:
        return scored
    low, high = float(scored.min()), float(scored.max())
    beyond = high + max((high - low) / POINTS, 2 * contract.tolerance)
    wanted = [value for value in also if value is not None]
    return np.unique(np.concatenate([np.linspace(low, high, POINTS), [beyond], wanted]))
