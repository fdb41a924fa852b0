"""The receiver: OTLP over gRPC and over HTTP in one process, for use within an event loop.

Comes in: a pipeline's intake, addresses, limits. Goes out: two listening servers that feed it. It installs
no signal handlers and prints nothing, so that programs and tests can embed it; `serve` is the whole
program.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
import time
from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Final

import uvicorn

from otel_turns.errors import SourceError
from otel_turns.server.ticker import Ticker
from otel_turns.sources.grpc import GrpcServer
from otel_turns.sources.http import http_app
from otel_turns.sources.intake import Intake
from otel_turns.sources.reception import Limits, Reception, ReceptionCounts

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["GRPC_PORT", "HTTP_PORT", "Receiver"]

GRPC_PORT, HTTP_PORT = 4317, 4318
"""The ports that the OTLP specification names."""

_KEEP_ALIVE_S: Final = 75
"""How long an idle HTTP connection stays: longer than exporters wait between two batches."""

_SERVERS_SHARE: Final = 0.4
"""How much of the time for draining the servers get; the rest is for writing the last Turns."""

_CUT_S: Final = 1.0
"""How long the HTTP server may take to cut connections, in seconds."""


class Receiver:
    """Both servers, and the thread that settles traces.

    intake: the pipeline; the receiver closes it in `stop`. host: the address to bind. grpc_port, http_port:
    0 takes a free one, None leaves the protocol out. token: a bearer token that every request must carry,
    in both protocols.

        async with Receiver(pipeline, grpc_port=0, http_port=0) as receiver:
            print(receiver.grpc_port, receiver.http_port)
    """

    def __init__(
        self,
        intake: Intake,
        *,
        host: str = "127.0.0.1",
        grpc_port: int | None = GRPC_PORT,
        http_port: int | None = HTTP_PORT,
        limits: Limits | None = None,
        token: str | None = None,
        drain_s: float = 10.0,
    ) -> None:
        self.host = host
        self.grpc_port: int | None = grpc_port
        """The port of gRPC; after `start` the real one."""
        self.http_port: int | None = http_port
        """The port of HTTP; after `start` the real one."""
        self._intake = intake
        self._drain_s = drain_s
        self._ticker = Ticker(intake)
        self._reception = Reception(intake, limits=limits, token=token, on_accept=self._ticker.wake)
        self._grpc: GrpcServer | None = None
        self._http: _HttpServer | None = None
        self._http_task: asyncio.Task[None] | None = None

    def counts(self) -> ReceptionCounts:
        """What came in so far."""
        return self._reception.counts()

    async def start(self) -> None:
        """Listens on both ports. Raises `SourceError` where one cannot be taken; then neither is open."""
        sockets: list[socket.socket] = []
        if self.http_port is not None:
            sockets = [_listen(self.host, self.http_port)]
        try:
            if self.grpc_port is not None:
                self._grpc = GrpcServer(self._reception, _address(self.host, self.grpc_port))
                self.grpc_port = await self._grpc.start()
        except SourceError:
            for each in sockets:
                each.close()
            raise
        if sockets:
            self.http_port = sockets[0].getsockname()[1]
            self._http = _HttpServer(self._reception)
            self._http_task = asyncio.ensure_future(self._http.serve(sockets=sockets))
            await self._http.ready.wait()
        self._ticker.start()

    async def stop(self, timeout_s: float | None = None) -> bool:
        """Takes nothing new, answers what is under way, writes every Turn. False where `timeout_s` was not
        enough.

        `timeout_s` is seconds, None for the `drain_s` of the constructor.
        """
        until = time.monotonic() + (self._drain_s if timeout_s is None else timeout_s)
        grace = max(0.0, until - time.monotonic()) * _SERVERS_SHARE
        stops = [self._stop_http(grace)]
        if self._grpc is not None:
            stops.append(self._grpc.stop(grace))
        await asyncio.gather(*stops)
        self._ticker.stop()
        return await _within(until, self._intake)

    async def _stop_http(self, grace_s: float) -> None:
        if self._http is None or self._http_task is None:
            return
        # uvicorn itself then cuts what is still under way.
        self._http.config.timeout_graceful_shutdown = grace_s  # pyright: ignore[reportAttributeAccessIssue] # any number of seconds works
        self._http.should_exit = True
        done, _ = await asyncio.wait({self._http_task}, timeout=grace_s + _CUT_S)
        if not done:
            self._http_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._http_task

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()


class _HttpServer(uvicorn.Server):
    """uvicorn without its own signal handlers and log lines, and with a word when it is listening."""

    def __init__(self, reception: Reception) -> None:
        super().__init__(
            uvicorn.Config(
                http_app(reception),
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
            )
        )
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=1024)  # pyright: ignore[reportArgumentType] (IPv6 addresses have four members)
    except OSError as error:
        reason = "the port is taken" if error.errno == errno.EADDRINUSE else (error.strerror or str(error))
        raise SourceError(f"cannot listen for HTTP on {_address(host, port)}: {reason}") from error


async def _within(until: float, intake: Intake) -> bool:
    """Closes the intake on a thread that nobody has to wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def close() -> None:
        try:
            kept = intake.close(max(0.0, until - time.monotonic()))
        except Exception:
            kept = False
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits any more
            loop.call_soon_threadsafe(lambda: done.done() or done.set_result(kept))

    threading.Thread(target=close, name="otel_turns close", daemon=True).start()
    try:
        return await asyncio.wait_for(done, max(0.0, until - time.monotonic()) + 0.5)
    except asyncio.TimeoutError:
        return False
