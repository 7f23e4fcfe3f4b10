import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from calibration.errors import StoreError
from calibration.sources import IndexFact
from calibration.sources.postgres import PostgresSource

pytestmark = pytest.mark.server


def test_c14_c16_facts_of_null_and_zero_rows(dsn, run, table_z):
    run("CREATE INDEX z_h ON z USING hnsw (e vector_cosine_ops)")
    facts = PostgresSource(dsn, table_z, vector_column="e").preflight()
    assert (facts.rows, facts.null_vectors, facts.zero_vectors, facts.scorable) == (5, 1, 1, 3)
    assert (facts.null_ids, facts.zero_ids) == (["4"], ["2"])
    assert facts.dimensions == {3: 4}
    assert facts.norm_min == 0
    assert facts.norm_max == pytest.approx(1)
    assert facts.not_unit == 1  # 0.9, 0.1, 0
    assert facts.indexes == [IndexFact("z_h", "hnsw", "vector_cosine_ops")]
    assert facts.blocking == []
    assert facts.problems == [
        "1 row without a vector: 4",
        "1 row with a zero vector: 2 (it has no cosine and is left out)",
    ]
    assert facts.pgvector_version is not None
    assert (facts.table, facts.filter, facts.models) == ("z", None, None)


def test_c18_mixed_widths_are_a_blocking_problem(dsn, run):
    run("CREATE TABLE d (id int, e vector)", "INSERT INTO d VALUES (1,'[1,0]'), (2,'[1,0,0]')")
    facts = PostgresSource(dsn, "d", vector_column="e").preflight()
    assert facts.blocking == ["column e holds 2 dimensions: 2 (1 row), 3 (1 row)"]
    assert facts.dimensions == {2: 1, 3: 1}


def test_c39_rows_of_another_model_stop_the_pull(dsn, run):
    run(
        "CREATE TABLE d (id int, embedding_model text, e vector(2))",
        "INSERT INTO d SELECT i, CASE WHEN i < 4 THEN 'm-a' ELSE 'm-b' END, '[1,0]' FROM generate_series(1, 5) AS i",
    )

    def source(**options):
        return PostgresSource(dsn, "d", vector_column="e", model_column="embedding_model", **options)

    declared = source(model="m-a")
    assert declared.preflight().models == {"m-a": 3, "m-b": 2}
    with pytest.raises(StoreError, match="2 of 5 rows were embedded with m-b"):
        next(declared.blocks(np.array([[1, 0]], dtype=np.float32)))
    assert "2 models: m-a (3 rows), m-b (2 rows)" in source().preflight().blocking[0]
    assert source(model="m-a", where="embedding_model = 'm-a'").preflight().blocking == []


def test_repeated_and_missing_ids_are_refused_together(dsn, run):
    run("CREATE TABLE d (id int, e vector(2))", "INSERT INTO d VALUES (7,'[1,0]'), (7,'[0,1]'), (NULL,'[1,0]')")
    source = PostgresSource(dsn, "d", vector_column="e")
    with pytest.raises(StoreError, match=r"repeats ids: 7 \(2 rows\); column id is NULL in 1 row"):
        next(source.blocks(np.array([[1, 0]], dtype=np.float32)))


def test_an_index_for_another_metric_is_named(dsn, run, table_f):
    facts = PostgresSource(dsn, table_f, vector_column="e", metric="l2").preflight()
    assert facts.blocking == []
    assert facts.problems == [
        "index f_h (hnsw) has vector_cosine_ops, but l2 needs vector_l2_ops: searches cannot use it"
    ]


@pytest.mark.parametrize("metric", ["inner_product", "l2"])
def test_c11_c12_vectors_that_are_not_unit_length_are_named(dsn, run, metric):
    run("CREATE TABLE d (id int, e vector(2))", "INSERT INTO d VALUES (1,'[0.96,0.28]'), (2,'[6,8]')")
    facts = PostgresSource(dsn, "d", vector_column="e", metric=metric).preflight()
    assert facts.not_unit == 1
    assert facts.problems == [
        f"1 of 2 document vectors not unit length (norms 1 to 10): no cosine floor follows from {metric}"
    ]


