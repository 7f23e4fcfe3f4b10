"""A hybrid search written by hand: scores of two legs and a reranker, small enough to know what has to come out."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from calibration.contract import ScoreContract
from calibration.labels import Labels
from calibration.params import validated
from calibration.retrieval import Candidates, Leg, join_legs
from calibration.studies.hybrid.source import Source
from calibration.studies.options.bench import Bench, set_up
from calibration.studies.options.designs import designs
from calibration.studies.options.identifiers import identifiers
from calibration.studies.options.latency import Latency
from calibration.studies.options.measure import measure
from calibration.studies.options.params import OptionsParams
from calibration.studies.options.reranked import RERANK
from calibration.studies.options.study import Options
from calibration.studies.options.verdicts import verdicts

WORDS = ScoreContract("ts_rank", normalisation="none", embedding_version="made")
READER = ScoreContract("maxsim", normalisation="none", embedding_version="made")
DOCS = 8


def rows_of(query: str, best: float, rest: float, rng: np.random.Generator, *, answer: int | None) -> list[Any]:
    """Passages d0 … d7 of a query: the answer's score, and the others' below `rest`."""
    return [(query, f"d{j}", best if j == answer else rest * float(rng.uniform(0.3, 1.0))) for j in range(DOCS)]


def source_of(
    near: list[Any], words: list[Any], queries: pd.DataFrame, *, probes: tuple[str, ...] = (), corpus: bool = True
) -> Source:
    """Put legs, labels and probes together, with a corpus of eight passages."""
    legs = {"similarity": _leg(near, ScoreContract()), "lexical": _leg(words, WORDS)}
    texts = pd.DataFrame(
        {"doc_id": [f"d{j}" for j in range(DOCS)], "text": [f"passage {j} " * (j + 1) for j in range(DOCS)]}
    )
    passages = texts.assign(title=None, document_id=None).astype("str") if corpus else None
    answerable = queries.loc[queries["answerability"] == "answerable", "query_id"]
    qrels = pd.DataFrame({"query_id": answerable, "doc_id": "d0", "relevance": 1}).reset_index(drop=True)
    labels = Labels(queries.astype("str"), qrels, passages, 1, "unknown")
    ids = [*queries["query_id"], *probes]
    table = queries[["query_id", "kind", "answerability", "group"]].assign(probe=False)
    far = pd.DataFrame(
        {"query_id": probes, "kind": "probe", "answerability": "off_topic", "group": probes, "probe": True}
    )
    table = pd.concat([table, far], ignore_index=True) if probes else table
    table = table.assign(n_relevant=(table["answerability"] == "answerable").astype("int64"))
    facts = {"text_search": {"configuration": "english", "rank": "ts_rank"}, "source": None, "model": None}
    candidates = join_legs(legs, ids, depth=60)
    texts_of_probes = {probe: "what is the weather" for probe in probes}
    exempt = np.zeros(len(candidates.rows), dtype=np.bool_)
    return Source(candidates, legs, labels, table, exempt, facts, texts_of_probes)


def _leg(rows: list[Any], contract: ScoreContract) -> Leg:
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    frame = frame.astype({"query_id": "str", "doc_id": "str", "score": "float64"})
    frame = frame.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, True], ignore_index=True)
    return Leg(frame.assign(rank=frame.groupby("query_id").cumcount() + 1), contract)


def queries_of(rows: list[tuple[str, str, str]], texts: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Make a queries table of (query_id, kind, answerability)."""
    frame = pd.DataFrame(rows, columns=["query_id", "kind", "answerability"])
    names = texts or {}
    return frame.assign(text=[names.get(q, f"a question {i}") for i, q in enumerate(frame["query_id"])],
                        group=frame["query_id"], must="-")  # fmt: skip


