"""Vector files in blocks: what they hold, what is measured, what is refused; the same as arrays of the same content."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibration.errors import StoreError
from calibration.sources import ArraySource, VectorFileSource, vectorblocks

QUERY = np.array([[1, 0]], dtype=np.float32)
Write = Callable[..., Path]


def write_npz(folder: Path, ids: list[Any], vectors: Any, documents: list[str] | None = None, **more: Any) -> Path:
    arrays = {"doc_ids": ids, "doc_vectors": vectors, **more}
    np.savez(folder / "v.npz", **(arrays if documents is None else {**arrays, "document_ids": documents}))
    return folder / "v.npz"


def write_parquet(folder: Path, ids: list[Any], vectors: Any, documents: list[Any] | None = None) -> Path:
    rows = [None if row is None else list(map(float, row)) for row in vectors]
    columns = {"doc_id": pa.array(ids), "embedding": pa.array(rows, type=pa.list_(pa.float32()))}
    table = pa.table(columns if documents is None else {**columns, "document_id": documents})
    pq.write_table(table, folder / "v.parquet", row_group_size=3)
    return folder / "v.parquet"


@pytest.fixture(params=[write_npz, write_parquet], ids=["npz", "parquet"])
def write(request: pytest.FixtureRequest) -> Write:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorblocks, "BLOCK_ROWS", 2)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_hold_every_vector_with_its_ids_in_order(write: Write, tmp_path: Path) -> None:
    rows = [[1, 0], [0, 1], [-1, 0], [-0.1, 1], [3, 4]]
    source = VectorFileSource(write(tmp_path, ["a", "b", "c", "d", "e"], rows, ["D", "D", "E", "E", "F"]))
    calls: list[tuple[int, int]] = []
    blocks = list(source.blocks(QUERY, progress=lambda done, total: calls.append((done, total))))
    assert [block.doc_ids for block in blocks] == [["a", "b"], ["c", "d"], ["e"]]
    assert [block.document_ids for block in blocks] == [["D", "D"], ["E", "E"], ["F"]]
    vectors = np.vstack([block.vectors for block in blocks if block.vectors is not None])
    assert vectors.tolist() == np.array(rows, dtype=np.float32).tolist()
    assert calls == [(2, 5), (4, 5), (5, 5)]
    assert source.describe()["dimensions"] == 2


@given(
    st.lists(st.tuples(st.floats(-2, 2, width=32), st.floats(-2, 2, width=32)), min_size=1, max_size=12),
    st.sampled_from([write_npz, write_parquet]),
    st.sampled_from(["cosine_similarity", "inner_product"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_facts_and_rows_are_those_of_an_array(
    tmp_path: Path, rows: list[tuple[float, float]], write: Write, metric: str
) -> None:
    ids = [str(row) for row in range(len(rows))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectorblocks, "BLOCK_ROWS", 5)
        source = VectorFileSource(write(tmp_path, ids, np.array(rows, dtype=np.float32)), metric=metric)
        array = ArraySource(ids, np.array(rows, dtype=np.float32), metric=metric)
        facts = source.preflight()
        assert facts == array.preflight()
        assert source.content_hash() == array.content_hash()
        if not facts.blocking:
            pairs = [list(one.blocks(QUERY)) for one in (source, array)]
            names = [[name for block in blocks for name in block.doc_ids] for blocks in pairs]
            assert names[0] == names[1]


def test_c14_a_zero_vector_is_counted_and_left_out_for_cosine_only(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path, ["a", "b"], [[1, 0], [0, 0]])
    facts = VectorFileSource(path).preflight()
    assert (facts.rows, facts.zero_vectors, facts.zero_ids, facts.scorable, facts.not_unit) == (2, 1, ["b"], 1, 0)
    assert [block.doc_ids for block in VectorFileSource(path).blocks(QUERY)] == [["a"]]
    assert [block.doc_ids for block in VectorFileSource(path, metric="l2").blocks(QUERY)] == [["a", "b"]]


@pytest.mark.usefixtures("small_blocks")
def test_c16_rows_without_a_vector_are_counted_and_left_out(tmp_path: Path) -> None:
    source = VectorFileSource(write_parquet(tmp_path, ["a", "b", "c"], [[1, 0], None, [0, 1]]))
    facts = source.preflight()
    assert (facts.rows, facts.null_vectors, facts.null_ids, facts.scorable) == (3, 1, ["b"], 2)
    assert facts.problems == ["1 row without a vector: b"]
    assert [name for block in source.blocks(QUERY) for name in block.doc_ids] == ["a", "c"]


@pytest.mark.usefixtures("small_blocks")
def test_c18_two_widths_in_one_column_are_named(tmp_path: Path) -> None:
    source = VectorFileSource(write_parquet(tmp_path, ["a", "b", "c"], [[1, 0], [0, 1, 0], [0, 1]]))
    with pytest.raises(StoreError, match=r"holds 2 dimensions: 2 \(2 rows\), 3 \(1 row\)"):
        list(source.blocks(QUERY))


@pytest.mark.usefixtures("small_blocks")
def test_c20_all_blocking_reasons_are_named_at_once(write: Write, tmp_path: Path) -> None:
    rows = [[1, 0], [0, 1], [np.nan, 0], [0, np.inf]]
    source = VectorFileSource(write(tmp_path, ["a", "b", "a", " "], rows))
    with pytest.raises(StoreError) as caught:
        list(source.blocks(QUERY))
    assert "repeats ids: a (2 rows)" in str(caught.value)
    assert "row 3: ' ' is no id" in str(caught.value)
    assert "2 vectors with NaN or infinity: a,  " in str(caught.value)


def test_a_null_component_and_a_null_id_are_named(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", None], "vector": pa.array([[1.0, None], [0.0, 1.0]], type=pa.list_(pa.float64()))})
    pq.write_table(table, tmp_path / "v.parquet")
    with pytest.raises(StoreError, match=r"NULL in 1 row.*1 vector with NaN or infinity: a"):
        list(VectorFileSource(tmp_path / "v.parquet").blocks(QUERY))


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 2), pa.list_(pa.float16())],
    ids=str,
)
def test_every_kind_of_list_and_whole_numbers_as_ids(tmp_path: Path, kind: pa.DataType) -> None:
    rows = (
        [np.array(row, dtype=np.float16) for row in ([1, 0], [0, 1])] if "half" in str(kind) else [[1.0, 0], [0, 1.0]]
    )
    pq.write_table(pa.table({"doc_id": [7, 8], "embedding": pa.array(rows, type=kind)}), tmp_path / "v.parquet")
    (block,) = VectorFileSource(tmp_path / "v.parquet").blocks(QUERY)
    assert block.doc_ids == ["7", "8"]
    assert block.vectors is not None
    assert block.vectors.tolist() == [[1, 0], [0, 1]]


@pytest.mark.usefixtures("small_blocks")
def test_queries_in_the_same_file(tmp_path: Path) -> None:
    source = VectorFileSource(
        write_npz(tmp_path, ["a"], [[1.0, 0]], query_ids=["q1", "q2", "q3"], query_vectors=np.eye(3)[:, :2])
    )
    found = source.queries()
    assert found is not None
    assert (found[0], found[1].tolist()) == (["q1", "q2", "q3"], [[1, 0], [0, 1], [0, 0]])
    roles = {
        "id": ["q", "a", "p"], "vector": [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], "role": ["query", "passage", "query"]
    }  # fmt: skip
    pq.write_table(pa.table(roles), tmp_path / "v.parquet")
    mixed = VectorFileSource(tmp_path / "v.parquet")
    found = mixed.queries()
    assert found is not None
    assert found[0] == ["q", "p"]
    assert [block.doc_ids for block in mixed.blocks(QUERY)] == [["a"]]
    assert VectorFileSource(write_parquet(tmp_path, ["a"], [[1, 0]])).queries() is None


def test_problems_of_query_vectors_are_said_together(tmp_path: Path) -> None:
    path = write_npz(tmp_path, ["a"], [[1.0, 0]], query_ids=["q1", "q1"], query_vectors=[[1.0, 0], [np.nan, 1]])
    with pytest.raises(StoreError) as caught:
        VectorFileSource(path).queries()
    assert "query_ids repeats ids: q1 (2 rows)" in str(caught.value)
    assert "1 vector with NaN or infinity: q1" in str(caught.value)


def test_lookups_by_id_and_by_document(write: Write, tmp_path: Path) -> None:
    source = VectorFileSource(write(tmp_path, ["a", "b"], [[1, 0], [0, 1]]))
    assert {name: vector.tolist() for name, vector in source.vectors_of(["b", "nobody"]).items()} == {"b": [0, 1]}
    assert source.known(["b", "nobody"]) == {"b"}
    documents = VectorFileSource(write_parquet(tmp_path, ["a", "b"], [[1, 0], [0, 1]], ["D", None]))
    assert documents.known(["a", "b", "D"]) == {"b", "D"}
    assert [block.document_ids for block in documents.blocks(QUERY)] == [["D", "b"]]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"doc_ids": ["a"], "doc_vectors": np.ones((2, 2))}, "different length"),
        ({"doc_ids": ["a", "b"], "doc_vectors": np.ones(2)}, "expected rows of numbers"),
        ({"doc_ids": ["a"], "doc_vectors": np.array([["x"]])}, "expected rows of numbers"),
        ({"doc_ids": np.array(["a"], dtype=object), "doc_vectors": np.ones((1, 2))}, "holds Python objects"),
        ({"doc_ids": ["a", "b"], "doc_vectors": np.asfortranarray(np.ones((2, 3)))}, "stored column by column"),
        ({"doc_vectors": np.ones((1, 2)), "vectors": [1]}, "doc_ids is missing; unknown array 'vectors'"),
        ({"query_ids": ["q"], "query_vectors": np.ones((1, 2))}, "has no passage vectors"),
        ({"doc_ids": np.zeros(0, dtype=str), "doc_vectors": np.ones((0, 2))}, "0 documents"),
    ],
)
def test_npz_files_that_are_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(StoreError, match=message):
        list(VectorFileSource(tmp_path / "v.npz").blocks(QUERY))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"doc_id": ["a"]}, "lacks the columns embedding or vector; found doc_id"),
        ({"doc_id": ["a"], "id": ["a"], "vector": [[1.0]]}, "has doc_id and id; leave one of each"),
        ({"id": ["a"], "vector": ["x"]}, "expected lists of floats"),
        ({"id": ["a"], "vector": [["x"]]}, "expected lists of floats"),
        ({"id": ["a"], "vector": [[1.0]], "role": ["doc"]}, "role 'doc'; expected query or passage"),
    ],
)
def test_parquet_files_that_are_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    with pytest.raises(StoreError, match=message):
        VectorFileSource(tmp_path / "v.parquet")


def test_damaged_missing_and_unknown_files(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path, ["a", "b"], np.random.default_rng(0).normal(size=(2, 200)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-60])
    with pytest.raises(StoreError, match="is not a whole"):
        VectorFileSource(path)
    with pytest.raises(StoreError, match="does not exist"):
        VectorFileSource(tmp_path / "w.npz")
    with pytest.raises(StoreError, match=r"neither \.npz nor \.parquet"):
        VectorFileSource(tmp_path / "v.csv")


def test_a_flipped_bit_in_an_npz_is_seen(tmp_path: Path) -> None:
    path = write_npz(tmp_path, ["a", "b"], np.ones((2, 200), dtype=np.float32))
    data = bytearray(path.read_bytes())
    data[data.index(np.float32(1).tobytes() * 50)] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is not a whole npz file"):
        list(VectorFileSource(path).blocks(np.ones((1, 200), dtype=np.float32)))


def test_a_file_that_changes_while_it_is_read_is_refused(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path, ["a", "b"], [[1, 0], [0, 1]])
    source = VectorFileSource(path)
    source.preflight()
    write(tmp_path, ["a", "b"], [[1, 0], [0, -1]])
    os.utime(path, ns=(0, 0))
    with pytest.raises(StoreError, match="changed while it was read"):
        list(source.blocks(QUERY))


def test_wrong_queries_and_sql_are_refused(write: Write, tmp_path: Path) -> None:
    source = VectorFileSource(write(tmp_path, ["a"], [[1, 0]]))
    with pytest.raises(StoreError, match=r"3 dimensions, v.* has 2"):
        list(source.blocks(np.ones((1, 3), dtype=np.float32)))
    with pytest.raises(StoreError, match="no SQL"):
        list(source.blocks(QUERY, strategy="sql"))


def test_memory_does_not_grow_with_the_vectors(tmp_path: Path) -> None:
    """51 MB of vectors; a block of them is 2 MB."""
    rows = 200_000
    ids = [str(row) for row in range(rows)]
    path = write_npz(tmp_path, ids, np.ones((rows, 64), dtype=np.float32))
    del ids
    tracemalloc.start()
    try:
        total = sum(len(block.doc_ids) for block in VectorFileSource(path).blocks(np.ones((1, 64), dtype=np.float32)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == rows
    assert peak < 16e6
