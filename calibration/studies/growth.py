"""The noise ceiling of a run and its growth with the corpus."""

import numpy as np

from ..choose.ceiling import Ceiling, noise_ceiling
from ..scores import Bands, Scores


def ceiling_of(scores: Scores, bands: Bands, *, seed: int) -> Ceiling | None:
    """Measure the ceiling on the queries that are the far noise; None where far noise or the corpus size is unknown."""
    if not bands.far_noise_measured or scores.n_documents is None:
        return None
    wanted = set(bands["far_noise"].query_ids.tolist())
    top = scores.top[scores.top["query_id"].isin(wanted)]
    tops = [np.sort(rows.to_numpy(dtype=np.float64))[::-1] for _, rows in top.groupby("query_id")["similarity"]]
    return noise_ceiling(tops, scores.n_documents, seed=seed)
