"""`calibrate init --dsn`: whose tables it knows, what it asks, and what it never writes."""

import io
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deployed import own_schema
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from calibration.cli.config import run_parameters
from calibration.sources.postgres.matchfunctions import function_of
from calibration.sources.postgres.recognise import recognise
from calibration.sources.postgres.vectortable import VectorTable

pytestmark = pytest.mark.server
Command = Callable[..., Any]
PLAIN = (
    "CREATE TABLE chunks (chunk int PRIMARY KEY, document_id text, model text, vec halfvec(3))",
    "INSERT INTO chunks VALUES (1, 'a', 'm', '[1,0,0]'), (2, 'a', 'm', '[0,1,0]')",
)
LANGCHAIN = (
    "CREATE TABLE langchain_pg_collection (uuid uuid PRIMARY KEY, name text UNIQUE, cmetadata json)",
    "CREATE TABLE langchain_pg_embedding (id text PRIMARY KEY, collection_id uuid, embedding vector, document text,"
    " cmetadata jsonb)",
    "INSERT INTO langchain_pg_collection VALUES ('00000000-0000-0000-0000-00000000000a', 'handbook'),"
    " ('00000000-0000-0000-0000-00000000000b', 'wiki')",
    "INSERT INTO langchain_pg_embedding SELECT i::text, ('00000000-0000-0000-0000-00000000000' ||"
    " CASE WHEN i < 4 THEN 'a' ELSE 'b' END)::uuid, '[1,0,0,0]', 'text', '{}' FROM generate_series(1, 5) i",
)
LLAMAINDEX = (
    "CREATE TABLE data_notes (id bigserial PRIMARY KEY, text text, metadata_ json, node_id text,"
    " embedding vector(256))",
    "INSERT INTO data_notes (text, node_id, embedding) SELECT 't', 'n' || i, array_fill(0.1, ARRAY[256])::vector"
    " FROM generate_series(1, 3) i",
)
SUPABASE = (
    "CREATE TABLE documents (id bigint PRIMARY KEY, content text, metadata jsonb, embedding vector(256))",
    "INSERT INTO documents SELECT i, 'c', '{}', array_fill(0.1, ARRAY[256])::vector FROM generate_series(1, 4) i",
    "CREATE FUNCTION match_documents(query_embedding vector, match_threshold float DEFAULT 0.78,"
    " match_count int DEFAULT 5)"
    " RETURNS SETOF documents LANGUAGE sql STABLE AS $$ SELECT * FROM documents"
    " WHERE documents.embedding <=> query_embedding < 1 - match_threshold"
    " ORDER BY documents.embedding <=> query_embedding LIMIT least(match_count, 200) $$",
)


@pytest.fixture
def dsn(server_dsn: str) -> Iterator[str]:
    with own_schema(server_dsn) as own:
        yield own


