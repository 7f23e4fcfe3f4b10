"""A live table against the contract recorded for it, on the embedded server."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from calibration.contract import ContractFile, ScoreContract, tolerance_for, write_contract
from calibration.errors import ContractError, StoreError
from calibration.testing import assert_contract_of_table

pytestmark = pytest.mark.server
_numbers = count()
Check = Callable[..., None]
ROWS = "(1, 'm1', '[1,0,0]'), (2, 'm1', '[0.6,0.8,0]')"


@pytest.fixture
def table(server_dsn: str) -> Iterator[Callable[..., Check]]:
    """Make a table in a schema of its own; returns the assertion bound to it."""
    schema = f"testing_{next(_numbers)}"

    def make(rows: str = ROWS, kind: str = "vector(3)", then: str = "") -> Check:
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
            connection.execute(f"SET search_path = {schema}, public")
            connection.execute(f"CREATE TABLE passages (id int PRIMARY KEY, model text, embedding {kind})")
            connection.execute(f"INSERT INTO passages VALUES {rows}")
            if then:
                connection.execute(then)
        dsn = make_conninfo(server_dsn, options=f"-csearch_path={schema},public")

        def check(file: Path | ContractFile, name: str = "passages", **options: str) -> None:
            assert_contract_of_table(file, name, dsn=dsn, **options)

        return check

    yield make
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def recorded(metric: str = "cosine_distance", **fields: object) -> ContractFile:
    return ContractFile(ScoreContract(metric, embedding_version="m1", **fields))  # type: ignore[arg-type]


def test_a_table_that_is_what_its_file_says_passes(table: Callable[..., Check], tmp_path: Path) -> None:
    check = table(then="CREATE INDEX ON passages USING hnsw (embedding vector_cosine_ops)")
    source = {"kind": "pgvector", "table": "passages", "dimensions": 3}
    path = write_contract(ContractFile(recorded().contract, 0.2, 8, source), tmp_path / "contract.json")
    check(path)
    check(path, model_column="model")
    check(recorded(), where="id = 1")


def test_an_index_of_another_operator_is_found(table: Callable[..., Check]) -> None:
    check = table(then="CREATE INDEX by_l2 ON passages USING hnsw (embedding vector_l2_ops)")
    check(recorded("l2"))
    with pytest.raises(AssertionError, match=r"by_l2 .*vector_l2_ops, but cosine_distance needs vector_cosine_ops"):
        check(recorded())


def test_c11_c12_vectors_that_are_not_of_unit_length_are_found(table: Callable[..., Check]) -> None:
    check = table("(1, 'm1', '[0.96,0.28,0]'), (2, 'm1', '[6,8,0]')")
    with pytest.raises(AssertionError) as failed:
        check(recorded("inner_product"))
    assert "1 of 2 document vectors are not of unit length (norms 1 to 10)" in str(failed.value)
    check(recorded("inner_product", normalisation="none"))
    check(recorded("inner_product", normalisation="query_unit_l2"))


def test_c14_zero_vectors_are_found_and_named(table: Callable[..., Check]) -> None:
    check = table(ROWS + ", (7, 'm1', '[0,0,0]'), (8, 'm1', NULL)")
    with pytest.raises(AssertionError, match="1 of 3 vectors are zero, which no metric can place: 7"):
        check(recorded(normalisation="none"))


def test_c18_two_widths_are_found(table: Callable[..., Check]) -> None:
    check = table("(1, 'm1', '[1,0]'), (2, 'm1', '[1,0,0]')", kind="vector")
    with pytest.raises(AssertionError, match=r"embedding holds 2 dimensions: 2 \(1 row\), 3 \(1 row\)"):
        check(recorded())


def test_c39_rows_of_another_model_are_found(table: Callable[..., Check]) -> None:
    check = table(ROWS + ", (3, 'm2', '[0,1,0]')")
    check(recorded())
    with pytest.raises(AssertionError, match="1 of 3 rows were embedded with m2"):
        check(recorded(), model_column="model")


def test_two_byte_floats_need_a_wider_tolerance(table: Callable[..., Check]) -> None:
    check = table(kind="halfvec(3)")
    with pytest.raises(AssertionError, match=r"tolerance 1e-06 is narrower than what halfvec rounds .*0\.002"):
        check(recorded())
    check(recorded(tolerance=tolerance_for("halfvec", 3)))


def test_what_the_source_records_is_compared_and_all_differences_come_at_once(table: Callable[..., Check]) -> None:
    check = table("(1, 'm1', '[2,0,0]'), (2, 'm2', '[0,1,0]')")
    file = ContractFile(recorded("l2").contract, source={"table": "chunks", "dimensions": 384})
    with pytest.raises(AssertionError) as failed:
        check(file, model_column="model")
    for words in ("'chunks', this is 'passages'", "384 dimensions, the table holds 3", "not of unit length", "with m2"):
        assert words in str(failed.value)


def test_a_table_without_a_vector_matches_nothing(table: Callable[..., Check]) -> None:
    with pytest.raises(AssertionError, match="0 of 1 rows hold a vector"):
        table("(1, 'm1', NULL)")(recorded())


def test_what_pgvector_cannot_return_is_a_difference_and_what_cannot_be_read_an_error(
    table: Callable[..., Check], tmp_path: Path
) -> None:
    check = table()
    for contract in (ScoreContract("score"), ScoreContract(score_transform="(1+cos)/2")):
        with pytest.raises(AssertionError, match="no operator of pgvector returns"):
            check(ContractFile(contract))
    with pytest.raises(StoreError, match="there is no table passage; did you mean passages"):
        check(recorded(), "passage")
    with pytest.raises(ContractError, match="expected a contract file"):
        check(tmp_path / "none.json")


@pytest.mark.parametrize("storage", ["vector", "halfvec"])
def test_c21_real_storage_stays_within_its_tolerance_under_every_operator(server_dsn: str, storage: str) -> None:
    rng = np.random.default_rng(5)
    width = 64
    query = rng.normal(size=width)
    query /= np.linalg.norm(query)
    documents = query + rng.normal(size=(200, width)) * np.linspace(0.0, 0.5, 200)[:, None]
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    tolerance = tolerance_for(storage, width)
    operators = {"cosine_distance": "<=>", "l2": "<->", "negative_inner_product": "<#>"}
    with psycopg.connect(server_dsn) as connection:
        connection.execute(f"CREATE TEMP TABLE stored (id int, e {storage}({width}))")
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO stored VALUES (%s, %s)",
                [(row, str(vector.tolist())) for row, vector in enumerate(documents)],
            )
        for metric, operator in operators.items():
            found = connection.execute(
                f"SELECT e {operator} %s::{storage} FROM stored ORDER BY id", (str(query.tolist()),)
            ).fetchall()
            contract = ScoreContract(metric, tolerance=tolerance)
            moved = np.abs(contract.similarity([row[0] for row in found]) - documents @ query)
            assert moved.max() < tolerance, (metric, float(moved.max()))
