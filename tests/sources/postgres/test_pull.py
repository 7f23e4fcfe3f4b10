import json
import math

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from calibration.errors import StoreError
from calibration.sources import Block
from calibration.sources.postgres import PostgresSource, connect
from calibration.sources.postgres import pull as pull_module
from calibration.sources.postgres.connect import set_local, snapshot
from calibration.sources.postgres.preflight import EXACT_SETTINGS, plan_of, prove_exact
from calibration.sources.postgres.verify import scores as numpy_scores

pytestmark = pytest.mark.server
QUERY = np.array([[1, 0]], dtype=np.float32)
STRATEGIES = pytest.mark.parametrize("strategy", ["fetch", "sql"])


def pulled(source, queries=QUERY, strategy="auto"):
    """All scores of a pull, as {(query row, id): score}, whichever way they came."""
    found = {}
    for block in source.blocks(queries, strategy=strategy):
        if block.scores is not None:
            rows = [(block.query_row, block.scores)]
        else:
            rows = [(row, numpy_scores(block.vectors, query, source.metric)) for row, query in enumerate(queries)]
        for row, scores in rows:
            found |= {(row, name): float(score) for name, score in zip(block.doc_ids, scores, strict=True)}
    return found


def eager(dsn):
    """The planner's choice on larger tables: the index, whenever it can serve."""
    return make_conninfo(
        dsn,
        options=psycopg.conninfo.conninfo_to_dict(dsn)["options"]
        + " -cenable_seqscan=off -cseq_page_cost=100000 -crandom_page_cost=0",
    )


@STRATEGIES
def test_c24_negative_and_zero_scores_come_back(dsn, run, strategy):
    run(
        "CREATE TABLE d (id text, e vector(2))",
        "INSERT INTO d VALUES ('a','[1,0]'),('b','[0,1]'),('c','[-1,0]'),('d','[-0.1,1]')",
    )
    source = PostgresSource(dsn, "d", vector_column="e", metric="cosine_similarity")
    found = pulled(source, strategy=strategy)
    assert found == pytest.approx({(0, "a"): 1, (0, "b"): 0, (0, "c"): -1, (0, "d"): -0.0995037}, abs=1e-6)


@STRATEGIES
def test_c14_c16_zero_and_null_rows_are_counted_and_left_out(dsn, table_z, strategy):
    source = PostgresSource(dsn, table_z, vector_column="e", metric="cosine_similarity")
    found = pulled(source, np.array([[1, 0, 0]], dtype=np.float32), strategy)
    assert sorted(name for _, name in found) == ["1", "3", "5"]
    assert not any(math.isnan(score) for score in found.values())
    facts = source.describe()
    assert (facts["rows"], facts["null_vectors"], facts["zero_vectors"], facts["scorable"]) == (5, 1, 1, 3)


@STRATEGIES
def test_c14_a_zero_vector_keeps_its_euclidean_distance(dsn, table_z, strategy):
    source = PostgresSource(dsn, table_z, vector_column="e", metric="l2")
    found = pulled(source, np.array([[1, 0, 0]], dtype=np.float32), strategy)
    assert found[0, "2"] == pytest.approx(1)
    assert len(found) == 4


@STRATEGIES
def test_c18_two_widths_stop_before_the_first_block(dsn, run, strategy):
    run("CREATE TABLE d (id int, e vector)", "INSERT INTO d VALUES (1,'[1,0]'), (2,'[1,0,0]')")
    source = PostgresSource(dsn, "d", vector_column="e")
    blocks = source.blocks(QUERY, strategy=strategy)
    with pytest.raises(StoreError, match=r"column e holds 2 dimensions: 2 \(1 row\), 3 \(1 row\)"):
        next(blocks)


def test_c18_queries_of_another_width_are_refused(dsn, table_z):
    with pytest.raises(StoreError, match="query vectors have 2 dimensions, column e has 3"):
        pulled(PostgresSource(dsn, table_z, vector_column="e"))


