"""A sample of the corpus as it lies in the source: what the passages say, and whose vectors they have."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..labels import Labels
from ..sources.base import VectorSource
from .fingerprint import sampled_ids, sketch, text_hash
from .inputs import passage_texts

EMBEDDED_AGAIN = 8
"""Sampled passages that are embedded again, to see whether the stored vectors are this model's."""

Vectors = npt.NDArray[np.float32]
EmbedPassages = Callable[[list[str], Sequence[str]], Vectors]
"""(texts, ids) to vectors."""


def corpus_sample(source: VectorSource, labels: Labels, embed: EmbedPassages | None) -> dict[str, Any] | None:
    """Look at some judged passages in the source.

    Parameters
    ----------
    embed : callable, optional
        The model of the queries, to embed some passages again whose vectors were stored by somebody else.

    Returns
    -------
    dict or None
        `passages`: id to [hash of its text or None, length and projection of its vector]; a passage that is not in the
        source has None. `embedded_again`: how many, and the id and cosine of the least similar, or None. None where no
        judgement names a passage of the source.
    """
    ids = sampled_ids(labels.qrels["doc_id"].tolist())
    found = source.vectors_of(ids)
    if not found:
        return None
    texts = _texts(labels, ids)
    passages = {
        name: None if name not in found else [text_hash(texts[name]) if name in texts else None, *sketch(found[name])]
        for name in ids
    }
    return {"passages": passages, "embedded_again": None if embed is None else _again(found, texts, embed)}


def _texts(labels: Labels, ids: Sequence[str]) -> dict[str, str]:
    if labels.corpus is None:
        return {}
    wanted = set(ids)
    rows = zip(labels.corpus["doc_id"], passage_texts(labels), strict=True)
    return {name: text for name, text in rows if name in wanted}


def _again(found: Mapping[str, Vectors], texts: Mapping[str, str], embed: EmbedPassages) -> dict[str, Any] | None:
    ids = [name for name in texts if name in found and np.any(found[name])][:EMBEDDED_AGAIN]
    if not ids:
        return None
    stored = np.array([found[name] for name in ids], dtype=np.float64)
    today = np.asarray(embed([texts[name] for name in ids], ids), dtype=np.float64)
    if today.shape != stored.shape:
        return None  # the pull says so
    cosines = (stored * today).sum(axis=1) / (np.linalg.norm(stored, axis=1) * np.linalg.norm(today, axis=1))
    lowest = int(np.argmin(cosines))
    return {"checked": len(ids), "lowest": {"doc_id": ids[lowest], "cosine": round(float(cosines[lowest]), 4)}}
