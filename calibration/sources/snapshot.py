"""A corpus snapshot: which documents a source held, and a hash of their vectors that no order changes."""

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .base import Floats32

DIRECTIONS = 4
MOVED = 1e-3
"""Half-precision storage moves a unit vector's shadow by 6e-5; another text's vector by some hundredths."""


class Snapshot:
    """Ids, content and direction of every vector, gathered block by block.

    Two stores of one corpus may return it in different order, at different precision (halfvec) and at different length
    (normalised or not). The digest tells whether they hold the same numbers; `moved` whether the same directions, from
    the shadows of each vector on a few fixed axes.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._digests: list[bytes] = []
        self._shadows: list[npt.NDArray[np.float32]] = []
        self._axes: Floats32 | None = None

    def add(self, doc_ids: Sequence[str], vectors: Floats32) -> None:
        """Add a block of vectors as stored."""
        if self._axes is None:
            drawn = np.random.default_rng(0).normal(size=(vectors.shape[1], DIRECTIONS))
            self._axes = (drawn / np.linalg.norm(drawn, axis=0)).astype(np.float32)
        self.ids.extend(doc_ids)
        rows = np.ascontiguousarray(vectors)
        width = rows.shape[1] * rows.itemsize
        raw = rows.tobytes()
        self._digests += [hashlib.sha256(raw[row * width : (row + 1) * width]).digest() for row in range(len(rows))]
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            self._shadows.append(np.where(norms > 0, rows @ self._axes / norms, 0.0).astype(np.float32))

    @cached_property
    def digest(self) -> str:
        """sha256 (hex) of ids and vectors, whatever their order; ask when all are added."""
        whole = hashlib.sha256()
        for name, content in sorted(zip(self.ids, self._digests, strict=True)):
            whole.update(name.encode() + b"\0" + content)
        return whole.hexdigest()

    def moved(self, other: "Snapshot") -> list[str]:
        """Name the documents whose vectors point elsewhere in the other snapshot."""
        if not self.ids or not other.ids:
            return []
        place = {name: row for row, name in enumerate(other.ids)}
        pairs = [(row, place[name]) for row, name in enumerate(self.ids) if name in place]
        if not pairs:
            return []
        mine, theirs = np.array(pairs, dtype=np.int64).T
        apart = np.abs(np.vstack(self._shadows)[mine] - np.vstack(other._shadows)[theirs]).max(axis=1)
        return [self.ids[mine[row]] for row in np.flatnonzero(apart > MOVED)]