@STRATEGIES
def test_c27_every_row_comes_where_the_index_would_give_40(dsn, table_f, strategy):
    with psycopg.connect(eager(dsn)) as connection:
        naive = connection.execute("SELECT id FROM f ORDER BY e <=> '[1,0]'").fetchall()
    assert len(naive) == 40, "the trap is not set"
    source = PostgresSource(eager(dsn), table_f, vector_column="e")
    found = pulled(source, strategy=strategy)
    assert len(found) == 1020
    assert found[0, "1019"] == pytest.approx(1 - math.cos(math.radians(59)), abs=1e-6)
    assert source.describe()["plan"] == ["Seq Scan"]


@STRATEGIES
def test_c27_a_view_ordered_by_distance_is_pulled_whole(dsn, run, table_f, strategy):
    run("CREATE VIEW near AS SELECT * FROM f ORDER BY e <=> '[1,0]'")
    assert len(pulled(PostgresSource(eager(dsn), "near", vector_column="e"), strategy=strategy)) == 1020


def test_c31_a_plan_on_the_approximate_index_is_refused(dsn, run, table_f):
    run("CREATE VIEW near AS SELECT * FROM f ORDER BY e <=> '[1,0]'")
    query = psycopg.sql.SQL("SELECT id FROM near")
    with snapshot(eager(dsn), None) as connection:
        plan = plan_of(connection, query)
        with pytest.raises(StoreError, match=r"approximate index f_h \(hnsw\)"):
            prove_exact(connection, plan)
        set_local(connection, EXACT_SETTINGS)
        assert "Index Scan" not in prove_exact(connection, plan_of(connection, query))


def test_c31_a_btree_is_no_reason_to_refuse(dsn, table_f):
    with snapshot(eager(dsn), None) as connection:
        plan = plan_of(connection, psycopg.sql.SQL("SELECT id FROM f WHERE id = 7"))
        assert prove_exact(connection, plan)[-1].endswith("Scan")


@STRATEGIES
def test_c27_a_view_with_a_limit_is_refused(dsn, run, table_f, strategy):
    run("CREATE VIEW cut AS SELECT * FROM f LIMIT 1000")
    with pytest.raises(StoreError, match="LIMIT"):
        pulled(PostgresSource(dsn, "cut", vector_column="e"), strategy=strategy)


def test_a_sampled_view_and_a_foreign_table_are_refused(dsn, run, table_f):
    run("CREATE VIEW sampled AS SELECT * FROM f TABLESAMPLE SYSTEM (100)")
    with pytest.raises(StoreError, match="TABLESAMPLE"):
        pulled(PostgresSource(dsn, "sampled", vector_column="e"))
    with snapshot(dsn, None) as connection, pytest.raises(StoreError, match="another server"):
        prove_exact(connection, {"Node Type": "Append", "Plans": [{"Node Type": "Foreign Scan"}]})


@STRATEGIES
def test_c28_a_filter_leaves_all_its_rows(dsn, table_f, strategy):
    source = PostgresSource(eager(dsn), table_f, vector_column="e", where="tenant='B'")
    assert sorted(name for _, name in pulled(source, strategy=strategy)) == [str(row) for row in range(1000, 1020)]
    assert source.describe()["filter"] == "tenant='B'"


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("tenant LIKE 'B%'", 20),
        ("tenant = 'A' OR tenant = 'B' -- both", 1020),
        ("id % 2 = 0", 510),
        ("""'{"a": "{}"}'::jsonb ? 'a'""", 1020),
        ("tenant = '%s'", 0),
    ],
)
def test_a_filter_is_kept_as_it_was_written(dsn, table_f, where, rows):
    source = PostgresSource(dsn, table_f, vector_column="e", where=where)
    assert source.preflight().rows == rows
    if rows:
        assert len(pulled(source)) == rows
        assert len(source.vectors_of(["1000", "0", "1"])) == {20: 1, 1020: 3, 510: 2}[rows]


def test_c33_settings_outside_a_transaction_are_noticed(dsn):
    with connect(dsn) as connection, pytest.raises(StoreError, match="enable_indexscan is on, not off"):
        set_local(connection, {"enable_indexscan": "off"})
    with snapshot(dsn, None) as connection:
        assert set_local(connection, {"enable_indexscan": "off"}) == {"enable_indexscan": "off"}


