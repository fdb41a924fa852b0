"""OTLP over gRPC: the Export methods of traces, logs and metrics, and the standard health service.

Comes in: requests as raw bytes, which nothing but the decoder parses. Goes out: to a `Reception`, and its
answer as the export response or as a gRPC status. Needs `grpcio-health-checking` (extra `server`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, NoReturn

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from otel_turns.errors import SourceError
from otel_turns.sources.reception import SNIFF, Answer, Code, Reception, Signal

__all__ = ["GrpcServer"]

# gRPC ships no types.
_grpc: Any = grpc
_health: Any = health
_health_grpc: Any = health_pb2_grpc

_SERVICES: Final[dict[Signal, str]] = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
}
_STATUS: Final[dict[int, Any]] = {status.value[0]: status for status in _grpc.StatusCode}

INLINE_BYTES, INLINE_COMPRESSED_BYTES = 256 << 10, 16 << 10
"""Bodies up to these sizes are decoded on the event loop, which is cheaper; larger ones on a thread, so
that the others' requests and the health check are answered meanwhile."""


class GrpcServer:
    """One listening server. Use within one event loop.

    reception: takes the requests. address: `host:port`, port 0 for a free one.
    """

    def __init__(self, reception: Reception, address: str) -> None:
        self._reception = reception
        self._address = address
        self._server: Any = _grpc.aio.server(options=_options(reception.limits.request))
        self._health: Any = _health.aio.HealthServicer()
        for signal, service in _SERVICES.items():
            handler = _grpc.unary_unary_rpc_method_handler(self._handler(signal))
            generic = _grpc.method_handlers_generic_handler(service, {"Export": handler})
            self._server.add_generic_rpc_handlers((generic,))
        _health_grpc.add_HealthServicer_to_server(self._health, self._server)

    async def start(self) -> int:
        """Listens, and says on which port. Raises `SourceError` where the address cannot be taken."""
        try:
            port: int = self._server.add_insecure_port(self._address)
        except RuntimeError as error:
            await self._server.stop(None)  # gRPC complains of a server that was never stopped
            reason = "the address is taken or unknown"
            raise SourceError(f"cannot listen for gRPC on {self._address}: {reason}") from error
        await self._server.start()
        for service in _SERVICES.values():
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return port

    async def stop(self, grace_s: float) -> None:
        """Tells health checks, takes no new requests, and gives running ones `grace_s` seconds."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)

    def _handler(self, signal: Signal) -> Callable[[bytes, Any], Awaitable[bytes]]:
        async def export(body: bytes, context: Any) -> bytes:
            reception = self._reception
            answer = reception.admit(_authorization(context), signal)
            if answer is None:
                limit = INLINE_BYTES if body[:1] == b"\n" else INLINE_COMPRESSED_BYTES
                if len(body) <= limit:
                    answer = reception.export(signal, body, "protobuf", SNIFF)
                else:
                    loop = asyncio.get_running_loop()
                    answer = await loop.run_in_executor(
                        None, reception.export, signal, body, "protobuf", SNIFF
                    )
            if answer.code is Code.OK:
                return answer.success("protobuf")
            await _abort(context, answer)

        return export


def _options(max_request: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", max_request),
        # Messages are decompressed here, so that what comes out is bounded apart from what went in; older
        # versions of gRPC do not bound it at all.
        ("grpc.per_message_decompression", 0),
        # Or a second receiver on the same port would start and take every other connection, unnoticed.
        ("grpc.so_reuseport", 0),
        # Notices dead peers, and lets clients ping through idle times, once every 10 s at most.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ]


def _authorization(context: Any) -> str | None:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization":
            return value if isinstance(value, str) else None
    return None


async def _abort(context: Any, answer: Answer) -> NoReturn:
    trailing: list[tuple[str, bytes]] = [("grpc-status-details-bin", answer.status("protobuf"))]
    if answer.retry_after_s is not None:
        # Under its own name too: the Python exporter reads only this one.
        trailing.append(("google.rpc.retryinfo-bin", answer.retry_info().SerializeToString()))
    await context.abort(_STATUS[answer.code.grpc], answer.message, tuple(trailing))
    raise AssertionError("abort always raises")
