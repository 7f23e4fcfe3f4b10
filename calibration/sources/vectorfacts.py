"""What passes over a file of vectors find: counts and a few ids, never the rows themselves."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import NORM_TOLERANCE, SHOWN_IDS, Floats32, Preflight, counted, needs_direction
from .facts import duplicate_problems, invalid_problems, norm_problems, width_problems


@dataclass
class SeenIds:
    """What a pass over the ids has found; eight bytes a row are kept until `suspects`."""

    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    rows: int = 0
    missing: int = 0
    odd_rows: int = 0
    odd: list[str] = field(default_factory=list)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    _hashes: list[npt.NDArray[np.uint64]] = field(default_factory=list)

    def add(self, ids: list[Any]) -> None:
        """Add the ids of some rows."""
        names = []
        for row, value in enumerate(ids, start=self.rows):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is None:
                self.missing += 1
            elif not whole and not (isinstance(value, str) and value.strip()):
                self.odd_rows += 1
                if len(self.odd) < SHOWN_IDS:
                    self.odd.append(f"row {row}: {value!r} is no id; expected a text or a whole number")
            else:
                names.append(str(value))
        self._hashes.append(np.array([id_hash(name) for name in names], dtype=np.uint64))
        self.digest.update(("\n" if self.rows else "").encode() + "\n".join(map(str, ids)).encode())
        self.rows += len(ids)

    def suspects(self) -> set[int]:
        """Return the hashes that came more than once, and forget them all."""
        values, counts = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *self._hashes]), return_counts=True)
        self._hashes = []
        found: set[int] = set(values[counts > 1].tolist())
        return found


@dataclass
class SeenVectors:
    """What a pass over the vectors has found."""

    nulls: int = 0
    null_ids: list[str] = field(default_factory=list)
    zeros: int = 0
    zero_ids: list[str] = field(default_factory=list)
    broken: int = 0
    broken_ids: list[str] = field(default_factory=list)
    not_unit: int = 0
    low: float | None = None
    high: float | None = None
    dimensions: dict[int, int] = field(default_factory=dict)

    def add(self, ids: list[Any], vectors: Floats32 | None) -> None:
        """Add some rows of one width."""
        if vectors is None:
            self.nulls += len(ids)
            self.null_ids += map(str, ids[: SHOWN_IDS - len(self.null_ids)])
            return
        width = vectors.shape[1]
        self.dimensions[width] = self.dimensions.get(width, 0) + len(ids)
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        finite = np.isfinite(norms)
        self.broken += int((~finite).sum())
        self.broken_ids += [str(ids[row]) for row in np.flatnonzero(~finite)[: SHOWN_IDS - len(self.broken_ids)]]
        self.zeros += int((norms == 0).sum())
        self.zero_ids += [str(ids[row]) for row in np.flatnonzero(norms == 0)[: SHOWN_IDS - len(self.zero_ids)]]
        usable = norms[finite]
        self.not_unit += int(((np.abs(usable - 1.0) > NORM_TOLERANCE) & (usable > 0)).sum())
        if len(usable):
            low, high = float(usable.min()), float(usable.max())
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)


def file_preflight(ids: SeenIds, rows: SeenVectors, metric: str) -> Preflight:
    """Make facts of both passes."""
    scored = sum(rows.dimensions.values()) - (rows.zeros if needs_direction(metric) else 0)
    blocking, notes = invalid_problems(rows.nulls, rows.null_ids, rows.zeros, rows.zero_ids, scored, metric)
    blocking += [*id_problems(ids), *vector_problems(rows)]
    notes += norm_problems(metric, rows.not_unit, ids.rows - rows.nulls, rows.low, rows.high)
    return Preflight(
        rows=ids.rows,
        null_vectors=rows.nulls,
        zero_vectors=rows.zeros,
        null_ids=rows.null_ids,
        zero_ids=rows.zero_ids,
        dimensions=rows.dimensions,
        norm_min=rows.low,
        norm_max=rows.high,
        not_unit=rows.not_unit,
        metric=metric,
        problems=blocking + notes,
        blocking=blocking,
    )


def id_problems(ids: SeenIds, column: str = "doc_ids") -> list[str]:
    """Say which ids are repeated, missing or none."""
    rest = ids.odd_rows - len(ids.odd)
    shown = ids.odd + ([f"… and {rest} more"] if rest else [])
    return duplicate_problems(ids.repeated, ids.missing, column) + shown


def vector_problems(rows: SeenVectors, column: str = "doc_vectors") -> list[str]:
    """Say which vectors are broken, and whether there are several widths."""
    found = width_problems(column, rows.dimensions)
    if rows.broken:
        found.append(f"{counted(rows.broken, 'vector')} with NaN or infinity: {', '.join(rows.broken_ids)}")
    return found


def id_hash(name: str) -> int:
    """Hash an id to 64 bits, the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
