"""A table in parts: together all of it, from one snapshot, and recognised later only when nothing has changed."""

import pickle

import numpy as np
import psycopg
import pytest

from calibration.errors import StoreError
from calibration.sources.base import DividedSource
from calibration.sources.postgres import PostgresSource, division

pytestmark = pytest.mark.server
QUERY = np.eye(3, dtype=np.float32)
ROWS = 2000


@pytest.fixture
def source(dsn, run, monkeypatch):
    """2,000 rows in parts of about 150; every tenth without a vector, every fifteenth a zero vector."""
    monkeypatch.setattr(division, "PART_ROWS", 150)
    run(
        "CREATE TABLE many (id int PRIMARY KEY, kind text, e vector(3))",
        "INSERT INTO many SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, CASE WHEN i % 10 = 0 THEN NULL"
        " WHEN i % 15 = 0 THEN '[0,0,0]' ELSE format('[%s,1,0]', i)::vector END"
        f" FROM generate_series(1, {ROWS}) AS i",
        "DELETE FROM many WHERE id BETWEEN 400 AND 900",
        "VACUUM many",
    )
    return PostgresSource(dsn, "many", vector_column="e", metric="cosine_similarity")


def ids_by_part(source, opened):
    return [[int(name) for block in source.read(part) for name in block.doc_ids] for part in opened.parts]


def expected(keep=lambda i: True):
    return [i for i in range(1, ROWS + 1) if not 400 <= i <= 900 and i % 10 and i % 15 and keep(i)]


def test_the_parts_are_the_whole_and_share_nothing(source):
    assert isinstance(source, DividedSource)
    with source.divided(QUERY) as opened:
        found = ids_by_part(source, opened)
    assert len(opened.parts) > 5
    assert sorted(name for part in found for name in part) == expected()
    assert opened.facts.scorable == len(expected())
    assert "Tid Range Scan" in source.describe()["plan"]


def test_the_filter_stays_on_every_part(source, dsn):
    odd = PostgresSource(dsn, "many", vector_column="e", metric="cosine_similarity", where="kind = 'odd' -- only")
    with odd.divided(QUERY) as opened:
        found = ids_by_part(odd, opened)
    assert sorted(name for part in found for name in part) == expected(lambda i: i % 2)


def test_a_view_is_one_part(source, dsn, run):
    run("CREATE VIEW seen AS SELECT * FROM many WHERE id > 1500")
    view = PostgresSource(dsn, "seen", vector_column="e", metric="cosine_similarity")
    with view.divided(QUERY) as opened:
        assert len(opened.parts) == 1
        assert sorted(ids_by_part(view, opened)[0]) == expected(lambda i: i > 1500)


def test_another_process_sees_the_same_snapshot(source, run):
    """Rows come, go and change while the parts are read, over connections made by a copy of the source."""
    copy = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
    with source.divided(QUERY) as opened:
        run(
            "INSERT INTO many SELECT i, 'new', '[1,1,1]' FROM generate_series(5001, 5500) AS i",
            "DELETE FROM many WHERE id > 1000 AND id < 5000",
            "UPDATE many SET e = '[0,0,1]' WHERE id < 300",
        )
        found = ids_by_part(copy, opened)
        assert all((block.vectors[:, 1] == 1).all() for part in opened.parts for block in copy.read(part))
    assert sorted(name for part in found for name in part) == expected()


def test_a_part_cannot_be_read_once_its_snapshot_is_gone(source):
    with source.divided(QUERY) as opened:
        pass
    with pytest.raises(StoreError, match="snapshot"):
        list(source.read(opened.parts[0]))


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO many VALUES (9999, 'odd', '[1,1,0]')",
        "UPDATE many SET e = '[1,2,0]' WHERE id = 7",
        "DELETE FROM many WHERE id = 7",
        "UPDATE many SET id = 8888 WHERE id = 7",
        "VACUUM FULL many",
    ],
)
def test_a_change_is_recognised(source, run, change):
    with source.divided(QUERY) as before:
        pass
    with source.divided(QUERY) as again:
        assert again.unchanged(before.state)
    run(change)
    with source.divided(QUERY) as after:
        assert not after.unchanged(before.state)


def test_a_change_that_was_under_way_is_recognised(source, dsn):
    """Begun before the first look, committed after it: its transaction number is older than others'."""
    with psycopg.connect(dsn) as writer:
        writer.execute("UPDATE many SET e = '[1,2,0]' WHERE id = 7")
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute("CREATE TABLE later (x int)")
        with source.divided(QUERY) as before:
            pass
        writer.commit()
    with source.divided(QUERY) as after:
        assert not after.unchanged(before.state)


def test_what_blocks_a_pull_stops_it_here_too(source, dsn, run):
    run("CREATE TABLE empty_vectors (id int PRIMARY KEY, e vector)", "INSERT INTO empty_vectors VALUES (1, NULL)")
    with pytest.raises(StoreError), PostgresSource(dsn, "empty_vectors", vector_column="e").divided(QUERY):
        pass
    with pytest.raises(StoreError, match="dimensions"), source.divided(np.eye(2, dtype=np.float32)):
        pass


@pytest.mark.parametrize("kind", ["vector", "halfvec"])
@pytest.mark.parametrize("key", ["int2", "int4", "int8", "text", "uuid"])
def test_every_kind_of_id_and_vector_comes_back_as_it_is(dsn, run, monkeypatch, kind, key):
    """As text, whatever they are; a filter may hold a percent sign."""
    monkeypatch.setattr(division, "PART_ROWS", 40)
    name = "md5(i::text)::uuid" if key == "uuid" else f"(i - 50)::{key}"
    run(
        f"CREATE TABLE kinds (id {key} PRIMARY KEY, note text, e {kind}(3))",
        f"INSERT INTO kinds SELECT {name}, 'n%' || i, format('[%s,0.5,-2]', i)::{kind}"
        " FROM generate_series(1, 100) AS i",
    )
    where = "note LIKE 'n%' AND note <> 'n%7'"
    found = PostgresSource(dsn, "kinds", vector_column="e", metric="l2", where=where)
    with found.divided(QUERY) as opened:
        blocks = [block for part in opened.parts for block in found.read(part)]
    back = {
        name: vector.tolist() for block in blocks for name, vector in zip(block.doc_ids, block.vectors, strict=True)
    }
    assert back == dict(run("SELECT id::text, e::real[] FROM kinds WHERE note <> 'n%7'"))
    assert len(back) == 99
