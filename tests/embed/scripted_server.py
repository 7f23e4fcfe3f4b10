"""What the scripted server of the embedding tests answers, and its record of what it was asked."""

import base64
import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibration.embed import Embedder, open_embedder

Answer = tuple[int, dict[str, str], Any] | None
Reply = Callable[[dict[str, Any]], Answer]


def vector_of(text: str, dimensions: int = 4) -> np.ndarray:
    """A unit vector that depends on the text only."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    values = np.random.default_rng(seed).normal(size=dimensions)
    return (values / np.linalg.norm(values)).astype(np.float32)


def honest(request: dict[str, Any]) -> Answer:
    data = []
    for index, text in enumerate(request["input"]):
        blob = vector_of(text, request.get("dimensions", 4)).tobytes()
        data.append({"object": "embedding", "index": index, "embedding": base64.b64encode(blob).decode()})
    return 200, {}, envelope(data)


def envelope(data: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": data, "model": "scripted", "usage": usage}


def answering(*vectors: tuple[Any, Any]) -> Reply:
    """A reply of (index, embedding) pairs, as written."""
    data = [{"object": "embedding", "index": index, "embedding": embedding} for index, embedding in vectors]
    return lambda request: (200, {}, envelope(data))


def failing(status: int, message: str = "no") -> Reply:
    body = {"error": {"message": message, "type": "x", "code": None}}
    return lambda request: (status, {"retry-after-ms": "1"}, body)


def dropping(request: dict[str, Any]) -> Answer:
    return None


@dataclass
class Scripted:
    """Answers each request with the next reply of the script, then with `default`."""

    url: str
    script: deque[Reply] = field(default_factory=deque)
    default: Reply = honest
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def embedder(self, **options: Any) -> Embedder:
        return open_embedder("openai:scripted", base_url=self.url, **{"max_retries": 2, **options})
