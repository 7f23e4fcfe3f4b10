"""Calibrations made by hand: small enough to check, or drawn to look like a real run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.params import RunParams
from calibration.scores import scores_from_candidates
from calibration.studies.analyse import analyse
from calibration.studies.model import Calibration

Row = tuple[str, str, float]


def labels_of(queries: Sequence[tuple[str, str]], qrels: Sequence[tuple[str, str, int]]) -> Labels:
    """Labels of (query_id, answerability) and (query_id, doc_id, relevance)."""
    ids = [query_id for query_id, _ in queries]
    table = pd.DataFrame(
        {
            "query_id": pd.Series(ids, dtype="str"),
            "text": pd.Series([f"text of {query_id}" for query_id in ids], dtype="str"),
            "kind": pd.Series([kind for _, kind in queries], dtype="str"),
            "answerability": pd.Series([kind for _, kind in queries], dtype="str"),
            "group": pd.Series(ids, dtype="str"),
            "must": pd.Series(["-"] * len(ids), dtype="str"),
        }
    )
    judged = pd.DataFrame(list(qrels), columns=["query_id", "doc_id", "relevance"])
    judged = judged.astype({"query_id": "str", "doc_id": "str", "relevance": "int64"})
    return Labels(table, judged, None, 1, "unknown")


def made(
    queries: Sequence[tuple[str, str]],
    qrels: Sequence[tuple[str, str, int]],
    candidates: Sequence[Row],
    *,
    probes: Sequence[str] = (),
    name: str = "made",
    facts: Mapping[str, Any] | None = None,
    texts: Mapping[str, str] | None = None,
    **parameters: Any,
) -> Calibration:
    """Calibrate hand-made candidate lists; `probes` are ids among the candidates' queries."""
    labels = labels_of(queries, qrels)
    asked = labels_of([*queries, *((probe, "off_topic") for probe in probes)], qrels)
    frame = pd.DataFrame(list(candidates), columns=["query_id", "doc_id", "score"])
    frame = frame.astype({"query_id": "str", "doc_id": "str", "score": "float64"})
    params = RunParams(**{"scores": "scores.csv", "model": None, "k_max": 10, **parameters})
    contract = ScoreContract(params.metric, threshold_inclusive=params.inclusive)
    scores = scores_from_candidates(frame, asked, contract, depth=50)
    probe_table = pd.DataFrame(
        {
            "query_id": pd.Series(list(probes), dtype="str"),
            "kind": pd.Series(["probe"] * len(probes), dtype="str"),
            "subject": pd.Series(["cooking"] * len(probes), dtype="str"),
            "language": pd.Series(["en"] * len(probes), dtype="str"),
        }
    )
    return analyse(scores, labels, probe_table, params, name=name, facts=facts or {}, texts=texts)


def three_hits() -> Calibration:
    """C74: relevant scores 0.47 three times, noise 0.2 once."""
    queries = [("q1", "answerable"), ("q2", "answerable"), ("q3", "answerable"), ("o1", "off_topic")]
    rows = [("q1", "d1", 0.47), ("q2", "d2", 0.47), ("q3", "d3", 0.47), ("o1", "d1", 0.2)]
    return made(queries, [("q1", "d1", 1), ("q2", "d2", 1), ("q3", "d3", 1)], rows)


def nothing_relevant() -> Calibration:
    """C74, the third model: not one relevant score."""
    return made([("o1", "off_topic"), ("o2", "off_topic")], [], [("o1", "d1", 0.2), ("o2", "d1", 0.25)])


def drawn(
    *, seed: int = 3, shift: float = 0.0, n: int = 100, n_probes: int = 400, name: str = "minilm", **parameters: Any
) -> Calibration:
    """A run that looks like a real one: bands overlap a little, some answers rank low, some passages are unjudged."""
    rng = np.random.default_rng(seed)
    queries = [(f"q{i:03d}", "answerable") for i in range(n)]
    queries += [(f"off{i:02d}", "off_topic") for i in range(25)] + [(f"mis{i:02d}", "missing_answer") for i in range(25)]
    probes = [f"probe-{i:03d}" for i in range(n_probes)]
    rows: list[Row] = []
    qrels: list[tuple[str, str, int]] = []
    for query_id, centre in (
        *((q, 0.62) for q, kind in queries if kind == "answerable"),
        *((q, 0.16) for q, kind in queries if kind == "off_topic"),
        *((q, 0.42) for q, kind in queries if kind == "missing_answer"),
        *((q, 0.13) for q in probes),
    ):
        depth = 25
        best = float(np.clip(rng.normal(centre, 0.10 if centre > 0.2 else 0.06), 0.01, 0.97))
        rest = np.sort(best - np.abs(rng.normal(0.12, 0.08, depth - 1)) - np.linspace(0, 0.15, depth - 1))[::-1]
        docs = [f"d{doc:03d}" for doc in rng.permutation(300)[:depth]]
        values = [best, *rest.tolist()]
        rows += [(query_id, doc, round(min(value + shift, 0.999), 6)) for doc, value in zip(docs, values, strict=True)]
        if centre == 0.62:
            place = int(rng.choice([0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 4, 12]))
            qrels += [(query_id, docs[place], 1), *((query_id, docs[i], 0) for i in (3, 5, 6) if i != place)]
            if rng.random() < 0.3:
                qrels.append((query_id, docs[8], 1))
        elif centre == 0.42:
            qrels += [(query_id, docs[0], 0), (query_id, docs[1], 0)]
    facts = {
        "date": "2026-11-30",
        "source": {"kind": "embedded", "server": "PostgreSQL 18.4", "dsn": "postgresql://u:S3cretPw@h/db"},
        "model": {"name": name, "dimensions": 384},
        "versions": {"retrieval-calibration": "0.1.0", "pgvector": "0.8.5"},
        "fingerprint": {"labels": "9f2c" * 16, "contract": "77aa" * 16},
    }
    return made(queries, qrels, rows, probes=probes, name=name, facts=facts, **parameters)
