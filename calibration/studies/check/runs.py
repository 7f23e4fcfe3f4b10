"""Two finished runs: what moved, whether it is more than noise, and what the old floor does to the new scores."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ...contract import ScoreContract
from ...errors import ParameterError
from .baseline import SCORES, Baseline, read_baseline
from .drift import (
    AcceptedChange,
    MustChange,
    RateChange,
    accepted_changes,
    carried_verdict,
    must_changes,
    not_asked,
    rate_changes,
)
from .frozen import COLUMNS
from .rise import CeilingRise, ceiling_rise
from .staleness import Change, compare_fingerprints

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Agreement:
    """Whether two runs put the same judged pairs of query and passage into the same order.

    Attributes
    ----------
    pairs : int
        Judged pairs that both scored.
    tau : float or None
        Kendall's, over all of them at once, as one floor sees them; None under two pairs.
    """

    pairs: int
    tau: float | None


@dataclass(frozen=True)
class RunsCompared:
    """What moved between two runs.

    Attributes
    ----------
    old, new : Baseline
    changes : tuple of Change
    carried : tuple of RateChange
        The old run at its floor against the new scores at the same floor and cap; empty on another scale, or without
        the new scores.
    own : tuple of RateChange
        Each run at its own floor and cap.
    """

    old: Baseline
    new: Baseline
    changes: tuple[Change, ...]
    carried: tuple[RateChange, ...]
    own: tuple[RateChange, ...]
    musts: tuple[MustChange, ...]
    accepted: tuple[AcceptedChange, ...]
    missing: tuple[str, ...]
    ceiling: CeilingRise | None
    agreement: Agreement
    verdict: str

    @property
    def stale(self) -> bool:
        """Whether the old floor belongs to something that is no more."""
        return any(change.consequence == "stale" for change in self.changes)

    @property
    def worse(self) -> list[str]:
        """What got worse by more than noise under the old floor, as sentences without a full stop."""
        return [f"{rate.measure.words}: {rate.why}" for rate in self.carried if rate.failed]


def compare_runs(old: Path | str, new: Path | str) -> RunsCompared:
    """Compare two run folders, or their recommendation.json files; nothing is embedded or pulled.

    Raises
    ------
    ParameterError
        Files are missing or broken, or the runs have no query in common.
    """
    first, second = read_baseline(old), read_baseline(new)
    missing = not_asked(first.queries, second.queries)
    if len(missing) == len(first.queries):
        raise ParameterError("0 queries evaluated: the two runs have no query in common.")
    scores = (_scores(first.path), _scores(second.path))
    comparable = first.contract.scale == second.contract.scale
    at_old = None
    if scores[1] is not None and comparable:
        at_old = ask_file(scores[1], second.queries, second.contract, first.floor, first.top_k)
    documents = (first.document["ceiling"]["corpus_size"], second.document["ceiling"]["corpus_size"])
    return RunsCompared(
        old=first,
        new=second,
        changes=tuple(
            compare_fingerprints(
                first.document["fingerprint"],
                second.document["fingerprint"],
                first.document["contract"],
                second.document["contract"],
            )
        ),
        carried=() if at_old is None else tuple(rate_changes(first.queries, at_old)),
        own=tuple(rate_changes(first.queries, second.queries)),
        musts=tuple(must_changes(first.queries, second.queries if at_old is None else at_old)),
        accepted=() if at_old is None else tuple(accepted_changes(first.queries, at_old)),
        missing=tuple(missing),
        ceiling=ceiling_rise(first.queries, second.queries, floor=first.floor, documents=documents)
        if comparable
        else None,
        agreement=agreement(*scores),
        verdict="" if at_old is None else carried_verdict(first.queries, at_old, first.floor, first.contract),
    )


def ask_file(
    scores: pd.DataFrame, queries: pd.DataFrame, contract: ScoreContract, floor: float | None, top_k: int
) -> pd.DataFrame:
    """Apply a floor and a cap to the scores of a finished run.

    Parameters
    ----------
    scores : DataFrame
        scores.parquet of the run.
    queries : DataFrame
        Its frozen queries; see `frozen.COLUMNS`.

    Returns
    -------
    DataFrame
        The same queries with what they would get.
    """
    within = scores[(scores["rank"] <= top_k).fillna(False).to_numpy(dtype=bool)].sort_values("rank", kind="stable")
    similarity = within["similarity"].to_numpy(dtype=np.float64)
    taken = within[contract.accept(similarity, floor)]
    accepted = {str(query): docs.tolist() for query, docs in taken.groupby("query_id", sort=False)["doc_id"]}
    hits = set(taken.loc[taken["band"] == "relevant", "query_id"])
    near = set() if floor is None else set(within.loc[np.abs(similarity - floor) <= contract.tolerance, "query_id"])
    answerable = (queries["answerability"] == "answerable").to_numpy(dtype=bool)
    ids = queries["query_id"].tolist()
    hit = [query in hits if known else None for query, known in zip(ids, answerable, strict=True)]
    return queries.assign(
        accepted=pd.Series([accepted.get(query, []) for query in ids], index=queries.index, dtype=object),
        hit=pd.Series(hit, index=queries.index, dtype=object),
        boundary=[query in near for query in ids],
    )[COLUMNS]


def agreement(old: pd.DataFrame | None, new: pd.DataFrame | None) -> Agreement:
    """Compare the order of the judged pairs that both runs scored."""
    if old is None or new is None:
        return Agreement(0, None)
    kept = [frame[frame["relevance"].notna() & frame["similarity"].notna()] for frame in (old, new)]
    both = kept[0].merge(kept[1], on=PAIR, suffixes=("_old", "_new"))
    if len(both) < 2:
        return Agreement(len(both), None)
    from scipy.stats import kendalltau

    tau = float(kendalltau(both["similarity_old"], both["similarity_new"]).statistic)
    return Agreement(len(both), None if np.isnan(tau) else tau)


def _scores(recommendation: Path) -> pd.DataFrame | None:
    path = recommendation.parent / SCORES
    return pd.read_parquet(path) if path.is_file() else None
