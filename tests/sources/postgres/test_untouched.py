"""A user's server over TCP, with a password, is left exactly as it was found."""

import os
import socket
import subprocess

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from calibration.errors import StoreError
from calibration.sources.postgres import PostgresSource, connect
from calibration.sources.postgres.server import start_private_server

pytestmark = pytest.mark.server
PASSWORD = "S3cretPw"  # noqa: S105


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with start_private_server(tmp_path_factory.mktemp("foreign"), tcp_port=port, password=PASSWORD) as server:
        with psycopg.connect(server.conninfo, autocommit=True) as owner:
            owner.execute("CREATE TABLE docs (id bigint PRIMARY KEY, e vector(2))")
            owner.execute("INSERT INTO docs SELECT i, ARRAY[i, 1]::vector FROM generate_series(1, 500) AS i")
            owner.execute("CREATE INDEX docs_h ON docs USING hnsw (e vector_cosine_ops)")
            owner.execute("ANALYZE docs")
            owner.execute("ALTER TABLE docs SET (autovacuum_enabled = off)")
            owner.execute("CREATE ROLE reader LOGIN PASSWORD 'S3cretPw'")
            owner.execute("GRANT SELECT ON docs TO reader")
        yield server
    server.remove()


def everything(server):
    """A dump of all roles, settings, tables and rows, and the write counters of the table."""
    program = server.cluster.binaries.folder / "pg_dumpall"
    environment = {**os.environ, "PGPASSWORD": PASSWORD}
    result = subprocess.run(
        [program, "-d", server.conninfo], env=environment, capture_output=True, text=True, check=True
    )
    dump = [line for line in result.stdout.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]
    with psycopg.connect(server.conninfo) as owner:
        counters = owner.execute(
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, last_vacuum, last_analyze FROM pg_stat_user_tables"
        ).fetchall()
        settings = owner.execute(
            "SELECT name, setting FROM pg_settings WHERE source NOT IN ('session', 'client') ORDER BY name"
        ).fetchall()
    return dump, counters, settings


@pytest.mark.parametrize("user", ["postgres", "reader"])
def test_a_pull_changes_nothing(foreign, user):
    before = everything(foreign)
    assert any("docs_h" in line for line in before[0])
    source = PostgresSource(make_conninfo(foreign.conninfo, user=user), "docs", vector_column="e")
    queries = np.array([[1, 0], [0, 1]], dtype=np.float32)
    source.preflight()
    source.verify(queries)
    source.vectors_of(["1"])
    for strategy in ("fetch", "sql"):
        assert sum(len(block.doc_ids) for block in source.blocks(queries, strategy=strategy)) in (500, 1000)
    assert everything(foreign) == before
    assert PASSWORD not in str(source.describe())


def test_even_an_owner_cannot_write_through_our_connection(foreign):
    before = everything(foreign)
    with connect(foreign.conninfo) as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("DELETE FROM docs")
    assert everything(foreign) == before


def test_a_wrong_password_is_not_repeated(foreign):
    with pytest.raises(StoreError, match="password authentication failed") as caught:
        connect(make_conninfo(foreign.conninfo, password="Wr0ngPw"))  # noqa: S106
    assert "Wr0ngPw" not in str(caught.value)


@pytest.mark.parametrize("part_rows", [100_000, 1])
def test_a_server_that_dies_during_a_pull_is_a_store_error(foreign, monkeypatch, part_rows):
    """While it copies more than fits into the sockets' buffers, and while a cursor is read."""
    from calibration.sources.postgres import pull

    monkeypatch.setattr(pull, "BLOCK_BYTES", 1)
    monkeypatch.setattr(pull, "COPIED_BYTES", 1)
    monkeypatch.setattr(pull.division, "PART_ROWS", part_rows)
    with psycopg.connect(foreign.conninfo, autocommit=True) as owner:
        owner.execute("DROP TABLE IF EXISTS heavy")
        owner.execute(
            "CREATE TABLE heavy AS SELECT i AS id, array_fill(1::real, ARRAY[1000])::vector(1000) AS e"
            " FROM generate_series(1, 6000) AS i"
        )
        source = PostgresSource(foreign.conninfo, "heavy", vector_column="e")
        blocks = source.blocks(np.ones((1, 1000), dtype=np.float32), strategy="fetch")
        next(blocks)
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'retrieval-calibration'"
        )
        with pytest.raises(StoreError, match="cannot pull from heavy"):
            list(blocks)
        owner.execute("DROP TABLE heavy")
