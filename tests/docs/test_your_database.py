"""docs/your-database.md, from the role to the check, on a database like the one it describes."""

import json
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from embedding_server import embedding_server
from small_world import document, environment, files_with
from users_database import Users, users_database, write_labels_of_table

from calibration import read_labels
from calibration.embed import open_embedder

pytestmark = [pytest.mark.server, pytest.mark.slow]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-database.md"
ADDRESS = "db.internal"
PASSWORD = "change-me"  # noqa: S105 - the page's own
RESULT = "reports/runs/mine/openai-text-embedding-3-small"


class Block(NamedTuple):
    """A fenced block, by the number of its section."""

    section: int
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        for language, text in re.findall(r"```(\w*)\n(.*?)```", part, re.DOTALL):
            yield Block(int(part[0]), language, text)


@dataclass(frozen=True)
class Project:
    """The user's project after the whole page, with what each command said."""

    folder: Path
    users: Users
    said: dict[str, str]


class Reader:
    """Does what the page says, block by block; an address is all that is put in place of another."""

    def __init__(self, folder: Path, users: Users, labels: Path, cache: Path, url: str) -> None:
        self.folder, self.users, self.labels, self.said = folder, users, labels, dict[str, str]()
        more = {
            "PGSERVICEFILE": str(folder / "pg_service.conf"),
            "PGPASSFILE": str(folder / "pgpass"),
            "OPENAI_API_KEY": "sk-h1dden-key",
            "OPENAI_BASE_URL": url,
        }
        self.env = environment(cache, more)

    def read(self, block: Block) -> None:
        doers: dict[str, Any] = {
            "": self.run, "sql": self.query, "toml": self.configure, "jsonl": self.queries, "tsv": self.judge,
            "ini": lambda text: self.write("pg_service.conf", text), "text": lambda text: self.write("pgpass", text),
        }  # fmt: skip
        doers[block.language](block.text)

    def here(self, text: str) -> str:
        """Put this test's server where the page has one."""
        text = text.replace(f"{ADDRESS}:5432:app", f"127.0.0.1:{self.users.port}:{self.users.database}")
        text = text.replace(f"{ADDRESS}:5432/app", f"127.0.0.1:{self.users.port}/{self.users.database}")
        text = text.replace(f"host={ADDRESS}", "host=127.0.0.1").replace("port=5432", f"port={self.users.port}")
        return text.replace("dbname=app", f"dbname={self.users.database}")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(self.here(text), encoding="utf-8")
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)

    def run(self, text: str) -> None:
        for line in filter(None, text.splitlines()):
            command = re.sub(r"^calibrate ", f'"{sys.executable}" -m calibration ', self.here(line))
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=240,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            self.said[line] = done.stdout

    def query(self, text: str) -> None:
        if "$1" not in text:
            self.said[text] = str(self.users.run(text))

    def configure(self, text: str) -> None:
        path = self.folder / "calibration.toml"
        given = tomllib.loads(text)
        kept = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(tuple(given))]
        path.write_text("\n".join(kept) + f"\n{text}rel_level = 2\n", encoding="utf-8")
        # from here on with labels enough to choose a floor from
        write_labels_of_table(self.folder / "labels", self.labels)

    def queries(self, text: str) -> None:
        (self.folder / "labels").mkdir()
        self.write("labels/queries.jsonl", text)

    def judge(self, text: str) -> None:
        self.write("labels/qrels.tsv", text)
        labels = read_labels(self.folder / "labels")
        counts = labels.counts_by_answerability()
        assert counts == {"answerable": 1, "off_topic": 1, "missing_answer": 1, "unknown": 1}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, labels_folder: Path, run_cache: Path) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("project")
    server = tmp_path_factory.mktemp("users-server")
    with users_database(server) as users, embedding_server() as model:
        before = users.everything()
        reader = Reader(folder, users, labels_folder, run_cache, model.url)
        for block in blocks():
            reader.read(block)
        assert users.everything() == before
        yield Project(folder, users, reader.said)


def test_every_section_has_something_to_do() -> None:
    found = {block.section for block in blocks()}
    assert found == {1, 2, 3, 4, 5, 7, 8}, "6 reads the result"
    commands = [line for block in blocks() if block.language == "" for line in block.text.splitlines()]
    assert len(commands) >= 14


