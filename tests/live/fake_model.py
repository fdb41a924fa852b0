"""A model server for tests: speaks OpenAI's chat completions, and says what its script says.

Each request takes the next line of the script; when the script is over, the server answers 500. It binds to
127.0.0.1 and ends with its context.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["FakeModel", "calls", "says"]

Line = dict[str, Any]


def says(text: str, *, tokens: tuple[int, int] = (20, 5)) -> Line:
    """The model answers with text. `tokens`: of input and output."""
    return _line({"role": "assistant", "content": text}, "stop", tokens)


def calls(*tools: tuple[str, str, dict[str, Any]], tokens: tuple[int, int] = (20, 5)) -> Line:
    """The model asks for tools: (call id, name, arguments)."""
    asked = [
        {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call, name, arguments in tools
    ]
    return _line({"role": "assistant", "content": None, "tool_calls": asked}, "tool_calls", tokens)


def _line(message: dict[str, Any], reason: str, tokens: tuple[int, int]) -> Line:
    return {
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "fake-1",
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }


class FakeModel(AbstractContextManager["FakeModel"]):
    """The server. `url` is what a client takes as its base URL; `requests` is what it was asked."""

    def __init__(self, script: Sequence[Line]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._script = list(script)
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = model._next(body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing: a test has its own words."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def _next(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            said = len(self.requests)
            self.requests.append(body)
        if said >= len(self._script):
            return 500, {"error": {"message": "the script is over"}}
        return 200, {"id": f"resp_{said + 1}", **self._script[said]}

    def __enter__(self) -> FakeModel:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
