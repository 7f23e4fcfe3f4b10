"""The plan of a deployed search: the index serves it where one fits and the table is large enough."""

from collections.abc import Callable

import pytest

from calibration.sources.postgres import PostgresSource

pytestmark = pytest.mark.server
Run = Callable[..., list[tuple]]


def filled(run: Run, column_type: str, index: str = "") -> None:
    run(
        f"CREATE TABLE t (id int PRIMARY KEY, tenant int, e {column_type}(16))",
        f"INSERT INTO t SELECT i, i % 7, (SELECT array_agg(sin(i * g)) FROM generate_series(1, 16) AS g)::{column_type}"
        " FROM generate_series(1, 3000) AS i",
        *([f"CREATE INDEX t_e ON t USING hnsw (e {index})"] if index else []),
        "ANALYZE t",
    )


def source(dsn: str, **more: str) -> PostgresSource:
    return PostgresSource(dsn, "t", vector_column="e", **{"metric": "cosine_similarity", **more})


@pytest.mark.parametrize("column_type", ["vector", "halfvec"])
def test_the_index_serves_the_query_and_the_cut_stays_outside(dsn: str, run: Run, column_type: str) -> None:
    filled(run, column_type, f"{column_type}_cosine_ops")
    plan = source(dsn).search_plan(5)
    assert plan["reason"] is None
    assert plan["uses_index"] == "t_e"
    text = "\n".join(plan["lines"])
    assert "Index Scan using t_e on t" in text
    assert "Order By: (e <=> $1)" in text
    assert plan["lines"][0].startswith("Subquery Scan")
    assert "Seq Scan" not in text
    assert source(dsn).search_plan(5) == plan, "the same lines for the same data"


def test_an_index_for_another_operator_does_not(dsn: str, run: Run) -> None:
    filled(run, "vector", "vector_l2_ops")
    plan = source(dsn).search_plan(5)
    assert (plan["uses_index"], plan["fitting"]) == (None, [])
    assert source(dsn, metric="l2").search_plan(5)["uses_index"] == "t_e"


def test_the_filter_is_planned_with_it_and_a_wrong_one_is_a_reason(dsn: str, run: Run) -> None:
    filled(run, "vector")
    assert any("tenant = 3" in line for line in source(dsn, where="tenant = 3 -- ours").search_plan(5)["lines"])
    wrong = source(dsn, where="nowhere = 3").search_plan(5)
    assert wrong["lines"] == []
    assert "nowhere" in wrong["reason"]