def test_c33_describe_holds_the_settings_as_read_back(dsn, table_f):
    source = PostgresSource(dsn, table_f, vector_column="e")
    pulled(source)
    assert source.describe()["settings"] == EXACT_SETTINGS


@pytest.mark.parametrize("way", ["copied_blocks", "stream"])
def test_c36_rows_lost_on_the_way_stop_the_pull(dsn, table_f, monkeypatch, way):
    """A table read in one statement, and one that is too large for that."""
    whole = getattr(pull_module, way)

    def cut(*arguments):
        for rows in whole(*arguments):
            yield rows[:1000] if way == "stream" else tuple(column[:1000] for column in rows)

    monkeypatch.setattr(pull_module, way, cut)
    if way == "stream":
        monkeypatch.setattr(pull_module.division, "PART_ROWS", 1)
    with pytest.raises(StoreError, match=r"pulled 1000 of 1020 scores \(truncated\)"):
        pulled(PostgresSource(dsn, table_f, vector_column="e"), strategy="fetch")


@pytest.mark.parametrize(
    "metric", ["cosine_distance", "cosine_similarity", "l2", "squared_l2", "inner_product", "negative_inner_product"]
)
@pytest.mark.parametrize("kind", ["vector", "halfvec"])
def test_server_and_numpy_agree_on_every_metric(dsn, run, metric, kind):
    run(
        f"CREATE TABLE d (id int PRIMARY KEY, e {kind}(3))",
        "INSERT INTO d VALUES (1,'[1,0,0.5]'), (2,'[0.25,3,0]'), (3,'[-1,-2,-0.5]')",
    )
    source = PostgresSource(dsn, "d", vector_column="e", metric=metric)
    queries = np.array([[1, 0.5, 0], [0, -1, 2]], dtype=np.float32)
    by_server, by_numpy = (pulled(source, queries, strategy) for strategy in ("sql", "fetch"))
    assert len(by_server) == 6
    assert by_server == pytest.approx(by_numpy, abs=1e-6)
    assert source.verify(queries) < 1e-6
    assert source.describe()["verified_difference"] < 1e-6


def test_c04_the_inner_product_operator_is_negative(dsn, run):
    run("CREATE TABLE d (id int, e vector(2))", "INSERT INTO d VALUES (1, '[0.8,0.6]')")
    raw = pulled(PostgresSource(dsn, "d", vector_column="e", metric="negative_inner_product"))
    assert raw[0, "1"] == pytest.approx(-0.8)
    assert pulled(PostgresSource(dsn, "d", vector_column="e", metric="inner_product"))[0, "1"] == pytest.approx(0.8)


def test_auto_asks_the_server_below_eight_queries(dsn, table_z):
    source = PostgresSource(dsn, table_z, vector_column="e")
    for count, strategy in ((7, "sql"), (8, "fetch")):
        blocks = list(source.blocks(np.ones((count, 3), dtype=np.float32)))
        assert source.describe()["strategy"] == strategy
        assert {block.query_row for block in blocks} == (set(range(7)) if strategy == "sql" else {None})


def test_document_ids_travel_and_a_passage_without_one_is_its_own(dsn, run):
    run("CREATE TABLE d (id int, doc text, e vector(2))", "INSERT INTO d VALUES (1,'D','[1,0]'), (2,NULL,'[0,1]')")
    source = PostgresSource(dsn, "d", vector_column="e", document_column="doc")
    (block,) = source.blocks(QUERY, strategy="fetch")
    assert (block.doc_ids, block.document_ids) == (["1", "2"], ["D", "2"])
    assert isinstance(block, Block)
    (scored,) = source.blocks(QUERY, strategy="sql")
    assert scored.document_ids == ["D", "2"]


def test_names_that_need_quotes_and_a_schema(dsn, run):
    run(
        'CREATE TABLE "Odd ""Docs" ("Id" uuid PRIMARY KEY, "The e" vector(2))',
        """INSERT INTO "Odd ""Docs" VALUES ('00000000-0000-0000-0000-000000000001', '[1,0]')""",
    )
    (schema,) = run("SELECT current_schema()")[0]
    source = PostgresSource(dsn, f'{schema}."Odd ""Docs"', id_column="Id", vector_column="The e")
    assert list(pulled(source)) == [(0, "00000000-0000-0000-0000-000000000001")]


