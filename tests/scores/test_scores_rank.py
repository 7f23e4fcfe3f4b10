"""Ranks and ties."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from calibration.scores.rank import rank_within, ranked

rows = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from([0.5, 0.5 + 6e-7, 0.5 + 12e-7, 0.2, -0.3, 0.0]), st.sampled_from("abcdef")
    ),
    max_size=20,
)


@given(rows)
def test_many_queries_at_once_equal_one_at_a_time(found: list[tuple[int, float, str]]) -> None:
    queries = np.array([q for q, _, _ in found], dtype=np.int64)
    similarity = np.array([s for _, s, _ in found], dtype=np.float64)
    docs = np.array([d for _, _, d in found], dtype=object)
    order = ranked(similarity, docs, queries)
    expected = []
    for query in np.unique(queries):
        here = np.flatnonzero(queries == query)
        expected += here[ranked(similarity[here], docs[here])].tolist()
    assert [(queries[i], similarity[i], docs[i]) for i in order] == [
        (queries[i], similarity[i], docs[i]) for i in expected
    ]
    for query in np.unique(queries):
        ranks = rank_within(queries[order])[queries[order] == query]
        assert ranks.tolist() == list(range(1, len(ranks) + 1))


def test_better_by_more_than_the_tolerance_comes_first_whatever_the_id() -> None:
    assert ranked(np.array([0.5, 0.5 + 2e-6]), np.array(["a", "b"], dtype=object)).tolist() == [1, 0]
    assert ranked(np.array([0.5, 0.5 + 5e-7]), np.array(["a", "b"], dtype=object)).tolist() == [0, 1]
