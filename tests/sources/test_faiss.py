"""Faiss index files as users have them: ids of their own, ids in a file, and what cannot be read."""

import faiss
import numpy as np
import pytest

from calibration.errors import StoreError
from calibration.sources.faiss import FaissSearcher
from calibration.sources.search import Queries

VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
ONE = Queries(["q"], VECTORS[:1])


def flat():
    index = faiss.IndexFlatIP(2)
    index.add(VECTORS)
    return index


def read(tmp_path, ids):
    faiss.write_index(flat(), str(tmp_path / "i.faiss"))
    (tmp_path / "ids.txt").write_bytes(ids)
    return FaissSearcher.read(tmp_path / "i.faiss", tmp_path / "ids.txt")


@pytest.mark.parametrize("ids", [b"a\nb\nc\n", b"a\nb\nc", b"\xef\xbb\xbfa\r\nb\r\nc\r\n"])
def test_ids_are_one_a_line_however_lines_end(tmp_path, ids):
    assert read(tmp_path, ids).search(ONE, 3).ids == [["a", "c", "b"]]


def test_an_id_may_hold_what_other_languages_call_a_line_end(tmp_path):
    assert read(tmp_path, "a\nb\u2028x\nŻ\n".encode()).search(ONE, 3).ids == [["a", "Ż", "b\u2028x"]]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (b"a\n\xe9\nc\n", "ids.txt is not UTF-8"),
        (b"a\n\nc\n", "ids.txt line 2 has no id"),
        (b"a\nb\n", "2 ids for 3 vectors"),
        (b"a\na\nb\n", r"1 id of the Faiss index stand on more than one vector: a \(2 times\)"),
    ],
)
def test_ids_that_cannot_be_those_of_the_vectors_are_refused(tmp_path, ids, message):
    with pytest.raises(StoreError, match=message):
        read(tmp_path, ids)


def test_an_id_map_that_repeats_a_number_is_refused():
    mapped = faiss.IndexIDMap(faiss.IndexFlatIP(2))
    mapped.add_with_ids(VECTORS, np.array([7, 7, 9]))
    with pytest.raises(StoreError, match=r"7 \(2 times\)"):
        FaissSearcher(mapped)


def test_an_ivf_index_with_ids_inside_is_refused_with_the_way_out():
    ivf = faiss.IndexIVFFlat(faiss.IndexFlatIP(2), 2, 1, faiss.METRIC_INNER_PRODUCT)
    ivf.train(VECTORS)
    ivf.add_with_ids(VECTORS, np.array([70, 80, 90]))
    with pytest.raises(StoreError, match=r"add_with_ids.*IndexIDMap"):
        FaissSearcher(ivf)
