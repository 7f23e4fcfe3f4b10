"""The systems of the deploy sheet over one corpus: each answers which passages it keeps for each question."""

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

Kept = dict[str, set[str]]
COMPARE: dict[str, Callable[[Any, float], Any]] = {
    ">=": np.greater_equal,
    ">": np.greater,
    "<=": np.less_equal,
    "<": np.less,
}


def needed(name: str) -> Any:
    """Import a package of the `consumers` extra or skip; never skip where these systems were promised."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if os.environ.get("CALIBRATION_REQUIRE_CONSUMERS") == "1":
            pytest.fail(f"CALIBRATION_REQUIRE_CONSUMERS=1, but {error}")
        pytest.skip(f"NOT RUN: {error}")


@dataclass(frozen=True)
class World:
    """Passages and questions as vectors, and an empty schema on the embedded server."""

    dsn: str
    doc_ids: list[str]
    vectors: np.ndarray
    query_ids: list[str]
    queries: np.ndarray

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def asked(self) -> list[tuple[str, list[float]]]:
        return list(zip(self.query_ids, self.queries.tolist(), strict=True))

    @cached_property
    def engine(self) -> Any:
        return needed("sqlalchemy").create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(self.dsn))

    def close(self) -> None:
        """Give back the connections of the engine, if there is one."""
        if "engine" in self.__dict__:
            self.engine.dispose()


def table(world: World, column_type: str = "vector") -> str:
    """A plain table of the passages, with an index for each operator."""
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS passages CASCADE")
        connection.execute(
            sql.SQL("CREATE TABLE passages (id text PRIMARY KEY, content text, embedding {}({}))").format(
                sql.SQL(column_type), sql.Literal(world.width)
            )
        )
        with connection.cursor() as cursor, cursor.copy("COPY passages (id, embedding) FROM STDIN") as copy:
            for doc, vector in zip(world.doc_ids, world.vectors.tolist(), strict=True):
                copy.write_row((doc, str(vector)))
        for name in ("cosine", "l2", "ip"):
            connection.execute(
                f"CREATE INDEX passages_{name} ON passages USING hnsw (embedding {column_type}_{name}_ops)"
            )
        connection.execute("ANALYZE passages")
    return "passages"


def by_sql(world: World, query: str) -> Kept:
    """Ask with the query of the sheet, planned by the index as on a large table."""
    found: Kept = {}
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET hnsw.ef_search = 200")
        for name, vector in world.asked:
            rows = connection.execute(query.replace("$1", f"'{vector}'::vector")).fetchall()
            found[name] = {row[0] for row in rows}
    return found


def supabase(world: World, value: float, comparison: str, k: int) -> Kept:
    """A function that compares as the one in Supabase's guide does: the cosine distance below 1 - match_threshold."""
    table(world)
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION match_passages(question vector, match_threshold float, match_count int)"
            " RETURNS SETOF text LANGUAGE sql STABLE AS $body$ SELECT id FROM passages"
            " WHERE embedding <=> question < 1 - match_threshold"
            " ORDER BY embedding <=> question LIMIT match_count $body$"
        )
        found = {}
        for name, vector in world.asked:
            rows = connection.execute("SELECT match_passages(%s::vector, %s, %s)", (str(vector), value, k)).fetchall()
            found[name] = {row[0] for row in rows}
    return found


def faiss_search(metric: str) -> Callable[[World, float, str, int], Kept]:
    def run(world: World, value: float, comparison: str, k: int) -> Kept:
        scores, rows = faiss_index(world, metric).search(world.queries, k)
        kept = COMPARE[comparison](scores, value)
        return {
            name: {world.doc_ids[row] for row in one[passed]}
            for name, one, passed in zip(world.query_ids, rows, kept, strict=True)
        }

    return run


def faiss_range(metric: str) -> Callable[[World, float, str, int], Kept]:
    """All within the radius; the first k of them are taken here, since range_search knows no top-K."""

    def run(world: World, value: float, comparison: str, k: int) -> Kept:
        limits, scores, rows = faiss_index(world, metric).range_search(world.queries, value)
        found = {}
        for place, name in enumerate(world.query_ids):
            start, end = limits[place], limits[place + 1]
            order = np.argsort(scores[start:end] if metric == "l2" else -scores[start:end], kind="stable")[:k]
            found[name] = {world.doc_ids[row] for row in rows[start:end][order]}
        return found

    return run


