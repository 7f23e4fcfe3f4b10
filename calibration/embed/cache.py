"""Vectors on disk: no text is embedded twice by one model, and an interrupted run continues where it stopped."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import EmbeddingError
from .checks import check_texts, names
from .model import Embedder, Progress, Role, Vectors
from .store import Store, open_store

FILE = "vectors-1.sqlite"
"""The number is the format's; another format takes another file and leaves this one alone."""


class VectorCache:
    """A folder of vectors keyed by model identity, role and content of the text; it holds hashes, no texts.

    Every finished batch is one transaction, so a process killed at any moment loses at most the batch in its hands,
    and several processes may share the folder. A vector whose checksum does not fit is embedded again.

    Attributes
    ----------
    embedded, reused : int
        Texts given to the model, and texts answered without it (stored, or repeated), over the life of this object.
    truncated : int
        Of all texts asked for, those that the model cut.
    damaged : int
        Stored vectors that were not used because their bytes had changed.
    """

    def __init__(self, folder: Path | str) -> None:
        self.path = Path(folder) / FILE
        self.embedded = 0
        self.reused = 0
        self.truncated = 0
        self.damaged = 0

    def embed(
        self,
        embedder: Embedder,
        texts: Sequence[str],
        role: Role,
        progress: Progress | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> Vectors:
        """Give the vectors of texts, shape (n, d), embedding only what is not stored.

        `progress` is called with the number of texts just finished; `ids` name the texts in errors.
        """
        check_texts(texts, ids)
        identity = embedder.identity()
        with open_store(self.path) as store:
            shelf = f"{store.digest_of(identity)}/{role}"
            request = _Request(texts, names(ids, len(texts)), identity.dimensions)
            self._fill_from_store(store, shelf, request, progress)
            try:
                self._fill_from_model(store, shelf, request, embedder, role, progress)
            except EmbeddingError as error:
                kept = len(request.rows) - len(request.missing)
                note = f"\n{kept} finished vectors are kept in the cache for the next run." if kept else ""
                raise EmbeddingError(f"{error}{note}") from None
        return request.vectors

    def _fill_from_store(self, store: Store, shelf: str, request: "_Request", progress: Progress | None) -> None:
        filled = 0
        for found in store.read(shelf, list(request.rows), request.vectors.shape[1]):
            if found.vector is None:
                self.damaged += 1
                continue
            count = request.fill(found.key, found.vector)
            filled += count
            self.truncated += count * found.truncated
        self.reused += filled
        if progress is not None and filled:
            progress(filled)

    def _fill_from_model(
        self, store: Store, shelf: str, request: "_Request", embedder: Embedder, role: Role, progress: Progress | None
    ) -> None:
        keys = list(request.missing)
        firsts = [request.rows[key][0] for key in keys]
        texts, ids = [request.texts[row] for row in firsts], [request.labels[row] for row in firsts]
        for batch in embedder.batches(texts, role, ids=ids):
            part = keys[batch.start : batch.start + len(batch.vectors)]
            cut = batch.truncated.tolist()
            store.write(shelf, part, batch.vectors, cut)
            filled = 0
            for key, vector, truncated in zip(part, batch.vectors, cut, strict=True):
                count = request.fill(key, vector)
                filled += count
                self.truncated += count * truncated
            self.embedded += len(part)
            self.reused += filled - len(part)
            if progress is not None:
                progress(filled)


class _Request:
    """The texts of one call, each content once, and the rows it fills."""

    def __init__(self, texts: Sequence[str], labels: list[str], dimensions: int) -> None:
        self.texts = texts
        self.labels = labels
        self.vectors: Vectors = np.empty((len(texts), dimensions), dtype=np.float32)
        self.rows: dict[bytes, list[int]] = {}
        for row, text in enumerate(texts):
            self.rows.setdefault(hashlib.sha256(text.encode()).digest(), []).append(row)
        self.missing: dict[bytes, None] = dict.fromkeys(self.rows)

    def fill(self, key: bytes, vector: Vectors) -> int:
        """Put a vector wherever its text stands; give the number of rows."""
        rows = self.rows[key]
        self.vectors[rows] = vector
        del self.missing[key]
        return len(rows)
