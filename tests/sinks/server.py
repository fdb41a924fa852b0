"""A real HTTP server on the loopback interface that answers as it is told and remembers what it got."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

TLS = Path(__file__).parent / "tls"


@dataclass(frozen=True)
class Request:
    """What came in: the path with its query, headers with names in lower case, and the body as it was
    sent.
    """

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def content(self) -> bytes:
        return gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body

    @property
    def records(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.content.splitlines()]


@dataclass(frozen=True)
class Answer:
    """What goes out. `hang_up`: the connection is closed without an answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b"{}"
    hang_up: bool = False


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class Loopback:
    """The server's side of a test: the answers still to give, what it says to everything else, and the
    requests so far.
    """

    def __init__(self, *answers: Answer, otherwise: Callable[[Request], Answer], tls: bool = False) -> None:
        self.answers = list(answers)
        self.otherwise = otherwise
        self.requests: list[Request] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each answer waits for an acknowledgement that is late

            def do_POST(self) -> None:
                owner.handle(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(handler.path, headers, body)
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else self.otherwise(request)
        if answer.hang_up:
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(answer.body)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.address}/ingest"


def _agree(_: Request) -> Answer:
    return Answer()


@contextmanager
def loopback(
    *answers: Answer, otherwise: Callable[[Request], Answer] = _agree, tls: bool = False
) -> Generator[Loopback, None, None]:
    """A server for the time of the block."""
    served = Loopback(*answers, otherwise=otherwise, tls=tls)
    thread = threading.Thread(target=served.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.server.shutdown()
        served.server.server_close()
        thread.join()
