"""A made-up migration for a first look: cosine similarity to squared L2, with queries around the threshold."""

import json
from pathlib import Path

import numpy as np

THRESHOLD = 0.8
WIDTH, DOCUMENTS, QUERIES = 24, 400, 60


def example(folder: Path) -> dict[str, str]:
    """Write two contract files, vectors and queries into a folder; returns the parameters that name them."""
    rng = np.random.default_rng(20240601)
    documents = _unit(rng.normal(size=(DOCUMENTS, WIDTH)))
    # each query lies at a chosen angle from one document: from clearly alike to clearly not
    cosines = np.linspace(0.98, 0.62, QUERIES)
    sideways = rng.normal(size=(QUERIES, WIDTH))
    near = documents[:QUERIES]
    sideways = _unit(sideways - (sideways * near).sum(axis=1, keepdims=True) * near)
    queries = cosines[:, None] * near + np.sqrt(1.0 - cosines**2)[:, None] * sideways
    np.savez(
        folder / "vectors.npz",
        doc_ids=np.array([f"d{row:03}" for row in range(DOCUMENTS)]),
        doc_vectors=documents.astype(np.float32),
    )
    np.savez(
        folder / "queries.npz",
        query_ids=np.array([f"q{row:02}" for row in range(QUERIES)]),
        query_vectors=_unit(queries).astype(np.float32),
    )
    for name, metric, threshold in (("old", "cosine_similarity", THRESHOLD), ("new", "squared_l2", None)):
        contract = {
            "schema_version": 1,
            "metric": metric,
            "normalisation": "query_and_document_unit_l2",
            "threshold": threshold,
            "threshold_inclusive": True,
            "embedding_version": "made-up",
            "top_k": 5,
            "source": {"kind": "arrays", "vectors": "vectors.npz"},
        }
        (folder / f"{name}.json").write_text(json.dumps(contract), encoding="utf-8")
    return {name: str(folder / f"{name}.json") for name in ("old", "new")} | {"queries": str(folder / "queries.npz")}


def _unit(vectors: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
