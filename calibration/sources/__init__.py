"""Where vectors and scores come from: arrays here, a database in `postgres`."""

from .arrays import ArraySource
from .base import Block, IndexFact, Preflight, Progress, Strategy, VectorSource, complete

__all__ = ["ArraySource", "Block", "IndexFact", "Preflight", "Progress", "Strategy", "VectorSource", "complete"]
