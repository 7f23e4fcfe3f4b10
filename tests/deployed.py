"""Contract files over real backends: one corpus behind pgvector, Faiss, numpy and a score file."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from calibration.contract import METRICS
from calibration.studies.migrate.params import MigrateParams
from calibration.studies.migrate.study import Migration, migrate

UNIT = "query_and_document_unit_l2"
BACKENDS = (
    "numpy cosine_similarity",
    "numpy cosine_distance",
    "numpy l2",
    "numpy squared_l2",
    "numpy inner_product",
    "faiss squared_l2",
    "faiss inner_product",
    "pgvector cosine_distance",
    "pgvector cosine_similarity",
    "pgvector l2",
    "pgvector squared_l2",
    "pgvector negative_inner_product",
    "pgvector inner_product",
    "halfvec cosine_distance",
    "halfvec l2",
    "halfvec negative_inner_product",
    "scores cosine_distance",
)
"""Backend and the metric of its raw scores."""


class Corpus:
    """One corpus and its queries in a folder, deployed wherever it is asked for."""

    def __init__(self, folder: Path, dsn: str | None, ids: list[str], vectors: Any, queries: Any) -> None:
        self.folder, self.dsn, self.ids = folder, dsn, ids
        self.vectors = np.asarray(vectors, dtype=np.float32)
        self.queries = np.asarray(queries, dtype=np.float32)
        self.query_ids = [f"q{row}" for row in range(len(self.queries))]
        np.savez(folder / "corpus.npz", doc_ids=np.array(ids), doc_vectors=self.vectors)
        np.savez(folder / "queries.npz", query_ids=np.array(self.query_ids), query_vectors=self.queries)

    @property
    def queries_file(self) -> str:
        return str(self.folder / "queries.npz")

    def contract(self, backend: str, threshold: float | None = None, *, name: str = "", **more: Any) -> str:
        """Write the contract file of a backend and return its path; `source` adds to the source."""
        kind, metric = backend.split(" ")
        source = getattr(self, f"_{kind}")(metric) | more.pop("source", {})
        values = {
            "schema_version": 1,
            "metric": metric,
            "normalisation": UNIT,
            "threshold_inclusive": True,
            "embedding_version": "fixture-v1",
            "tolerance": 1e-3 if kind == "halfvec" else 1e-6,
            "threshold": threshold,
            "top_k": 10,
            "source": source,
        } | more
        path = self.folder / f"{name or backend.replace(' ', '-')}.json"
        path.write_text(json.dumps(values), encoding="utf-8")
        return str(path)

    def load(self, table: str, column_type: str = "vector") -> str:
        """Make a table of the corpus if there is none."""
        assert self.dsn is not None
        width = self.vectors.shape[1]
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            if connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()[0] is None:
                name = sql.Identifier(table)
                connection.execute(
                    sql.SQL("CREATE TABLE {} (id text PRIMARY KEY, place int, embedding {}({}))").format(
                        name, sql.SQL(column_type), sql.Literal(width)
                    )
                )
                self.fill(table)
        return table

    def fill(self, table: str) -> None:
        """Copy the corpus into an empty table."""
        name = sql.Identifier(table)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
                for place, (doc, vector) in enumerate(zip(self.ids, self.vectors.tolist(), strict=True)):
                    copy.write_row((doc, place, str(vector)))
            connection.execute(sql.SQL("ANALYZE {}").format(name))

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        assert self.dsn is not None
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description is not None else []

    def _numpy(self, metric: str) -> dict[str, Any]:
        return {"kind": "arrays", "vectors": "corpus.npz"}

    def _pgvector(self, metric: str) -> dict[str, Any]:
        return {"kind": "pgvector", "dsn": self.dsn, "table": self.load("corpus"), "index": None}

    def _halfvec(self, metric: str) -> dict[str, Any]:
        return {"kind": "pgvector", "dsn": self.dsn, "table": self.load("halves", "halfvec"), "index": None}

    def _faiss(self, metric: str) -> dict[str, Any]:
        import faiss

        index = (faiss.IndexFlatL2 if metric == "squared_l2" else faiss.IndexFlatIP)(self.vectors.shape[1])
        index.add(self.vectors)
        faiss.write_index(index, str(self.folder / f"{metric}.faiss"))
        (self.folder / "ids.txt").write_text("\n".join(self.ids) + "\n", encoding="utf-8")
        return {"kind": "faiss", "index": f"{metric}.faiss", "ids": "ids.txt"}

    def _scores(self, metric: str) -> dict[str, Any]:
        similarity = self.queries.astype(np.float64) @ self.vectors.astype(np.float64).T
        raw = METRICS[metric].from_cosine(similarity)
        lines = ["query_id,doc_id,score"]
        for query, row in zip(self.query_ids, raw, strict=True):
            lines += [f"{query},{doc},{float(value)!r}" for doc, value in zip(self.ids, row, strict=True)]
        (self.folder / f"{metric}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return {"kind": "scores", "file": f"{metric}.csv"}


def unit(vectors: Any) -> np.ndarray:
    array = np.asarray(vectors, dtype=np.float64)
    return (array / np.linalg.norm(array, axis=1, keepdims=True)).astype(np.float32)


def seeds_fixture(folder: Path, dsn: str | None) -> Corpus:
    """Cosines 0.9, 0.7 and 0.3 against the first query; the second is near a floor of 0.8, the third far below."""
    cosines = np.array([0.9, 0.7, 0.3])
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    angle = np.arccos(0.3) + np.arccos(0.79)
    return Corpus(folder, dsn, ["A", "B", "C"], vectors, [[1, 0], [np.cos(angle), np.sin(angle)], [-1, 0]])


@contextmanager
def own_schema(server_dsn: str) -> Iterator[str]:
    """Address of a new schema on the embedded server, gone afterwards."""
    schema = f"w{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"CREATE SCHEMA {schema}")
        yield make_conninfo(server_dsn, options=f"-csearch_path={schema},public")
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def without_seqscan(dsn: str) -> str:
    """The planner's choice on larger tables: the index, whenever it can serve."""
    return make_conninfo(dsn, options=f"{conninfo_to_dict(dsn).get('options', '')} -cenable_seqscan=off")


def study(corpus: Corpus, old: str, new: str, **more: Any) -> Migration:
    return migrate(MigrateParams(old=old, new=new, queries=corpus.queries_file, **more))


def accepted(found: Migration, side: str = "new", column: str = "accepted") -> set[tuple[str, str]]:
    rows = found.pairs[found.pairs[f"{side}_{column}"]]
    return set(zip(rows["query_id"], rows["doc_id"], strict=True))
