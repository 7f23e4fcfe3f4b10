"""The search as deployed: the index is proven by the plan, settings are read back, exact means exact."""

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from calibration.errors import ParameterError, StoreError
from calibration.sources.postgres.candidates import PostgresSearcher
from calibration.sources.postgres.operators import metric_of_operator
from calibration.sources.postgres.settings import IndexUse, index_use
from calibration.sources.search import Queries

pytestmark = pytest.mark.server
ONE = Queries(["q"], np.array([[1, 0]], dtype=np.float32))
Z = Queries(["q"], np.array([[1, 0, 0]], dtype=np.float32))


def searcher(dsn, table="f", index=None, **more):
    use = None if index is None else index_use(index)
    return PostgresSearcher(dsn, table, vector_column="e", index=use, **more)


def without_seqscan(dsn):
    return make_conninfo(dsn, options=conninfo_to_dict(dsn)["options"] + " -cenable_seqscan=off")


def test_c27_an_exact_search_returns_every_row_where_the_index_would_give_40(dsn, table_f):
    with psycopg.connect(without_seqscan(dsn)) as connection:
        naive = connection.execute("SELECT id FROM f ORDER BY e <=> '[1,0]'").fetchall()
    assert len(naive) == 40, "the trap is not set"
    found = searcher(without_seqscan(dsn)).search(ONE, 2000)
    assert len(found.ids[0]) == 1020
    assert sum(len(block.doc_ids) for block in searcher(without_seqscan(dsn)).all_scores(ONE)) == 1020


def test_c28_a_filter_empties_the_approximate_list_but_not_the_exact_one(dsn, table_f):
    exact = searcher(dsn, where="tenant='B'").search(ONE, 10)
    approximate = searcher(without_seqscan(dsn), where="tenant='B'", index={}).search(ONE, 10)
    assert exact.ids == [[str(row) for row in range(1000, 1010)]]
    assert approximate.ids == [[]]


def test_c31_an_approximate_side_that_did_not_use_the_index_is_refused(dsn, table_f, run):
    run("SET client_min_messages = warning", "DROP INDEX f_h", "CREATE INDEX f_l2 ON f USING hnsw (e vector_l2_ops)")
    with pytest.raises(StoreError, match=r"approximate side ran as Seq Scan, index f_l2 not used - comparison means n"):
        searcher(dsn, index={}).search(ONE, 10)
    assert searcher(dsn, index={}, metric="l2").search(ONE, 10).ids[0]


def test_c31_the_named_index_is_the_one_that_must_be_used(dsn, table_f):
    with pytest.raises(StoreError, match=r"ran as Index Scan on f_h \(hnsw\), f_other not used"):
        searcher(dsn, index={"name": "f_other"}).search(ONE, 10)
    with pytest.raises(StoreError, match="not used - comparison means nothing"):
        searcher(dsn, index={"kind": "ivfflat"}).search(ONE, 10)


def test_c31_the_exact_side_never_uses_the_index(dsn, table_f):
    with psycopg.connect(dsn) as connection:
        plan = connection.execute("EXPLAIN SELECT id FROM f ORDER BY e <=> '[1,0]' LIMIT 10").fetchall()
    assert "Index Scan using f_h" in str(plan), "the planner would use it by itself"
    found = searcher(dsn)
    assert found.search(ONE, 10).ids == [[str(row) for row in range(10)]]
    assert found.describe()["index"] is None


def test_c33_settings_are_in_force_read_back_and_described(dsn, table_f):
    found = searcher(without_seqscan(dsn), index={"ef_search": 200})
    assert len(found.search(ONE, 100).ids[0]) == 100
    about = found.describe()["index"]
    assert about["settings"]["hnsw.ef_search"] == "200"
    assert about["name"] == ["f_h"]
    assert about["kind"] == ["hnsw"]
    assert about["plan"][-1] == "Index Scan"
    default = searcher(without_seqscan(dsn), index={})
    assert len(default.search(ONE, 100).ids[0]) == 40
    assert default.describe()["index"]["settings"]["hnsw.ef_search"] == "40"


