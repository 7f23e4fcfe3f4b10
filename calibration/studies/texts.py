"""The model of a run: opened with its first text, asked through the cache, and known by its identity."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..embed import Embedder, VectorCache, open_embedder
from ..params import RunParams
from ..resources import cache_dir
from .inputs import require_model
from .progress import Reporter
from .snapshot import EmbedPassages

Vectors = npt.NDArray[np.float32]


class Texts:
    """The model of a run and its cache; opened when the first text needs it."""

    def __init__(self, params: RunParams, report: Reporter) -> None:
        self._params = params
        self._report = report
        self._embedder: Embedder | None = None
        self._cache = VectorCache(cache_dir())
        self._truncated = 0

    def embed(self, texts: list[str], role: Any, ids: list[str]) -> Vectors:
        """Embed texts through the cache."""
        embedder = self._open()
        what = f"{self._params.run_name}: embed {'queries' if role == 'query' else 'passages'}"
        before = self._cache.truncated
        with self._report.bar(what, len(texts), "texts") as step:
            vectors = self._cache.embed(embedder, texts, role, step, ids=ids)
        if role == "passage":
            self._truncated += self._cache.truncated - before
        return vectors

    @property
    def passages(self) -> EmbedPassages | None:
        """The model of the queries on passages, without a word about it; None where nothing was embedded."""
        if self._embedder is None:
            return None
        return lambda texts, ids: self._cache.embed(self._open(), texts, "passage", ids=ids)

    @property
    def truncated(self) -> int:
        """Passages that the model cut."""
        return self._truncated

    @property
    def version(self) -> str:
        """What scores of this model say they come from."""
        if self._embedder is not None:
            identity = self._embedder.identity()
            return f"{identity.name}@{identity.digest}"
        return self._params.model_value or self._params.model or "undeclared"

    @property
    def digest(self) -> str:
        """Digest of the model's identity."""
        return self._open().identity().digest

    def facts(self) -> dict[str, Any]:
        """Facts for run.json: identity, and how many texts the model had to read in this run."""
        if self._embedder is None:
            return {"name": self._params.model or self._params.model_value, "digest": None, "embedded": 0, "reused": 0}
        return {
            **self._embedder.identity().to_dict(),
            "embedded": self._cache.embedded,
            "reused": self._cache.reused,
        }

    def _open(self) -> Embedder:
        if self._embedder is None:
            self._embedder = open_model(self._params, require_model(self._params, "texts"))
        return self._embedder


def open_model(params: RunParams, name: str) -> Embedder:
    """Open a model with the parameters' options; nothing is embedded or asked yet."""
    return open_embedder(
        name,
        base_url=params.base_url,
        dimensions=params.dimensions,
        query_prefix=params.query_prefix or "",
        passage_prefix=params.passage_prefix or "",
    )
