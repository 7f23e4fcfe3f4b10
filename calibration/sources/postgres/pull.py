"""An exact pull from Postgres: one read-only snapshot, a proven plan, every row counted."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Literal

import numpy as np
import psycopg
from psycopg import pq, sql

from ...errors import StoreError
from ..base import (
    Block,
    Division,
    Floats32,
    Part,
    Preflight,
    Progress,
    Strategy,
    check_queries,
    complete,
    needs_direction,
    raise_blocking,
)
from . import division
from .catalog import Names, Target, check_metric, resolve
from .connect import Connection, explained, redact_dsn, set_local, snapshot
from .copied import copied_blocks, copied_columns
from .division import export_snapshot, grid, state, unchanged, within
from .plan import search_plan
from .preflight import EXACT_SETTINGS, measure, plan_of, prove_exact
from .rows import block_of, check_left_out, columns_of, directed, stream, width_of
from .sampled import exact_best
from .verify import largest_difference
from .wire import decode, vector_text

SQL_BELOW = 8
"""From this many queries on, fetching the vectors once and multiplying is faster than asking the server."""

BLOCK_BYTES = 2 << 20  # stays in the processor's cache: a third faster than 8 MB
COPIED_ROWS, COPIED_BYTES = 8192, 16 << 20  # decoded in pieces of their own, so as large as is scored best
SCORE_ROWS = 20_000

CANCELLING = 5.0
"""Seconds that the server may take to cancel a statement that nobody waits for any more."""


class PostgresSource:
    """A table with a pgvector column; nothing in its database is ever changed.

    Parameters
    ----------
    conninfo : str or None
        Connection string; None takes everything from `service` or the PG* variables.
    table : str
        Name, with the schema if it is not on the search path.
    document_column, model_column : str, optional
        Column of the document a passage belongs to; column that names the embedding model.
    where : str, optional
        SQL condition kept on every query, unchanged.
    metric : str
        What the scores are, a name of `contract.METRICS` that pgvector can give.
    model : str, optional
        The declared model: rows of any other value in `model_column` stop the pull.
    statement_timeout : float
        Seconds the server may take for one statement.
    """

    def __init__(
        self,
        conninfo: str | None,
        table: str,
        *,
        id_column: str = "id",
        vector_column: str = "embedding",
        document_column: str | None = None,
        model_column: str | None = None,
        where: str | None = None,
        metric: str = "cosine_distance",
        model: str | None = None,
        service: str | None = None,
        statement_timeout: float = 600.0,
    ) -> None:
        check_metric(metric)
        self.names = Names(table, id_column, vector_column, document_column, model_column, where)
        self.metric = metric
        self.model = model
        self._conninfo = conninfo
        self._service = service
        self._timeout = statement_timeout
        self._facts: dict[str, Any] = {}
        self._divided: tuple[Connection, Target] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_divided": None}  # a connection does not travel

    def __repr__(self) -> str:
        return f"PostgresSource({redact_dsn(self._conninfo or '')!r}, {self.names.table!r}, metric={self.metric!r})"

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything.

        Raises
        ------
        StoreError
            No connection, no pgvector, no such table or column, or no right to read it.
        """
        with self._opened("measure") as (connection, target):
            return self._measured(connection, target)

    def blocks(
        self, query_vectors: Floats32, *, strategy: Strategy = "auto", progress: Progress | None = None
    ) -> Iterator[Block]:
        """Yield the corpus in blocks of vectors ("fetch"), or of scores query by query ("sql"), in order of arrival.

        "auto" asks the server for fewer than 8 queries. Rows without a vector are left out, and for cosine those with
        a zero vector; `preflight` counts both. The proof that nothing is missing ends with the last block.

        Raises
        ------
        StoreError
            Something blocks an exact pull, all reasons at once and before the first block; or rows went missing.
        """
        self.strategy_for(strategy, 1)
        with self._opened("pull from") as (connection, target):
            facts = self._measured(connection, target)
            raise_blocking(facts)
            width = next(iter(facts.dimensions))
            queries = check_queries(query_vectors, width, self.metric, f"column {self.names.vector_column}")
            chosen = self.strategy_for(strategy, len(queries))
            self._facts["strategy"] = chosen
            if chosen == "fetch":
                yield from complete(self._whole(connection, target, facts, width), facts.scorable, progress)
            else:
                pieces = self._scored(connection, target, facts, queries)
                yield from complete(pieces, facts.scorable * len(queries), progress)

    def strategy_for(self, strategy: Strategy, queries: int) -> Literal["fetch", "sql", "sample"]:
        """Resolve "auto": fetch the vectors and multiply, but for a few queries ask the server for their scores."""
        if strategy not in ("auto", "fetch", "sql", "sample"):
            raise StoreError(f"unknown strategy {strategy!r}; expected 'auto', 'fetch', 'sql' or 'sample'.")
        if strategy == "auto":
            return "sql" if queries < SQL_BELOW else "fetch"
        return strategy

    @contextmanager
    def divided(self, query_vectors: Floats32, *, part_rows: int | None = None) -> Iterator[Division]:
        """Open one snapshot, cut the table into ranges of its pages, and let other connections see what it sees.

        Raises
        ------
        StoreError
            Something blocks an exact pull, all reasons at once; or the queries do not fit.
        """
        with self._opened("pull from") as (connection, target):
            facts = self._measured(connection, target)
            raise_blocking(facts)
            width = next(iter(facts.dimensions), 0)
            check_queries(query_vectors, width, self.metric, f"column {self.names.vector_column}")
            ranges = grid(connection, target, facts, part_rows or division.PART_ROWS)
            shared = export_snapshot(connection)
            zeros = facts.zero_vectors > 0 and needs_direction(self.metric)
            # one statement per part; a large table that cannot be cut would exceed its time, and goes through a cursor
            small = len(ranges) > 1 or facts.rows <= (part_rows or division.PART_ROWS)
            parts = [Part(number, (shared, *bounds, width, zeros, small)) for number, bounds in enumerate(ranges)]
            self._facts |= {"strategy": "fetch", "parts": len(parts)}
            self._proven(connection, target, columns_of(target), (), within(parts[-1]))
            now = state(connection, target, facts, len(parts))
            self._divided = connection, target
            try:
                yield Division(facts, parts, now, lambda before: unchanged(connection, target, before, now))
            finally:
                self._divided = None
                if connection.info.transaction_status == pq.TransactionStatus.ACTIVE:
                    # a reader is still at it, and the transaction cannot end before its statement
                    connection.cancel_safe(timeout=CANCELLING)

    def read(self, part: Part) -> Iterator[Block]:
        """Yield a part in blocks of vectors, as the division's snapshot shows it."""
        shared, _, _, width, zeros, small = part.token
        with self._within(shared) as (connection, target):
            way = self._copied if small else self._fetched
            with closing(way(connection, target, width, zeros, within(part))) as pieces:
                for block, _ in pieces:
                    yield block

    def search_plan(self, limit: int) -> dict[str, Any]:
        """Ask how the server would run a deployed search for the `limit` best; see `plan.search_plan`."""
        with snapshot(self._conninfo, self._service, statement_timeout=self._timeout) as connection:
            return search_plan(connection, resolve(connection, self.names, self.metric), self.metric, limit)

    def best(self, part: Part, query_vectors: Floats32, depth: int, judged: Sequence[Sequence[str]]) -> Iterator[Block]:
        """Yield for each query the scores of its exact best `depth` and of its judged passages, by the server.

        Raises
        ------
        StoreError
            The table names documents: its best passages may be those of too few of them.
        """
        if self.names.document_column is not None:
            raise StoreError(
                "the strategy 'sample' scores passages, not documents; leave document_column out, or use 'fetch'."
            )
        with self._opened("search", part.token[0]) as (connection, target):
            yield from exact_best(connection, target, self.metric, query_vectors, depth, judged)

    def vectors_of(self, doc_ids: Iterable[str]) -> dict[str, Floats32]:
        """Return the vectors of some documents; ids that are unknown or have no vector are absent."""
        wanted = list(doc_ids)
        with self._opened("read vectors of") as (connection, target):
            condition = sql.SQL("{} = ANY(%s) AND {} IS NOT NULL").format(target.id, target.vector)
            query = target.select(sql.SQL("{}, {}").format(target.id, target.vector), condition)
            found: dict[str, Floats32] = {}
            for rows in stream(connection, target, query, (wanted,), SCORE_ROWS):
                found |= {name: decode([raw], width_of(raw), target.column_type)[0] for name, raw in rows}
        return found

    def verify(self, query_vectors: Floats32, sample: int = 8) -> float:
        """Compare a few scores of the server with numpy's; returns the largest absolute difference.

        Parameters
        ----------
        query_vectors : ndarray, shape (q, d)
            The first few are used.
        sample : int
            How many documents, picked by a hash of their id.
        """
        with self._opened("verify scores of") as (connection, target):
            difference = largest_difference(connection, target, self.metric, query_vectors, sample)
        self._facts["verified_difference"] = difference
        return difference

    def describe(self) -> dict[str, Any]:
        """Return JSON facts about the source and its last pull, never a password."""
        return {
            "kind": "postgres",
            "address": None if self._conninfo is None else redact_dsn(self._conninfo),
            "service": self._service,
            "table": self.names.table,
            "columns": {
                "id": self.names.id_column,
                "vector": self.names.vector_column,
                "document": self.names.document_column,
                "model": self.names.model_column,
            },
            "filter": self.names.where,
            "metric": self.metric,
            "model": self.model,
            **self._facts,
        }

    @contextmanager
    def _opened(self, action: str, shared: str | None = None) -> Iterator[tuple[Connection, Target]]:
        """One snapshot in which no index scan is planned: a view ordered by distance would cut the counts too."""
        with (
            snapshot(self._conninfo, self._service, statement_timeout=self._timeout, shared=shared) as connection,
            explained(f"{action} {self.names.table}"),
        ):
            self._facts["settings"] = set_local(connection, EXACT_SETTINGS)
            yield connection, resolve(connection, self.names, self.metric)

    @contextmanager
    def _within(self, shared: str) -> Iterator[tuple[Connection, Target]]:
        """Give the division's own connection where it is at hand and idle, or another one that sees what it sees.

        A new one costs the server a process, whose first look at the table is a third slower.
        """
        if self._divided is None or self._divided[0].info.transaction_status != pq.TransactionStatus.INTRANS:
            with self._opened("pull from", shared) as opened:
                yield opened
        else:
            connection = self._divided[0]
            connection.execute("SAVEPOINT reading")
            try:
                with explained(f"pull from {self.names.table}"):
                    yield self._divided
            except BaseException:
                # who leaves in the middle takes neither the transaction nor its snapshot along; it may be gone by now
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK TO SAVEPOINT reading")
                raise
            connection.execute("RELEASE SAVEPOINT reading")

    def _measured(self, connection: Connection, target: Target) -> Preflight:
        facts = measure(connection, target, self.metric, self.model)
        self._facts |= {
            "server_version": facts.server_version,
            "pgvector_version": facts.pgvector_version,
            "rows": facts.rows,
            "null_vectors": facts.null_vectors,
            "zero_vectors": facts.zero_vectors,
            "scorable": facts.scorable,
        }
        return facts

    def _whole(self, connection: Connection, target: Target, facts: Preflight, width: int) -> Iterator[Block]:
        zeros = facts.zero_vectors > 0 and needs_direction(self.metric)
        left_out = 0
        way = self._copied if facts.rows <= division.PART_ROWS else self._fetched
        with closing(way(connection, target, width, zeros)) as pieces:
            for block, out in pieces:
                left_out += out
                yield block
        check_left_out(left_out, facts, self.metric)

    def _fetched(
        self, connection: Connection, target: Target, width: int, zeros: bool, condition: sql.Composable | None = None
    ) -> Generator[tuple[Block, int]]:
        """Yield blocks of vectors, each with how many were left out of it because they have no direction."""
        query = self._proven(connection, target, columns_of(target), (), condition)
        for rows in stream(connection, target, query, (), _block_rows(width)):
            names, documents, cells = zip(*rows, strict=True)
            yield directed(list(names), list(documents), decode(cells, width, target.column_type), zeros, target)

    def _copied(
        self, connection: Connection, target: Target, width: int, zeros: bool, condition: sql.Composable | None = None
    ) -> Generator[tuple[Block, int]]:
        """As `_fetched`, in one statement."""
        query = self._proven(connection, target, copied_columns(target), (), condition)
        with closing(copied_blocks(connection, target, query, width, _copied_rows(width))) as blocks:
            for names, documents, vectors in blocks:
                yield directed(names, documents, vectors, zeros, target)

    def _scored(self, connection: Connection, target: Target, facts: Preflight, queries: Floats32) -> Iterator[Block]:
        columns = sql.SQL("{}, {}, {}").format(target.id, target.document, target.score(self.metric))
        for row, vector in enumerate(queries):
            parameters = (vector_text(vector),)
            query = self._proven(connection, target, columns, parameters)
            left_out = 0
            for rows in stream(connection, target, query, parameters, SCORE_ROWS):
                names, documents, values = zip(*rows, strict=True)
                scores = np.array(values, dtype=np.float64)
                keep = ~np.isnan(scores)  # the cosine of a zero vector
                left_out += len(scores) - int(keep.sum())
                yield block_of(list(names), list(documents), keep, target, scores=scores, query_row=row)
            check_left_out(left_out, facts, self.metric)

    def _proven(
        self,
        connection: Connection,
        target: Target,
        columns: sql.Composable,
        parameters: tuple[Any, ...],
        condition: sql.Composable | None = None,
    ) -> sql.Composed:
        present: sql.Composable = sql.SQL("{} IS NOT NULL").format(target.vector)
        query = target.select(columns, present if condition is None else present + sql.SQL(" AND ") + condition)
        self._facts["plan"] = prove_exact(connection, plan_of(connection, query, parameters))
        return query


def _block_rows(width: int) -> int:
    return max(256, min(50_000, BLOCK_BYTES // (4 * width)))


def _copied_rows(width: int) -> int:
    return max(256, min(COPIED_ROWS, COPIED_BYTES // (4 * width)))