def test_c33_an_iterative_scan_finds_what_the_filter_hides(dsn, table_f):
    index = {"iterative_scan": "strict_order", "kind": "hnsw", "max_scan_tuples": 20000}
    found = searcher(without_seqscan(dsn), where="tenant='B'", index=index).search(ONE, 10)
    assert found.ids == [[str(row) for row in range(1000, 1010)]]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"ef_search": 1001}, r"ef_search is 1001; allowed 1\.\.1000"),
        ({"ef_search": 0}, r"ef_search is 0; allowed 1\.\.1000"),
        ({"ef_search": True}, "ef_search is True"),
        ({"probes": 0}, r"probes is 0; allowed 1\.\.32768"),
        ({"max_scan_tuples": 2**31}, "max_scan_tuples"),
        ({"iterative_scan": "strict_order", "kind": "ivfflat"}, "allowed for ivfflat: off, relaxed_order"),
        ({"iterative_scan": "off"}, "needs a kind"),
        ({"ef_search": 40, "probes": 2}, "one search uses one index"),
        ({"efsearch": 40}, r"unknown setting 'efsearch' \(did you mean 'ef_search'"),
        ({"kind": "diskann"}, "expected hnsw or ivfflat"),
        ({"kind": "ivfflat", "ef_search": 40}, "settings are those of hnsw"),
        ({"name": 7}, "expected the name of an index"),
    ],
)
def test_c35_settings_are_checked_before_anything_connects(index, message):
    with pytest.raises(ParameterError, match=message):
        searcher("host=127.0.0.1 port=1 dbname=nowhere", index=index)


def test_c35_all_problems_at_once():
    with pytest.raises(ParameterError) as caught:
        index_use({"ef_search": 0, "iterative_scan": "always", "nprobe": 3})
    assert len(str(caught.value).splitlines()) == 4


def test_c16_rows_that_cannot_be_indexed_are_listed_and_searched_by_neither(dsn, table_z, run):
    run("CREATE INDEX z_h ON z USING hnsw (e vector_cosine_ops)", "ANALYZE z")
    exact, indexed = searcher(dsn, "z"), searcher(without_seqscan(dsn), "z", index={})
    assert sorted(exact.search(Z, 10).ids[0]) == sorted(indexed.search(Z, 10).ids[0]) == ["1", "3", "5"]
    assert exact.left_out() == indexed.left_out() == {"2": "zero vector", "4": "NULL"}
    assert searcher(dsn, "z", metric="l2").left_out() == {"4": "NULL"}


def test_c34_an_ivfflat_index_made_empty_is_searched_and_its_settings_said(dsn, run):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 8)).astype(np.float32)
    run("SET client_min_messages = warning", "CREATE TABLE iv (id int, e vector(8))",
        "CREATE INDEX iv_i ON iv USING ivfflat (e vector_cosine_ops) WITH (lists = 20)")  # fmt: skip
    with psycopg.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY iv FROM STDIN") as copy:
            for number, row in enumerate(rows):
                copy.write_row((number, str(row.tolist())))
        connection.execute("ANALYZE iv")
    asked = Queries([f"q{row}" for row in range(20)], rng.normal(size=(20, 8)).astype(np.float32))
    exact = searcher(dsn, "iv").search(asked, 10).ids
    found = searcher(without_seqscan(dsn), "iv", index={"probes": 1})
    approximate = found.search(asked, 10).ids
    lost = sum(len(set(best) - set(returned)) for best, returned in zip(exact, approximate, strict=True))
    assert lost > 0, "an index made empty has centres that mean nothing"
    assert found.describe()["index"]["settings"]["ivfflat.probes"] == "1"


def test_c04_the_inner_product_operator_is_negated_where_the_contract_says_so(dsn, run):
    run("CREATE TABLE d (id int, e vector(2))", "INSERT INTO d VALUES (1, '[0.8,0.6]')")
    raw = {
        m: searcher(dsn, "d", metric=m).search(ONE, 1).scores[0][0] for m in ("inner_product", "negative_inner_product")
    }
    assert raw == {"inner_product": 0.800000011920929, "negative_inner_product": -0.800000011920929}


