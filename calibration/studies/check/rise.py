"""Whether the noise has risen under a floor: the earliest sign of a corpus that outgrows it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...choose.ceiling import QUANTILE
from ...scores.bands import ENOUGH_OFF_TOPIC, LABELLED, PROBES

PART = 0.05
"""Of the distance between the middle and the ceiling of the noise: a rise by more of it is worth a warning."""
LOOKED_AT = (0.5, 0.75, QUANTILE)
"""A floor may stand anywhere in the upper half of the noise, and the middle of it moves first."""


@dataclass(frozen=True)
class CeilingRise:
    """The noise ceiling before and now, on the same noise queries.

    Attributes
    ----------
    source : str
        Which queries: of labelled off-topic and probe queries those whose noise rose more.
    n : int
        How many of them were asked both times.
    before, now : float
        The 95th percentile of their best matches.
    rise : float
        Largest rise of median, upper quartile or ceiling, as a share of the distance from median to ceiling.
    documents_before, documents_now : int or None
        Size of the corpus.
    warned : bool
        The rise is more than a twentieth, or the ceiling passed the floor.
    words : str
        A sentence.
    """

    source: str
    n: int
    before: float
    now: float
    rise: float
    floor: float | None
    documents_before: int | None
    documents_now: int | None
    warned: bool
    words: str


def ceiling_rise(
    before: pd.DataFrame, now: pd.DataFrame, *, floor: float | None, documents: tuple[int | None, int | None]
) -> CeilingRise | None:
    """Compare the noise of two runs on the noise queries that both asked.

    Where nothing changed nothing has risen, so there is no band of noise here: each query is compared with itself.

    Parameters
    ----------
    before, now : DataFrame
        As of `drift.frozen`.
    documents : pair of int or None
        Corpus size before and now.

    Returns
    -------
    CeilingRise or None
        None where there is no off-topic query to compare.
    """
    off_topic = before[before["answerability"] == "off_topic"]
    probe = off_topic["probe"].astype(bool)
    pairs = {LABELLED: _pairs(off_topic[~probe], now), PROBES: _pairs(off_topic[probe], now)}
    enough = {source: values for source, values in pairs.items() if len(values) >= ENOUGH_OFF_TOPIC}
    found = enough or {source: values for source, values in pairs.items() if len(values)}
    rises = [_rise(source, values, floor, documents) for source, values in found.items()]
    return max(rises, key=lambda one: (one.warned, one.rise), default=None)


def _pairs(noise: pd.DataFrame, now: pd.DataFrame) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    both = noise.merge(now[["query_id", "top_similarity"]], on="query_id", suffixes=("_before", "_now"))
    values = both[["top_similarity_before", "top_similarity_now"]].astype("float64").dropna()
    return values.to_numpy(dtype=np.float64)


def _rise(
    source: str,
    values: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    floor: float | None,
    documents: tuple[int | None, int | None],
) -> CeilingRise:
    old, new = np.quantile(values, LOOKED_AT, axis=0).T
    spread = max(float(old[-1] - old[0]), 1e-6)
    rise = float((new - old).max()) / spread
    ceilings = float(old[-1]), float(new[-1])
    passed = floor is not None and ceilings[0] < floor <= ceilings[1]
    warned = rise > PART or passed
    words = _words(source, ceilings, rise, floor, documents, warned)
    return CeilingRise(source, len(values), *ceilings, rise, floor, *documents, warned, words)


def _words(
    source: str,
    ceilings: tuple[float, float],
    rise: float,
    floor: float | None,
    documents: tuple[int | None, int | None],
    warned: bool,
) -> str:
    old, new = ceilings
    sizes = [f"{size:,}" for size in documents if size is not None]
    grown = f" while the corpus went from {sizes[0]} to {sizes[1]} passages" if len(set(sizes)) == 2 else ""
    moved = "rose" if new > old else "fell" if new < old else "stayed"
    where = f"at {new:.4f}" if new == old else f"from {old:.4f} to {new:.4f}"
    said = f"The noise ceiling of {source} {moved} {where}{grown}"
    if not warned:
        return f"{said}."
    said += f", and the noise as a whole by up to {rise:.0%} of its spread"
    if floor is None:
        return f"{said}."
    if new >= floor > old:
        return f"{said}: the ceiling has passed the floor, {floor:.4f}; choose the floor anew."
    if old >= floor:
        return f"{said}: more of it will pass the floor, {floor:.4f}; choose the floor anew in time."
    return f"{said}: {floor - new:.4f} of {floor - old:.4f} is left to the floor, {floor:.4f}; choose it anew in time."
