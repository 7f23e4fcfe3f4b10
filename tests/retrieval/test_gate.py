"""When a hybrid design returns nothing: docir's probe, unscored rows, two floors, exemptions."""

import numpy as np
import pandas as pd
import pytest

from calibration.contract import ScoreContract
from calibration.errors import ContractError, LabelError
from calibration.retrieval import Candidates, Floor, Leg, gate, join_legs, rrf

COSINE, WORDS = ScoreContract(), ScoreContract("ts_rank", normalisation="none")
NONE = float("nan")


def candidates_of(similarity: list[float], lexical: list[float] | None = None) -> Candidates:
    rows = pd.DataFrame({"query_id": "q", "doc_id": list("ABCDEF")[: len(similarity)], "similarity": similarity})
    contracts = {"similarity": COSINE}
    if lexical is not None:
        rows["lexical"] = lexical
        contracts["lexical"] = WORDS
    return Candidates(["q"], rows, contracts)


def passed(candidates: Candidates, *floors: Floor) -> list[str]:
    return candidates.rows.loc[gate(candidates, floors).passed, "doc_id"].tolist()


def test_c45_an_unscored_row_is_neither_accepted_nor_rejected_and_zero_is_a_score() -> None:
    found = candidates_of([0.41, NONE, 0.0, 0.12])
    decided = gate(found, [Floor("similarity", 0.3, COSINE)])
    assert decided.verdict.tolist() == ["accepted", "unscored", "rejected", "rejected"]
    assert decided.counts == {"accepted": 1, "rejected": 2, "unscored": 1, "exempt": 0}
    assert passed(found, Floor("similarity", 0.3, COSINE)) == ["A"]
    assert found.values("similarity")[:, 0].tolist()[2] == 0.0


def test_c45_the_contract_says_what_happens_to_the_unscored() -> None:
    keep = ScoreContract(unscored="keep")
    found = candidates_of([0.41, NONE, 0.0, 0.12])
    decided = gate(found, [Floor("similarity", 0.3, keep)])
    assert decided.verdict.tolist()[1] == "unscored"
    assert decided.passed.tolist() == [True, True, False, False]


def test_docirs_probe_off_topic_is_empty_with_the_floor_and_on_topic_survives() -> None:
    """A store with one document: its RRF score is the same for both queries, its similarity is not."""
    queries = ["sourdough", "pooling"]
    vectors = pd.DataFrame({"query_id": queries, "doc_id": "postgres", "score": [0.4051, 0.8951], "rank": 1})
    found = join_legs({"similarity": Leg(vectors, COSINE)}, queries, depth=3)
    fused = rrf(found.ranks("similarity"))
    assert fused.round(4).tolist() == [0.0164, 0.0164]
    assert found.rows["doc_id"].tolist() == ["postgres", "postgres"], "without a floor each query gets the document"
    decided = gate(found, [Floor("similarity", 0.5, COSINE)])
    assert found.rows.loc[decided.passed, "query_id"].tolist() == ["pooling"]
    assert found.query_ids == queries, "the query with an empty result is still there"


def test_docirs_exemption_of_a_graph_link_and_a_zero_that_is_rejected() -> None:
    found = candidates_of([0.0, 0.1, NONE])
    decided = gate(found, [Floor("similarity", 0.5, COSINE)], exempt=[False, True, False])
    assert decided.verdict.tolist() == ["rejected", "exempt", "unscored"]
    assert decided.passed.tolist() == [False, True, False]
    assert decided.counts["exempt"] == 1


def test_either_floor_lets_a_candidate_pass_each_on_its_own_scale() -> None:
    found = candidates_of([0.6, 0.1, NONE, 0.2], [NONE, 0.09, 0.09, 0.01])
    floors = [Floor("similarity", 0.5, COSINE), Floor("lexical", 0.05, WORDS)]
    assert passed(found, *floors) == ["A", "B", "C"]
    assert passed(found, floors[0]) == ["A"]
    assert gate(found, floors).counts == {"accepted": 3, "rejected": 1, "unscored": 0, "exempt": 0}


def test_a_floor_of_zero_is_a_floor_and_none_accepts_what_is_scored() -> None:
    found = candidates_of([0.3, 0.0, -0.1, NONE])
    assert passed(found, Floor("similarity", 0.0, COSINE)) == ["A", "B"]
    assert passed(found, Floor("similarity", None, COSINE)) == ["A", "B", "C"]


def test_without_any_floor_nothing_is_accepted_by_one() -> None:
    assert gate(candidates_of([0.9]), []).passed.tolist() == [False]


def test_a_floor_of_another_model_is_refused() -> None:
    with pytest.raises(ContractError, match=r"calibrated on cosine_similarity of other@1 and cannot gate 'similarity'"):
        gate(candidates_of([0.9]), [Floor("similarity", 0.5, ScoreContract(embedding_version="other@1"))])
    with pytest.raises(ContractError, match=r"no signal 'lexical'; there are: similarity"):
        gate(candidates_of([0.9]), [Floor("lexical", 0.5, WORDS)])


def test_a_score_beyond_a_legs_depth_travels_along_and_its_rank_does_not() -> None:
    vectors = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [0.9, 0.0], "rank": [1, 2]})
    words = pd.DataFrame({"query_id": "q", "doc_id": ["b", "c"], "score": [0.2, 0.1], "rank": [1, 2]})
    found = join_legs({"similarity": Leg(vectors, COSINE), "lexical": Leg(words, WORDS)}, ["q", "empty"], depth=1)
    assert found.rows["doc_id"].tolist() == ["a", "b"]
    assert np.array_equal(found.values("similarity", "lexical"), [[0.9, NONE], [0.0, 0.2]], equal_nan=True)
    assert np.array_equal(found.ranks("similarity", "lexical"), [[1, NONE], [NONE, 1]], equal_nan=True)
    assert found.query_ids == ["q", "empty"]


def test_legs_that_do_not_fit_are_refused_with_every_reason() -> None:
    twice = pd.DataFrame({"query_id": ["q", "q", "x"], "doc_id": ["a", "a", "b"], "score": [1.0, 1.0, 1.0], "rank": 1})
    with pytest.raises(LabelError, match=r"'x', which was not asked\n.*'a' more than once for 'q'"):
        join_legs({"similarity": Leg(twice, COSINE)}, ["q"], depth=5)


def test_what_counts_as_unscored_depends_on_the_floor_that_is_there() -> None:
    found = candidates_of([0.6, NONE], [NONE, 0.09])
    by_words = gate(found, [Floor("lexical", 0.05, WORDS)])
    assert (by_words.judge, by_words.verdict.tolist()) == ("lexical", ["unscored", "accepted"])
    both = gate(found, [Floor("lexical", 0.5, WORDS), Floor("similarity", 0.5, COSINE)])
    assert (both.judge, both.verdict.tolist()) == ("similarity", ["accepted", "unscored"])
    with pytest.raises(ContractError, match=r"exempt has the shape \(1,\), expected one value for each of 2"):
        gate(found, [Floor("similarity", 0.5, COSINE)], exempt=[True])
