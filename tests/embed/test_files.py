"""Files of vectors that somebody else made."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibration.embed import read_vectors
from calibration.errors import StoreError

UNIT = np.array([[1.0, 0.0], [0.6, 0.8]])


def npz(tmp_path, **arrays):
    np.savez(tmp_path / "v.npz", **arrays)
    return tmp_path / "v.npz"


def parquet(tmp_path, ids, vectors, roles, kind=None):
    columns = {"id": ids, "vector": pa.array(vectors, type=kind), "role": roles}
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    return tmp_path / "v.parquet"


def test_npz_with_both_halves(tmp_path):
    found = read_vectors(
        npz(tmp_path, query_ids=["q1"], query_vectors=UNIT[:1], doc_ids=np.array([7, 8]), doc_vectors=UNIT)
    )
    assert (found.query_ids, found.doc_ids) == (["q1"], ["7", "8"])
    assert found.doc_vectors.dtype == np.float32
    assert np.allclose(found.doc_vectors, UNIT)


def test_npz_with_one_half(tmp_path):
    found = read_vectors(npz(tmp_path, doc_ids=["a", "b"], doc_vectors=UNIT))
    assert found.query_ids is None
    assert found.query_vectors is None


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.float16())])
def test_parquet_splits_by_role(tmp_path, kind):
    rows = [[np.float16(x) for x in row] for row in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])]
    found = read_vectors(parquet(tmp_path, ["x", "x", "y"], rows, ["passage", "query", "passage"], kind))
    assert (found.query_ids, found.doc_ids) == (["x"], ["x", "y"])
    assert found.doc_vectors.tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert found.query_vectors.tolist() == [[0.0, 1.0]]


def test_npz_problems_are_all_named(tmp_path):
    path = npz(
        tmp_path,
        query_ids=["q1", "q1", "", "q4"],
        query_vectors=np.array([[1, 0], [0, 1], [1, 1], [np.nan, 1]]),
        doc_ids=["d1"],
        doc_vectors=np.ones((1, 3)),
        docs=[1],
    )
    with pytest.raises(StoreError) as caught:
        read_vectors(path)
    for part in (
        "unknown array 'docs'",
        "query q1: the id stands on more than one vector",
        "query row 2: '' is no id",
        "query q4: a component is NaN or infinite",
        "query vectors have 2 dimensions, doc vectors 3",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"doc_ids": ["a"], "doc_vectors": UNIT}, "1 doc ids, 2 doc vectors"),
        ({"doc_vectors": UNIT}, "doc_vectors is there, doc_ids is not"),
        ({}, "no vectors at all"),
        ({"doc_ids": [1.5, 2.0], "doc_vectors": UNIT}, "doc row 0: 1.5 is no id"),
        ({"doc_ids": ["a", "b"], "doc_vectors": np.array([["1"], ["2"]])}, "expected rows of numbers"),
        ({"doc_ids": ["a", "b"], "doc_vectors": np.ones(2)}, "expected rows of numbers"),
        ({"doc_ids": ["a", "b"], "doc_vectors": UNIT * 1e300}, "doc a: a component is NaN or infinite"),
        ({"doc_ids": np.array(["a", None], dtype=object), "doc_vectors": UNIT}, "holds Python objects"),
    ],
)
def test_npz_problems(tmp_path, arrays, message):
    with pytest.raises(StoreError, match=message):
        read_vectors(npz(tmp_path, **arrays))


@pytest.mark.parametrize(
    ("ids", "vectors", "roles", "message"),
    [
        (["a", "b"], [[1.0, 0.0], [1.0]], ["passage"] * 2, "doc b: 1 dimensions, expected 2"),
        (["a", "b"], [[1.0, 0.0], None], ["query"] * 2, "query b: no vector"),
        (["a", "b"], [[1.0, 0.0], [None, 1.0]], ["query"] * 2, "query b: a component is null"),
        (["a", "b"], [[1.0], [2.0]], ["query", "doc"], "role 'doc'; expected query or passage"),
        (["a", None], [[1.0], [2.0]], ["query"] * 2, "query row 1: None is no id"),
        (["a", "a"], [[1.0], [2.0]], ["query"] * 2, "query a: the id stands on more"),
        (["a", "b"], ["x", "y"], ["query"] * 2, "expected lists of floats"),
    ],
)
def test_parquet_problems(tmp_path, ids, vectors, roles, message):
    with pytest.raises(StoreError, match=message):
        read_vectors(parquet(tmp_path, ids, vectors, roles))


def test_parquet_without_a_column(tmp_path):
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "v.parquet")
    with pytest.raises(StoreError, match="lacks the columns vector, role"):
        read_vectors(tmp_path / "v.parquet")


@pytest.mark.parametrize("name", ["v.npz", "v.parquet"])
def test_half_a_file(tmp_path, name):
    whole = (npz(tmp_path, doc_ids=["a", "b"], doc_vectors=UNIT), parquet(tmp_path, ["a"], [[1.0]], ["query"]))
    path = next(path for path in whole if path.name == name)
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(StoreError, match="is not a whole"):
        read_vectors(path)


def test_missing_and_unknown_files(tmp_path):
    with pytest.raises(StoreError, match="does not exist"):
        read_vectors(tmp_path / "v.npz")
    with pytest.raises(StoreError, match=r"neither \.npz nor \.parquet"):
        read_vectors(tmp_path / "v.csv")