def test_many_blocks_and_progress(dsn, table_f, monkeypatch):
    monkeypatch.setattr(pull_module, "BLOCK_BYTES", 1)
    monkeypatch.setattr(pull_module, "COPIED_BYTES", 1)
    source = PostgresSource(dsn, table_f, vector_column="e")
    calls = []
    sizes = [len(b.doc_ids) for b in source.blocks(QUERY, strategy="fetch", progress=lambda *done: calls.append(done))]
    assert sizes == [256, 256, 256, 252]
    assert calls == [(256, 1020), (512, 1020), (768, 1020), (1020, 1020)]


def test_a_pull_left_half_way_leaves_no_connection(dsn, run, table_f, monkeypatch):
    monkeypatch.setattr(pull_module, "BLOCK_BYTES", 1)
    monkeypatch.setattr(pull_module, "COPIED_BYTES", 1)
    blocks = PostgresSource(dsn, table_f, vector_column="e").blocks(QUERY, strategy="fetch")
    next(blocks)
    blocks.close()
    left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'retrieval-calibration' AND state <> 'idle'"
    assert run("SELECT pg_sleep(0.1)", left) == [(0,)]


def test_all_of_a_pull_is_one_snapshot(dsn, run, table_f, monkeypatch):
    monkeypatch.setattr(pull_module, "BLOCK_BYTES", 1)
    monkeypatch.setattr(pull_module, "COPIED_BYTES", 1)
    blocks = PostgresSource(dsn, table_f, vector_column="e").blocks(QUERY, strategy="fetch")
    first = next(blocks)
    run("INSERT INTO f VALUES (5000, 'A', '[1,0]')", "DELETE FROM f WHERE id = 1019")
    rest = [name for block in blocks for name in block.doc_ids]
    assert len(first.doc_ids) + len(rest) == 1020
    assert "1019" in rest
    assert "5000" not in rest


def test_all_queries_of_a_pull_see_one_snapshot(dsn, run, table_f):
    blocks = PostgresSource(dsn, table_f, vector_column="e").blocks(np.array([[1, 0], [0, 1]]), strategy="sql")
    first = next(blocks)
    run("INSERT INTO f VALUES (5000, 'A', '[1,0]'), (5001, 'A', '[1,0]')", "DELETE FROM f WHERE id = 1019")
    (second,) = blocks
    assert (first.query_row, second.query_row) == (0, 1)
    assert sorted(first.doc_ids) == sorted(second.doc_ids)


def test_vectors_of_some_documents_as_stored(dsn, table_z):
    found = PostgresSource(dsn, table_z, vector_column="e").vectors_of(["3", "4", "77"])
    assert {name: vector.tolist() for name, vector in found.items()} == {"3": pytest.approx([0.9, 0.1, 0])}


def test_describe_is_json_without_a_password(dsn, table_z):
    source = PostgresSource(make_conninfo(dsn, password="S3cretPw"), table_z, vector_column="e")  # noqa: S106
    pulled(source, np.array([[1, 0, 0]], dtype=np.float32))
    text = json.dumps(source.describe())
    assert "S3cretPw" not in text + repr(source)
    assert source.describe()["server_version"].startswith("18")


def test_a_pull_cannot_write(dsn, run, table_z):
    run("CREATE FUNCTION sneak() RETURNS bool LANGUAGE sql AS 'INSERT INTO z VALUES (9, NULL) RETURNING true'")
    with pytest.raises(StoreError, match="never writes"):
        pulled(PostgresSource(dsn, table_z, vector_column="e", where="sneak()"), np.ones((1, 3)))
    assert run("SELECT count(*) FROM z") == [(5,)]


def test_the_statement_timeout_ends_a_slow_filter(dsn, table_z):
    source = PostgresSource(dsn, table_z, vector_column="e", where="pg_sleep(2) IS NOT NULL", statement_timeout=0.05)
    with pytest.raises(StoreError, match="statement timeout"):
        source.preflight()