def with_reader(source: Source, scores: Mapping[str, float]) -> Candidates:
    """Give the answer of each query a reranker's score, and every other passage a low one."""
    rows, rng = source.candidates.rows, np.random.default_rng(3)
    values = [
        scores.get(query, 0.0) if doc == "d0" else float(rng.uniform(0.05, 0.25))
        for query, doc in zip(rows["query_id"], rows["doc_id"], strict=True)
    ]
    return source.candidates.with_signal(RERANK, values, READER)


def measured(source: Source, candidates: Candidates, no_reranker: str = "", **values: Any) -> Options:
    """Measure as the study does, without a server and without timing anything."""
    params = validated(OptionsParams, {"model": "minilm", **values})
    bench = set_up(source, candidates, params)
    times = {"rerank": Latency(84.2, 5, "made up"), "hybrid": Latency(0.3, 9, "made up")}
    found, counted_by = measure(bench, list(designs(bench, no_reranker)), times)
    return Options(
        params=params,
        bench=bench,
        options=found,
        verdicts=verdicts(bench, found),
        identifiers=identifiers(bench, found),
        counted_by=counted_by,
        facts=source.facts,
        caveats=(),
    )


@cache
def codes() -> Options:
    """Forty-eight answerable queries, of which twelve name a code that words find alone; thirty off-topic ones."""
    return measured(codes_source(), with_reader(codes_source(), {f"a{i}": 0.8 for i in range(48)}), top_k=3)


@cache
def codes_source() -> Source:
    rng = np.random.default_rng(11)
    near, words, queries = [], [], []
    for i in range(48):
        query, code = f"a{i}", i % 4 == 0
        # the vectors put a code's passage below four others, the words put it first
        near += rows_of(query, 0.1 if code else float(rng.uniform(0.5, 0.8)), 0.30, rng, answer=0)
        words += [(query, "d0", float(rng.uniform(0.07, 0.1)))]
        queries.append((query, "identifier" if code else "question", "answerable"))
    for i in range(30):
        near += rows_of(f"x{i}", 0.0, float(rng.uniform(0.15, 0.3)), rng, answer=None)
        words += [(f"x{i}", "d3", float(rng.uniform(0.001, 0.01)))] if i % 2 else []
        queries.append((f"x{i}", "question", "off_topic"))
    for i in range(6):
        near += rows_of(f"m{i}", 0.0, 0.7, rng, answer=None)
        queries.append((f"m{i}", "question", "missing_answer"))
    return source_of(near, words, queries_of(queries))


@cache
def alike() -> Options:
    """Every option finds every answer, and no noise was measured."""
    rng = np.random.default_rng(5)
    near = [row for i in range(12) for row in rows_of(f"a{i}", 0.9, 0.2, rng, answer=0)]
    words = [(f"a{i}", "d0", 0.1) for i in range(12)]
    source = source_of(near, words, queries_of([(f"a{i}", "-", "answerable") for i in range(12)]), corpus=False)
    return measured(source, source.candidates, "the passages have no texts here", top_k=3)


@cache
def hostile() -> Options:
    """Names that a page must not take at their word."""
    name, rng = "<img src=x onerror=alert(1)>$x^2$", np.random.default_rng(6)
    ids = [f"{name} {i}" for i in range(60)]
    near = [
        row
        for i, q in enumerate(ids)
        for row in rows_of(q, 0.7 + 0.1 * rng.random(), 0.3, rng, answer=0 if i < 30 else None)
    ]
    words = [(q, "d0", 0.1) for q in ids[:30]]
    rows = [(q, name if i % 2 else "other", "answerable" if i < 30 else "off_topic") for i, q in enumerate(ids)]
    source = source_of(near, words, queries_of(rows))
    return measured(source, with_reader(source, dict.fromkeys(ids[:30], 0.8)), top_k=3)


def bench_of(source: Source, **values: Any) -> Bench:
    """Set a bench up without a reranker."""
    return set_up(source, source.candidates, validated(OptionsParams, {"model": "minilm", "top_k": 3, **values}))