def run(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def found(dsn: str) -> dict[str, VectorTable]:
    return {table.name: table for table in recognise(dsn).tables}


def written(folder: str = "project") -> dict[str, Any]:
    return tomllib.loads(Path(folder, "calibration.toml").read_text(encoding="utf-8"))


def test_it_knows_whose_tables_they_are(dsn: str) -> None:
    run(dsn, *PLAIN, *LANGCHAIN, *LLAMAINDEX, *SUPABASE)
    tables = found(dsn)
    kinds = {name: (one.kind, one.rows, one.vectors[0].dimensions, one.id_column) for name, one in tables.items()}
    assert kinds == {
        "langchain_pg_embedding": ("LangChain", 5, 4, "id"),
        "documents": ("Supabase", 4, 256, "id"),
        "data_notes": ("LlamaIndex", 3, 256, "node_id"),
        "chunks": ("plain", 2, 3, "chunk"),
    }
    assert next(iter(tables)) == "langchain_pg_embedding", "the largest first"
    assert [(one.name, one.rows) for one in tables["langchain_pg_embedding"].collections] == [
        ("handbook", 3),
        ("wiki", 2),
    ]
    assert tables["chunks"].hints == {"document_column": "document_id", "model_column": "model"}
    assert [one.type for one in tables["chunks"].vectors] == ["halfvec"]
    assert [one.name for one in tables["documents"].functions] == ["match_documents"]
    assert tables["chunks"].functions == ()


def test_a_name_off_the_search_path_or_with_a_dot_can_be_pulled_from(dsn: str, server_dsn: str) -> None:
    run(dsn, 'CREATE TABLE "My.Docs" (id int PRIMARY KEY, embedding vector(2))')
    assert '"My.Docs"' in found(dsn)
    [name] = [name for name in found(server_dsn) if name.endswith('"My.Docs"')]
    from calibration.sources.postgres import PostgresSource

    assert PostgresSource(server_dsn, name).preflight().rows == 0


@pytest.mark.parametrize(
    ("body", "scale", "inclusive", "similarity"),
    [
        ("where 1 - (d.embedding <=> q) > match_threshold", "cosine_similarity", False, 0.7),
        ("where 1 - (d.embedding <=> q) >= f.match_threshold", "cosine_similarity", True, 0.7),
        ("where d.embedding <=> q < 1 - match_threshold", "cosine_similarity", False, 0.7),
        ("where (d.embedding <=> q) <= match_threshold", "cosine_distance", True, 0.3),
        ("where d.embedding <#> q < -match_threshold", "inner_product", False, None),
        ("where d.embedding <-> q < match_threshold", "unknown", False, None),
    ],
)
def test_the_threshold_of_a_function_is_read_with_its_scale(
    body: str, scale: str, inclusive: bool, similarity: float | None
) -> None:
    one = function_of("f", "q vector, match_threshold double precision DEFAULT '0.7'::double precision", body)
    assert one is not None
    assert (one.scale, one.inclusive, one.default, one.similarity) == (scale, inclusive, 0.7, similarity)
    bare = function_of("f", "q vector, match_threshold double precision, match_count integer DEFAULT 10", body)
    assert bare is not None
    assert bare.default is None


def test_supabase_default_threshold_becomes_the_old_floor_and_doctor_runs(command: Command, dsn: str) -> None:
    run(dsn, *SUPABASE)
    said = command("init", "project", "--dsn", dsn, "--table", "documents", "--model", "wordllama")
    assert said.code == 0, said.err + said.out
    values = written()
    assert values["old_floor"] == 0.78
    assert (values["table"], values["id_column"], values["vector_column"]) == ("documents", "id", "embedding")
    text = Path("project/calibration.toml").read_text(encoding="utf-8")
    assert "match_threshold in match_documents; a score equal to it is rejected" in text
    assert "nothing stands in the way" in said.out
    [params] = run_parameters({}, Path("project/calibration.toml"))
    assert (params.model, params.old_floor, params.table) == ("wordllama", 0.78, "documents")


def test_without_a_terminal_it_names_the_option_and_writes_nothing(command: Command, dsn: str) -> None:
    run(dsn, *LANGCHAIN, *PLAIN)
    for arguments, words in [
        ((), "choose one with --table"),
        (("--table", "langchain_pg_embedding"), "choose one with --collection"),
        (("--table", "langchain_pg_embedding", "--collection", "wiki"), "say it with --model"),
        (("--table", "langchain_pg_embedding", "--collection", "none"), "there are: handbook, wiki"),
        (("--table", "nowhere"), "no readable table nowhere"),
    ]:
        said = command("init", "project", "--dsn", dsn, *arguments)
        assert said.code == 1
        assert words in said.err
        assert not Path("project").exists()
    assert command("init", "project", "--table", "t").code == 1


def test_one_collection_of_langchain_is_kept_to(command: Command, dsn: str) -> None:
    run(dsn, *LANGCHAIN)
    said = command(
        "init", "project", "--dsn", dsn, "--table", "langchain_pg_embedding", "--collection", "wiki", "--model", "m",
        "--yes",
    )  # fmt: skip
    values = written()
    assert values["where"] == "collection_id = '00000000-0000-0000-0000-00000000000b'"
    assert "rows: 2" in said.out, "doctor counts the collection's rows only"


def test_in_a_terminal_it_asks_what_it_cannot_see(command: Command, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(dsn, *LANGCHAIN)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("7\n2\nmy-model\n"))
    said = command("init", "project", "--dsn", dsn, "--table", "langchain_pg_embedding")
    assert "2 collections in langchain_pg_embedding:" in said.out
    assert "made the vectors of 4 dimensions" in said.out
    values = written()
    assert values["models"] == ["my-model"]
    assert values["where"].endswith("b'"), "7 is no choice, 2 is the second"


def test_no_password_reaches_the_file_and_a_file_is_kept(command: Command, dsn: str) -> None:
    run(dsn, *PLAIN)
    secret = make_conninfo(dsn, **{"password": "S3cretPw"})
    said = command("init", "project", "--dsn", secret, "--table", "chunks", "--model", "m")
    files = [path for path in Path("project").rglob("*") if path.is_file()]
    assert all(b"S3cretPw" not in path.read_bytes() for path in files)
    assert "S3cretPw" not in said.out + said.err
    assert conninfo_to_dict(written()["dsn"])["dbname"] == conninfo_to_dict(dsn)["dbname"]
    text = Path("project/calibration.toml").read_text(encoding="utf-8")
    assert '# document_column = "document_id"' in text
    assert command("init", "project", "--dsn", dsn, "--table", "chunks", "--model", "m").code == 1
    assert Path("project/calibration.toml").read_text(encoding="utf-8") == text


def test_it_reads_only_and_sees_only_what_it_may(command: Command, dsn: str) -> None:
    run(dsn, *PLAIN, *SUPABASE)
    schema = str(conninfo_to_dict(dsn)["options"]).split("search_path=")[1].split(",")[0]
    role = f"reader_{schema}"
    run(dsn, f"CREATE ROLE {role}", f"GRANT USAGE ON SCHEMA {schema} TO {role}", f"GRANT SELECT ON chunks TO {role}")
    try:
        limited = make_conninfo(dsn, options=f"{conninfo_to_dict(dsn)['options']} -crole={role}")
        assert list(found(limited)) == ["chunks"]
    finally:
        run(dsn, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
