"""Floors per query kind, and whether they would pay."""

import numpy as np
import pandas as pd

from ..choose import Costs
from ..choose.segments import Segments, segment_floors
from ..scores import Bands

MOST = 12
"""Kinds beyond which a kind is an id, not a segment."""


def segments_of(
    answerable: pd.DataFrame, table: pd.DataFrame, bands: Bands, floor: float | None, costs: Costs, *, seed: int
) -> Segments | None:
    """Weigh a floor of its own for every kind of query; None without a floor or with fewer than two kinds.

    Parameters
    ----------
    answerable : DataFrame
        Answerable queries with kind, group and `value` (see `best_within`).
    table : DataFrame
        The query table, for the kinds of the noise queries.
    """
    kinds = answerable["kind"].nunique()
    if floor is None or not 2 <= kinds <= MOST:
        return None
    far = bands["far_noise"]
    kind_of = dict(zip(table["query_id"], table["kind"], strict=True))
    return segment_floors(
        answerable["value"].to_numpy(dtype=np.float64),
        far.similarity,
        floor=floor,
        relevant_segments=answerable["kind"].tolist(),
        noise_segments=[kind_of[query_id] for query_id in far.query_ids.tolist()],
        costs=costs,
        groups=answerable["group"].to_numpy(dtype=str),
        noise_groups=far.groups,
        seed=seed,
    )
