"""Labels, scores and calibrations written by hand: tables small enough to check with a pencil."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.params import RunParams
from calibration.scores import Scores, scores_from_candidates
from calibration.studies.analyse import analyse
from calibration.studies.model import Calibration

Row = tuple[str, str, float | None]
Judgement = tuple[str, str, int]


def labels_of(
    queries: Mapping[str, str] | Sequence[str],
    qrels: Iterable[Judgement] = (),
    *,
    groups: Mapping[str, str] | None = None,
    rel_level: int = 1,
    unjudged: Any = "unknown",
) -> Labels:
    """Labels of query_id -> answerability (a plain sequence is answerable)."""
    kinds = dict(queries) if isinstance(queries, Mapping) else dict.fromkeys(queries, "answerable")
    ids = list(kinds)
    table = pd.DataFrame(
        {
            "query_id": ids,
            "text": [f"text of {query}" for query in ids],
            "kind": "-",
            "answerability": list(kinds.values()),
            "group": [(groups or {}).get(query, query) for query in ids],
            "must": "-",
        }
    )
    judged = pd.DataFrame(list(qrels), columns=["query_id", "doc_id", "relevance"])
    judged = judged.astype({"query_id": "str", "doc_id": "str", "relevance": "int64"})
    return Labels(table.astype("str"), judged, None, rel_level, unjudged)


def candidates_of(rows: Iterable[Row], documents: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Candidates of (query_id, doc_id, score)."""
    frame = pd.DataFrame(list(rows), columns=["query_id", "doc_id", "score"])
    frame = frame.astype({"query_id": "str", "doc_id": "str", "score": "float64"})
    if documents is not None:
        frame["document_id"] = frame["doc_id"].map(documents).astype("str")
    return frame


def scores_of(
    labels: Labels,
    rows: Iterable[Row],
    *,
    probes: Sequence[str] = (),
    documents: Mapping[str, str] | None = None,
    contract: ScoreContract | None = None,
    depth: int = 100,
) -> Scores:
    """Scores of candidates, of the labelled queries and of probes."""
    kinds = dict(zip(labels.queries["query_id"], labels.queries["answerability"], strict=True))
    asked = labels_of(kinds | dict.fromkeys(probes, "off_topic"), rel_level=labels.rel_level)
    everything = Labels(asked.queries, labels.qrels, None, labels.rel_level, labels.unjudged)
    return scores_from_candidates(candidates_of(rows, documents), everything, contract or ScoreContract(), depth=depth)


def probes_of(ids: Sequence[str]) -> pd.DataFrame | None:
    """Probe queries by id."""
    if not ids:
        return None
    return pd.DataFrame({"query_id": list(ids), "kind": "probe", "subject": "cooking", "language": "en"}).astype("str")


def calibration_of(
    labels: Labels,
    rows: Iterable[Row],
    *,
    probes: Sequence[str] = (),
    name: str = "made",
    contract: ScoreContract | None = None,
    documents: Mapping[str, str] | None = None,
    **parameters: Any,
) -> Calibration:
    """Analyse candidates as a run would."""
    params = RunParams(**{"scores": "scores.csv", "k_max": 10, **parameters})
    contract = contract or ScoreContract(params.metric, threshold_inclusive=params.inclusive)
    scores = scores_of(labels, rows, probes=probes, contract=contract, documents=documents)
    return analyse(scores, labels, probes_of(probes), params, name=name, facts={})


def bands_of(relevant: Sequence[float], noise: Sequence[float]) -> tuple[Labels, list[Row]]:
    """Answerable queries with one relevant passage each, and off-topic queries with one match each."""
    answerable = {f"q{i}": "answerable" for i in range(len(relevant))}
    off_topic = {f"o{i}": "off_topic" for i in range(len(noise))}
    rows: list[Row] = [
        (query, f"d{i}", score) for i, (query, score) in enumerate(zip(answerable, relevant, strict=True))
    ]
    rows += [(query, "n", score) for query, score in zip(off_topic, noise, strict=True)]
    qrels = [(query, f"d{i}", 1) for i, query in enumerate(answerable)]
    return labels_of(answerable | off_topic, qrels), rows
