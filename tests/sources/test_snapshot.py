import numpy as np

from calibration.sources.snapshot import Snapshot

VECTORS = np.array([[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0]], dtype=np.float32)


def taken(rows, ids="abc", vectors=VECTORS):
    snapshot = Snapshot()
    for block in rows:
        snapshot.add([ids[row] for row in block], vectors[block])
    return snapshot


def test_the_hash_is_the_corpus_s_whatever_order_and_blocks_it_came_in():
    whole = taken([[0, 1, 2]])
    assert whole.digest == taken([[2, 0], [1]]).digest
    assert whole.digest != taken([[0, 1, 2]], ids="acb").digest
    assert whole.digest != taken([[0, 1]]).digest
    assert whole.digest != taken([[0, 1, 2]], vectors=VECTORS + np.float32(1e-6)).digest


def test_what_moved_is_told_from_precision_and_length():
    whole = taken([[0, 1, 2]])
    half = VECTORS.astype(np.float16).astype(np.float32)
    assert whole.moved(taken([[2, 1, 0]], vectors=half * 5)) == []
    other = VECTORS.copy()
    other[1] = [0, 0.95, 0.312]
    assert whole.moved(taken([[1, 2, 0]], vectors=other)) == ["b"]
    assert whole.moved(Snapshot()) == []
    assert whole.moved(taken([[0]], ids="x")) == []
