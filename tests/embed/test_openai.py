"""The OpenAI path: a real server for what works, a scripted one for what goes wrong."""

import math
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import Scripted, answering, dropping, failing, vector_of

from calibration.embed import open_embedder
from calibration.embed.openai_api import plan_batches
from calibration.errors import EmbeddingError, ParameterError

A, B, C = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]


def test_real_server_gives_the_vectors_of_the_model(e5_server, models):
    texts = ["Wie lange kann ich ein Paket zurückgeben?", "A second text"]
    roles = {"query": {"input_type": "query"}, "passage": {"input_type": "passage"}}
    served = open_embedder("openai:e5", base_url=e5_server, extra_body=roles)
    for role in ("query", "passage"):
        assert np.allclose(served.embed(texts, role), models["e5"].embed(texts, role), atol=1e-5)
    assert np.allclose(served.identity().reference, models["e5"].identity().reference, atol=1e-4)


def test_real_server_in_another_role_is_another_identity(e5_server):
    plain = open_embedder("openai:e5", base_url=e5_server).identity()
    roles = {"passage": {"input_type": "passage"}}
    assert not plain.matches(open_embedder("openai:e5", base_url=e5_server, extra_body=roles).identity())


def test_real_server_ignores_dimensions_and_is_found_out(e5_server):
    model = open_embedder("openai:e5", base_url=e5_server, dimensions=256)
    with pytest.raises(EmbeddingError, match=r"q1: 384 dimensions, expected 256; the server ignores"):
        model.embed(["a"], "query", ids=["q1"])


def test_base_url_from_the_environment(scripted: Scripted, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", scripted.url + "/")
    vectors = open_embedder("openai:m", dimensions=8, query_prefix="Q: ").embed(["a"], "query")
    assert np.array_equal(vectors, [vector_of("Q: a", 8)])
    assert scripted.requests == [{"model": "m", "input": ["Q: a"], "dimensions": 8, "encoding_format": "base64"}]


def test_a_proxy_is_not_asked_for_loopback(scripted: Scripted, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert scripted.embedder().embed(["a"], "query").shape == (1, 4)


def test_no_key_for_openai_itself_is_said_at_once():
    with pytest.raises(EmbeddingError, match=r"OPENAI_API_KEY is not set, and api\.openai\.com needs it"):
        open_embedder("openai:text-embedding-3-small")


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_the_key_is_sent_but_never_shown(scripted: Scripted, monkeypatch, status):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    scripted.default = failing(status, "bad key sk-very-secret")
    model = scripted.embedder()
    with pytest.raises(EmbeddingError) as caught:
        model.embed(["a"], "query")
    assert scripted.headers[0]["authorization"] == "Bearer sk-very-secret"
    assert str(status) in str(caught.value)
    assert "secret" not in "".join(traceback.format_exception(caught.value)) + repr(vars(model))
    assert caught.value.__context__ is None


def test_c78_blank_texts_are_refused_before_any_request(scripted: Scripted):
    with pytest.raises(EmbeddingError, match=r"q2: blank text\n  - q3: blank text"):
        scripted.embedder().embed(["alpha", "", "   "], "query", ids=["q1", "q2", "q3"])
    assert scripted.requests == []


def test_c79_vectors_follow_the_index(scripted: Scripted):
    scripted.script.append(answering((2, C), (0, A), (1, B)))
    assert np.allclose(scripted.embedder().embed(["a", "b", "c"], "query"), [A, B, C])


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (answering((0, A), (0, A), (1, B)), r"a \(index 0\): 2 vectors\n  - c \(index 2\): 0 vectors"),
        (answering((0, A), (1, B)), r"3 texts has 2 vectors.*\n  - c \(index 2\): 0 vectors"),
        (answering((0, A), (1, B), (2, C), (3, C)), r"unknown index: 3"),
        (answering((None, A), (None, B), (None, C)), r"unknown index: None"),
        (answering((0, A), (1, B), (True, C)), r"b \(index 1\): 2 vectors\n  - c"),
    ],
)
def test_c79_a_reply_that_does_not_pair_is_an_error(scripted: Scripted, reply, message):
    scripted.script.append(reply)
    with pytest.raises(EmbeddingError, match=message):
        scripted.embedder().embed(["a", "b", "c"], "query", ids=["a", "b", "c"])


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ([None, 0.1], "t0: 1 of 2 components null"),
        ([math.nan, 0.1], "t0: 1 of 2 components NaN or infinite"),
        ([1e39, 0.1], "t0: 1 of 2 components NaN or infinite"),
        (["0.1", 0.1], "t0: components that are not numbers"),
        ([], "t0: an empty vector"),
        (None, "t0: not a vector but NoneType"),
        ("AAAA", "t0: not a vector of 32-bit floats"),
        ("%%", "t0: not a vector of 32-bit floats"),
        ("AADAfwAAgD8=", "t0: 1 of 2 components NaN or infinite"),
    ],
)
def test_c20_invalid_components_are_refused_by_name(scripted: Scripted, first, message):
    scripted.script.append(answering((0, first), (1, [0.6, 0.8])))
    with pytest.raises(EmbeddingError, match=message) as caught:
        scripted.embedder().embed(["x", "y"], "query", ids=["t0", "t1"])
    assert "t1" not in str(caught.value)


