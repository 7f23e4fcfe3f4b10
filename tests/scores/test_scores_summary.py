"""Mergeable summaries: whatever the blocks and their order, the same as one pass over everything."""

import io
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from calibration.scores import Summaries
from calibration.scores.summary import BINS

TOLERANCE = 1e-6
# ties exactly, ties within the tolerance, chains of near ties, and values that are clearly apart
values = st.one_of(
    st.sampled_from([0.5, 0.5 + 4e-7, 0.5 + 8e-7, 0.5 - 4e-7, 0.0, -1.0, 1.0, float("nan")]),
    st.integers(-10, 10).map(lambda i: i / 10),
)


@dataclass
class World:
    queries: list[str]
    docs: list[str]
    table: np.ndarray
    judged: dict[str, list[str]]
    depth: int


@st.composite
def worlds(draw: st.DrawFn) -> World:
    queries = [f"q{i}" for i in range(draw(st.integers(1, 3)))]
    docs = [f"d{draw(st.integers(0, 7))}" for _ in range(draw(st.integers(1, 12)))]  # ids repeat: chunks of a document
    table = np.array([[draw(values) for _ in docs] for _ in queries])
    judged = {query: sorted({*draw(st.lists(st.sampled_from(docs), max_size=3)), "absent"}) for query in queries}
    return World(queries, docs, table, judged, draw(st.integers(1, 6)))


def summaries(world: World, *, keep_all: bool = False) -> Summaries:
    return Summaries(world.queries, world.judged, depth=world.depth, keep_all=keep_all, tolerance=TOLERANCE)


def by_brute_force(world: World) -> pd.DataFrame:
    """Every document's best chunk, ranked: a chain of neighbours within the tolerance is a tie, ordered by id."""
    rows = []
    for query, scores in zip(world.queries, world.table, strict=True):
        best: dict[str, float] = {}
        for doc, score in zip(world.docs, scores, strict=True):
            if not np.isnan(score):
                best[doc] = max(score, best.get(doc, -np.inf))
        ordered, tie, last = [], 0, np.inf
        for doc, score in sorted(best.items(), key=lambda item: -item[1]):
            tie += last - score > TOLERANCE
            last = score
            ordered.append((tie, doc, score))
        rows += [(query, doc, score, rank) for rank, (_, doc, score) in enumerate(sorted(ordered), start=1)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "similarity", "rank"])
    return frame.astype({"query_id": "str", "doc_id": "str", "similarity": "float64", "rank": "int64"})


@settings(deadline=None, max_examples=60)
@given(worlds(), st.data())
def test_any_blocks_merges_and_order_equal_one_pass(world: World, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(world.docs))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=4)))
    pieces = [list(piece) for piece in np.split(np.array(order, dtype=int), cuts) if len(piece)]
    parts = [summaries(world, keep_all=True) for _ in range(data.draw(st.integers(1, 3)))]
    for piece in pieces:
        part = parts[data.draw(st.integers(0, len(parts) - 1))]
        docs = [world.docs[i] for i in piece]
        if data.draw(st.booleans()):
            part.add(docs, world.table[:, piece])
        else:  # query by query, as a server's scores come
            for row in range(len(world.queries)):
                part.add(docs, world.table[row : row + 1, piece], rows=[row])
    whole, *rest = parts
    for part in rest:
        whole.merge(part)

    expected = by_brute_force(world)
    everything = whole.everything()
    assert everything is not None
    pd.testing.assert_frame_equal(everything, expected)
    top = expected[expected["rank"] <= world.depth].reset_index(drop=True)
    pd.testing.assert_frame_equal(whole.top(), top)

    scored = expected.set_index(["query_id", "doc_id"])["similarity"]
    wanted = {(query, doc) for query, docs in world.judged.items() for doc in docs}
    found = whole.judged()
    assert {(q, d): s for q, d, s in found.itertuples(index=False)} == scored[scored.index.isin(wanted)].to_dict()

    valid = ~np.isnan(world.table)
    assert whole.scored.tolist() == valid.sum(axis=1).tolist()
    assert whole.invalid.tolist() == (~valid).sum(axis=1).tolist()
    assert (whole.histogram.counts.sum(axis=1) == valid.sum(axis=1)).all()
    for row, scores in enumerate(world.table):
        bins = np.clip(((scores[valid[row]] + 1.0) * (BINS / 2.0)).astype(int), 0, BINS - 1)
        assert (whole.histogram.counts[row] == np.bincount(bins, minlength=BINS)).all()


def test_what_ties_with_the_last_kept_passage_is_settled_at_the_end() -> None:
    """A later score may link two near ties; the kept ones must not depend on which came first."""
    scores = {"z": 0.5, "a": 0.5 - 8e-7, "m": 0.5 + 8e-7}
    for order in (["z", "a", "m"], ["m", "z", "a"], ["a", "m", "z"]):
        one = Summaries(["q"], {}, depth=1)
        for doc in order:
            one.add([doc], np.array([[scores[doc]]]))
        assert one.top()["doc_id"].tolist() == ["a"]


