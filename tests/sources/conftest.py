from collections.abc import Callable, Iterator
from itertools import count

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

_numbers = count()


@pytest.fixture
def dsn(server_dsn: str) -> Iterator[str]:
    """A schema of this test's own on the embedded server."""
    schema = f"test_{next(_numbers)}"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        yield make_conninfo(server_dsn, options=f"-csearch_path={schema},public")
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def run(dsn: str) -> Callable[..., list[tuple]]:
    """Run statements as the owner; returns the rows of the last one."""

    def execute(*statements: str) -> list[tuple]:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description is not None else []

    return execute


@pytest.fixture
def table_f(run: Callable[..., list[tuple]]) -> str:
    """Fixture F of the case log: 1020 rows, an HNSW index, and tenant B where the index does not look."""
    angle = "radians(CASE WHEN i < 1000 THEN 0.02 * i ELSE 40 + i - 1000 END)"
    run(
        "CREATE TABLE f (id int PRIMARY KEY, tenant text, e vector(2))",
        "INSERT INTO f SELECT i, CASE WHEN i < 1000 THEN 'A' ELSE 'B' END,"
        f" ('[' || cos({angle}) || ',' || sin({angle}) || ']')::vector FROM generate_series(0, 1019) AS i",
        "CREATE INDEX f_h ON f USING hnsw (e vector_cosine_ops)",
        "ANALYZE f",
    )
    return "f"


@pytest.fixture
def table_z(run: Callable[..., list[tuple]]) -> str:
    """The table of cases C14 and C16: one zero vector, one NULL."""
    run(
        "CREATE TABLE z (id int PRIMARY KEY, e vector(3))",
        "INSERT INTO z VALUES (1,'[1,0,0]'), (2,'[0,0,0]'), (3,'[0.9,0.1,0]'), (4,NULL), (5,'[-1,0,0]')",
    )
    return "z"
