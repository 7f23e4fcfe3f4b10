"""A pull of a corpus too large or too far away to read: best and judged passages exactly, the rest from some blocks."""

import numpy as np
import numpy.typing as npt

from ..scores import Sample, Summaries
from ..sources.base import DividedSource, Division
from .parts import Scoring, Seen, score_blocks

SAMPLED_PART_ROWS = 5_000
"""Rows in a block of the sample; neighbours are alike, so many small blocks say more than a few large ones."""

SAMPLED_ROWS = 200_000
SEED = 20240601
NORMAL = 1.96


def score_sample(
    source: DividedSource, division: Division, scoring: Scoring, judged: dict[str, list[str]]
) -> tuple[Seen, Sample]:
    """Ask the server for every query's best and judged passages, and count the similarities of some blocks.

    Blocks are drawn without replacement, by a fixed seed; all of them when the corpus is that small.
    """
    whole = Seen(scoring.start.empty())
    ids = whole.summaries.query_ids
    named = [judged.get(query_id, []) for query_id in ids]
    for block in source.best(division.parts[0], scoring.queries, scoring.start.depth, named):
        if block.scores is not None and block.query_row is not None:
            similarity = scoring.contract.similarity(block.scores).astype(np.float32)
            whole.summaries.add(block.doc_ids, similarity[None, :], rows=[block.query_row], counted=False)
    wanted = min(len(division.parts), max(2, round(SAMPLED_ROWS / SAMPLED_PART_ROWS)))
    chosen = np.random.default_rng(SEED).choice(len(division.parts), wanted, replace=False)
    shares, sizes = [], []
    for number in sorted(chosen.tolist()):
        seen = score_blocks(source.read(division.parts[number]), scoring)
        whole.merge(seen)
        shares.append(_above(seen.summaries))
        sizes.append(seen.rows)
    error = _error(np.array(shares), np.array(sizes), len(division.parts))
    return whole, Sample(whole.rows, division.facts.scorable, wanted, len(division.parts), error)


def _above(summaries: Summaries) -> npt.NDArray[np.float64]:
    """Count the similarities at or above every edge of the histogram, over all queries, per query."""
    counts = summaries.histogram.counts.sum(axis=0) / max(len(summaries.query_ids), 1)
    above: npt.NDArray[np.float64] = counts[::-1].cumsum()[::-1]
    return above


def _error(above: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64], parts: int) -> float:
    """Bound the error of the share above any threshold: the ratio estimator of a cluster sample, Cochran 1977, 6.8.

    Examples
    --------
    >>> _error(np.array([[2.0], [2.0]]), np.array([10, 10]), 4)
    0.0
    """
    read = len(sizes)
    if read == parts:
        return 0.0
    if read < 2 or sizes.sum() == 0:
        return float("nan")
    share = above.sum(axis=0) / sizes.sum()
    spread = ((above - share * sizes[:, None]) ** 2).sum(axis=0) / (read - 1)
    variance = (1 - read / parts) / read * spread / sizes.mean() ** 2
    return float(NORMAL * np.sqrt(variance.max()))
