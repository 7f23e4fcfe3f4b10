"""An OpenAI-compatible server on loopback whose model can be swapped behind its name."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from calibration.embed import open_embedder

WIDTH = 256


@dataclass
class Swappable:
    """wordllama, or when `swapped` another space of the same width: turned, and squeezed into a narrow cone."""

    url: str = ""
    swapped: bool = False

    def embed(self, texts: list[str]) -> np.ndarray:
        vectors = open_embedder("wordllama").embed(texts, "query").astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        if self.swapped:
            rng = np.random.default_rng(5)
            rotation = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
            vectors = vectors @ rotation + 1.5 * np.eye(WIDTH)[0]
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype("<f4")


@contextmanager
def embedding_server() -> Iterator[Swappable]:
    """Serve until the block ends."""
    state = Swappable()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            request: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = [
                {"object": "embedding", "index": i, "embedding": base64.b64encode(vector.tobytes()).decode()}
                for i, vector in enumerate(state.embed(request["input"]))
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            payload = json.dumps({"object": "list", "data": data, "model": request["model"], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
