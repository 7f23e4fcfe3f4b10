"""Hybrid studies of logs made by hand."""

import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.params import validated
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.hybrid.study import Hybrid, hybrid


def of_rows(rows: pd.DataFrame, metrics: str, **more: object) -> Hybrid:
    """Study a table as a run log; the file is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        rows.to_csv(path, index=False)
        return hybrid(validated(HybridParams, {"signals": str(path), "signal_metrics": metrics, **more}))


@cache
def two_legs() -> Hybrid:
    """Twenty-four answerable and twenty-four off-topic queries; codes are found by words alone."""
    rng = np.random.default_rng(7)
    rows = []
    for i in range(24):
        kind = "code" if i % 6 == 0 else "question"
        answer = 0.15 if kind == "code" else 0.5 + 0.3 * rng.random()
        for j in range(6):
            similarity = answer if j == 0 else 0.3 * rng.random()
            lexical = 0.08 + 0.02 * rng.random() if j == 0 else (0.03 * rng.random() if j == 1 else np.nan)
            rows.append((f"a{i}", f"d{j}", similarity, lexical, int(j == 0), kind, "answerable"))
    for i in range(24):
        for j in range(6):
            lexical = 0.02 * rng.random() if j == 0 else np.nan
            rows.append((f"x{i}", f"d{j}", 0.3 * rng.random(), lexical, np.nan, "question", "off_topic"))
    columns = ["query_id", "doc_id", "similarity", "lexical", "relevance", "kind", "answerability"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["relevance"] = frame["relevance"].astype("Int64")
    return of_rows(frame, "similarity=cosine_similarity,lexical=ts_rank", top_k=2, depth=6)


def _text(text: str, metrics: str, **more: object) -> Hybrid:
    return of_rows(pd.read_csv(io.StringIO(text), dtype={"query_id": "str", "doc_id": "str"}), metrics, **more)


@cache
def one_query() -> Hybrid:
    """One query, one judged passage, a similarity of 0.0; no off-topic query."""
    return _text("query_id,doc_id,similarity,relevance\nq,a,0.0,1\n", "similarity=cosine_similarity")


@cache
def no_similarity() -> Hybrid:
    """A log of fused scores only."""
    text = "query_id,doc_id,fused,relevance\nq,a,0.03,1\nr,b,0.03,0\n"
    return _text(text, "fused=rrf", show_text=False)


@cache
def hostile() -> Hybrid:
    """Names that a page must not take at their word."""
    name = "<img src=x onerror=alert(1)>$x^2$"
    rows = [f'"{name} {i}","{name}",{0.9 - i / 100},{0.5 - i / 100},1,"{name}",answerable' for i in range(8)]
    rows += [f'"o {name} {i}","{name}",{0.2 - i / 100},,,"{name}",off_topic' for i in range(8)]
    text = "query_id,doc_id,similarity,lexical,relevance,kind,answerability\n" + "\n".join(rows) + "\n"
    return _text(text, "similarity=cosine_similarity,lexical=score")
