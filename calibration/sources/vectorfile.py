"""A source over a file of vectors that is read in blocks, so that memory does not grow with it."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..contract import metric_named
from ..errors import StoreError, listed
from .base import (
    Block,
    Floats32,
    Preflight,
    Progress,
    Strategy,
    check_queries,
    complete,
    counted,
    needs_direction,
    raise_blocking,
)
from .vectorblocks import Half, open_reader
from .vectorfacts import SeenIds, SeenVectors, file_preflight, id_hash, id_problems, vector_problems


class VectorFileSource:
    """Passage vectors of an npz or a parquet file.

    Eight bytes a row are kept, to see repeated ids; vectors and ids pass through in blocks.

    Parameters
    ----------
    path : Path
        npz with arrays doc_ids, doc_vectors and perhaps document_ids; or parquet with columns doc_id (or id), embedding
        (or vector), perhaps document_id and role. Query vectors may be in it too (query_ids, query_vectors; role).
    metric : str
        The declared metric; decides whether zero vectors can be scored.

    Raises
    ------
    StoreError
        The file is none of these, or damaged.
    """

    def __init__(self, path: Path, *, metric: str = "cosine_similarity") -> None:
        self.metric = metric_named(metric).name
        self._path = path
        self._reader = open_reader(path)
        self._stamp = _stamp(path)
        self._facts: Preflight | None = None
        self._hash = ""

    @property
    def has_passages(self) -> bool:
        """Whether the file has passage vectors."""
        return self._reader.has("doc")

    def preflight(self) -> Preflight:
        """Read the whole file once and measure the facts; the second call returns them again."""
        if self._facts is None:
            ids = self._seen_ids()
            rows = self._seen_vectors(ids.digest)
            self._hash = ids.digest.hexdigest()
            self._facts = file_preflight(ids, rows, self.metric)
        return self._facts

    def blocks(
        self, query_vectors: Floats32, *, strategy: Strategy = "auto", progress: Progress | None = None
    ) -> Iterator[Block]:
        """Yield the whole corpus in blocks of vectors; zero vectors are left out where the metric needs a direction."""
        if strategy == "sql":
            raise StoreError("a vector file has no SQL strategy; use 'auto' or 'fetch'.")
        facts = self.preflight()
        raise_blocking(facts)
        check_queries(query_vectors, next(iter(facts.dimensions)), self.metric, self._path.name)
        yield from complete(self._blocks(), facts.scorable, progress)
        self._check_unchanged()

    def vectors_of(self, doc_ids: Iterable[str]) -> dict[str, Floats32]:
        """Return the vectors of some documents; unknown ids and those without a vector are absent."""
        wanted = set(doc_ids)
        found: dict[str, Floats32] = {}
        for piece in self._reader.pieces("doc") if wanted else ():
            if piece.vectors is not None:
                rows = zip(map(str, piece.ids), piece.vectors, strict=True)
                found |= {name: vector.copy() for name, vector in rows if name in wanted}
        return found

    def known(self, names: Iterable[str]) -> set[str]:
        """Tell which of some names stand in the file, as a document where it names documents, else as a passage."""
        wanted = set(names)
        found: set[str] = set()
        for ids, documents in self._reader.ids("doc"):
            found |= wanted.intersection(_scored_as(ids, documents))
        return found

    def queries(self) -> tuple[list[str], Floats32] | None:
        """Return ids and vectors of the queries, or None when the file has none.

        Raises
        ------
        StoreError
            Every problem at once: bad or repeated ids, missing or broken vectors, more than one width.
        """
        if not self._reader.has("query"):
            return None
        ids, rows = self._seen_ids("query"), SeenVectors()
        names: list[str] = []
        parts: list[Floats32] = []
        for piece in self._reader.pieces("query"):
            rows.add(piece.ids, piece.vectors)
            if piece.vectors is not None:
                names += map(str, piece.ids)
                parts.append(piece.vectors)
        problems = [*id_problems(ids, "query_ids"), *vector_problems(rows, "query_vectors")]
        if rows.nulls:
            problems.append(f"{counted(rows.nulls, 'row')} without a vector: {', '.join(rows.null_ids)}")
        if problems:
            raise StoreError(f"the query vectors in {self._path.name} cannot be used:\n{listed(problems)}")
        return (names, np.vstack(parts)) if names else None

    def content_hash(self) -> str:
        """Return sha256 (hex) of ids and vectors, in their order: that of an `ArraySource` of the same content."""
        self.preflight()
        return self._hash

    def describe(self) -> dict[str, Any]:
        """Return JSON facts about the source."""
        facts = self.preflight()
        return {
            "kind": "arrays",
            "adapter": "vector file",
            "rows": facts.rows,
            "dimensions": next(iter(facts.dimensions), 0),
            "metric": self.metric,
            "strategy": "fetch",
        }

    def _seen_ids(self, half: Half = "doc") -> SeenIds:
        if not self._reader.has(half):
            raise StoreError(
                f"{self._path.name} has no passage vectors (doc_ids and doc_vectors, or rows of passages)."
            )
        seen = SeenIds()
        for ids, _ in self._reader.ids(half):
            seen.add(ids)
        repeated = seen.suspects()
        if repeated:
            # hashes may collide, so the ids themselves are counted
            count: dict[str, int] = {}
            for ids, _ in self._reader.ids(half):
                for name in map(str, ids):
                    if id_hash(name) in repeated:
                        count[name] = count.get(name, 0) + 1
            seen.repeated = [(name, times) for name, times in count.items() if times > 1]
        return seen

    def _seen_vectors(self, digest: "hashlib._Hash") -> SeenVectors:
        rows = SeenVectors()
        for piece in self._reader.pieces("doc"):
            rows.add(piece.ids, piece.vectors)
            if piece.vectors is not None:
                digest.update(piece.vectors.tobytes())
        self._check_unchanged()
        return rows

    def _blocks(self) -> Iterator[Block]:
        for piece in self._reader.pieces("doc"):
            if piece.vectors is None:
                continue
            ids, vectors = [str(name) for name in piece.ids], piece.vectors
            documents = None if piece.document_ids is None else _scored_as(ids, piece.document_ids)
            keep = vectors.any(axis=1) if needs_direction(self.metric) else np.ones(len(ids), dtype=np.bool_)
            if not keep.all():
                rows = np.flatnonzero(keep)
                ids, vectors = [ids[row] for row in rows], vectors[rows]
                documents = None if documents is None else [documents[row] for row in rows]
            if ids:
                yield Block(ids, documents, vectors)

    def _check_unchanged(self) -> None:
        if _stamp(self._path) != self._stamp:
            raise StoreError(f"{self._path.name} changed while it was read; start again when it is written.")


def _scored_as(ids: list[Any], documents: list[Any] | None) -> list[str]:
    """Name the document of each passage, its own id where it has none."""
    if documents is None:
        return [str(name) for name in ids]
    return [str(name if document is None else document) for name, document in zip(ids, documents, strict=True)]


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
