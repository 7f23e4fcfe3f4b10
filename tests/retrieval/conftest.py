"""A scripted rerank endpoint on loopback."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Endpoint:
    """Answers each request with the next of the script: (status, body), or None to hang up."""

    url: str
    script: deque[tuple[int, Any] | None] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def by_length(request: dict[str, Any]) -> tuple[int, Any]:
    """An honest answer in another order: the score is a passage's length over 100."""
    passages = request.get("documents") or request["texts"]
    results = [{"index": i, "relevance_score": len(text) / 100} for i, text in enumerate(passages)]
    return 200, {"results": list(reversed(results))}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append(request)
            state.keys.append(self.headers.get("Authorization", ""))
            answer = state.script.popleft() if state.script else by_length(request)
            if answer is None:
                self.close_connection = True
                return
            status, body = answer
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("retry-after-ms", "1")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1/rerank")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()
