"""Everything a floor depends on, as short hashes and as details that let a change be named."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..params import RunParams

SAMPLED = 32
"""Judged passages whose content and vector stand for the corpus."""
MODEL = (
    "name", "version", "dimensions", "query_prefix", "passage_prefix", "weights_sha256", "reference_hash", "reference",
)  # fmt: skip
POLICY = ("preset", "miss_cost", "false_cost", "off_topic_share", "top_k", "target", "confidence")
DECIMALS = 5


def fingerprint(
    facts: Mapping[str, Any], contract: Mapping[str, Any], n_documents: int | None, params: RunParams
) -> dict[str, Any]:
    """Hash everything a floor depends on, part by part, with the details behind each part.

    Returns
    -------
    dict
        model, corpus, labels, contract, policy: short hashes (None where unknown); `all` over them; and `details`, from
        which `compare_fingerprints` says what changed.
    """
    source, model, labels = facts.get("source", {}), facts.get("model", {}), facts.get("labels", {})
    corpus = {
        "documents": n_documents,
        "content": facts.get("corpus_hash"),
        "table": source.get("table") if params.source_kind == "database" else None,
        "filter": source.get("filter"),
    }
    sample = facts.get("sample") or {}
    policy = {name: getattr(params, name) for name in POLICY}
    parts = {
        "model": model.get("digest"),
        "corpus": short_hash({**corpus, "sample": sample.get("passages")}),
        "labels": labels.get("hash", "")[:16] or None,
        "contract": short_hash(dict(contract)),
        "policy": short_hash(policy),
    }
    probes = facts.get("probes") or {}
    details = {
        "model": {name: model.get(name) for name in MODEL},
        "corpus": {**corpus, "sample": sample or None},
        "labels": {
            "queries": labels.get("queries"),
            "judgements": labels.get("judgements"),
            "rel_level": labels.get("rel_level"),
            "unjudged": labels.get("unjudged"),
            "probes": probes.get("hash"),
        },
        "policy": policy,
    }
    return {**parts, "all": short_hash(parts), "details": details}


def sampled_ids(doc_ids: Sequence[str], n: int = SAMPLED) -> list[str]:
    """Choose passages by the hash of their ids: the same ones whatever the order, and whatever else is there.

    Examples
    --------
    >>> sampled_ids(["a", "b", "c"], 2) == sampled_ids(["c", "a", "b", "a"], 2)
    True
    """
    return sorted(set(doc_ids), key=lambda doc: hashlib.sha256(doc.encode()).digest())[:n]


def sketch(vector: npt.ArrayLike) -> list[float]:
    """Two numbers that rounding hardly moves and that another model's vector of the same passage does not share.

    Length, and projection of the unit vector on one fixed direction.

    Examples
    --------
    >>> sketch([0.0, 2.0]), sketch([0.0, 0.0])
    ([2.0, 0.5403], [0.0, 0.0])
    """
    values = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(values))
    unit = values / length if length > 0.0 else values
    projection = float(unit @ np.cos(np.arange(len(values))))
    return [round(length, DECIMALS), round(projection, DECIMALS)]


def text_hash(text: str) -> str:
    """Short hash of a passage's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def short_hash(value: Any) -> str:
    """Sixteen hexadecimal digits over a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()[:16]
