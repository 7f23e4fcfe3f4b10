"""Labels out of a real PostgreSQL server."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.rows import dict_row

from calibration.errors import LabelError
from calibration.labels import read_database

pytestmark = pytest.mark.server

QUERIES = "select * from (values (7, 'is 100 % off?', 'question'), (8, 'second', 'oos')) as q(id, text, kind)"
QRELS = "select 7::bigint as query_id, 'd1' as doc_id, 2::numeric as relevance union all select 7, 'd2', 0"
CORPUS = (
    "select 'd' || n as id, 'text ' || n as text, null as parent_id from generate_series(1, 2) as n where 'a' like '%a'"
)


@pytest.fixture
def connection(server_dsn: str) -> Iterator["psycopg.Connection[psycopg.rows.TupleRow]"]:
    with psycopg.connect(server_dsn) as opened:
        opened.read_only = True
        yield opened


def test_rows_become_labels(connection: "psycopg.Connection[psycopg.rows.TupleRow]") -> None:
    labels = read_database(connection, queries_sql=QUERIES, qrels_sql=QRELS, corpus_sql=CORPUS, rel_level=2)
    assert labels.queries[["query_id", "text", "answerability"]].to_dict("list") == {
        "query_id": ["7", "8"],
        "text": ["is 100 % off?", "second"],
        "answerability": ["answerable", "off_topic"],
    }
    assert labels.qrels["relevance"].tolist() == [2, 0]
    assert labels.corpus is not None
    assert labels.corpus["doc_id"].tolist() == ["d1", "d2"]
    assert labels.corpus["document_id"].isna().all()


def test_the_owners_row_factory_and_transaction_are_left_alone(
    connection: "psycopg.Connection[psycopg.rows.TupleRow]",
) -> None:
    connection.row_factory = dict_row  # type: ignore[assignment]
    labels = read_database(connection, queries_sql=QUERIES, qrels_sql=QRELS, rel_level=1)
    assert labels.corpus is None
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    connection.execute("select 1")
    read_database(connection, queries_sql=QUERIES, qrels_sql=QRELS, rel_level=1)
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS


def test_every_failing_statement_and_row_is_said(connection: "psycopg.Connection[psycopg.rows.TupleRow]") -> None:
    with pytest.raises(LabelError, match="3 problems") as caught:
        read_database(
            connection,
            queries_sql="select nothing from nowhere",
            qrels_sql="select 'q1' as query_id, 'd1' as doc_id, 'maybe' as score",
            corpus_sql="select 1 as id, 'a' as text, 'b' as text",
        )
    message = str(caught.value)
    assert 'queries_sql: relation "nowhere" does not exist' in message
    assert "qrels_sql row 1: relevance is 'maybe'" in message
    assert "corpus_sql: column text comes twice" in message
    assert connection.execute("select 1").fetchone() == (1,)


def test_a_statement_that_selects_nothing_or_no_rows(connection: "psycopg.Connection[psycopg.rows.TupleRow]") -> None:
    with pytest.raises(LabelError) as caught:
        read_database(connection, queries_sql="set local work_mem = '4MB'", qrels_sql=QRELS + " limit 0")
    assert "queries_sql: returns no rows; expected a SELECT" in str(caught.value)
    assert "qrels_sql: 0 judgements" in str(caught.value)