def test_the_role_may_read_and_not_write(project: Project) -> None:
    conninfo = psycopg.conninfo.make_conninfo(project.users.conninfo, user="calibration_reader", password=PASSWORD)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (100,)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("CREATE TABLE mine (id int)")
        connection.execute("SET default_transaction_read_only = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM chunks")


def test_both_ways_of_init_describe_the_table(project: Project) -> None:
    with_service = tomllib.loads((project.folder / "calibration.toml").read_text(encoding="utf-8"))
    with_dsn = tomllib.loads((project.folder / "other-project/calibration.toml").read_text(encoding="utf-8"))
    assert with_service["service"] == "search"
    assert "password" not in with_dsn["dsn"]
    for values in (with_service, with_dsn):
        assert values["models"] == ["openai:text-embedding-3-small"]
        assert (values["table"], values["id_column"], values["vector_column"]) == ("chunks", "id", "embedding")
    assert project.said["calibrate doctor"].endswith("nothing stands in the way\n")


def test_inspect_lists_ids_of_the_table(project: Project) -> None:
    [said] = [text for line, text in project.said.items() if line.startswith("calibrate inspect")]
    listed = re.findall(r"^ +\d+ +0\.\d{4} .*% +(\d+)$", said, re.MULTILINE)
    assert len(listed) == 10
    known = {str(name) for (name,) in project.users.run("SELECT id FROM chunks")}
    assert set(listed) <= known


def test_the_run_has_a_floor_and_the_condition_stays(project: Project) -> None:
    everything = document(project.folder / RESULT)
    part = document(project.folder / "reports/runs/acme/openai-text-embedding-3-small")
    sampled = document(project.folder / "reports/runs/sampled/openai-text-embedding-3-small")
    assert (everything["ceiling"]["corpus_size"], part["ceiling"]["corpus_size"]) == (100, 80)
    assert isinstance(everything["floor"], float)
    assert "tenant = 'acme'" in part["deploy"]["sql"]
    assert (sampled["floor"], sampled["top_k"]) == (everything["floor"], everything["top_k"])


def test_the_deployed_query_is_the_one_shown_and_accepts_what_was_measured(project: Project) -> None:
    found = document(project.folder / RESULT)
    [shown] = [block.text for block in blocks() if block.language == "sql" and "$1" in block.text]
    assert _without_numbers(found["deploy"]["sql"]) == _without_numbers(shown)
    floor, top_k = found["floor"], found["top_k"]
    assert f"LIMIT {top_k}\n" in found["deploy"]["sql"]
    content = {str(name): text for name, text in project.users.run("SELECT id, content FROM chunks")}
    texts = {query["_id"]: query["text"] for query in _lines(project.folder / "labels/queries.jsonl")}
    rows = [row for row in _lines(project.folder / RESULT / "queries.jsonl") if row["query_id"] in texts]
    vectors = open_embedder("wordllama").embed([texts[row["query_id"]] for row in rows], "query")
    with psycopg.connect(project.users.conninfo) as connection:
        sql = found["deploy"]["sql"].replace("$1", "%(vector)s")
        for row, vector in zip(rows, vectors, strict=True):
            nearest = connection.execute(sql, {"vector": str(vector.tolist())}).fetchall()
            assert len(nearest) == len(row["accepted"])
            # by content: the copies that the other tenant holds tie
            assert {content[str(name)] for name, _ in nearest} == {content[name] for name in row["accepted"]}
            assert all(distance <= 1 - floor + 1e-6 for _, distance in nearest)
    assert any(row["accepted"] for row in rows)


def test_the_baseline_is_checked_and_no_secret_lies_in_the_project(project: Project) -> None:
    assert project.said["calibrate check baseline"].rstrip().endswith("result    fine")
    kept = {path.name for path in (project.folder / "baseline").iterdir()}
    assert kept == {"recommendation.json", "queries.jsonl", "run.json"}
    assert files_with(project.folder, PASSWORD) == ["pgpass"], "where the page puts it"
    assert files_with(project.folder, "sk-h1dden-key") == []


def test_the_conversion_shown_is_the_distance_shown(project: Project) -> None:
    [said] = [text for line, text in project.said.items() if line.startswith("calibrate convert")]
    assert "cosine_distance <= 0.62" in said


def _without_numbers(text: str) -> str:
    return " ".join(re.sub(r"(?<=LIMIT )\d+|(?<=<= )[\d.]+", "N", text).split())


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
