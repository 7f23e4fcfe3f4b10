import os
import signal
import subprocess
import sys
import threading

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calibration.errors import StoreError
from calibration.sources.postgres import PostgresSource, drop_tables, list_tables, load_vectors, table_name
from calibration.sources.postgres.load import PREFIX, LoadedTable
from calibration.sources.postgres.server import start_private_server
from calibration.sources.postgres.wire import decode, encode

ROWS = np.array([[1, 0], [0.6, 0.8], [-0.0, 1e-30]], dtype=np.float32)


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=st.floats(width=32)))
def test_the_wire_format_round_trips_bit_by_bit(vectors):
    assert decode(encode(vectors), vectors.shape[1]).tobytes() == vectors.tobytes()


def test_a_cell_of_another_width_is_refused():
    for cells in (encode(ROWS) + encode(ROWS[:, :1]), encode(ROWS[:, :1]) + encode(np.ones((1, 3), np.float32))):
        with pytest.raises(StoreError, match="other widths than 2"):
            decode(cells, 2)


def test_a_table_name_wants_digests():
    with pytest.raises(StoreError, match="digests"):
        table_name("sha256:", "aa")


@pytest.fixture
def name(server_dsn, request):
    name = PREFIX + format(abs(hash(request.node.name)), "x")
    yield name
    drop_tables(server_dsn, [name])


pytest_server = pytest.mark.server


@pytest_server
def test_loaded_once_then_found(server_dsn, name):
    calls = []
    assert load_vectors(server_dsn, name, ["a", "ä", "c"], ROWS, progress=lambda *done: calls.append(done)) is True
    assert calls == [(3, 3)]
    assert load_vectors(server_dsn, name, ["a", "ä", "c"], ROWS) is False
    (table,) = [table for table in list_tables(server_dsn) if table.name == name]
    assert (table.rows, table.dimensions) == (3, 2)
    assert isinstance(table, LoadedTable)
    found = PostgresSource(server_dsn, name).vectors_of(["a", "ä", "c"])
    assert np.array_equal(np.stack([found[key] for key in ("a", "ä", "c")]), ROWS)


@pytest_server
def test_a_table_of_another_count_is_replaced(server_dsn, name):
    load_vectors(server_dsn, name, ["a", "b", "c"], ROWS)
    assert load_vectors(server_dsn, name, ["a", "b"], ROWS[:2]) is True
    assert PostgresSource(server_dsn, name).preflight().rows == 2


@pytest_server
def test_storage_is_plain_and_ids_are_a_key(server_dsn, name):
    load_vectors(server_dsn, name, ["a", "b", "c"], ROWS, ["D", "D", "E"])
    with psycopg.connect(server_dsn) as connection:
        rows = connection.execute(
            "SELECT attstorage FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'embedding'", (name,)
        ).fetchall()
    assert rows in ([("p",)], [(b"p",)])
    (block,) = PostgresSource(server_dsn, name, document_column="document_id").blocks(ROWS[:1], strategy="fetch")
    assert block.document_ids == ["D", "D", "E"]


@pytest_server
def test_vectors_too_wide_for_a_page_load_too(server_dsn, name):
    wide = np.random.default_rng(0).normal(size=(3, 3072)).astype(np.float32)
    load_vectors(server_dsn, name, ["a", "b", "c"], wide)
    assert np.array_equal(PostgresSource(server_dsn, name).vectors_of(["b"])["b"], wide[1])


@pytest_server
@pytest.mark.parametrize(
    ("ids", "vectors", "message"),
    [
        (["a", "a", "b"], ROWS, "cannot load"),
        (["a"], ROWS, "one vector per id"),
        (["a", "b", "c"], ROWS * np.array([[1], [np.nan], [1]]), "1 vectors hold NaN or infinity, first 'b'"),
    ],
)
def test_a_refused_load_leaves_no_table(server_dsn, name, ids, vectors, message):
    with pytest.raises(StoreError, match=message):
        load_vectors(server_dsn, name, ids, vectors)
    assert name not in [table.name for table in list_tables(server_dsn)]


@pytest_server
def test_two_at_once_load_one_table(server_dsn, name):
    results = []
    ids = [str(row) for row in range(3000)]
    vectors = np.ones((3000, 64), dtype=np.float32)
    threads = [
        threading.Thread(target=lambda: results.append(load_vectors(server_dsn, name, ids, vectors))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, True]
    assert PostgresSource(server_dsn, name).preflight().rows == 3000


@pytest_server
def test_killed_while_loading_leaves_no_table(server_dsn, name):
    script = (
        "import sys, time, numpy as np\n"
        "from calibration.sources.postgres import load_vectors\n"
        "def wait(done, total):\n    print('half', flush=True); time.sleep(60)\n"
        "load_vectors(sys.argv[1], sys.argv[2], [str(i) for i in range(9000)], np.ones((9000, 8)), progress=wait)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, server_dsn, name], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        os.kill(process.pid, signal.SIGKILL)
    assert name not in [table.name for table in list_tables(server_dsn)]
    assert load_vectors(server_dsn, name, ["a", "b", "c"], ROWS) is True


@pytest_server
def test_only_the_embedded_server_is_ever_loaded_into(tmp_path):
    with start_private_server(tmp_path / "pg") as server:
        with psycopg.connect(server.conninfo, autocommit=True) as owner:
            owner.execute("ALTER SYSTEM SET cluster_name = 'somebody else'")
        server.cluster.stop()
        server.cluster.start()
        with pytest.raises(StoreError, match="embedded server only"):
            load_vectors(server.conninfo, "vectors_x", ["a", "b", "c"], ROWS)
        with pytest.raises(StoreError, match="embedded server only"):
            drop_tables(server.conninfo, ["vectors_x"])
        server.remove()
