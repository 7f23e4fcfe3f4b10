"""From text to vectors: offline models, OpenAI-compatible servers, a cache, and files of vectors."""

from .cache import VectorCache
from .checks import Norms, check_texts, check_vectors, measured_norms
from .files import VectorFile, read_vectors
from .identity import ModelIdentity
from .model import Batch, Embedder, Role, Vectors
from .registry import MODELS, ModelSpec, open_embedder

__all__ = [
    "MODELS",
    "Batch",
    "Embedder",
    "ModelIdentity",
    "ModelSpec",
    "Norms",
    "Role",
    "VectorCache",
    "VectorFile",
    "Vectors",
    "check_texts",
    "check_vectors",
    "measured_norms",
    "open_embedder",
    "read_vectors",
]
