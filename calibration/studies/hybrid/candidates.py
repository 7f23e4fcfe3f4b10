"""What is known of candidates and their queries: who is relevant, who must be refused, and in which order."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...labels import Labels
from ...retrieval import Candidates
from ...scores.bands import ENOUGH_OFF_TOPIC, LABELLED, PROBES

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Far:
    """The queries that a gate exists to refuse, and where they come from."""

    query_ids: tuple[str, ...]
    source: str


def far_queries(table: pd.DataFrame) -> Far:
    """Choose the far noise as a calibration does: labelled off-topic queries when there are 20, else probes."""
    off_topic = table[table["answerability"] == "off_topic"]
    labelled, probes = off_topic[~off_topic["probe"]], off_topic[off_topic["probe"]]
    if len(labelled) >= ENOUGH_OFF_TOPIC or (len(labelled) and not len(probes)):
        return Far(tuple(labelled["query_id"]), LABELLED)
    return Far(tuple(probes["query_id"]), PROBES if len(probes) else "none")


def with_relevance(candidates: Candidates, labels: Labels) -> npt.NDArray[np.bool_]:
    """Tell which candidates are judged relevant."""
    relevant = pd.MultiIndex.from_frame(labels.relevant_pairs())
    found: npt.NDArray[np.bool_] = pd.MultiIndex.from_frame(candidates.rows[["query_id", "doc_id"]]).isin(relevant)
    return found


def best_of_query(candidates: Candidates, name: str, query_ids: pd.Series, mask: npt.NDArray[np.bool_]) -> Floats:
    """Give the highest value among the masked candidates of each query; minus infinity where nothing is scored."""
    values = pd.Series(candidates.values(name)[:, 0])[mask]
    best = values.groupby(candidates.rows["query_id"].to_numpy()[mask]).max()
    return np.asarray(query_ids.map(best).astype("float64").fillna(-np.inf), dtype=np.float64)


def places(candidates: Candidates, by: str) -> npt.NDArray[np.int64]:
    """Order the candidates of each query by a signal, best first and then by id; the unscored come last."""
    values = candidates.values(by)[:, 0]
    frame = candidates.rows[["query_id", "doc_id"]].assign(value=np.where(np.isfinite(values), values, -np.inf))
    ordered = frame.sort_values(["query_id", "value", "doc_id"], ascending=[True, False, True], kind="stable")
    place = ordered.groupby("query_id").cumcount() + 1
    return np.asarray(place.reindex(frame.index), dtype=np.int64)
