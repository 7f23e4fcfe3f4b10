"""What every embedding model looks like from outside, and what all of them share inside."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from .checks import check_texts, check_vectors, names
from .identity import REFERENCE_TEXTS, ModelIdentity, reference_hash, reference_sketch

Role = Literal["query", "passage"]
Vectors = npt.NDArray[np.float32]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Batch:
    """Finished vectors of the texts from `start` on, shape (n, d), and which of those texts were cut by the model."""

    start: int
    vectors: Vectors
    truncated: npt.NDArray[np.bool_]


class Embedder(Protocol):
    """A model that turns texts into vectors.

    Attributes
    ----------
    name : str
        The name it was opened with.
    truncated : int
        How many of the texts embedded so far were longer than the model reads.
    """

    name: str
    truncated: int

    def identity(self) -> ModelIdentity:
        """Which model this is; embeds the reference texts the first time."""
        ...

    def embed(
        self, texts: Sequence[str], role: Role, progress: Progress | None = None, *, ids: Sequence[str] | None = None
    ) -> Vectors:
        """Embed texts as the model gives them, shape (n, d); lengths are for the caller to measure."""
        ...

    def batches(self, texts: Sequence[str], role: Role, *, ids: Sequence[str] | None = None) -> Iterator[Batch]:
        """Embed texts batch by batch in their order, so that finished ones can be kept when a later one fails."""
        ...


class BatchingEmbedder(ABC):
    """An embedder whose subclass only knows how to turn checked, prefixed texts into batches."""

    version = ""
    query_prefix = ""
    passage_prefix = ""
    weights_sha256 = ""

    def __init__(self, name: str) -> None:
        self.name = name
        self.truncated = 0
        self._identity: ModelIdentity | None = None

    @property
    @abstractmethod
    def width(self) -> int | None:
        """Dimensions of the vectors; None while a server has not shown them."""

    @abstractmethod
    def facts(self) -> Mapping[str, str | int | float]:
        """Tell what a reader may want to know of the model and its engine."""

    @abstractmethod
    def _batches(self, texts: Sequence[str], role: Role, labels: Sequence[str]) -> Iterator[Batch]:
        """Embed texts that are checked; `labels` name them in errors."""

    def identity(self) -> ModelIdentity:
        """Which model this is; embeds the reference texts the first time."""
        if self._identity is None:
            queries = self.embed(REFERENCE_TEXTS, "query")
            passages = self.embed(REFERENCE_TEXTS, "passage")
            reference = reference_sketch(queries, passages)
            self._identity = ModelIdentity(
                name=self.name,
                version=self.version,
                dimensions=queries.shape[1],
                query_prefix=self.query_prefix,
                passage_prefix=self.passage_prefix,
                reference_hash=reference_hash(reference),
                reference=reference,
                weights_sha256=self.weights_sha256,
                facts=self.facts(),
            )
        return self._identity

    def embed(
        self, texts: Sequence[str], role: Role, progress: Progress | None = None, *, ids: Sequence[str] | None = None
    ) -> Vectors:
        """Embed texts as the model gives them, shape (n, d).

        `progress` is called with the number of texts just finished; `ids` name the texts in errors.
        """
        parts = []
        for batch in self.batches(texts, role, ids=ids):
            parts.append(batch.vectors)
            if progress is not None:
                progress(len(batch.vectors))
        return np.concatenate(parts) if parts else np.empty((0, self.width or 0), dtype=np.float32)

    def batches(self, texts: Sequence[str], role: Role, *, ids: Sequence[str] | None = None) -> Iterator[Batch]:
        """Embed texts batch by batch in their order; bad texts are refused here, before anything is embedded."""
        check_texts(texts, ids)
        return self._checked(texts, role, names(ids, len(texts)))

    def _checked(self, texts: Sequence[str], role: Role, labels: list[str]) -> Iterator[Batch]:
        for batch in self._batches(texts, role, labels):
            part = labels[batch.start : batch.start + len(batch.vectors)]
            check_vectors(batch.vectors, len(part), self.width, part)
            self.truncated += int(np.count_nonzero(batch.truncated))
            yield batch

    def _prefix(self, role: Role) -> str:
        return self.query_prefix if role == "query" else self.passage_prefix
