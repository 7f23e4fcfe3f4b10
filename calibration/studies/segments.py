"""Floors per query kind or per collection, and whether they would pay."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..choose import Costs
from ..choose.segments import Segments, segment_floors
from ..labels import Labels
from ..scores import Band

MOST = 12
"""Segments beyond which a name is an id, not a segment."""
NONE = "no single one"
"""Where queries stand that name no collection and whose answers lie in several."""


def segments_of(
    answerable: pd.DataFrame, far: Band, floor: float | None, costs: Costs, names: Mapping[str, str], *, seed: int
) -> Segments | None:
    """Weigh a floor of its own for every segment; None without a floor or with fewer than two of them.

    Parameters
    ----------
    answerable : DataFrame
        Answerable queries with group and `value` (see `best_within`).
    names : mapping of query_id to str
        Segment of each query, as far as it has one. Noise queries without one are everybody's.
    """
    own = answerable["query_id"].map(names)
    if floor is None or not 2 <= own.nunique() <= MOST:
        return None
    return segment_floors(
        answerable["value"].to_numpy(dtype=np.float64),
        far.similarity,
        floor=floor,
        relevant_segments=own.fillna(NONE).tolist(),
        noise_segments=[names.get(query_id, "") for query_id in far.query_ids.tolist()],
        costs=costs,
        groups=answerable["group"].to_numpy(dtype=str),
        noise_groups=far.groups,
        seed=seed,
    )


def kinds_of(table: pd.DataFrame) -> dict[str, str]:
    """Give the kind of every query, probes included."""
    return dict(zip(table["query_id"], table["kind"], strict=True))


def collections_of(labels: Labels) -> dict[str, str]:
    """Give the collection of each query: the one it names, else the one that all its relevant passages are in.

    Queries of which neither is known are absent.
    """
    found: dict[str, str] = {}
    corpus = labels.corpus
    if corpus is not None and "collection" in corpus:
        named = corpus.dropna(subset=["collection"])
        places = dict(zip(named["document_id"], named["collection"], strict=True))  # judgements may be of documents
        places |= dict(zip(named["doc_id"], named["collection"], strict=True))
        of_answers: dict[str, set[str | None]] = {}
        for query_id, doc_id in labels.relevant_pairs().itertuples(index=False):
            of_answers.setdefault(query_id, set()).add(places.get(doc_id))
        found = {query: name for query, names in of_answers.items() for name in names if name and len(names) == 1}
    if "collection" in labels.queries:
        named = labels.queries.dropna(subset=["collection"])
        found |= dict(zip(named["query_id"], named["collection"], strict=True))
    return found
