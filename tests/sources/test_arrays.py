import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.errors import StoreError
from calibration.sources import ArraySource, Block, complete

QUERY = np.array([[1, 0]], dtype=np.float32)


def test_c36_a_stub_that_returns_1000_of_1200_rows_is_refused_at_the_end():
    pages = (Block([str(row) for row in range(start, start + 500)]) for start in (0, 500))
    seen = []
    with pytest.raises(StoreError, match=r"pulled 1000 of 1200 scores \(truncated\)"):
        seen.extend(complete(pages, 1200))
    assert sum(len(block.doc_ids) for block in seen) == 1000


def test_more_rows_than_counted_are_refused_too():
    with pytest.raises(StoreError, match="pulled 2 scores where 1 were counted"):
        list(complete([Block(["a", "a"])], 1))


def test_complete_reports_progress_in_rows():
    calls = []
    list(complete([Block(["a"]), Block(["b", "c"])], 3, lambda done, total: calls.append((done, total))))
    assert calls == [(1, 3), (3, 3)]


def test_c24_blocks_hold_every_vector_with_its_ids():
    source = ArraySource(["a", "b", "c", "d"], [[1, 0], [0, 1], [-1, 0], [-0.1, 1]], ["D", "D", "E", "E"])
    (block,) = source.blocks(QUERY)
    assert block.doc_ids == ["a", "b", "c", "d"]
    assert block.document_ids == ["D", "D", "E", "E"]
    assert block.vectors is not None
    assert (block.vectors @ QUERY[0]).tolist() == pytest.approx([1, 0, -1, -0.1])


def test_c14_a_zero_vector_is_counted_and_left_out_for_cosine_only():
    rows = [[1, 0], [0, 0]]
    cosine = ArraySource(["a", "b"], rows)
    facts = cosine.preflight()
    assert (facts.rows, facts.zero_vectors, facts.zero_ids, facts.scorable, facts.not_unit) == (2, 1, ["b"], 1, 0)
    assert [block.doc_ids for block in cosine.blocks(QUERY)] == [["a"]]
    l2 = ArraySource(["a", "b"], rows, metric="l2")
    assert [block.doc_ids for block in l2.blocks(QUERY)] == [["a", "b"]]


def test_c11_vectors_that_are_not_unit_length_are_measured():
    facts = ArraySource(["A", "B"], [[0.96, 0.28], [6, 8]], metric="inner_product").preflight()
    assert facts.not_unit == 1
    assert facts.norm_max == pytest.approx(10)
    assert facts.problems == [
        "1 of 2 document vectors not unit length (norms 1 to 10): no cosine floor follows from inner_product"
    ]
    assert facts.blocking == []


def test_all_blocking_reasons_are_named_at_once():
    source = ArraySource(["a", "a", "b"], [[1, 0], [0, 1], [np.nan, 0]])
    with pytest.raises(StoreError, match=r"repeats ids: a \(2 rows\); 1 vector with NaN or infinity: b"):
        list(source.blocks(QUERY))


def test_an_empty_array_is_not_a_corpus():
    with pytest.raises(StoreError, match="0 documents"):
        list(ArraySource([], np.zeros((0, 2))).blocks(QUERY))


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([[1, 0, 0]], "3 dimensions, the array has 2"),
        ([1, 0], "shape"),
        (np.zeros((0, 2)), "shape"),
        ([[0, 0]], "zero in rows"),
        ([[np.inf, 0]], "NaN or infinity in rows"),
    ],
)
def test_bad_query_vectors_are_refused(queries, message):
    with pytest.raises(StoreError, match=message):
        list(ArraySource(["a"], [[1, 0]]).blocks(np.asarray(queries)))


def test_unequal_lengths_and_sql_are_refused():
    with pytest.raises(StoreError, match="different length"):
        ArraySource(["a"], [[1, 0], [0, 1]])
    with pytest.raises(StoreError, match="no SQL"):
        list(ArraySource(["a"], [[1, 0]]).blocks(QUERY, strategy="sql"))


@given(st.integers(1, 40), st.integers(1, 15))
def test_blocks_of_any_size_are_the_whole_corpus_in_order(rows, size):
    from calibration.sources import arrays

    source = ArraySource([str(row) for row in range(rows)], np.ones((rows, 2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK_ROWS", size)
        blocks = list(source.blocks(QUERY))
    assert [name for block in blocks for name in block.doc_ids] == [str(row) for row in range(rows)]
    assert max(len(block.doc_ids) for block in blocks) <= size


def test_vectors_of_leaves_unknown_ids_out():
    found = ArraySource(["a", "b"], [[1, 0], [0, 1]]).vectors_of(["b", "nobody"])
    assert {name: vector.tolist() for name, vector in found.items()} == {"b": [0, 1]}
