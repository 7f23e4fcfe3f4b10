"""`calibrate init --dsn` on the shapes that libraries and people leave behind: a clear word for each."""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deployed import own_schema
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from calibration.sources.postgres.recognise import recognise
from calibration.sources.postgres.vectortable import VectorTable

pytestmark = pytest.mark.server
Command = Callable[..., Any]

# as langchain-postgres 0.0.19, llama-index-vector-stores-postgres 0.9 and pgvector-haystack 8.1 create them
LANGCHAIN = (
    "CREATE TABLE langchain_pg_collection (uuid uuid PRIMARY KEY, name varchar UNIQUE NOT NULL, cmetadata json)",
    "CREATE TABLE langchain_pg_embedding (id varchar PRIMARY KEY, collection_id uuid REFERENCES"
    " langchain_pg_collection ON DELETE CASCADE, embedding vector, document varchar, cmetadata jsonb)",
)
SHAPES = {
    "LangChain": (
        "CREATE TABLE made (langchain_id uuid PRIMARY KEY, content text NOT NULL, embedding vector(256) NOT NULL,"
        " id text, langchain_metadata json)",
        "langchain_id",
    ),
    "LlamaIndex": (
        "CREATE TABLE made (id bigserial PRIMARY KEY, text varchar NOT NULL, metadata_ json, node_id varchar,"
        " embedding halfvec(256), text_search_tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED)",
        "node_id",
    ),
    "Haystack": (
        "CREATE TABLE made (id varchar(128) PRIMARY KEY, embedding vector(256), content text, blob_data bytea,"
        " blob_meta jsonb, blob_mime_type varchar(255), meta jsonb)",
        "id",
    ),
    "Supabase": (
        "CREATE TABLE made (id uuid PRIMARY KEY, content text, metadata text, embedding vector(256))",
        "id",
    ),
}


@pytest.fixture
def dsn(server_dsn: str) -> Iterator[str]:
    with own_schema(server_dsn) as own:
        yield own


