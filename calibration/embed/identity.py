"""Which model made a vector: never its name alone, since servers answer under any name they are asked for."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

REFERENCE_TEXTS = (
    "Spring came late this year, and the almond trees blossomed in April.",
    "How do I reset a password that I have forgotten?",
    "Die Rechnung ist innerhalb von dreißig Tagen zu bezahlen.",
    "def area(radius): return 3.14159 * radius ** 2",
)
"""Embedded once per model, in both roles. Changing a character changes the identity of every model."""

DECIMALS = 2
SAME_WITHIN = 2e-3


@dataclass(frozen=True)
class ModelIdentity:
    """What makes vectors comparable: two identities with one digest may share a floor and a cache.

    Attributes
    ----------
    version : str
        Of the package that carries the model; empty for a server, which does not prove its version.
    query_prefix, passage_prefix : str
        What is put before a text in each role, by us or by the model's own code.
    weights_sha256 : str
        Of the model's files; empty where they cannot be seen.
    reference : tuple of float
        What `reference_sketch` measured on the reference texts.
    reference_hash : str
        sha256 of the reference rounded to two decimals.
    facts : mapping
        For the reader (engine, server, limits); not part of the digest.
    """

    name: str
    version: str
    dimensions: int
    query_prefix: str
    passage_prefix: str
    reference_hash: str
    reference: tuple[float, ...] = ()
    weights_sha256: str = ""
    facts: Mapping[str, str | int | float] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Short hexadecimal digest.

        It rests on the weights where they can be seen, because integer arithmetic differs a little between
        processors, and on the reference hash where they cannot.
        """
        parts = (
            self.name,
            self.version,
            self.dimensions,
            self.query_prefix,
            self.passage_prefix,
            self.weights_sha256 or self.reference_hash,
        )
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def matches(self, other: "ModelIdentity", *, tolerance: float = SAME_WITHIN) -> bool:
        """Tell whether two identities are one model up to the noise of a server that is not repeatable.

        A hash of rounded numbers flips when a number lies on an edge; this comparison does not.
        """
        if self.digest == other.digest:
            return True
        if self.weights_sha256 or other.weights_sha256 or len(self.reference) != len(other.reference):
            return False
        declared = ("name", "version", "dimensions", "query_prefix", "passage_prefix")
        if any(getattr(self, key) != getattr(other, key) for key in declared):
            return False
        return bool(np.allclose(self.reference, other.reference, rtol=0.0, atol=tolerance))

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values, with the digest."""
        return {**asdict(self), "reference": list(self.reference), "facts": dict(self.facts), "digest": self.digest}


def reference_sketch(queries: npt.ArrayLike, passages: npt.ArrayLike) -> tuple[float, ...]:
    """Describe a model by a few numbers that rounding noise hardly moves.

    Every query-passage cosine (what a floor sees), every length (whether vectors are normalised), and the projection
    of every unit vector on one fixed direction (so that a rotated copy of a space is another model).

    Examples
    --------
    >>> reference_sketch([[1.0, 0.0]], [[0.0, 2.0]])
    (0.0, 1.0, 2.0, 1.0, 0.540302)
    """
    first, second = np.asarray(queries, dtype=np.float64), np.asarray(passages, dtype=np.float64)
    both = np.concatenate([first, second])
    lengths = np.linalg.norm(both, axis=1)
    unit = both / np.where(lengths == 0.0, 1.0, lengths)[:, None]
    cosines = unit[: len(first)] @ unit[len(first) :].T
    projections = unit @ np.cos(np.arange(both.shape[1]))
    numbers = np.concatenate([cosines.ravel(), lengths, projections])
    return tuple(float(number) for number in numbers.round(6) + 0.0)


def reference_hash(reference: tuple[float, ...]) -> str:
    """Hash a sketch rounded to two decimals.

    Examples
    --------
    >>> reference_hash((0.5, -0.0)) == reference_hash((0.500001, 0.0))
    True
    """
    rounded = np.round(reference, DECIMALS) + 0.0  # the sum turns -0.0 into 0.0
    return hashlib.sha256(json.dumps([f"{number:.{DECIMALS}f}" for number in rounded]).encode()).hexdigest()
