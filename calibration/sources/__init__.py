"""Where vectors and scores come from: arrays and files here, a database in `postgres`."""

from .arrays import ArraySource
from .base import Block, IndexFact, Preflight, Progress, Strategy, VectorSource, complete
from .vectorfile import VectorFileSource

__all__ = [
    "ArraySource",
    "Block",
    "IndexFact",
    "Preflight",
    "Progress",
    "Strategy",
    "VectorFileSource",
    "VectorSource",
    "complete",
]
