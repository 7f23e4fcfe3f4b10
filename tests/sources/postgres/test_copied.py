"""Rows by binary COPY: what was written comes back, and what is no such row is refused."""

import pickle
import struct
import threading
import time

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.errors import StoreError
from calibration.sources.postgres import PostgresSource, copied

VECTOR = np.dtype([("size", ">i4"), ("width", ">i2"), ("unused", ">i2"), ("values", ">f4", (2,))])
_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
_rows = st.lists(st.tuples(_texts, st.none() | _texts, st.floats(width=32, allow_nan=False)), min_size=1, max_size=8)


def value(raw: bytes | None) -> bytes:
    return struct.pack("!i", -1) if raw is None else struct.pack("!i", len(raw)) + raw


def vector(numbers: list[float]) -> bytes:
    return struct.pack(f"!hh{len(numbers)}f", len(numbers), 0, *numbers)


def row(*values: bytes | None) -> bytes:
    return struct.pack("!h", len(values)) + b"".join(map(value, values))


def decoded(rows: list[bytes], texts: int) -> tuple[list[list[str | None]], np.ndarray]:
    return copied._decoded(bytearray(b"".join(rows)), [len(one) for one in rows], VECTOR, texts)


@given(_rows, st.booleans())
def test_what_was_written_comes_back(rows: list[tuple[str, str | None, float]], documented: bool) -> None:
    """Ids of any length, empty ones too, documents that are NULL; rows of one size are read another way."""
    written = [
        row(name.encode(), *([None if doc is None else doc.encode()] if documented else []), vector([number, 1.0]))
        for name, doc, number in rows
    ]
    columns, vectors = decoded(written, 2 if documented else 1)
    assert columns == [[name for name, _, _ in rows], [doc for _, doc, _ in rows]][: 1 + documented]
    assert vectors.tolist() == [[number, 1.0] for _, _, number in rows]