def test_the_filter_is_on_search_and_pairs_alike_whatever_it_holds(dsn, table_f):
    found = searcher(dsn, where="id % 2 = 0 AND tenant = 'A' -- even")
    assert found.search(ONE, 3).ids == [["0", "2", "4"]]
    (raw,) = found.scores_of(ONE, [["0", "1", "2"]])
    assert np.isnan(raw).tolist() == [False, True, False]
    assert found.filtered


@pytest.mark.parametrize("operator", ["<+>", "<~>", "<%>", "<=", ""])
def test_other_operators_are_refused(operator):
    with pytest.raises(StoreError, match=r"refused|unknown operator"):
        metric_of_operator(operator)
    assert [metric_of_operator(name) for name in ("<=>", "<->", "<#>")] == [
        "cosine_distance", "l2", "negative_inner_product",
    ]  # fmt: skip


def test_queries_of_another_width_are_refused_before_the_server_complains(dsn, table_f):
    with pytest.raises(StoreError, match=r"different models|different vector dimensions"):
        list(searcher(dsn).all_scores(Z))
    with pytest.raises(StoreError, match="different vector dimensions"):
        searcher(dsn).search(Z, 3)


def test_an_index_use_is_plain_data():
    assert index_use({"kind": "hnsw", "ef_search": 40}) == IndexUse("hnsw", None, {"hnsw.ef_search": "40"})
    assert index_use({}) == IndexUse()


def test_everything_asked_while_frozen_sees_one_state_of_the_table(dsn, table_f, run):
    found = searcher(without_seqscan(dsn), index={"ef_search": 200})
    with found.frozen():
        assert found.preflight().rows == 1020
        run(
            "DELETE FROM f WHERE id < 500",
            "UPDATE f SET e = '[-1,0]' WHERE id = 500",
            "INSERT INTO f VALUES (2000, 'A', '[1,0]')",
        )
        assert found.preflight().rows == 1020
        assert sum(len(block.doc_ids) for block in found.all_scores(ONE)) == 1020
        assert found.search(ONE, 10).ids == [[str(row) for row in range(10)]]
        (raw,) = found.scores_of(ONE, [["3", "500", "2000"]])
        assert np.isnan(raw).tolist() == [False, False, True]
        assert raw[1] < 0.1
    assert found.preflight().rows == 521
    assert found.search(ONE, 1).ids == [["2000"]]


def test_c31_an_index_of_the_same_name_in_another_schema_proves_nothing(dsn, table_f, run):
    run("SET client_min_messages = warning", "DROP INDEX f_h", "CREATE INDEX f_h ON f (tenant)",
        "CREATE SCHEMA IF NOT EXISTS elsewhere", "CREATE TABLE elsewhere.g (e vector(2))",
        "CREATE INDEX f_h ON elsewhere.g USING hnsw (e vector_cosine_ops)")  # fmt: skip
    try:
        with pytest.raises(StoreError, match=r"approximate side ran as .*comparison means nothing"):
            searcher(without_seqscan(dsn), where="tenant='B'", index={}).search(ONE, 10)
    finally:
        run("DROP SCHEMA elsewhere CASCADE")


def test_candidates_of_a_relaxed_scan_stand_in_the_order_in_which_it_gave_them(dsn, run):
    rng = np.random.default_rng(1)
    run("SET client_min_messages = warning", "CREATE TABLE r (id int, e vector(8))",
        "CREATE INDEX r_h ON r USING hnsw (e vector_cosine_ops) WITH (m = 2, ef_construction = 4)")  # fmt: skip
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        connection.cursor() as cursor,
        cursor.copy("COPY r FROM STDIN") as copy,
    ):
        for number, row in enumerate(rng.normal(size=(2000, 8))):
            copy.write_row((number, str(row.tolist())))
    asked = Queries([f"q{row}" for row in range(20)], rng.normal(size=(20, 8)).astype(np.float32))
    index = {"ef_search": 5, "iterative_scan": "relaxed_order"}
    found = searcher(without_seqscan(dsn), "r", where="id % 10 = 0", index=index).search(asked, 10)
    assert any((np.diff(scores) < 0).any() for scores in found.scores), "the trap is not set"