def faiss_index(world: World, metric: str) -> Any:
    faiss = needed("faiss")
    index = (faiss.IndexFlatL2 if metric == "l2" else faiss.IndexFlatIP)(world.width)
    index.add(world.vectors)
    return index


def known_embeddings(world: World) -> Any:
    """LangChain's embeddings of the questions, which are asked by their id."""
    embeddings = needed("langchain_core.embeddings")
    known = dict(world.asked)

    class Known(embeddings.Embeddings):  # type: ignore[misc]
        def embed_query(self, text: str) -> list[float]:
            return known[text]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise NotImplementedError

    return Known()


@contextmanager
def langchain_store(world: World, strategy: str) -> Iterator[Any]:
    vectorstores = needed("langchain_postgres.vectorstores")
    store = vectorstores.PGVector(
        known_embeddings(world),
        connection=world.engine,
        collection_name=f"c_{strategy}",
        distance_strategy=vectorstores.DistanceStrategy[strategy],
        create_extension=False,
        pre_delete_collection=True,
        use_jsonb=True,
    )
    store.add_embeddings(world.doc_ids, world.vectors.tolist(), ids=world.doc_ids)
    yield store
    store.delete_collection()


@contextmanager
def langchain_new_store(world: World, strategy: str) -> Iterator[Any]:
    """The store that is to follow PGVector: one table each, no collections."""
    v2, sqlalchemy = needed("langchain_postgres.v2.engine"), needed("sqlalchemy")
    address = {name: str(value) for name, value in conninfo_to_dict(world.dsn).items()}
    engine = v2.PGEngine.from_connection_string(
        sqlalchemy.URL.create(
            "postgresql+psycopg", username=address.pop("user"), database=address.pop("dbname"), query=address
        ),
        poolclass=sqlalchemy.pool.NullPool,
    )
    name, schema = f"store_{strategy.lower()}", schema_of(world.dsn)
    engine.init_vectorstore_table(
        name, world.width, schema_name=schema, id_column=v2.Column("langchain_id", "VARCHAR", nullable=False)
    )
    store = needed("langchain_postgres").PGVectorStore.create_sync(
        engine,
        known_embeddings(world),
        name,
        schema_name=schema,
        distance_strategy=needed("langchain_postgres.v2.indexes").DistanceStrategy[strategy],
    )
    store.add_embeddings(world.doc_ids, world.vectors.tolist(), ids=world.doc_ids)
    yield store
    engine.drop_table(name, schema_name=schema)


def langchain_retriever(strategy: str) -> Callable[[World, float, str, int], Kept]:
    def run(world: World, value: float, comparison: str, k: int) -> Kept:
        with langchain_store(world, strategy) as store:
            retriever = store.as_retriever(
                search_type="similarity_score_threshold", search_kwargs={"k": k, "score_threshold": value}
            )
            return {name: {found.page_content for found in retriever.invoke(name)} for name in world.query_ids}

    return run


def langchain_new_retriever(strategy: str) -> Callable[[World, float, str, int], Kept]:
    def run(world: World, value: float, comparison: str, k: int) -> Kept:
        with langchain_new_store(world, strategy) as store:
            retriever = store.as_retriever(
                search_type="similarity_score_threshold", search_kwargs={"k": k, "score_threshold": value}
            )
            return {name: {found.page_content for found in retriever.invoke(name)} for name in world.query_ids}

    return run


def langchain_scores(world: World, value: float, comparison: str, k: int) -> Kept:
    with langchain_store(world, "COSINE") as store:
        return {
            name: {
                document.page_content
                for document, distance in store.similarity_search_with_score(name, k=k)
                if COMPARE[comparison](distance, value)
            }
            for name in world.query_ids
        }


def llamaindex(world: World, value: float, comparison: str, k: int) -> Kept:
    from_nodes = llamaindex_nodes(world, k)
    postprocessor = needed("llama_index.core.postprocessor")
    cut = postprocessor.SimilarityPostprocessor(similarity_cutoff=value)
    return {name: {found.node.text for found in cut.postprocess_nodes(nodes)} for name, nodes in from_nodes.items()}


