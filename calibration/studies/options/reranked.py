"""The reranker's scores of the best candidates, kept by what was read, so that a notebook finds them again."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...errors import EmbeddingError
from ...retrieval import SIMILARITY, Candidates, HttpReranker, LateInteraction, Reranker, rerank
from ..hybrid.candidates import places
from ..hybrid.params import LATE_INTERACTION
from ..hybrid.source import Source, texts_of
from ..kept import keep
from ..progress import Reporter
from ..stage import parts_folder, stage_key
from .params import OptionsParams

RERANK = "rerank"


def open_reranker(params: OptionsParams) -> Reranker:
    """Give the reranker of the parameters."""
    return LateInteraction() if params.rerank == LATE_INTERACTION else HttpReranker(params.rerank)


def with_rerank(source: Source, params: OptionsParams, report: Reporter) -> tuple[Candidates, str]:
    """Add the reranker's scores of each query's best candidates by similarity.

    Returns
    -------
    candidates, missing
        `missing` says why there is no reranker; empty where there is one. An endpoint that was named has to answer.
    """
    texts = texts_of(source.labels)
    if not texts:
        return source.candidates, "the passages have no texts here, and a reranker reads them; give a corpus file"
    reader = open_reranker(params)
    try:
        return _scored(source, reader, texts, params, report), ""
    except EmbeddingError as error:
        if params.rerank != LATE_INTERACTION:
            raise
        return source.candidates, str(error).rstrip(".")


def query_texts(source: Source) -> dict[str, str]:
    """Give the texts of labelled queries and probes."""
    labelled = source.labels.queries
    return {**dict(zip(labelled["query_id"], labelled["text"], strict=True)), **source.probe_texts}


def _scored(
    source: Source, reader: Reranker, texts: Mapping[str, str], params: OptionsParams, report: Reporter
) -> Candidates:
    candidates = source.candidates
    n = int((places(candidates, SIMILARITY) <= params.rerank_depth).sum())
    path = None
    if params.rerank == LATE_INTERACTION:  # whose scores of the same texts are the same
        about = {"reranker": reader.name, "depth": params.rerank_depth, "content": source.content_hash()}
        path = parts_folder(stage_key({"reranked": about})) / "scores.npy"
        kept = _read(path, len(candidates.rows))
        if kept is not None:
            return candidates.with_signal(RERANK, kept, reader.contract)
    with report.bar(f"rerank ({reader.name})", n, "pairs") as step:
        found = rerank(
            candidates, reader, query_texts(source), texts, by=SIMILARITY, depth=params.rerank_depth, name=RERANK,
            progress=step,
        )  # fmt: skip
    if path is not None:
        keep(path, lambda file: np.save(file, found.values(RERANK)[:, 0]))
    return found


def _read(path: Path, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    try:
        values = np.load(path, allow_pickle=False)
        os.utime(path.parent)
    except (OSError, ValueError, EOFError):
        return None
    return values if values.shape == (n,) and values.dtype == np.float64 else None
