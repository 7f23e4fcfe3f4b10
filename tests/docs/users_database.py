"""A database as a user has it: a table of chunks with an index, a search log, and labels that name the table's ids."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from calibration.embed import open_embedder
from calibration.resources import bundled
from calibration.sources.postgres.server import start_private_server

WIDTH = 256
TENANTS = ("acme", "globex")
OF_ANOTHER_TENANT = 20
"""Passages that the second tenant holds a copy of."""


@dataclass(frozen=True)
class Users:
    """Where it is, seen by its owner."""

    conninfo: str

    @property
    def port(self) -> str:
        return str(conninfo_to_dict(self.conninfo)["port"])

    @property
    def database(self) -> str:
        return str(conninfo_to_dict(self.conninfo)["dbname"])

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description is not None else []

    def everything(self) -> list[list[tuple[Any, ...]]]:
        """Tables and their rows: what must be as it was."""
        return [
            self.run("SELECT relname, relkind, relfilenode FROM pg_class ORDER BY oid"),
            self.run("SELECT id, tenant, content, md5(embedding::text) FROM chunks ORDER BY id"),
        ]


@contextmanager
def users_database(folder: Path) -> Iterator[Users]:
    """Serve on 127.0.0.1, with passwords, until the block ends; vectors are wordllama's."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with start_private_server(folder, tcp_port=port, password="owner") as server:  # noqa: S106
        users = Users(server.conninfo)
        _fill(users)
        yield users
    server.remove()


def write_labels_of_table(folder: Path, source: Path) -> None:
    """Write the small set of `small_world`, with the numbers that the table has for passages."""
    numbers = {passage["_id"]: number for number, passage in enumerate(_passages(), 1)}
    rows = [line.split("\t") for line in (source / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    lines = ["query_id\tdoc_id\trelevance", *(f"{query}\t{numbers[doc]}\t{grade}" for query, doc, grade in rows)]
    (folder / "queries.jsonl").write_bytes((source / "queries.jsonl").read_bytes())
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _fill(users: Users) -> None:
    passages = _passages()
    vectors = open_embedder("wordllama").embed([f"{one['title']}\n{one['text']}" for one in passages], "passage")
    with psycopg.connect(users.conninfo, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE chunks (id bigint PRIMARY KEY, document_id text NOT NULL, tenant text NOT NULL,"
            f" content text NOT NULL, embedding vector({WIDTH}))"
        )
        add = "INSERT INTO chunks VALUES (%s, %s, %s, %s, %s)"
        for number, (passage, vector) in enumerate(zip(passages, vectors, strict=True), 1):
            values = (passage["_id"][:3], TENANTS[0], passage["text"], str(vector.tolist()))
            owner.execute(add, (number, *values))
            if number <= OF_ANOTHER_TENANT:
                owner.execute(add, (1000 + number, values[0], TENANTS[1], *values[2:]))
        owner.execute("CREATE INDEX chunks_embedding ON chunks USING hnsw (embedding vector_cosine_ops)")
        owner.execute("CREATE TABLE search_log (query text, asked_at timestamptz DEFAULT now())")
        for query in _lines(bundled("data") / "sample" / "queries.jsonl"):
            owner.execute("INSERT INTO search_log (query) VALUES (%s)", (query["text"],))
        owner.execute("ANALYZE")


def _passages() -> list[dict[str, str]]:
    return _lines(bundled("data") / "sample" / "corpus.jsonl")


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
