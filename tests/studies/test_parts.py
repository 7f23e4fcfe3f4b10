"""A corpus scored part by part: the same for any workers, after an interruption, and under a load of writes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
import psycopg
import pytest
from handmade import labels_of

from calibration.errors import ParameterError, StoreError
from calibration.scores import Scores
from calibration.sources.base import Block
from calibration.sources.postgres import PostgresSource, division
from calibration.sources.postgres.load import load_vectors
from calibration.studies import parts as parts_module
from calibration.studies.parts import PACKAGE, PATIENCE, Workers, _check_workers
from calibration.studies.partstore import PartStore
from calibration.studies.pull import pull_scores

pytestmark = pytest.mark.server
ROWS, WIDTH, QUERIES = 6000, 16, 12


@pytest.fixture
def table(server_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """6,000 random unit vectors in parts of about 500."""
    monkeypatch.setattr(division, "PART_ROWS", 500)
    vectors = np.random.default_rng(1).standard_normal((ROWS, WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    name = "vectors_parts"
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    load_vectors(server_dsn, name, [f"d{i}" for i in range(ROWS)], vectors)
    yield name
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"DROP TABLE {name}")


@pytest.fixture
def pull(server_dsn: str, table: str) -> Callable[..., Scores]:
    queries = np.random.default_rng(2).standard_normal((QUERIES, WIDTH)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    ids = [f"q{i}" for i in range(QUERIES)]
    labels = labels_of(ids, [(name, f"d{100 * i}", 1) for i, name in enumerate(ids)])

    def run(workers: Workers | None = None, *, source: PostgresSource | None = None, **more: object) -> Scores:
        source = source or PostgresSource(server_dsn, table, metric="cosine_similarity")
        scores, facts = pull_scores(
            source,
            ids,
            queries,
            labels,
            metric="cosine_similarity",
            embedding_version="made",
            k_max=5,
            workers=workers or Workers(),
            **more,
        )
        assert facts.scorable == scores.n_documents
        return scores

    return run


def assert_same(one: Scores, other: Scores) -> None:
    """To the last bit."""
    for name in ("top", "judged", "everything"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    assert (one.histogram.counts == other.histogram.counts).all()
    assert one.n_documents == other.n_documents


def test_two_processes_give_what_one_gives(pull: Callable[..., Scores]) -> None:
    alone = pull()
    assert alone.n_documents == ROWS
    assert_same(pull(Workers(2)), alone)


class Interrupted(PostgresSource):
    """Fails at its fourth part, as when the network goes away."""

    read_parts = 0

    def read(self, part: object) -> Iterator[Block]:
        Interrupted.read_parts += 1
        if Interrupted.read_parts == 4:
            raise StoreError("the network went away")
        return super().read(part)


class Counting(PostgresSource):
    """Notes which parts it reads."""

    numbers: list[int] = []  # noqa: RUF012

    def read(self, part: object) -> Iterator[Block]:
        Counting.numbers.append(part.number)
        return super().read(part)


def test_an_interrupted_pull_goes_on_where_it_stopped(
    pull: Callable[..., Scores], server_dsn: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, kept = pull(), PartStore(tmp_path / "parts")
    monkeypatch.setattr(Interrupted, "read_parts", 0)
    with pytest.raises(StoreError, match="went away"):
        pull(source=Interrupted(server_dsn, table, metric="cosine_similarity"), kept=kept)
    assert len(list((tmp_path / "parts").glob("*.npz"))) == 3
    next((tmp_path / "parts").glob("1-*.npz")).write_bytes(b"torn")
    monkeypatch.setattr(Counting, "numbers", [])
    counting = Counting(server_dsn, table, metric="cosine_similarity")
    assert_same(pull(source=counting, kept=kept), whole)
    assert sorted(Counting.numbers) == [1, *range(3, counting.describe()["parts"])]
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(f"DELETE FROM {table} WHERE id = 'd17'")
    monkeypatch.setattr(Counting, "numbers", [])
    changed = pull(source=counting, kept=kept)
    assert changed.n_documents == ROWS - 1
    assert len(Counting.numbers) == counting.describe()["parts"], "of a table that changed, nothing is used again"
    kept.forget()
    assert not (tmp_path / "parts").exists()


def test_a_load_of_writes_leaves_the_snapshot_alone(pull: Callable[..., Scores], server_dsn: str, table: str) -> None:
    before, stop, written = pull(), threading.Event(), []

    class Busy(PostgresSource):
        """Starts the load once the snapshot is taken, and reads the first part when rows have changed."""

        def read(self, part: object) -> Iterator[Block]:
            if not writer.is_alive():
                writer.start()
                while writer.is_alive() and not written:
                    time.sleep(0.01)
            return super().read(part)

    def write() -> None:
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            while not stop.is_set():
                copies = "SELECT 'n' || gen_random_uuid(), embedding FROM"
                connection.execute(f"INSERT INTO {table} (id, embedding) {copies} {table} LIMIT 50")
                some = f"SELECT id FROM {table} WHERE id LIKE 'd%' LIMIT 50"
                connection.execute(f"DELETE FROM {table} WHERE id IN ({some})")
                written.append(1)

    writer = threading.Thread(target=write)
    try:
        during = pull(source=Busy(server_dsn, table, metric="cosine_similarity"))
    finally:
        stop.set()
        writer.join()
    assert len(written) > 0
    assert_same(during, before)
    assert set(pull().top["doc_id"]) != set(before.top["doc_id"])


def test_an_error_in_the_middle_comes_through_and_closes_the_connection(
    pull: Callable[..., Scores], server_dsn: str, table: str
) -> None:
    class Broken(PostgresSource):
        def read(self, part: object) -> Iterator[Block]:
            for number, block in enumerate(super().read(part)):
                if number or part.number == 2:
                    raise StoreError("a torn block")
                yield block

    start = time.monotonic()
    with pytest.raises(StoreError, match="a torn block"):
        pull(source=Broken(server_dsn, table, metric="cosine_similarity"))
    assert time.monotonic() - start < PATIENCE
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        open_ones = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'retrieval-calibration'"
        for _ in range(50):
            if connection.execute(open_ones).fetchone() == (0,):
                break
            time.sleep(0.05)
        assert connection.execute(open_ones).fetchone() == (0,)


def test_rows_that_go_missing_stop_it(pull: Callable[..., Scores], server_dsn: str, table: str) -> None:
    class Short(PostgresSource):
        def read(self, part: object) -> Iterator[Block]:
            return iter(()) if part.number == 3 else super().read(part)

    with pytest.raises(StoreError, match=r"pulled \d+ of 6000 scores \(truncated\)"):
        pull(source=Short(server_dsn, table, metric="cosine_similarity"))


def test_a_cluster_that_is_not_there_is_named(
    pull: Callable[..., Scores], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ParameterError, match="address"):
        pull(Workers(2, "dask", None))
    with pytest.raises(ParameterError, match=r"no Dask scheduler at tcp://127.0.0.1:9"):
        pull(Workers(2, "dask", "tcp://127.0.0.1:9"))
    monkeypatch.setattr(parts_module, "JOINING", 1.0)
    with cluster(tmp_path, 0) as (address, _), pytest.raises(ParameterError, match="has no worker"):
        pull(Workers(2, "dask", address))


def test_workers_without_the_package_are_named() -> None:
    found = {
        "tcp://w1:1": "0.0.0",
        "tcp://w2:1": PackageNotFoundError("retrieval-calibration"),
        "tcp://w3:1": version(PACKAGE),
    }
    with pytest.raises(ParameterError, match="needs retrieval-calibration") as caught:
        _check_workers(found, "tcp://s:1")
    assert "w1" in str(caught.value)
    assert "w2" in str(caught.value)
    assert "w3" not in str(caught.value)


def test_a_cluster_that_loses_a_worker_gives_what_one_process_gives(
    pull: Callable[..., Scores], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two Dask workers in processes of their own; one is killed while parts are being scored."""
    monkeypatch.setattr(division, "PART_ROWS", 100)
    alone = pull()
    with cluster(tmp_path, 2) as (address, workers):
        started = threading.Event()

        def kill() -> None:
            started.wait()
            os.kill(workers[0].pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        done: list[int] = []

        def progress(rows: int, expected: int) -> None:
            done.append(rows)
            started.set()

        try:
            shared = pull(Workers(2, "dask", address), progress=progress)
        finally:
            started.set()
            killer.join()
        assert workers[0].wait(10) == -signal.SIGKILL
        assert workers[1].poll() is None
    assert len(done) > 20
    assert_same(shared, alone)


@contextmanager
def cluster(folder: Path, count: int) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    quiet = {"cwd": folder, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    module = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen([*module, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet)
    module = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    started = [[*module, "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * count
    workers = [subprocess.Popen(command, **quiet) for command in started]
    try:
        for _ in range(300):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
