"""Scores of a block of vectors by one matrix product, as the backend's operator would give them."""

import numpy as np
import numpy.typing as npt

from ..errors import ContractError

Vectors = npt.NDArray[np.float32]

_COSINES = ("cosine_similarity", "cosine_distance")
_METRICS = (*_COSINES, "inner_product", "negative_inner_product", "l2", "squared_l2")
_SHORTEST, _LONGEST = np.float32(1e-30), np.float32(1e30)
"""Squared lengths between which float32 keeps its precision."""


class BlockScorer:
    """Scores one set of queries against documents block by block.

    Parameters
    ----------
    queries : ndarray of float32, (q, d)
    metric : str
        A metric of vectors, by its name in the contract.

    Raises
    ------
    ContractError
        The metric is none between vectors.

    Examples
    --------
    >>> BlockScorer(np.float32([[3, 4]]), "cosine_similarity").score(np.float32([[0, 2], [3, 0]])).round(4).tolist()
    [[0.800000011920929, 0.6000000238418579]]
    >>> BlockScorer(np.float32([[1, 0]]), "squared_l2").score(np.float32([[1, 2], [3, 0]])).tolist()
    [[4.0, 4.0]]
    """

    def __init__(self, queries: Vectors, metric: str) -> None:
        if metric not in _METRICS:
            raise ContractError(f"{metric!r} is not a metric between vectors.")
        self.metric = metric
        self._queries = _unit(queries) if metric in _COSINES else queries

    def score(self, documents: Vectors, out: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
        """Score every query against every document of a block.

        Parameters
        ----------
        documents : ndarray, (b, d)
        out : ndarray of float32, (q, b), optional
            Where the scores are written: a new block of memory costs about a third of the product.

        Returns
        -------
        ndarray, (q, b)
            Raw backend values. A zero vector scores NaN under a cosine metric, as in pgvector.
        """
        if self.metric in _COSINES:
            return self._cosines(documents, out)
        scores: npt.NDArray[np.float32] = np.matmul(self._queries, documents.T, out=out)
        if self.metric == "negative_inner_product":
            return np.negative(scores, out=scores)
        if self.metric in ("l2", "squared_l2"):
            squares = (self._queries**2).sum(axis=1)[:, None] + (documents**2).sum(axis=1)[None, :]
            scores *= np.float32(2.0)
            np.maximum(np.subtract(squares, scores, out=scores), 0.0, out=scores)
            return np.sqrt(scores, out=scores) if self.metric == "l2" else scores
        return scores

    def _cosines(self, documents: Vectors, out: npt.NDArray[np.float32] | None) -> npt.NDArray[np.float32]:
        """Scale the product rather than the documents: a block has fewer scores to write than numbers to divide."""
        squares = np.einsum("ij,ij->i", documents, documents)
        ordinary = (squares > _SHORTEST) & (squares < _LONGEST)
        if not ordinary.all():  # the squares of others leave float32
            documents, squares = _unit(documents), np.where(documents.any(axis=1), np.float32(1.0), np.float32(0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine: npt.NDArray[np.float32] = np.matmul(self._queries, documents.T, out=out)
            cosine *= np.float32(1.0) / np.sqrt(squares)
        return np.subtract(np.float32(1.0), cosine, out=cosine) if self.metric == "cosine_distance" else cosine


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Vectors = (vectors / norms).astype(np.float32)
    return unit