@pytest.mark.parametrize(
    "wrong",
    [
        row(b"a", vector([1.0])),
        row(b"a", vector([1.0, 2.0, 3.0])),
        row(b"a", None),
        row(b"a", b"d", vector([1.0, 2.0])),
        row(vector([1.0, 2.0])),
        b"\0\2",
        struct.pack("!hi", 2, 2**31 - 1) + row(b"", vector([1.0, 2.0]))[6:],
        row(b"a", struct.pack("!hhff", 3, 0, 1.0, 2.0)),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_row_of_another_form_is_refused(wrong: bytes, before: int) -> None:
    with pytest.raises(StoreError, match="no id and 2 numbers; the column changed"):
        decoded([row(b"x", vector([1.0, 2.0]))] * before + [wrong], 1)


def test_a_row_without_an_id_is_refused() -> None:
    with pytest.raises(StoreError, match="2 rows without an id"):
        decoded([row(b"x", vector([1.0, 2.0])), *[row(None, vector([1.0, 2.0]))] * 2], 1)


@pytest.mark.parametrize("piece", [1, 3 * 36008, 1 << 21])
@pytest.mark.parametrize("rows", [1, 2, 7, 100])
def test_blocks_hold_as_many_rows_as_asked_for(dsn, run, monkeypatch, rows, piece) -> None:
    """Rows longer than the room at first, in blocks that do and do not divide their number."""
    run(
        "CREATE TABLE wide (id text, doc text, e vector)",
        "INSERT INTO wide SELECT repeat('ü', i), nullif('d' || i % 3, 'd0'),"
        " (SELECT array_agg(i + n / 1e6) FROM generate_series(1, 9000) AS n)::vector FROM generate_series(1, 14) AS i",
    )
    monkeypatch.setattr(copied, "PIECE_BYTES", piece)
    monkeypatch.setattr("calibration.sources.postgres.pull._copied_rows", lambda width: rows)
    source = PostgresSource(dsn, "wide", vector_column="e", document_column="doc", metric="l2")
    with source.divided(np.ones((1, 9000), dtype=np.float32)) as division:
        blocks = list(source.read(division.parts[0]))
    assert [len(block.doc_ids) for block in blocks[:-1]] == [rows] * (14 // rows - (14 % rows == 0))
    assert [name for block in blocks for name in block.doc_ids] == ["ü" * i for i in range(1, 15)]
    documents = [name for block in blocks for name in block.document_ids]
    assert documents == [f"d{i % 3}" if i % 3 else "ü" * i for i in range(1, 15)]
    assert np.concatenate([block.vectors for block in blocks])[:, 0].tolist() == [
        pytest.approx(i + 1e-6) for i in range(1, 15)
    ]


@pytest.mark.parametrize("fails_at", [2, 3000])
def test_an_answer_that_breaks_off_says_why(dsn, run, fails_at) -> None:
    """The server's own words, at the first rows as after thousands, and the connection is closed."""
    run(
        "CREATE TABLE breaking (id int PRIMARY KEY, e vector(3))",
        "INSERT INTO breaking SELECT i, '[1,2,3]' FROM generate_series(1, 4000) AS i",
    )
    source = PostgresSource(dsn, "breaking", vector_column="e", metric="l2")
    with source.divided(np.ones((1, 3), dtype=np.float32)) as division, source._opened("pull from") as (conn, target):
        broken = copied.copied_columns(target).as_string(conn)
        query = psycopg.sql.SQL(f"SELECT {broken} FROM breaking WHERE 1 / (id - {fails_at}) < 2")
        with pytest.raises(psycopg.errors.DivisionByZero):
            list(copied.copied_blocks(conn, target, query, 3, 512))
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
    assert division.facts.rows == 4000


def test_a_reader_that_stops_early_leaves_no_statement_running(dsn, run) -> None:
    """More than fits into the sockets' buffers, so the server is still at it; the snapshot is usable afterwards."""
    run("CREATE TABLE long_one AS SELECT i AS id, array_fill(1, ARRAY[500])::vector e FROM generate_series(1, 9000) i")
    source = PostgresSource(dsn, "long_one", vector_column="e", metric="l2")
    with source.divided(np.ones((1, 500), dtype=np.float32)) as division:
        blocks = source.read(division.parts[0])
        assert next(blocks).doc_ids[0] == "1"
        blocks.close()
        assert run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'") == [(0,)]
        copy = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own
        assert sum(len(block.doc_ids) for block in copy.read(division.parts[0])) == 9000


def test_leaving_cancels_a_statement_that_a_thread_still_waits_for(dsn, run) -> None:
    """As after Ctrl-C: the reader stands in a slow statement on the division's own connection."""
    run("CREATE TABLE slow_one AS SELECT i AS id, '[1,2,3]'::vector AS e FROM generate_series(1, 3) AS i")
    slowly = "current_setting('calibration.slow', true) IS DISTINCT FROM 'on' OR pg_sleep(60) IS NULL"
    source = PostgresSource(dsn, "slow_one", vector_column="e", metric="l2", where=slowly)
    raised: list[Exception] = []

    def reading() -> None:
        try:
            list(source.read(division.parts[0]))
        except StoreError as error:
            raised.append(error)

    start = time.monotonic()
    with source.divided(np.ones((1, 3), dtype=np.float32)) as division:
        assert source._divided is not None
        source._divided[0].execute("SET LOCAL calibration.slow = 'on'")
        thread = threading.Thread(target=reading)
        thread.start()
        asleep = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND wait_event = 'PgSleep'"
        while run(asleep) == [(0,)]:
            assert time.monotonic() - start < 30
    thread.join(30)
    assert time.monotonic() - start < 30
    assert "canceling statement" in str(raised[0])


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_names_and_ids_survive_the_clients_encoding(dsn, run, monkeypatch, encoding) -> None:
    run(
        "CREATE TABLE füße (id text PRIMARY KEY, lang text, e vector(2))",
        "INSERT INTO füße VALUES ('straße', 'français', '[1,2]'), ('x', 'deutsch', '[3,4]')",
    )
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    source = PostgresSource(dsn, "füße", vector_column="e", metric="l2", where="lang = 'français'")
    with source.divided(np.ones((1, 2), dtype=np.float32)) as division:
        (block,) = source.read(division.parts[0])
    assert block.doc_ids == ["straße"]


def test_bytes_that_are_no_text_are_told() -> None:
    with pytest.raises(StoreError, match=r"an id holds bytes that are no UTF-8 \(b'\\xff'\)"):
        decoded([row(b"\xff", vector([1.0, 2.0]))], 1)
