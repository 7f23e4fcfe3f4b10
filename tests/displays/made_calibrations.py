"""Calibrations made by hand: small enough to check, or drawn to look like a real run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
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
    contract = ScoreContract(
        params.metric, threshold_inclusive=params.inclusive, score_transform=params.score_transform
    )
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


@cache
def three_hits() -> Calibration:
    """C74: relevant scores 0.47 three times, noise 0.2 once."""
    queries = [("q1", "answerable"), ("q2", "answerable"), ("q3", "answerable"), ("o1", "off_topic")]
    rows = [("q1", "d1", 0.47), ("q2", "d2", 0.47), ("q3", "d3", 0.47), ("o1", "d1", 0.2)]
    return made(queries, [("q1", "d1", 1), ("q2", "d2", 1), ("q3", "d3", 1)], rows)


@cache
def nothing_relevant() -> Calibration:
    """C74, the third model: not one relevant score."""
    return made([("o1", "off_topic"), ("o2", "off_topic")], [], [("o1", "d1", 0.2), ("o2", "d1", 0.25)])


def drawn(
    *, seed: int = 3, shift: float = 0.0, n: int = 100, n_probes: int = 400, name: str = "minilm", **parameters: Any
) -> Calibration:
    """A run that looks like a real one: bands overlap a little, some answers rank low, some passages are unjudged."""
    rng = np.random.default_rng(seed)
    queries = [(f"q{i:03d}", "answerable") for i in range(n)]
    queries += [(f"off{i:02d}", "off_topic") for i in range(25)] + [
        (f"mis{i:02d}", "missing_answer") for i in range(25)
    ]
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


@cache
def sample() -> Calibration:
    """100 answerable queries, 25 off-topic, 25 without an answer, 60 probes; made once, since nothing changes it."""
    return drawn(n_probes=60, old_floor=0.78)


@cache
def two_models() -> tuple[Calibration, Calibration]:
    """The same queries under a model whose similarities are low, and under one whose are high."""
    return drawn(n_probes=0, name="low"), drawn(n_probes=0, shift=0.3, name="high", seed=4)


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "{{ 7 * 7 }}{% raw %}",
    "$x$ and $\\frac{",
    "\u202egnirts\u2066",
    "nul\x00bell\x07",
    "W" * 100_000,
    '" onmouseover="alert(3)',
    "javascript:alert(4)",
    '<svg onload=alert(5)> id="p1" style="fill: #0068a8" url(#q)',
    "日本語 עברית",
    "]]><!-- -->&amp;",
)


@cache
def hostile() -> Calibration:
    """Every text that can come from outside attacks; half of the answerable queries fail, so that all are shown."""
    queries = [(text, "answerable") for text in HOSTILE] + [(f"off{text}", "off_topic") for text in HOSTILE]
    qrels = [(text, f"doc{text}", 1) for text in HOSTILE]
    rows: list[Row] = []
    for i, text in enumerate(HOSTILE):
        rows += [(text, f"doc{text}", 0.2 if i % 2 else 0.7), (text, f"wrong{text}", 0.6 - i / 100)]
        rows += [(f"off{text}", f"doc{text}", 0.3 + i / 100)]
    facts = {
        "date": HOSTILE[0],
        "source": {HOSTILE[1]: HOSTILE[0], "dsn": "postgresql://u:S3cretPw@h/db", "password": "S3cretPw"},
        "probes": {"subjects": {f"off{text}": text for text in HOSTILE}},
        "deep": {"er": {"still": [HOSTILE[0], {"more": HOSTILE[1]}]}},
    }
    texts = {text: f"text {text}" for text in HOSTILE} | {f"off{text}": f"text {text}" for text in HOSTILE}
    found = made(queries, qrels, rows, name="".join(HOSTILE[:2]) + HOSTILE[3], facts=facts, texts=texts)
    kinds = found.in_sample.queries.assign(kind=found.in_sample.queries["query_id"])
    return replace(
        found, in_sample=replace(found.in_sample, queries=kinds), caveats=(*found.caveats, *HOSTILE, "Labels: <b>x</b>")
    )


@dataclass(frozen=True)
class Comparison:
    """What the comparison study gives, as far as displays look."""

    calibrations: tuple[Calibration, ...]
    carried: pd.DataFrame


def compared(calibrations: Sequence[Calibration]) -> Comparison:
    """Use every floor under every other model."""
    rows = []
    for one in calibrations:
        for other in calibrations:
            if one is other or one.floor is None:
                continue
            best, far = other.bands["best_relevant"].similarity, other.bands["far_noise"].similarity
            rows.append(
                {
                    "from_model": one.name, "to_model": other.name, "floor": one.floor, "top_k": one.top_k.value,
                    "n_answerable": len(best), "hits": int((best >= one.floor).sum()),
                    "empty": int((best < one.floor).sum()), "n_off_topic": len(far),
                    "false_answers": int((far >= one.floor).sum()), "highest_similarity": float(best.max()),
                    "verdict": "Not carried: recalibrate.",
                }
            )  # fmt: skip
    columns = [
        "from_model",
        "to_model",
        "floor",
        "top_k",
        "n_answerable",
        "hits",
        "empty",
        "n_off_topic",
        "false_answers",
    ]
    return Comparison(tuple(calibrations), pd.DataFrame(rows, columns=[*columns, "highest_similarity", "verdict"]))
