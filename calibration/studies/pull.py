"""From a source of vectors to Scores: one exact pass at threshold zero."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..contract import UNIT, ScoreContract
from ..contract.model import Normalisation
from ..embed import measured_norms
from ..errors import ContractError, StoreError, listed
from ..labels import Labels
from ..scores import Scores, Summaries, check_direction, with_ranks
from ..sources.base import DividedSource, Division, Preflight, Strategy, VectorSource
from .parts import Scoring, Seen, Workers, score_blocks, score_parts
from .partstore import PartStore
from .sample import SAMPLED_PART_ROWS, score_sample

FULL_TABLE = 500_000
"""Scores up to which every one is kept; beyond, the top of each query, judged pairs and a histogram."""
MIN_DEPTH = 100
HERE = Workers()

Progress = Callable[[int, int], None]


def pull_scores(
    source: VectorSource,
    query_ids: Sequence[str],
    query_vectors: npt.NDArray[np.float32],
    labels: Labels,
    *,
    metric: str,
    embedding_version: str,
    k_max: int,
    inclusive: bool = True,
    strategy: Strategy = "auto",
    progress: Progress | None = None,
    workers: Workers = HERE,
    kept: PartStore | None = None,
) -> tuple[Scores, Preflight]:
    """Score every passage for every query and keep what a calibration needs.

    Parameters
    ----------
    workers : Workers
        Who reads and scores the parts of a source that can be divided; the result does not depend on it.
    kept : PartStore, optional
        Where finished parts wait for the rest, so that an interrupted pull goes on where it stopped.

    Raises
    ------
    StoreError
        Something blocks an exact pull; the corpus is empty; rows went missing.
    ContractError
        Labels contradict the metric's direction, or values its range.
    """
    judged = {str(query_id): docs.tolist() for query_id, docs in labels.qrels.groupby("query_id")["doc_id"]}

    def scoring(facts: Preflight) -> Scoring:
        if facts.blocking:
            raise StoreError("nothing was scored:\n" + listed(facts.blocking))
        if facts.scorable == 0:
            raise StoreError("0 documents: the corpus has no row with a vector, so there is nothing to calibrate on.")
        contract = ScoreContract(
            metric=metric,
            normalisation=_normalisation(facts, query_vectors),
            threshold_inclusive=inclusive,
            embedding_version=embedding_version,
        )
        low, high = _range(contract, facts, query_vectors)
        start = Summaries(
            query_ids,
            judged,
            depth=max(MIN_DEPTH, 2 * k_max),
            low=low,
            high=high,
            keep_all=strategy != "sample" and facts.scorable * len(query_ids) <= FULL_TABLE,
            tolerance=contract.tolerance,
        )
        return Scoring(query_vectors, contract, start)

    sample = None
    way = source.strategy_for(strategy, len(query_vectors)) if isinstance(source, DividedSource) else None
    if isinstance(source, DividedSource) and way == "sample":
        with source.divided(query_vectors, part_rows=SAMPLED_PART_ROWS) as division:
            facts = division.facts
            how = scoring(facts)
            seen, sample = score_sample(source, division, how, judged)
    elif isinstance(source, DividedSource) and way == "fetch":
        with source.divided(query_vectors) as division:
            facts = division.facts
            how = scoring(facts)
            seen = _in_parts(source, division, how, workers, kept, progress)
    else:
        facts = source.preflight()
        how = scoring(facts)
        seen = score_blocks(source.blocks(query_vectors, strategy=strategy, progress=progress), how)
    level = "document" if seen.documents else "passage"
    scores = _scores(seen.summaries, labels, how.contract, facts, how.start.depth, level)
    return (scores if sample is None else replace(scores, sample=sample)), facts


def _in_parts(
    source: DividedSource,
    division: Division,
    scoring: Scoring,
    workers: Workers,
    kept: PartStore | None,
    progress: Progress | None,
) -> Seen:
    """Score all parts, those that wait from before apart, and prove that together they are the whole."""
    whole: Seen | None = None
    expected = division.facts.scorable
    counter = _Counter(progress, expected)
    todo = list(division.parts)
    several = len(todo) > 1
    if kept is not None and several:
        for part, seen in kept.found(division, scoring):
            whole = seen if whole is None else whole.merge(seen)
            counter.step(seen.rows)
            todo.remove(part)
    for part, seen in score_parts(source, todo, scoring, workers, counter.step):
        if kept is not None and several:
            kept.keep(part, seen)
        whole = seen if whole is None else whole.merge(seen)
    whole = whole or Seen(scoring.start.empty())
    if whole.rows != expected:
        raise StoreError(
            f"pulled {whole.rows} of {expected} scores (truncated): rows went missing or came twice between the server "
            "and here, or vectors are so short that their scores are no numbers. Nothing is recommended from a partial "
            "pull."
        )
    return whole


class _Counter:
    """Turns amounts into (done, expected)."""

    def __init__(self, progress: Progress | None, expected: int) -> None:
        self._progress, self._expected, self._done = progress, expected, 0

    def step(self, rows: int) -> None:
        self._done += rows
        if self._progress is not None:
            self._progress(self._done, self._expected)


def _scores(
    summaries: Summaries, labels: Labels, contract: ScoreContract, facts: Preflight, depth: int, level: str
) -> Scores:
    everything = summaries.everything()
    top = summaries.top()
    judged = with_ranks(labels.qrels, summaries.judged(), top if everything is None else everything)
    n_documents = facts.scorable if level == "passage" else int(summaries.scored.max(initial=0))
    lengths = dict.fromkeys(summaries.query_ids, n_documents)
    check_direction(judged, labels.rel_level, contract, lengths)
    return Scores(
        contract=contract,
        query_ids=summaries.query_ids,
        top=top,
        judged=judged,
        histogram=summaries.histogram,
        everything=everything,
        n_documents=n_documents,
        exact=True,
        depth=depth,
        n_invalid=facts.rows - facts.null_vectors - facts.scorable,
        n_missing=facts.null_vectors,
        level=level,
    )


def _normalisation(facts: Preflight, query_vectors: npt.NDArray[np.float32]) -> Normalisation:
    documents = facts.not_unit == 0
    queries = measured_norms(query_vectors).unit
    if documents and queries:
        return UNIT
    if documents:
        return "document_unit_l2"
    return "query_unit_l2" if queries else "none"


def _range(contract: ScoreContract, facts: Preflight, query_vectors: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Range of the similarities, from vector lengths where they are not cosines."""
    if contract.on_cosine_scale:
        return -1.0, 1.0
    longest = float(np.linalg.norm(query_vectors, axis=1).max())
    document = facts.norm_max if facts.norm_max is not None else 1.0
    if "inner_product" in contract.metric:
        return -longest * document, longest * document
    if contract.metric in ("l2", "squared_l2"):
        reach = longest + document
        return -(reach if contract.metric == "l2" else reach * reach), 0.0
    raise ContractError(f"{contract.metric!r} cannot be computed from vectors; declare cosine, L2 or inner product.")


def source_facts(source: VectorSource, facts: Preflight) -> dict[str, Any]:
    """Describe source and preflight as plain JSON for run.json and the report."""
    return {
        **source.describe(),
        "preflight": {
            "rows": facts.rows,
            "null_vectors": facts.null_vectors,
            "zero_vectors": facts.zero_vectors,
            "zero_ids": facts.zero_ids,
            "dimensions": {str(width): rows for width, rows in facts.dimensions.items()},
            "norm_min": facts.norm_min,
            "norm_max": facts.norm_max,
            "not_unit": facts.not_unit,
            "problems": facts.problems,
        },
    }