def test_widths_within_a_reply_and_between_replies(scripted: Scripted):
    scripted.script.extend([answering((0, A), (1, [1.0])), answering((0, A)), answering((0, [1.0, 0.0, 0.0]))])
    with pytest.raises(EmbeddingError, match="input 1: 1 dimensions, expected 2"):
        scripted.embedder().embed(["a", "b"], "query")
    with pytest.raises(EmbeddingError, match=r"embedded 1 of 2 batches.*\n  - input 1: 3 dimensions, expected 2"):
        scripted.embedder(max_batch_texts=1).embed(["a", "b"], "query")


@pytest.mark.parametrize(("limit", "requests"), [(2048, 2), (10, 205)])
def test_c80_too_many_texts_for_one_request(scripted: Scripted, limit, requests):
    texts = [f"text {n}" for n in range(2049)]
    vectors = scripted.embedder(max_batch_texts=limit).embed(texts, "passage")
    assert len(scripted.requests) == requests
    assert np.array_equal(vectors, [vector_of(text) for text in texts])


def test_c80_too_many_tokens_for_one_request(scripted: Scripted):
    texts = [f"{n} " + "word " * 8000 for n in range(40)]
    vectors = scripted.embedder().embed(texts, "passage")
    assert len(scripted.requests) >= 2
    assert all(len(request["input"]) * 8000 <= 300_000 for request in scripted.requests)
    assert np.array_equal(vectors, [vector_of(text) for text in texts])


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 7), st.integers(1, 60))
def test_plan_keeps_order_and_limits(sizes, max_texts, max_tokens):
    plan = plan_batches(sizes, max_texts, max_tokens)
    assert [index for part in plan for index in part] == list(range(len(sizes)))
    for part in plan:
        assert 1 <= len(part) <= max_texts
        assert len(part) == 1 or sum(sizes[index] for index in part) <= max_tokens


def test_c83_rate_limited_twice_then_well(scripted: Scripted):
    scripted.script.append(answering((0, A)))
    scripted.script.extend([failing(429), failing(429), answering((0, B))])
    assert np.allclose(scripted.embedder(max_batch_texts=1).embed(["a", "b"], "query"), [A, B])
    assert len(scripted.requests) == 4


def test_c83_rate_limited_for_ever(scripted: Scripted):
    scripted.script.append(answering((0, A)))
    scripted.default = failing(429, "slow down")
    with pytest.raises(EmbeddingError, match=r"embedded 1 of 2 batches \(1 of 2 texts\).*429.*2 retries: slow down\."):
        scripted.embedder(max_batch_texts=1).embed(["a", "b"], "query")
    assert len(scripted.requests) == 4


def test_server_errors_and_dropped_connections_are_retried(scripted: Scripted, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    scripted.script.extend([failing(500), dropping, answering((0, A))])
    assert np.allclose(scripted.embedder().embed(["a"], "query"), [A])


def test_a_server_that_always_drops(scripted: Scripted, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    scripted.default = dropping
    with pytest.raises(EmbeddingError, match=r"embedded 0 of 1 batches.*no connection to 127\.0\.0\.1:\d+.*2 retries"):
        scripted.embedder().embed(["a"], "query")
    assert len(scripted.requests) == 3


def test_a_server_that_does_not_answer_in_time(scripted: Scripted):
    scripted.default = lambda request: __import__("time").sleep(0.5)
    with pytest.raises(EmbeddingError, match=r"no answer from .* within 0\.1 s"):
        scripted.embedder(timeout=0.1, max_retries=0).embed(["a"], "query")


def test_over_long_text_is_reported_not_cut(scripted: Scripted):
    scripted.default = failing(400, "maximum context length is 8192 tokens")
    with pytest.raises(EmbeddingError, match=r"8192 tokens\. Nothing was cut.*: d2 \(9,000 characters\), d1 \(3 char"):
        scripted.embedder().embed(["abc", "x" * 9000], "passage", ids=["d1", "d2"])
    assert scripted.requests[0]["input"][1] == "x" * 9000
    assert len(scripted.requests) == 1


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "text/html"}, "<html>sign in</html>"),
        ({}, "{ half"),
        ({}, {"object": "list"}),
        ({}, {"object": "list", "data": None}),
        ({}, {"object": "list", "data": []}),
        ({}, []),
        ({}, {"object": "list", "data": [None]}),
    ],
)
def test_something_that_is_no_reply(scripted: Scripted, headers, body):
    scripted.default = lambda request: (200, headers, body)
    with pytest.raises(EmbeddingError, match="embedded 0 of 1 batches"):
        scripted.embedder().embed(["a"], "query")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openai:", {}),
        ("openai:m", {"base_url": "localhost:8000"}),
        ("openai:m", {"dimensions": 0}),
        ("openai:m", {"max_batch_texts": 0}),
    ],
)
def test_wrong_options_are_refused(name, options):
    with pytest.raises(ParameterError):
        open_embedder(name, **{"base_url": "http://127.0.0.1:1", **options})