@pytest.mark.parametrize("rows", ["", "INSERT INTO d VALUES (1, NULL)", "INSERT INTO d VALUES (1, '[0,0]')"])
def test_c97_a_table_without_usable_vectors_is_an_error(dsn, run, rows):
    run("CREATE TABLE d (id int, e vector(2))", rows or "SELECT 1")
    with pytest.raises(StoreError, match="0 documents"):
        next(PostgresSource(dsn, "d", vector_column="e").blocks(np.array([[1, 0]], dtype=np.float32)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "documets"}, "no table documets; did you mean documents"),
        ({"table": "public.documets"}, "no table public.documets; did you mean documents"),
        ({"vector_column": "embeding"}, "no column embeding; did you mean embedding"),
        ({"id_column": "doc", "vector_column": "v"}, "no column doc.*no column v"),
        ({"vector_column": "body"}, "of type text; expected vector or halfvec. Columns with vectors: embedding"),
        ({"where": "tenant = 'A'"}, 'column "tenant" does not exist. Check the filter'),
        ({"where": "1 = 1; DROP TABLE documents"}, "Check the filter"),
        ({"metric": "score"}, "pgvector gives no 'score'; expected one of cosine_distance"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(dsn, run, options, message):
    run("CREATE TABLE documents (id int, body text, embedding vector(2))")
    with pytest.raises(StoreError, match=message):
        PostgresSource(dsn, **{"table": "documents", **options}).preflight()
    assert run("SELECT count(*) FROM documents") == [(0,)]


def test_a_role_that_may_not_read_is_told_what_to_ask_for(dsn, run):
    (schema,) = run("SELECT current_schema()")[0]
    run(
        "CREATE TABLE d (id int, note text, e vector(2))",
        "INSERT INTO d VALUES (1, 'x', '[1,0]')",
        f"CREATE ROLE {schema}_r LOGIN",
    )
    try:
        source = PostgresSource(make_conninfo(dsn, user=f"{schema}_r"), f"{schema}.d", vector_column="e")
        with pytest.raises(StoreError, match=rf"schema of {schema}.d. Its owner can allow it: GRANT SELECT"):
            source.preflight()
        run(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_r")
        with pytest.raises(StoreError, match=rf"no right to read id, e of {schema}.d.*TO .{schema}_r"):
            source.preflight()
        run(f"GRANT SELECT (id, e) ON d TO {schema}_r")
        assert source.preflight().rows == 1
    finally:
        run(f"DROP OWNED BY {schema}_r", f"DROP ROLE {schema}_r")


def test_row_level_security_is_mentioned(dsn, run):
    (schema,) = run("SELECT current_schema()")[0]
    run(
        "CREATE TABLE d (id int, e vector(2))",
        "INSERT INTO d VALUES (1,'[1,0]'), (2,'[0,1]')",
        "ALTER TABLE d ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON d USING (id = 1)",
        f"CREATE ROLE {schema}_r LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO {schema}_r",
        f"GRANT SELECT ON d TO {schema}_r",
    )
    try:
        facts = PostgresSource(make_conninfo(dsn, user=f"{schema}_r"), "d", vector_column="e").preflight()
        assert facts.rows == 1
        assert any("row-level security" in line for line in facts.problems)
    finally:
        run(f"DROP OWNED BY {schema}_r", f"DROP ROLE {schema}_r")


def test_a_database_without_pgvector_and_one_with_it_elsewhere(server_dsn):
    with psycopg.connect(server_dsn, autocommit=True) as owner:
        owner.execute("CREATE DATABASE apart TEMPLATE template0")
        try:
            dsn = make_conninfo(server_dsn, dbname="apart")
            with pytest.raises(StoreError, match=r"database apart has no pgvector.*CREATE EXTENSION vector"):
                PostgresSource(dsn, "d").preflight()
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("CREATE SCHEMA extensions")
                connection.execute("CREATE EXTENSION vector SCHEMA extensions")
                connection.execute("CREATE TABLE d (id int, embedding extensions.vector(2))")
                connection.execute("INSERT INTO d VALUES (1, '[1,0]')")
            source = PostgresSource(dsn, "d")
            query = np.array([[0, 1]], dtype=np.float32)
            assert source.preflight().dimensions == {2: 1}
            assert [block.scores.tolist() for block in source.blocks(query, strategy="sql")] == [[1.0]]
            assert source.verify(query) == 0
        finally:
            owner.execute("DROP DATABASE apart WITH (FORCE)")
