"""Rerankers: a real offline one, and any HTTP endpoint, honest or not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibration.contract import ScoreContract
from calibration.errors import ContractError, EmbeddingError, ParameterError
from calibration.retrieval import Candidates, Floor, HttpReranker, LateInteraction, gate, rerank

QUERIES = {"q": "how do I cancel", "r": "refund"}
PASSAGES = {"a": "short", "b": "a longer passage", "c": "the longest passage of them all"}


def found() -> Candidates:
    rows = pd.DataFrame(
        {
            "query_id": ["q", "q", "q", "r"],
            "doc_id": ["a", "b", "c", "a"],
            "similarity": [0.9, 0.8, float("nan"), 0.1],
        }
    )
    return Candidates(["q", "r"], rows, {"similarity": ScoreContract()})


def http(endpoint: Any, **options: Any) -> HttpReranker:
    return HttpReranker(endpoint.url, **{"max_retries": 1, **options})


def test_c46_a_floor_on_the_sigmoid_scale_is_a_logit_of_zero() -> None:
    logits = [8.15, 0.3, -2.0, -8.3]
    sigmoid = ScoreContract("reranker_logit", normalisation="none", score_transform="sigmoid")
    raw = 1 / (1 + np.exp(-np.array(logits)))
    assert raw.round(6).tolist() == [0.999711, 0.574443, 0.119203, 0.000248]
    cut = float(sigmoid.similarity([0.5])[0])
    assert cut == 0.0
    rows = pd.DataFrame({"query_id": "q", "doc_id": list("abcd"), "rerank": logits})
    held = ScoreContract("reranker_logit", normalisation="none")
    candidates = Candidates(["q"], rows, {"rerank": held})
    assert gate(candidates, [Floor("rerank", cut, held)]).passed.tolist() == [True, True, False, False]
    with pytest.raises(ContractError, match="calibrated on cosine_similarity and cannot gate 'rerank'"):
        gate(candidates, [Floor("rerank", 0.5, ScoreContract())])


def test_late_interaction_finds_the_passage_that_answers() -> None:
    reranker = LateInteraction()
    assert reranker.contract.metric == "maxsim"
    question = "how do I get my money back"
    texts = ["Refunds are paid within 14 days of the request.", "Lasagne is baked in an oven."]
    scores = reranker.score([question, question], texts)
    assert scores[0] > scores[1]
    assert (np.abs(scores) <= 1).all()
    same = reranker.score([question, texts[0], question], [question, texts[0], texts[1]])
    assert same.round(4).tolist() == [1.0, 1.0, round(float(scores[1]), 4)], "pairs do not depend on their neighbours"


def test_only_the_best_by_a_signal_are_read_and_the_rest_is_unscored(endpoint: Any) -> None:
    done = rerank(found(), http(endpoint), QUERIES, PASSAGES, by="similarity", depth=1)
    assert [request["documents"] for request in endpoint.requests] == [["short"], ["short"]]
    values = done.values("rerank")[:, 0]
    assert np.array_equal(values, [0.05, np.nan, np.nan, 0.05], equal_nan=True)
    assert done.contracts["rerank"].metric == "vendor_relevance"
    assert done.values("similarity")[:2, 0].tolist() == [0.9, 0.8], "the raw similarity stays beside it"


def test_answers_may_come_in_any_order_and_shape(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_API_KEY", "s3cret")
    steps: list[int] = []
    reranker = http(endpoint, model="m-1", documents="texts")
    endpoint.script.append((200, [{"index": 1, "score": 0.0}, {"index": 0, "score": 2}]))
    assert reranker.score(["q", "q"], ["x", "y"], steps.append).tolist() == [2.0, 0.0]
    assert endpoint.requests == [{"query": "q", "texts": ["x", "y"], "model": "m-1"}]
    assert endpoint.keys == ["Bearer s3cret"]
    assert steps == [2]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([{"index": 0, "relevance_score": 0.5}], "passage 1 has no score"),
        ([{"index": 0, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.4}], "passage 0 comes twice"),
        ([{"index": 2, "relevance_score": 0.5}], "names passage 2; 2 were sent"),
        ([{"index": True, "relevance_score": 0.5}], "names passage True"),
        ([{"index": 0, "relevance_score": None}], "the score of passage 0 is None"),
        ([{"index": 0, "relevance_score": "0.5"}], "the score of passage 0 is '0.5'"),
        (["x"], "names passage None"),
        ({"error": "no"}, "sent no list of results"),
    ],
)
def test_a_wrong_answer_is_refused_by_name(endpoint: Any, results: Any, words: str) -> None:
    endpoint.script.append((200, {"results": results}))
    with pytest.raises(EmbeddingError, match=words):
        http(endpoint).score(["q", "q"], ["x", "y"])


def test_a_busy_server_is_asked_again_and_a_broken_one_is_named(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint.script.extend([(429, {}), (200, {"results": [{"index": 0, "relevance_score": 1}]})])
    assert http(endpoint).score(["q"], ["x"]).tolist() == [1.0]
    endpoint.script.extend([None, None])
    with pytest.raises(EmbeddingError, match=r"the reranker at 127\.0\.0\.1:\d+ cannot be reached"):
        http(endpoint).score(["q"], ["x"])
    monkeypatch.setenv("RERANK_API_KEY", "s3cret")
    endpoint.script.append((401, {"message": "bad key s3cret"}))
    with pytest.raises(EmbeddingError, match=r"answered 401. Set RERANK_API_KEY") as refused:
        http(endpoint).score(["q"], ["x"])
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_wrong_address_and_missing_texts_are_said_before_anything_is_sent(endpoint: Any) -> None:
    with pytest.raises(ParameterError, match="an address that starts with http"):
        HttpReranker("host/rerank")
    with pytest.raises(EmbeddingError, match=r"1 candidates have no text to read:\n  - b"):
        rerank(found(), http(endpoint), QUERIES, {"a": "x", "c": "z"}, by="similarity", depth=5)
    assert endpoint.requests == []


@pytest.mark.parametrize(
    "address",
    ["https://u:S3cret@host/rerank", "https://host/rerank?api_key=S3cret", "https://host/r?a=1&access_token=S3cret"],
)
def test_c88_an_address_that_holds_a_secret_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(ParameterError, match="must not carry a password or a key") as caught:
        HttpReranker(address)
    assert "S3cret" not in str(caught.value)
