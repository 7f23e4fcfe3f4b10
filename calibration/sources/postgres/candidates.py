"""A pgvector search as deployed: through the index, proven by the plan, or exactly; raw values of the operator."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from psycopg import sql

from ...scores.similarity import BlockScorer
from ..base import Floats32, Floats64, Preflight, check_queries, needs_direction
from ..search import Candidates, Queries, ScoredBlock, best_first, needed_vectors
from .catalog import SCORES, Target, resolve
from .connect import Connection, explained, set_local, snapshot
from .division import export_snapshot
from .operators import distance, pair_query, search_query
from .preflight import EXACT_SETTINGS, node_types, plan_of, prove_exact
from .pull import PostgresSource
from .searchplan import plan_of_search, prove_used, refuse_index, vector_indexes
from .settings import IndexUse

SHOWN = ("hnsw.ef_search", "hnsw.iterative_scan", "hnsw.max_scan_tuples", "ivfflat.probes", "ivfflat.iterative_scan")
PAIRS = 50_000


class _Source(PostgresSource):
    """The table, seen by the shared snapshot while there is one."""

    shared: str | None = None
    frozen_facts: Preflight | None = None

    @contextmanager
    def _opened(self, action: str, shared: str | None = None) -> Iterator[tuple[Connection, Target]]:
        with super()._opened(action, self.shared if shared is None else shared) as opened:
            yield opened

    def _measured(self, connection: Connection, target: Target) -> Preflight:
        # what one snapshot holds is measured once
        facts = super()._measured(connection, target) if self.frozen_facts is None else self.frozen_facts
        self.frozen_facts = None if self.shared is None else facts
        return facts


class PostgresSearcher:
    """A search of a table as an application runs it.

    Parameters
    ----------
    conninfo, table, id_column, vector_column, where, metric, service, statement_timeout
        As of `PostgresSource`; nothing in the database is ever changed.
    index : IndexUse or None
        None searches exactly. Otherwise the plan must show the index, and the settings hold as read back.
    """

    complete = True

    def __init__(
        self,
        conninfo: str | None,
        table: str,
        *,
        id_column: str = "id",
        vector_column: str = "embedding",
        where: str | None = None,
        metric: str = "cosine_distance",
        service: str | None = None,
        index: IndexUse | None = None,
        statement_timeout: float = 600.0,
    ) -> None:
        self._source = _Source(
            conninfo,
            table,
            id_column=id_column,
            vector_column=vector_column,
            where=where,
            metric=metric,
            service=service,
            statement_timeout=statement_timeout,
        )
        self._address = (conninfo, service, statement_timeout)
        self._use = index
        self._facts: dict[str, Any] = {}
        self._column_type: str | None = None

    @property
    def metric(self) -> str:
        """What its raw scores are."""
        return self._source.metric

    @property
    def approximate(self) -> bool:
        """Whether the search goes through an index."""
        return self._use is not None

    @property
    def filtered(self) -> bool:
        """Whether the user's filter is on every query."""
        return self._source.names.where is not None

    @property
    def reach(self) -> int | None:
        """`ef_search` of a scan that is not iterated: HNSW hands no more to the filter."""
        settings = self._facts.get("index", {}).get("settings", {})
        if settings.get("hnsw.iterative_scan", "off") != "off" or "hnsw.ef_search" not in settings:
            return None
        return int(settings["hnsw.ef_search"])

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Share one snapshot: facts, pull, search and pairs see the same rows, whoever writes meanwhile."""
        conninfo, service, timeout = self._address
        with snapshot(conninfo, service, statement_timeout=timeout) as connection:
            self._source.shared = export_snapshot(connection)
            try:
                yield
            finally:
                self._source.shared = self._source.frozen_facts = None

    def preflight(self) -> Preflight:
        """Measure the facts, without scoring anything."""
        return self._source.preflight()

    def all_scores(self, queries: Queries) -> Iterator[ScoredBlock]:
        """Yield the whole corpus with its scores: one proven pass over the vectors and a matrix product."""
        vectors = needed_vectors(queries)
        if self._type() == "halfvec":
            # the operator rounds the query to the column's type, so the product does too
            vectors = vectors.astype(np.float16).astype(np.float32)
        scorer = BlockScorer(vectors, self.metric)
        for block in self._source.blocks(vectors, strategy="fetch"):
            if block.vectors is not None:
                yield ScoredBlock(block.doc_ids, block.vectors, scorer.score(block.vectors))

    def scores_of(self, queries: Queries, doc_ids: Sequence[Sequence[str]]) -> list[Floats64]:
        """Ask the operator for some documents of each query; NaN for those that are not there or have no score."""
        vectors = needed_vectors(queries)
        found = [np.full(len(names), np.nan) for names in doc_ids]
        pairs = [(row, place, name) for row, names in enumerate(doc_ids) for place, name in enumerate(names)]
        with self._opened("score pairs of") as (connection, target):
            self._check(target, vectors)
            set_local(connection, EXACT_SETTINGS)
            for start in range(0, len(pairs), PAIRS):
                part = pairs[start : start + PAIRS]
                rows, places, names = (list(column) for column in zip(*part, strict=True))
                cursor = connection.execute(pair_query(target, self.metric), (rows, places, names, queries.texts))
                for row, place, score in cursor.fetchall():
                    found[row][place] = np.nan if score is None else score
        return found

    def search(self, queries: Queries, k: int) -> Candidates:
        """Search query by query as the application does, in one transaction.

        Raises
        ------
        StoreError
            The plan does not use the index, so a comparison would mean nothing; an exact search's plan does; or a
            setting is not in force.
        """
        vectors = needed_vectors(queries)
        ids: list[list[str]] = []
        scores: list[Floats64] = []
        with self._opened("search") as (connection, target):
            self._check(target, vectors)
            query = search_query(target, self.metric, k)
            self._prepare(connection, target, query, queries.texts[0])
            with connection.pipeline():  # one query after the other, without waiting for each answer's way back
                cursors = [connection.execute(query, (text, text), prepare=True) for text in queries.texts]
            for cursor in cursors:
                rows = cursor.fetchall()
                usable = [row for row in rows if row[1] is not None and row[1] == row[1]]  # NaN: a zero vector
                names, values = [row[0] for row in usable], np.array([row[1] for row in usable], dtype=np.float64)
                if self._use is None:  # equal scores come in any order; an index's own order is part of its answer
                    names, values = best_first(names, values, self.metric)
                ids.append(names)
                scores.append(values)
        return Candidates(ids, scores)

    def left_out(self) -> dict[str, str]:
        """Return the rows that cannot be scored, and so are in no index: NULL, and zero vectors under cosine."""
        columns = sql.SQL("{}, {} IS NULL")
        with self._opened("look for unusable rows of") as (connection, target):
            set_local(connection, EXACT_SETTINGS)
            unusable = sql.SQL("{} IS NULL").format(target.vector)
            if needs_direction(self.metric):
                norm = sql.SQL("{}({}::{}) = 0").format(
                    target.function("vector_norm"), target.vector, target.function("vector")
                )
                unusable = sql.SQL("({} OR {})").format(unusable, norm)
            query = target.select(columns.format(target.id, target.vector), unusable)
            rows = connection.execute(query, ()).fetchall()
        return {str(name): "NULL" if null else "zero vector" for name, null in sorted(rows)}

    def describe(self) -> dict[str, Any]:
        """Return JSON facts for the receipt, the settings as read back; never a password."""
        about = self._source.describe()
        version = about.get("pgvector_version")
        return {
            **about,
            "kind": "pgvector",
            "adapter": "pgvector" + (f" {version}" if version else ""),
            "operator": SCORES[self.metric][0],
            "column_type": self._column_type,
            "index": None if self._use is None else self._facts.get("index", {"settings": dict(self._use.settings)}),
        }

    def _prepare(self, connection: Connection, target: Target, query: sql.Composed, text: str) -> None:
        """Put the settings in force and prove the plan."""
        # the plan that was looked at is the plan that runs, and pgvector is loaded before its settings are read
        set_local(connection, {"plan_cache_mode": "force_custom_plan"})
        connection.execute(sql.SQL("SELECT {}::{}").format(sql.Literal("[0]"), target.function("vector")))
        if self._use is None:
            set_local(connection, EXACT_SETTINGS)
            whole = target.select(target.id) + sql.SQL(" ORDER BY ") + distance(target, self.metric)
            prove_exact(connection, plan_of(connection, whole, (text,)))
            refuse_index(connection, plan_of_search(connection, query, text))
            return
        in_force = set_local(connection, dict(self._use.settings))
        plan = plan_of_search(connection, query, text)
        used = vector_indexes(connection, plan)
        prove_used(target, self.metric, self._use, plan, used)
        shown = connection.execute(
            "SELECT name, current_setting(name, true) FROM unnest(%s::text[]) AS name", (list(SHOWN),)
        ).fetchall()
        kinds = {kind for _, kind in used}
        self._facts["index"] = {
            "name": [name for name, _ in used],
            "kind": sorted(kinds),
            "settings": {
                name: value
                for name, value in {**dict(shown), **in_force}.items()
                if value is not None and name.split(".")[0] in kinds
            },
            "plan": node_types(plan),
        }

    def _check(self, target: Target, vectors: Floats32) -> None:
        check_queries(vectors, vectors.shape[-1], self.metric, f"column {target.names.vector_column}")

    def _type(self) -> str:
        if self._column_type is None:
            with self._opened("look at"):
                pass
        return self._column_type or "vector"

    @contextmanager
    def _opened(self, action: str) -> Iterator[tuple[Connection, Target]]:
        conninfo, service, timeout = self._address
        with (
            snapshot(conninfo, service, statement_timeout=timeout, shared=self._source.shared) as connection,
            explained(f"{action} {self._source.names.table}"),
        ):
            target = resolve(connection, self._source.names, self.metric)
            self._column_type = target.column_type
            yield connection, target
