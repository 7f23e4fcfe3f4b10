"""Run logs written by hand."""

from pathlib import Path

import numpy as np
import pandas as pd

from calibration.params import validated
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.hybrid.study import Hybrid, hybrid

NONE = float("nan")
LOG = ["query_id,doc_id,similarity,lexical,fused,relevance,answerability"]


def written(folder: Path, rows: list[str], name: str = "log.csv") -> str:
    path = folder / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def of_log(path: str, metrics: str, **more: object) -> Hybrid:
    return hybrid(validated(HybridParams, {"signals": path, "signal_metrics": metrics, **more}))


def mixed_log(n: int = 24) -> pd.DataFrame:
    """Answers of which every third is found by words alone; off-topic queries that are near by chance, or by a word."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(n):
        by_words = i % 3 == 0
        near = rng.uniform(0.1, 0.3) if by_words else rng.uniform(0.45, 0.8)
        rows.append((f"a{i}", "d", near, 0.09 if by_words else 0.02 + 0.02 * rng.random(), 1, "answerable"))
        rows.append((f"x{i}", "d", rng.uniform(0.0, 0.4), 0.05 * rng.random(), None, "off_topic"))
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "similarity", "lexical", "relevance", "answerability"])
    return frame.astype({"relevance": "Int64"})
