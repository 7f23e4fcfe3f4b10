"""From a source of vectors to Scores: one exact pass at threshold zero."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..contract import UNIT, ScoreContract
from ..contract.model import Normalisation
from ..embed import measured_norms
from ..errors import ContractError, StoreError, listed
from ..labels import Labels
from ..scores import Scores, Summaries, check_direction, score_block, with_ranks
from ..sources.base import Block, Preflight, Strategy, VectorSource

FULL_TABLE = 2_000_000
"""Scores up to which every one is kept; beyond, the top of each query, judged pairs and a histogram."""
MIN_DEPTH = 100

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
) -> tuple[Scores, Preflight]:
    """Score every passage for every query and keep what a calibration needs.

    Raises
    ------
    StoreError
        Something blocks an exact pull; the corpus is empty.
    ContractError
        Labels contradict the metric's direction, or values its range.
    """
    facts = source.preflight()
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
    depth = max(MIN_DEPTH, 2 * k_max)
    summaries = Summaries(
        query_ids,
        {str(query_id): docs.tolist() for query_id, docs in labels.qrels.groupby("query_id")["doc_id"]},
        depth=depth,
        low=low,
        high=high,
        keep_all=facts.scorable * len(query_ids) <= FULL_TABLE,
        tolerance=contract.tolerance,
    )
    level = "passage"
    for block in source.blocks(query_vectors, strategy=strategy, progress=progress):
        level = "document" if block.document_ids is not None else level
        _add(summaries, block, query_vectors, contract)
    return _scores(summaries, labels, contract, facts, depth, level), facts


def _add(summaries: Summaries, block: Block, query_vectors: npt.NDArray[np.float32], contract: ScoreContract) -> None:
    ids = block.doc_ids if block.document_ids is None else block.document_ids
    if block.vectors is not None:
        raw = score_block(query_vectors, block.vectors, contract.metric)
        summaries.add(ids, contract.similarity(raw).astype(np.float32))
    elif block.scores is not None and block.query_row is not None:
        similarity = contract.similarity(block.scores).astype(np.float32)
        summaries.add(ids, similarity[None, :], rows=[block.query_row])
    else:
        raise StoreError("a block of the source has neither vectors nor the scores of a query; the source is broken.")


def _scores(
    summaries: Summaries, labels: Labels, contract: ScoreContract, facts: Preflight, depth: int, level: str
) -> Scores:
    everything = summaries.everything()
    top = summaries.top()
    judged = with_ranks(labels.qrels, summaries.judged(), top if everything is None else everything)
    lengths = dict(zip(summaries.query_ids, summaries.scored.tolist(), strict=True))
    check_direction(judged, labels.rel_level, contract, lengths)
    return Scores(
        contract=contract,
        query_ids=summaries.query_ids,
        top=top,
        judged=judged,
        histogram=summaries.histogram,
        everything=everything,
        n_documents=int(summaries.scored.max()) if len(summaries.scored) else 0,
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