def llamaindex_nodes(world: World, k: int, *more: tuple[str, list[float]], keep: bool = False) -> dict[str, list[Any]]:
    """The scored nodes of every question; the table goes unless it is kept."""
    postgres = needed("llama_index.vector_stores.postgres")
    core = needed("llama_index.core.vector_stores")
    schema = needed("llama_index.core.schema")
    name = f"nodes_{len(more)}"
    store = postgres.PGVectorStore(
        connection_string="postgresql+psycopg://",
        async_connection_string="postgresql+psycopg://",
        table_name=name,
        schema_name=schema_of(world.dsn),
        embed_dim=world.width,
        engine=world.engine,
        async_engine=needed("sqlalchemy.ext.asyncio").create_async_engine("postgresql+psycopg://"),
    )
    store.add(
        [
            schema.TextNode(id_=doc, text=doc, embedding=vector)
            for doc, vector in [*zip(world.doc_ids, world.vectors.tolist(), strict=True), *more]
        ]
    )
    found = {}
    for question, vector in world.asked:
        answer = store.query(core.VectorStoreQuery(query_embedding=vector, similarity_top_k=k))
        found[question] = [
            schema.NodeWithScore(node=node, score=score)
            for node, score in zip(answer.nodes, answer.similarities, strict=True)
        ]
    if not keep:
        with psycopg.connect(world.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(f"data_{name}")))
    return found


def haystack(function: str) -> Callable[[World, float, str, int], Kept]:
    def run(world: World, value: float, comparison: str, k: int) -> Kept:
        stores = needed("haystack_integrations.document_stores.pgvector")
        retrievers = needed("haystack_integrations.components.retrievers.pgvector")
        core = needed("haystack")
        store = stores.PgvectorDocumentStore(
            connection_string=needed("haystack.utils").Secret.from_token(world.dsn),
            create_extension=False,
            schema_name=schema_of(world.dsn),
            table_name=f"haystack_{function}",
            embedding_dimension=world.width,
            vector_function=function,
            recreate_table=True,
        )
        store.write_documents(
            [
                core.Document(id=doc, content=doc, embedding=vector)
                for doc, vector in zip(world.doc_ids, world.vectors.tolist(), strict=True)
            ]
        )
        retriever = retrievers.PgvectorEmbeddingRetriever(document_store=store, top_k=k)
        return {
            name: {
                found.id
                for found in retriever.run(query_embedding=vector)["documents"]
                if COMPARE[comparison](found.score, value)
            }
            for name, vector in world.asked
        }

    return run


def schema_of(dsn: str) -> str:
    """The schema that `own_schema` made."""
    return str(conninfo_to_dict(dsn)["options"]).split("search_path=")[1].split(",")[0]


SYSTEMS: dict[tuple[str, str], Callable[[World, float, str, int], Kept]] = {
    ("LangChain PGVector, cosine (the default)", "score_threshold of the retriever"): langchain_retriever("COSINE"),
    ("LangChain PGVector, cosine (the default)", "score of similarity_search_with_score"): langchain_scores,
    ("LangChain PGVector, EUCLIDEAN", "score_threshold of the retriever"): langchain_retriever("EUCLIDEAN"),
    ("LangChain PGVectorStore, cosine (the default)", "score_threshold of the retriever"): langchain_new_retriever(
        "COSINE_DISTANCE"
    ),
    ("LlamaIndex PGVectorStore", "similarity_cutoff of SimilarityPostprocessor"): llamaindex,
    ("Haystack pgvector, cosine_similarity (the default)", "score of the documents; no cut of its own"): haystack(
        "cosine_similarity"
    ),
    ("Haystack pgvector, l2_distance", "score of the documents; no cut of its own"): haystack("l2_distance"),
    ("Faiss, METRIC_INNER_PRODUCT", "scores of search"): faiss_search("ip"),
    ("Faiss, METRIC_L2", "distances of search"): faiss_search("l2"),
    ("Faiss, METRIC_INNER_PRODUCT", "radius of range_search; no top-K"): faiss_range("ip"),
    ("Faiss, METRIC_L2", "radius of range_search; no top-K"): faiss_range("l2"),
    ("Supabase match_documents, <=>", "match_threshold"): supabase,
}
"""(system, setting) of the sheet, and how it is run."""
