"""A user's database: over TCP, with a password, a table of wordllama vectors, and a role that may only read."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from calibration import RunParams, parameters
from calibration.embed import open_embedder
from calibration.sources.postgres.server import PrivateServer, start_private_server

PASSWORD = "S3cretPw"  # noqa: S105
WIDTH = 256


@dataclass(frozen=True)
class Database:
    """The server as its owner sees it, and the address a reader is given, without the password."""

    server: PrivateServer
    dsn: str

    def owner(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.conninfo, autocommit=True)

    def everything(self) -> list[list[Any]]:
        """Relations, columns, roles, settings, write counters and rows: what must be as it was."""
        statements = [
            "SELECT oid, relname, relkind, reloptions, relfilenode FROM pg_class ORDER BY oid",
            "SELECT attrelid, attname, attstorage, attstattarget FROM pg_attribute ORDER BY 1, attnum",
            "SELECT rolname, rolcanlogin, rolpassword FROM pg_authid ORDER BY 1",
            "SELECT setdatabase, setrole, setconfig FROM pg_db_role_setting ORDER BY 1, 2",
            "SELECT name, setting FROM pg_settings WHERE source NOT IN ('session', 'client') ORDER BY 1",
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, analyze_count, vacuum_count FROM pg_stat_user_tables",
            "SELECT id, tenant, md5(embedding::text) FROM docs ORDER BY 1",
        ]
        with self.owner() as connection:
            return [connection.execute(statement).fetchall() for statement in statements]


@pytest.fixture(scope="session")
def passages(labels_folder: Path) -> list[dict[str, str]]:
    lines = (labels_folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="session")
def wordllama_vectors(passages: list[dict[str, str]]) -> np.ndarray:
    """Vectors as a run makes them: title first."""
    texts = [
        passage["text"] if passage["text"].startswith(passage["title"]) else f"{passage['title']}\n{passage['text']}"
        for passage in passages
    ]
    return open_embedder("wordllama").embed(texts, "passage")


@pytest.fixture(scope="session")
def database(
    tmp_path_factory: pytest.TempPathFactory,
    labels_folder: Path,
    passages: list[dict[str, str]],
    wordllama_vectors: np.ndarray,
) -> Iterator[Database]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("users-server")
    with start_private_server(folder, tcp_port=port, password=PASSWORD) as server:
        with psycopg.connect(server.conninfo, autocommit=True) as owner:
            owner.execute(f"CREATE TABLE docs (id text PRIMARY KEY, tenant text, embedding vector({WIDTH}))")
            owner.execute("ALTER TABLE docs SET (autovacuum_enabled = off)")
            with owner.cursor() as cursor:
                add = "INSERT INTO docs VALUES (%s, %s, %s)"
                for passage, vector in zip(passages, wordllama_vectors, strict=True):
                    cursor.execute(add, (passage["_id"], "A", str(vector.tolist())))
                cursor.execute(add, ("no-vector", "A", None))
                cursor.execute(add, ("zero", "A", str([0.0] * WIDTH)))
                # another tenant's copies of every passage, which would be each query's best match
                for number in range(30):
                    cursor.execute(add, (f"other-{number}", "B", str(wordllama_vectors[number % 24].tolist())))
            owner.execute("CREATE INDEX docs_h ON docs USING hnsw (embedding vector_cosine_ops)")
            owner.execute("CREATE TABLE asked (query_id text, text text, answerability text)")
            owner.execute("CREATE TABLE judged (query_id text, doc_id text, relevance int)")
            for line in filter(None, (labels_folder / "queries.jsonl").read_text(encoding="utf-8").split("\n")):
                query = json.loads(line)
                values = (query["_id"], query["text"], query["answerability"])
                owner.execute("INSERT INTO asked VALUES (%s, %s, %s)", values)
            for row in (labels_folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
                owner.execute("INSERT INTO judged VALUES (%s, %s, %s)", row.split("\t"))
            owner.execute("ANALYZE")
            owner.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
            owner.execute("GRANT SELECT ON docs, asked, judged TO reader")
        reader = psycopg.conninfo.conninfo_to_dict(server.conninfo)
        reader.pop("password", None)
        yield Database(server, make_conninfo("", **{**reader, "user": "reader"}))
    server.remove()


@pytest.fixture
def small_params(
    labels_folder: Path, run_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., RunParams]:
    """Build parameters of a quick run of the small set, in the shared cache and outside of any run."""
    monkeypatch.setenv("CALIBRATION_CACHE", str(run_cache))
    monkeypatch.delenv("CALIBRATION_RUN", raising=False)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.chdir(tmp_path)
    usual = {"labels": str(labels_folder), "rel_level": 1, "languages": "pl", "model": "wordllama"}

    def build(**values: Any) -> RunParams:
        return parameters({**usual, **values})

    return build