@pytest.fixture
def reader(dsn: str) -> Iterator[str]:
    """Address of a role that may look into the schema and no more."""
    role = f"limited_{schema_of(dsn)}"
    run(dsn, f"CREATE ROLE {role}", f"GRANT USAGE ON SCHEMA {schema_of(dsn)} TO {role}")
    yield make_conninfo(dsn, options=f"{conninfo_to_dict(dsn)['options']} -crole={role}")
    run(dsn, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def schema_of(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["options"]).split("search_path=")[1].split(",")[0]


def run(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def vectors(width: int) -> str:
    return f"array_fill(0.1, ARRAY[{width}])::vector FROM generate_series(1, 4) i"


def found(dsn: str) -> dict[str, VectorTable]:
    return {table.name: table for table in recognise(dsn).tables if table.schema == schema_of(dsn)}


def written() -> dict[str, Any]:
    return tomllib.loads(Path("project/calibration.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", SHAPES)
def test_the_tables_as_each_library_makes_them(dsn: str, kind: str) -> None:
    statement, id_column = SHAPES[kind]
    run(dsn, statement)
    made = found(dsn)["made"]
    assert (made.kind, made.id_column, made.vectors[0].dimensions) == (kind, id_column, 256)


def test_collections_of_one_table_may_differ_in_width(command: Command, dsn: str) -> None:
    """LangChain's column leaves the width open: that of the first row says nothing of another collection."""
    run(
        dsn,
        *LANGCHAIN,
        "INSERT INTO langchain_pg_collection SELECT ('00000000-0000-0000-0000-00000000000' || i)::uuid, 'c' || i"
        " FROM generate_series(1, 2) i",
        f"INSERT INTO langchain_pg_embedding SELECT 'a' || i, '00000000-0000-0000-0000-000000000001', {vectors(384)}",
        f"INSERT INTO langchain_pg_embedding SELECT 'b' || i, '00000000-0000-0000-0000-000000000002', {vectors(256)}",
    )
    name = ("init", "project", "--dsn", dsn, "--table", "langchain_pg_embedding", "--collection")
    said = command(*name, "c1", "--model", "wordllama")
    assert said.code == 1
    assert "wordllama gives 256 dimensions, the vectors have 384" in said.err
    assert not Path("project").exists()
    said = command(*name, "c2", "--model", "wordllama")
    assert said.code == 0, said.err + said.out
    run(dsn, "DELETE FROM langchain_pg_collection WHERE name = 'c1'")
    said = command("init", "project", "--force", "--dsn", dsn, "--table", "langchain_pg_embedding", "--model", "m")
    assert said.code == 0
    assert written()["where"].endswith("2'"), "the only collection is kept to as well: another may follow"


def test_each_of_several_vector_columns_has_its_own_width(command: Command, dsn: str) -> None:
    run(dsn, "CREATE TABLE two (id text PRIMARY KEY, small vector(256), large halfvec(384))")
    assert [one.dimensions for one in found(dsn)["two"].vectors] == [256, 384]
    name = ("init", "project", "--dsn", dsn, "--table", "two", "--model", "wordllama")
    assert "choose one with --vector-column" in command(*name).err
    said = command(*name, "--vector-column", "large")
    assert "wordllama gives 256 dimensions, the vectors have 384" in said.err
    assert "there are: small, large" in command(*name, "--vector-column", "id").err
    assert (
        "has no readable column key; there are: id, small, large"
        in command(*name, "--vector-column", "small", "--id-column", "key").err
    )
    assert not Path("project").exists()


def test_a_view_that_fails_hides_no_other_table(command: Command, dsn: str) -> None:
    run(
        dsn,
        "CREATE TABLE fine (id text PRIMARY KEY, embedding vector(256))",
        f"INSERT INTO fine SELECT i::text, {vectors(256)}",
        "CREATE VIEW failing AS SELECT id, embedding FROM fine WHERE 1 / (length(id) - length(id)) > 0",
    )
    tables = found(dsn)
    assert (tables["fine"].rows, tables["fine"].trouble) == (4, "")
    assert (tables["failing"].counted, tables["failing"].trouble) == (False, "division by zero")
    said = command("init", "project", "--dsn", dsn, "--table", "failing", "--model", "m")
    assert "the rows of failing cannot be read: division by zero" in said.err
    assert command("init", "project", "--dsn", dsn, "--table", "fine", "--model", "wordllama").code == 0


def test_a_schema_and_quotes_may_be_left_out(command: Command, server_dsn: str, dsn: str) -> None:
    """As long as one table only is meant."""
    schema = schema_of(dsn)
    run(dsn, f'CREATE TABLE "Doc {schema}" ("Key" text PRIMARY KEY, "Vec" vector(256))')
    for name in (f"Doc {schema}", f'"Doc {schema}"', f"{schema}.Doc {schema}", f'"{schema}"."Doc {schema}"'):
        said = command("init", "project", "--force", "--dsn", server_dsn, "--table", name, "--model", "m")
        assert "found: " in said.out, said.err
        assert written()["table"] == f'"{schema}"."Doc {schema}"'
        assert (written()["id_column"], written()["vector_column"]) == ("Key", "Vec")


def test_without_the_right_to_read_it_says_which_and_what_to_grant(command: Command, dsn: str, reader: str) -> None:
    run(
        dsn,
        "CREATE TABLE hidden (id text PRIMARY KEY, embedding vector(256))",
        "CREATE TABLE partly (id text PRIMARY KEY, secret text, embedding vector(256))",
        f"GRANT SELECT (id, embedding) ON partly TO limited_{schema_of(dsn)}",
        f"INSERT INTO partly SELECT i::text, 's', {vectors(256)}",
    )
    seen = recognise(reader)
    assert "hidden" in seen.hidden
    [partly] = [table for table in seen.tables if table.relation == "partly"]
    assert (partly.columns, partly.rows) == (("id", "embedding"), 4), "a right on its columns is enough"
    said = command("init", "project", "--dsn", reader, "--table", "hidden", "--model", "m")
    assert f"the role limited_{schema_of(dsn)} may not read the vectors of hidden" in said.err
    assert f"GRANT SELECT ON hidden TO limited_{schema_of(dsn)}" in said.err
    said = command("init", "project", "--dsn", reader, "--table", "nowhere", "--model", "m")
    assert "not readable by" in said.err
    said = command("init", "project", "--dsn", reader, "--table", "partly", "--model", "wordllama")
    assert said.code == 0, said.err + said.out


@pytest.mark.parametrize(("prepare", "words"), [((), "has no pgvector"), (("vector",), "of type vector or halfvec")])
def test_nothing_there_says_why(command: Command, server_dsn: str, dsn: str, prepare: tuple[str], words: str) -> None:
    name = f"empty_{schema_of(dsn)}"
    run(server_dsn, f"CREATE DATABASE {name}")
    try:
        other = make_conninfo(server_dsn, dbname=name)
        run(other, *(f"CREATE EXTENSION {extension}" for extension in prepare))
        said = command("init", "project", "--dsn", other, "--model", "m")
        assert said.code == 1
        assert f"database {name}" in said.err
        assert words in said.err
    finally:
        run(server_dsn, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_column_that_names_one_model_is_believed_and_kept_to(command: Command, dsn: str) -> None:
    run(
        dsn,
        "CREATE TABLE named (id text PRIMARY KEY, model text, embedding vector(256))",
        f"INSERT INTO named SELECT i::text, 'wordllama', {vectors(256)}",
    )
    said = command("init", "project", "--dsn", dsn, "--table", "named", "--yes")
    assert said.code == 0, said.err + said.out
    assert (written()["models"], written()["model_column"]) == (["wordllama"], "model")


def test_rows_of_two_models_are_not_mixed(command: Command, dsn: str) -> None:
    run(
        dsn,
        "CREATE TABLE mixed (id text PRIMARY KEY, model text, embedding vector(256))",
        f"INSERT INTO mixed SELECT 'a' || i, 'wordllama', {vectors(256)}",
        f"INSERT INTO mixed SELECT 'b' || i, 'other', {vectors(256)}",
    )
    name = ("init", "project", "--dsn", dsn, "--table", "mixed")
    assert "model says other, wordllama; say it with --model" in command(*name).err
    said = command(*name, "--model", "wordllama")
    assert said.code == 1
    assert "problem: 4 of 8 rows were embedded with other" in said.out


def test_half_the_vectors_missing_is_said(command: Command, dsn: str) -> None:
    run(
        dsn,
        "CREATE TABLE half (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), embedding vector(256))",
        "INSERT INTO half (embedding) SELECT CASE WHEN i % 2 = 0 THEN array_fill(0.1, ARRAY[256])::vector END"
        " FROM generate_series(1, 4) i",
    )
    said = command("init", "project", "--dsn", dsn, "--table", "half", "--model", "wordllama")
    assert said.code == 0
    assert "null vectors: 2" in said.out
    assert "2 rows without a vector" in said.out
