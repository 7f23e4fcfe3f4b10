"""The pull against the machine's limit, a loop of SQL queries, and the vector stores people use, in one run.

python tests/benchmarks/pull.py [--rows 10000 100000 1000000] [--queries 20 200] [--peer-python PYTHON] [--json FILE]

The limit: all vectors by COPY in binary, then one matrix product in numpy, nothing else. The loop: one SQL statement
per query that returns the id and the score of every row. LangChain's PGVector and LlamaIndex's PGVectorStore are asked
for all scores of a query (k = rows); they need an interpreter of their own, since langchain-postgres pins an older
pgvector: pip install langchain-postgres llama-index-vector-stores-postgres psycopg2-binary asyncpg.
What goes query by query is timed on a few queries and multiplied; the others run once before they are timed. Every
measurement is a process of its own, so its peak memory is its own, too; measurements of one size take turns.
"""

import argparse
import json
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, REPEATS, FEW = 384, 5, 3
TABLE = "chunks"


def main() -> int:
    options = _options()
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options.dsn, options.rows[0], options.queries[0])))
        return 0
    from calibration.sources.postgres.server import start_private_server

    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pull-") as folder:
        server = start_private_server(Path(folder), tcp_port=options.port, password="benchmark")  # noqa: S106
        try:
            for rows in options.rows:
                load(server.conninfo, rows)
                for queries in options.queries:
                    found.append(measured(options, server.conninfo, rows, queries))
                    show(found[-1])
        finally:
            server.remove()
    document = {"table": found, **summary(found)}
    print(json.dumps({name: value for name, value in document.items() if name != "table"}, indent=2))
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def measured(options: argparse.Namespace, dsn: str, rows: int, queries: int) -> dict[str, Any]:
    """Seconds and peak memory of each way, medians of alternating runs."""
    ways = ["ours"] + (["limit"] if rows <= 200_000 else []) + (["sql_loop"] if rows <= 200_000 else [])
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(REPEATS):
        for way in ways:
            runs[way].append(child(sys.executable, way, dsn, rows, queries))
    if options.peer_python and rows <= 200_000:
        for way in ("langchain", "llama_index"):
            runs[way] = [child(options.peer_python, way, dsn, rows, queries)]
    row: dict[str, Any] = {"rows": rows, "queries": queries}
    for way, results in runs.items():
        row[way] = statistics.median(one["seconds"] for one in results)
        row[f"{way}_memory"] = max(one["memory"] for one in results)
    if "limit" in runs:
        pairs = zip(runs["ours"], runs["limit"], strict=True)
        row["ratio_to_limit"] = statistics.median(one["seconds"] / other["seconds"] for one, other in pairs)
    for way, name in (("sql_loop", "sql_loop"), ("langchain", "langchain"), ("llama_index", "llama_index")):
        if way in runs:
            row[f"speedup_{name}"] = row[way] / row["ours"]
    row["nanoseconds_per_score"] = row["ours"] / (rows * queries) * 1e9
    return row


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that are promised, of the largest number of queries."""
    most = max(row["queries"] for row in found)
    by_rows = {row["rows"]: row for row in found if row["queries"] == most}
    middle = by_rows.get(100_000, next(iter(by_rows.values())))
    names = ("ratio_to_limit", "speedup_sql_loop", "speedup_langchain", "speedup_llama_index")
    promised = {name: middle[name] for name in names if name in middle}
    if 1_000_000 in by_rows and 100_000 in by_rows:
        promised["memory_growth"] = by_rows[1_000_000]["ours_memory"] / middle["ours_memory"]
        promised["time_per_score_growth"] = (
            by_rows[1_000_000]["nanoseconds_per_score"] / middle["nanoseconds_per_score"]
        )
    return promised


def show(row: dict[str, Any]) -> None:
    ways = ("ours", "limit", "sql_loop", "langchain", "llama_index")
    cells = [f"{way} {row[way]:.2f} s ({row[f'{way}_memory'] / 1e6:.0f} MB)" for way in ways if way in row]
    ratio = f"  {row['ratio_to_limit']:.2f} x the limit" if "ratio_to_limit" in row else ""
    print(f"{row['rows']:>9} rows x {row['queries']:>3} queries: {', '.join(cells)}{ratio}", flush=True)


def child(python: str, way: str, dsn: str, rows: int, queries: int) -> dict[str, float]:
    command = [python, __file__, "--measure", way, "--dsn", dsn, "--rows", str(rows), "--queries", str(queries)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{way} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def load(dsn: str, rows: int) -> None:
    """Random unit vectors in a plain table, block by block."""
    import psycopg

    rng = np.random.default_rng(rows)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
        connection.execute(f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, embedding vector({WIDTH}))")
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {TABLE} FROM STDIN (FORMAT binary)") as copy,
        ):
            copy.write(b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0))
            for start in range(0, rows, 10_000):
                copy.write(_copied(unit(rng, min(10_000, rows - start)), start))
            copy.write(struct.pack("!h", -1))
        connection.execute(f"VACUUM ANALYZE {TABLE}")


def _copied(vectors: np.ndarray, start: int) -> bytes:
    kinds = [("columns", ">i2"), ("n1", ">i4"), ("id", ">i8"), ("n2", ">i4"), ("width", ">i2"), ("unused", ">i2")]
    table = np.zeros(len(vectors), dtype=[*kinds, ("values", ">f4", (WIDTH,))])
    table["columns"], table["n1"], table["n2"], table["width"] = 2, 8, 4 + 4 * WIDTH, WIDTH
    table["id"], table["values"] = np.arange(start, start + len(vectors)), vectors
    return table.tobytes()


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    vectors = rng.standard_normal((rows, WIDTH), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def asked(queries: int) -> np.ndarray:
    return unit(np.random.default_rng(7), queries)


def ours(dsn: str, rows: int, queries: int) -> dict[str, float]:
    return timed(lambda: ours_once(dsn, rows, queries))


def judged_rows(rows: int, queries: int) -> np.ndarray:
    """Three rows per query, (queries, 3)."""
    return np.random.default_rng(3).choice(rows, (queries, 3))


def ours_once(dsn: str, rows: int, queries: int) -> None:
    """The whole pull, preflight and proof included."""
    import pandas as pd

    from calibration.labels import Labels
    from calibration.sources.postgres import PostgresSource
    from calibration.studies.pull import pull_scores

    vectors, ids = asked(queries), [f"q{i}" for i in range(queries)]
    table = pd.DataFrame({"query_id": ids, "text": "", "kind": "-", "answerability": "answerable", "must": "-"})
    judged = judged_rows(rows, queries)
    qrels = pd.DataFrame({"query_id": np.repeat(ids, 3), "doc_id": judged.ravel().astype(str), "relevance": 1})
    labels = Labels(table.assign(group=ids).astype("str"), qrels.drop_duplicates(), None, 1, "unknown")
    source = PostgresSource(dsn, TABLE, metric="cosine_similarity")
    scores, _ = pull_scores(source, ids, vectors, labels, metric="cosine_similarity", embedding_version="x", k_max=20)
    if scores.n_documents != rows:
        sys.exit("rows are missing")


def limit(dsn: str, rows: int, queries: int) -> dict[str, float]:
    import psycopg

    vectors = asked(queries)
    kinds = [("columns", ">i2"), ("size", ">i4"), ("width", ">i2"), ("unused", ">i2"), ("values", ">f4", (WIDTH,))]

    def work() -> None:
        raw = bytearray()
        statement = f"COPY (SELECT embedding FROM {TABLE}) TO STDOUT (FORMAT binary)"
        with psycopg.connect(dsn) as connection, connection.cursor() as cursor, cursor.copy(statement) as copy:
            for piece in copy:
                raw += piece
        table = np.frombuffer(raw, dtype=kinds, offset=19, count=rows)
        scores = vectors @ table["values"].astype(np.float32).T
        if scores.shape != (queries, rows):
            sys.exit("rows are missing")

    return timed(work)


def sql_loop(dsn: str, rows: int, queries: int) -> dict[str, float]:
    import psycopg
    from pgvector.psycopg import register_vector

    vectors = asked(queries)[:FEW]
    with psycopg.connect(dsn) as connection:
        register_vector(connection)

        def work() -> None:
            for vector in vectors:
                statement = f"SELECT id, 1 - (embedding <=> %s) FROM {TABLE}"
                with connection.cursor(binary=True) as cursor:
                    found = cursor.execute(statement, (vector,)).fetchall()
                if len(found) != rows:
                    sys.exit("rows are missing")

        return timed(work, queries / len(vectors))


def langchain(dsn: str, rows: int, queries: int) -> dict[str, float]:
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import PGVector

    store = PGVector(DeterministicFakeEmbedding(size=WIDTH), connection=address(dsn, "psycopg"), use_jsonb=True)
    _fill_langchain(dsn, store, rows)
    vectors = asked(queries)[:FEW]

    def work() -> None:
        for vector in vectors:
            if len(store.similarity_search_with_score_by_vector(vector.tolist(), k=rows)) != rows:
                sys.exit("rows are missing")

    return timed(work, queries / len(vectors))


def _fill_langchain(dsn: str, store: Any, rows: int) -> None:
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        columns = "id, collection_id, embedding, document, cmetadata"
        values = (
            f"SELECT id::text, (SELECT uuid FROM langchain_pg_collection LIMIT 1), embedding, '', '{{}}' FROM {TABLE}"
        )
        connection.execute("TRUNCATE langchain_pg_embedding")
        connection.execute(f"INSERT INTO langchain_pg_embedding ({columns}) {values}")
        connection.execute("ANALYZE langchain_pg_embedding")


def llama_index(dsn: str, rows: int, queries: int) -> dict[str, float]:
    import psycopg
    from llama_index.core.vector_stores import VectorStoreQuery
    from llama_index.vector_stores.postgres import PGVectorStore

    store = PGVectorStore(
        connection_string=address(dsn, "psycopg2"),
        async_connection_string=address(dsn, "asyncpg"),
        table_name="llama",
        embed_dim=WIDTH,
    )
    store.query(VectorStoreQuery(query_embedding=[0.0] * WIDTH, similarity_top_k=1))  # makes the table
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("TRUNCATE data_llama")
        connection.execute(
            "INSERT INTO data_llama (text, metadata_, node_id, embedding)"
            f" SELECT '', json_build_object('_node_content', '{{}}'), id::text, embedding FROM {TABLE}"
        )
        connection.execute("ANALYZE data_llama")
    vectors = asked(queries)[:FEW]

    def work() -> None:
        for vector in vectors:
            query = VectorStoreQuery(query_embedding=vector.tolist(), similarity_top_k=rows)
            if len(store.query(query).similarities or []) != rows:
                sys.exit("rows are missing")

    return timed(work, queries / len(vectors))


def address(dsn: str, driver: str) -> str:
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(dsn)
    return f"postgresql+{driver}://{parts['user']}:benchmark@127.0.0.1:{parts['port']}/{parts['dbname']}"


def timed(work: Callable[[], None], times: float = 1.0) -> dict[str, float]:
    """Run twice and time the second: imports, first touches and the server's cache belong to no way of doing it."""
    if times == 1.0:
        work()
    start = time.perf_counter()
    work()
    seconds = (time.perf_counter() - start) * times
    return {"seconds": seconds, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


MEASURES: dict[str, Callable[[str, int, int], dict[str, float]]] = {
    "ours": ours, "limit": limit, "sql_loop": sql_loop, "langchain": langchain, "llama_index": llama_index,
}  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, nargs="+", default=[20, 200])
    parser.add_argument("--peer-python", help="interpreter that has LangChain's and LlamaIndex's stores")
    parser.add_argument("--port", type=int, default=54_329)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", choices=list(MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("--dsn", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