def test_thousands_of_equal_copies_do_not_pile_up() -> None:
    one = Summaries(["q"], {}, depth=10)
    for start in range(0, 20_000, 1000):
        one.add([f"d{i:05d}" for i in range(start, start + 1000)], np.full((1, 1000), 0.5))
    assert len(one._best.arrays()[1]) <= 50
    assert one.top()["doc_id"].tolist() == [f"d{i:05d}" for i in range(10)]


def test_c77_nan_and_infinity_are_counted_and_never_ranked() -> None:
    for scores in ([0.2, np.nan, 0.9], [np.nan, 0.2, 0.9], [np.inf, 0.2, 0.9], [-np.inf, 0.9, 0.2]):
        one = Summaries(["q"], {"q": ["d1", "d2", "d3"]}, depth=5, keep_all=True)
        one.add(["d1", "d2", "d3"], np.array([scores]))
        assert one.top()["similarity"].tolist() == [0.9, 0.2]
        assert (one.scored.tolist(), one.invalid.tolist()) == ([2], [1])
        assert len(one.judged()) == 2
        assert int(one.histogram.total([0]).sum()) == 2


def test_a_similarity_of_zero_is_kept_as_zero() -> None:
    one = Summaries(["q"], {"q": ["zero"]}, depth=2)
    one.add(["zero", "below"], np.array([[0.0, -0.2]]))
    assert one.top()["similarity"].tolist() == [0.0, -0.2]
    assert one.judged()["similarity"].tolist() == [0.0]


def test_nothing_added_gives_empty_tables_of_the_right_types() -> None:
    one = Summaries(["q"], {}, depth=2, keep_all=True)
    everything = one.everything()
    assert everything is not None
    for frame in (one.top(), everything):
        assert len(frame) == 0
        assert frame.dtypes.astype(str).tolist() == ["str", "str", "float64", "int64"]
    assert Summaries(["q"], {}, depth=2).everything() is None
    assert len(Summaries([], {}, depth=2).top()) == 0


def test_summaries_of_other_queries_or_settings_do_not_merge() -> None:
    one = Summaries(["q"], {}, depth=2)
    for other in (
        Summaries(["p"], {}, depth=2),
        Summaries(["q"], {}, depth=3),
        Summaries(["q"], {}, depth=2, high=2.0),
        Summaries(["q"], {}, depth=2, keep_all=True),
    ):
        with pytest.raises(ValueError, match="can be merged"):
            one.merge(other)
    with pytest.raises(ValueError, match=r"shape \(1, 3\), expected \(1, 2\)"):
        one.add(["a", "b"], np.zeros((1, 3)))


def test_a_block_may_be_reused_by_its_owner() -> None:
    block = np.array([[0.5, 0.4]], dtype=np.float32)
    one = Summaries(["q"], {}, depth=2, keep_all=True)
    one.add(["a", "b"], block)
    block[:] = -1.0
    everything = one.everything()
    assert everything is not None
    assert everything["similarity"].tolist() == pytest.approx([0.5, 0.4])
    assert one.top()["similarity"].tolist() == pytest.approx([0.5, 0.4])


@given(world=worlds(), cut=st.integers(0, 12), keep_all=st.booleans())
@settings(deadline=None, max_examples=60)
def test_what_was_saved_merges_as_if_it_had_stayed(world: World, cut: int, keep_all: bool) -> None:
    """A part of the corpus goes through a file, as after an interruption or from another machine."""
    whole = summaries(world, keep_all=keep_all)
    first, second = whole.empty(), whole.empty()
    for part, piece in ((first, slice(None, cut)), (second, slice(cut, None))):
        if len(world.docs[piece]):
            part.add(world.docs[piece], world.table[:, piece])
    file = io.BytesIO()
    second.save(file)
    file.seek(0)
    whole.merge(first)
    whole.merge(whole.load(file))
    pd.testing.assert_frame_equal(
        whole.top(), by_brute_force(world).query("rank <= @world.depth").reset_index(drop=True)
    )
    direct = summaries(world, keep_all=keep_all)
    direct.add(world.docs, world.table)
    assert (whole.histogram.counts == direct.histogram.counts).all()
    assert (whole.scored == direct.scored).all()
    assert (whole.invalid == direct.invalid).all()
    pd.testing.assert_frame_equal(whole.judged(), direct.judged())
    if keep_all:
        pd.testing.assert_frame_equal(whole.everything(), direct.everything())


def test_a_file_of_other_queries_is_refused() -> None:
    file = io.BytesIO()
    Summaries(["q1", "q2"], {}, depth=3).save(file)
    file.seek(0)
    with pytest.raises(ValueError, match="other queries"):
        Summaries(["q1"], {}, depth=3).load(file)
