"""The lines given to users do in a real database what the contract says."""

import psycopg
import pytest

from calibration.contract import ScoreContract, convert
from calibration.contract.snippets import SQL

pytestmark = pytest.mark.server


@pytest.mark.parametrize("storage", ["vector", "halfvec"])
@pytest.mark.parametrize("metric", SQL)
@pytest.mark.parametrize(("floor", "expected"), [(0.8, ["A"]), (0.5, ["A", "B"]), (-0.1, ["A", "B", "C"])])
def test_c14_the_sql_accepts_by_the_floor_and_never_a_zero_vector(
    server_dsn: str, metric: str, storage: str, floor: float, expected: list[str]
) -> None:
    found = convert(floor, ScoreContract(), ScoreContract(metric))
    with psycopg.connect(server_dsn) as connection:
        connection.execute(f"CREATE TEMP TABLE passages (id text, embedding {storage}(2))")
        connection.execute(
            "INSERT INTO passages VALUES ('A', '[0.9,0.4358899]'), ('B', '[0.7,0.7141428]'), ('C', '[0.3,0.9539392]'),"
            " ('zero', '[0,0]'), ('none', NULL), ('away', '[-1,0]')"
        )
        query = f"SELECT id FROM passages {found.snippet} ORDER BY id".replace("$1", "'[1,0]'")
        assert [row[0] for row in connection.execute(query).fetchall()] == expected
