"""What every source of vectors gives: facts measured first, then an exact pull in blocks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import StoreError

Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
Strategy = Literal["auto", "fetch", "sql", "sample"]
Progress = Callable[[int, int], None]
"""Called with (rows so far, rows expected)."""

NORM_TOLERANCE = 1e-3
"""How far from 1 the length of a "unit" vector may lie."""

SHOWN_IDS = 5
"""How many ids a message names."""


@dataclass(frozen=True)
class Block:
    """One piece of the corpus.

    Attributes
    ----------
    vectors : ndarray of float32, shape (b, d), or None
        As stored, for every query.
    scores : ndarray of float64, shape (b,), or None
        Raw backend values, for the query in row `query_row` only.
    """

    doc_ids: list[str]
    document_ids: list[str] | None = None
    vectors: Floats32 | None = None
    scores: Floats64 | None = None
    query_row: int | None = None


@dataclass(frozen=True)
class IndexFact:
    """One index on the vector column."""

    name: str
    kind: str
    opclass: str


@dataclass(frozen=True)
class Preflight:
    """Facts measured before any scoring; every count is exact.

    Attributes
    ----------
    rows : int
        Rows after the filter, with or without a vector.
    null_ids, zero_ids : list of str
        The first few ids of rows without a vector, and with a vector of length zero.
    dimensions : dict
        Vector width -> rows.
    not_unit : int
        Vectors, zero ones apart, whose length is further than 1e-3 from 1.
    models : dict or None
        Value of the model column -> rows; None without such a column.
    problems : list of str
        Everything worth a line, what blocks a pull first.
    blocking : list of str
        The part of `problems` with which nothing is scored.
    """

    rows: int
    null_vectors: int
    zero_vectors: int
    null_ids: list[str]
    zero_ids: list[str]
    dimensions: dict[int, int]
    norm_min: float | None
    norm_max: float | None
    not_unit: int
    metric: str
    indexes: list[IndexFact] = field(default_factory=list)
    models: dict[str, int] | None = None
    problems: list[str] = field(default_factory=list)
    blocking: list[str] = field(default_factory=list)
    server_version: str | None = None
    pgvector_version: str | None = None
    table: str | None = None
    filter: str | None = None

    @property
    def scorable(self) -> int:
        """Rows that can get a score under the declared metric: a zero vector has no direction, so no cosine."""
        return self.rows - self.null_vectors - (self.zero_vectors if needs_direction(self.metric) else 0)


@dataclass(frozen=True)
class Part:
    """One range of a corpus on a fixed grid; small, and enough for another process to read it."""

    number: int
    token: tuple[Any, ...]


@dataclass(frozen=True)
class Division:
    """A corpus in parts, as one snapshot shows it; no two parts share a row, and together they are all of it.

    Attributes
    ----------
    facts : Preflight
        Of the whole, in that snapshot.
    unchanged : callable
        Tells of an earlier `state` whether every part still holds the rows it held then.
    """

    facts: Preflight
    parts: list[Part]
    state: dict[str, Any]
    unchanged: Callable[[Mapping[str, Any]], bool]


class VectorSource(Protocol):
    """A corpus whose vectors can be pulled exactly."""

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything."""
        ...

    def blocks(
        self, query_vectors: Floats32, *, strategy: Strategy = "auto", progress: Progress | None = None
    ) -> Iterator[Block]:
        """Yield the whole corpus in blocks, or every score of each query; raise unless it is provably all of it.

        The proof ends with the last block: use nothing of a pull that has not been read to its end.
        """
        ...

    def vectors_of(self, doc_ids: Iterable[str]) -> dict[str, Floats32]:
        """Return the vectors of some documents; ids that are unknown or have no vector are absent."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return JSON facts about the source and its last pull, never a password."""
        ...


@runtime_checkable
class DividedSource(VectorSource, Protocol):
    """A source whose parts can be read side by side, by other processes too: it can be pickled, without a password."""

    def strategy_for(self, strategy: Strategy, queries: int) -> Literal["fetch", "sql", "sample"]:
        """Resolve "auto" for a number of queries; "fetch" reads all parts, "sample" some of them."""
        ...

    def divided(self, query_vectors: Floats32, *, part_rows: int | None = None) -> AbstractContextManager[Division]:
        """Open a snapshot and cut it into parts of about so many rows, which can be read until the context ends.

        Raises
        ------
        StoreError
            Something blocks an exact pull, all reasons at once; or the queries do not fit.
        """
        ...

    def read(self, part: Part) -> Iterator[Block]:
        """Yield a part in blocks of vectors."""
        ...

    def best(self, part: Part, query_vectors: Floats32, depth: int, judged: Sequence[Sequence[str]]) -> Iterator[Block]:
        """Yield for each query the scores of its exact best `depth` in the whole corpus, and of those judged for it.

        A passage may come twice; `part` names the snapshot.
        """
        ...


def needs_direction(metric: str) -> bool:
    """Tell whether a metric is undefined for a vector of length zero.

    Examples
    --------
    >>> needs_direction("cosine_distance"), needs_direction("l2")
    (True, False)
    """
    return metric.startswith("cosine")


def complete(blocks: Iterable[Block], expected: int, progress: Progress | None = None) -> Iterator[Block]:
    """Pass blocks on, and raise at the end unless exactly `expected` rows came.

    Raises
    ------
    StoreError
        Something between the store and here cut the answer, or added to it.

    Examples
    --------
    >>> [len(block.doc_ids) for block in complete([Block(["a", "b"])], 2)]
    [2]
    """
    received = 0
    for block in blocks:
        received += len(block.doc_ids)
        if progress is not None:
            progress(received, expected)
        yield block
    if received < expected:
        raise StoreError(
            f"pulled {received} of {expected} scores (truncated): something between the store and here cuts the "
            "answer. Nothing is recommended from a partial pull; connect to the database itself."
        )
    if received > expected:
        raise StoreError(f"pulled {received} scores where {expected} were counted: the source repeats rows.")


def check_queries(query_vectors: npt.ArrayLike, width: int, metric: str, column: str) -> Floats32:
    """Return the queries as a (q, d) float32 array, or raise what is wrong with them."""
    queries = np.ascontiguousarray(query_vectors, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[0] == 0:
        raise StoreError(f"query vectors have the shape {queries.shape}; expected (queries, dimensions), one or more.")
    if queries.shape[1] != width:
        raise StoreError(
            f"query vectors have {queries.shape[1]} dimensions, {column} has {width}: they come from different models. "
            "Embed the queries with the model behind the stored vectors."
        )
    if not np.isfinite(queries).all():
        rows = np.flatnonzero(~np.isfinite(queries).all(axis=1)).tolist()
        raise StoreError(f"query vectors hold NaN or infinity in rows {rows[:SHOWN_IDS]}; embed those queries again.")
    if needs_direction(metric) and not np.linalg.norm(queries, axis=1).all():
        rows = np.flatnonzero(np.linalg.norm(queries, axis=1) == 0).tolist()
        raise StoreError(f"query vectors are zero in rows {rows[:SHOWN_IDS]}: a zero vector has no cosine.")
    return queries


def raise_blocking(facts: Preflight) -> None:
    """Raise all reasons why nothing can be scored, if there are any."""
    if facts.blocking:
        raise StoreError("nothing was scored: " + "; ".join(facts.blocking))


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
