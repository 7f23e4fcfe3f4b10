"""The number for each consumer, by hand: which formula, which side of the boundary, which reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.contract import ScoreContract, transform_named
from calibration.contract.consumers import CONSUMERS
from calibration.contract.deploy import bound, deployments, pgvector_sql
from calibration.contract.metrics import metric_named
from calibration.errors import ContractError

COMPARE = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}


def values(floor: float) -> dict[tuple[str, str], float]:
    rows = deployments(floor, ScoreContract(), top_k=5, clear=True)
    return {(row["system"], row["setting"]): row["value"] for row in rows if row["value"] is not None}


def test_the_documented_formulas_by_hand() -> None:
    found = values(0.6)
    by_hand = {
        ("LangChain PGVector, EUCLIDEAN", "score_threshold of the retriever"): 1 - np.sqrt(0.8) / np.sqrt(2),
        ("Faiss, METRIC_L2", "distances of search"): 0.8,
        ("Chroma, ip", "distances of query; no cut of its own"): 0.4,
        ("Weaviate, cosine", "certainty"): 0.8,
        ("Elasticsearch, cosine", "similarity of knn"): 0.6,
        ("Elasticsearch, cosine", "min_score"): 0.8,
        ("Elasticsearch, l2_norm", "min_score"): 1 / 1.8,
        ("OpenSearch, cosinesimil", "min_score"): 0.8,
        ("OpenSearch, l2", "min_score"): 1 / 1.8,
        ("Qdrant, Cosine", "score_threshold"): 0.599999,
        ("Supabase match_documents, <=>", "match_threshold"): 0.599999,
    }
    assert {place: found[place] for place in by_hand} == pytest.approx(by_hand, abs=1e-12)


@settings(deadline=None)  # a busy machine is no failure
@given(
    st.floats(-0.9, 0.9),
    st.lists(st.floats(-1, 1), min_size=1, max_size=30),
    st.booleans(),
    st.booleans(),
)
def test_every_system_keeps_what_the_contract_keeps(
    floor: float, others: list[float], inclusive: bool, clear: bool
) -> None:
    """Also on the floor itself and a rounding away from it, and when the contract is strict."""
    contract = ScoreContract(threshold_inclusive=inclusive)
    similarity = np.array(others if clear else [*others, floor, floor + 1e-7, floor - 1e-7])
    # between the ends of the boundary and what lies behind them a rounding may decide: no similarity stands there
    gap = np.abs(similarity - floor)
    similarity = similarity[(gap > 1.1e-6) if clear else (gap < 0.9e-6) | (gap > 1.1e-6)]
    similarity = similarity[np.abs(similarity) < 1 - 1e-6]
    expected = contract.accept(similarity, floor)
    for consumer, row in zip(CONSUMERS, deployments(floor, contract, top_k=5, clear=clear), strict=True):
        if row["value"] is None:
            continue
        metric = metric_named(consumer.metric)
        scores = transform_named(consumer.transform, metric).forward(metric.from_cosine(similarity))
        kept = COMPARE[row["comparison"]](scores, row["value"])
        assert kept.tolist() == expected.tolist(), row["system"]


def test_a_number_that_cannot_work_has_its_reason() -> None:
    rows = deployments(0.5, ScoreContract("cosine_distance", normalisation="none"), top_k=5, clear=True)
    for row in rows:
        assert (row["value"] is None) == (row["why_not"] is not None) == (row["snippet"] is None)
    assert {row["system"] for row in rows if row["value"] is None} >= {"Faiss, METRIC_L2", "Qdrant, Euclid"}
    with pytest.raises(ContractError, match="no floor on"):
        deployments(0.5, ScoreContract("rrf"), top_k=5, clear=True)


def test_every_row_has_evidence_a_link_and_a_line_to_copy() -> None:
    for row in deployments(0.5, ScoreContract(), top_k=7, clear=True):
        assert row["link"].startswith("https://")
        assert row["missing"]
        if row["value"] is not None:
            assert repr(row["value"]) in row["snippet"]
    places = [(one.system, one.setting) for one in CONSUMERS]
    assert len(set(places)) == len(places)


def test_a_bound_follows_the_contract() -> None:
    strict = ScoreContract(threshold_inclusive=False)
    assert bound(0.8, strict, "cosine_distance", clear=True) == ("<", 0.2)
    assert bound(0.8, strict, "cosine_distance", clear=False) == ("<", 0.199999)
    assert bound(0.8, ScoreContract(), "negative_inner_product", clear=True) == ("<=", -0.8)


def test_no_query_where_pgvector_has_no_such_score() -> None:
    names = {"table": "t", "key": "id", "vector": "e", "top_k": 3, "limit": None}
    assert pgvector_sql(ScoreContract("l2", normalisation="none"), **names) is None
    assert pgvector_sql(ScoreContract(score_transform="(1+cos)/2"), **names) is None
    assert pgvector_sql(ScoreContract("reranker_logit"), **names) is None
    assert "WHERE distance" not in (pgvector_sql(ScoreContract(), **names) or "WHERE distance")
