"""Scores of a block of vectors by one matrix product, as the backend's operator would give them."""

import numpy as np
import numpy.typing as npt

from ..errors import ContractError

Vectors = npt.NDArray[np.float32]

_SHORTEST, _LONGEST = np.float32(1e-30), np.float32(1e30)
"""Squared lengths between which float32 keeps its precision."""


def score_block(queries: Vectors, documents: Vectors, metric: str) -> npt.NDArray[np.float32]:
    """Score every query against every document of a block.

    Parameters
    ----------
    queries : ndarray, (q, d)
    documents : ndarray, (b, d)
    metric : str
        A metric of vectors, by its name in the contract.

    Returns
    -------
    ndarray, (q, b)
        Raw backend values. A zero vector scores NaN under a cosine metric, as in pgvector.

    Examples
    --------
    >>> score_block(np.float32([[1, 0]]), np.float32([[0, 2], [3, 0]]), "cosine_distance").tolist()
    [[1.0, 0.0]]
    """
    if metric in ("cosine_similarity", "cosine_distance"):
        cosine = _cosines(queries, documents)
        return cosine if metric == "cosine_similarity" else np.float32(1.0) - cosine
    product: npt.NDArray[np.float32] = queries @ documents.T
    if metric == "inner_product":
        return product
    if metric == "negative_inner_product":
        return -product
    if metric in ("l2", "squared_l2"):
        squared = (queries**2).sum(axis=1)[:, None] + (documents**2).sum(axis=1)[None, :] - 2.0 * product
        distance: npt.NDArray[np.float32] = np.maximum(squared, 0.0)
        return np.sqrt(distance) if metric == "l2" else distance
    raise ContractError(f"{metric!r} is not a metric between vectors.")


def _cosines(queries: Vectors, documents: Vectors) -> Vectors:
    """Scale the product rather than the documents: a block has fewer scores to write than numbers to divide."""
    squares = np.einsum("ij,ij->i", documents, documents)
    ordinary = (squares > _SHORTEST) & (squares < _LONGEST)
    if not ordinary.all():  # the squares of others leave float32
        documents, squares = _unit(documents), np.where(documents.any(axis=1), np.float32(1.0), np.float32(0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        product: Vectors = _unit(queries) @ documents.T
        product *= np.float32(1.0) / np.sqrt(squares)
    return product


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Vectors = (vectors / norms).astype(np.float32)
    return unit
