"""What a must query says of the ids that a system accepted; the fixtures as such are tried in tests/docs."""

from types import SimpleNamespace
from typing import Any

import pytest

from calibration.pytest_plugin import MustQuery


def must(what: str, *relevant: str, **texts: str) -> MustQuery:
    world: Any = SimpleNamespace(texts=texts, relevant=lambda _: frozenset(relevant))
    return MustQuery("q", what, world)


@pytest.mark.parametrize(
    ("query", "accepted", "words"),
    [
        (must("hit", "d"), [], "must hit, and nothing came back"),
        (must("hit", "d"), ["x"], "must hit one of d, and got x"),
        (must("refuse"), ["x", 7], "must be refused, and 2 passages came back: x, 7"),
    ],
)
def test_a_broken_one_says_how(query: MustQuery, accepted: list[Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        query.verify(accepted)


def test_satisfied_ones_are_silent() -> None:
    must("hit", "d", "e").verify(id for id in ("x", "d"))
    must("hit").verify(["anything, where nothing was judged"])
    must("refuse").verify([])


@pytest.mark.parametrize("accepted", ["", "d1", b"d1"])
def test_one_id_is_no_collection_of_ids(accepted: Any) -> None:
    """Letter by letter "d1" would be two passages, and "" an empty result."""
    with pytest.raises(TypeError, match="expected the ids of all accepted passages"):
        must("refuse").verify(accepted)


def test_a_query_that_is_no_longer_labelled_says_so() -> None:
    assert must("hit", q="what?").text == "what?"
    with pytest.raises(AssertionError, match="query q must hit, and is not among today's labels"):
        _ = must("hit").text
