"""OTLP over gRPC as the specification asks (opentelemetry-proto, docs/specification.md, "OTLP/gRPC")."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_turns.errors import SourceError
from otel_turns.sources.grpc import GrpcServer
from otel_turns.sources.reception import Limits, Reception
from tests.sources.fakes import FakeIntake
from tests.sources.requests import BAD, logs, traces

# gRPC ships no types.
GRPC: Any = grpc

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
CHECK = "/grpc.health.v1.Health/Check"
TIMEOUT = 30


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


def with_server(
    intake: FakeIntake,
    use: Callable[[Any, GrpcServer], Awaitable[Any]],
    *,
    compression: Any = None,
    **options: Any,
) -> tuple[Any, Reception]:
    """Runs `use(channel, server)` against a server on a free port."""
    reception = Reception(intake, **options)

    async def run() -> Any:
        server = GrpcServer(reception, "127.0.0.1:0")
        port = await server.start()
        async with GRPC.aio.insecure_channel(f"127.0.0.1:{port}", compression=compression) as channel:
            try:
                return await use(channel, server)
            finally:
                await server.stop(0)

    return asyncio.run(run()), reception


def ask(intake: FakeIntake, body: bytes, method: str = TRACES, metadata: Any = (), **options: Any) -> Any:
    """The answer's bytes, or the error of the client's library."""

    async def use(channel: Any, server: GrpcServer) -> Any:
        try:
            return await channel.unary_unary(method)(body, metadata=metadata, timeout=TIMEOUT)
        except GRPC.aio.AioRpcError as error:
            return error

    return with_server(intake, use, **options)[0]


def test_traces_are_taken(intake: FakeIntake) -> None:
    assert ask(intake, traces("a", "b")) == b""
    assert intake.names == ["a", "b"]


def test_logs_are_taken(intake: FakeIntake) -> None:
    assert ask(intake, logs("e"), LOGS) == b""
    assert intake.names == ["e"]


def test_metrics_are_taken_politely_and_ignored(intake: FakeIntake) -> None:
    assert ask(intake, b"whatever", METRICS) == b""
    assert intake.calls == []


@pytest.mark.parametrize("method", [TRACES, LOGS, METRICS])
def test_an_empty_request_succeeds(intake: FakeIntake, method: str) -> None:
    assert ask(intake, b"", method) == b""
    assert intake.calls == []


@pytest.mark.parametrize("compression", ["Gzip", "Deflate"])
def test_compressed_messages_are_taken(intake: FakeIntake, compression: str) -> None:
    body = traces("a", attribute="x" * 1_000)
    assert ask(intake, body, compression=getattr(GRPC.Compression, compression)) == b""
    assert intake.names == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        BAD,
        gzip.compress(BAD, mtime=0),
        gzip.compress(traces("a"), mtime=0)[:-9],
        zlib.compress(traces("a"))[:-3],
    ],
    ids=["bad", "packed", "torn gzip", "torn zlib"],
)
def test_bad_data_is_invalid_argument(intake: FakeIntake, body: bytes) -> None:
    error = ask(intake, body)
    assert error.code() is GRPC.StatusCode.INVALID_ARGUMENT
    assert error.details().startswith("the request could not be read: ")
    assert intake.calls == []


def test_a_bad_span_is_rejected_alone(intake: FakeIntake) -> None:
    partial = ExportTraceServiceResponse.FromString(ask(intake, traces("a", bad=2))).partial_success
    assert partial.rejected_spans == 2
    assert partial.error_message
    assert intake.names == ["a"]


def test_full_success_leaves_partial_success_unset(intake: FakeIntake) -> None:
    assert not ExportTraceServiceResponse.FromString(ask(intake, traces("a"))).HasField("partial_success")
    assert not ExportLogsServiceResponse.FromString(ask(intake, logs("a"), LOGS)).HasField("partial_success")


def test_back_pressure_is_unavailable_with_retry_info_under_both_names(intake: FakeIntake) -> None:
    intake.refusing = True
    error = ask(intake, traces("a"))
    assert error.code() is GRPC.StatusCode.UNAVAILABLE
    trailing = {key: value for key, value in error.trailing_metadata()}
    info = RetryInfo.FromString(trailing["google.rpc.retryinfo-bin"])
    assert 1 <= info.retry_delay.seconds <= 3
    status = Status.FromString(trailing["grpc-status-details-bin"])
    packed = RetryInfo()
    assert status.code == 14
    assert status.details[0].Unpack(packed)
    assert packed == info
    assert intake.calls == []


LIMITS = Limits(request=500, decompressed=2_000)


@pytest.mark.parametrize(
    ("size", "compression"), [(500, None), (2_000, "Gzip"), (2_000, "Deflate"), (1_000_000, "Gzip")]
)
def test_too_large_is_resource_exhausted(intake: FakeIntake, size: int, compression: str | None) -> None:
    body = traces("a", attribute="x" * size)
    packed = None if compression is None else getattr(GRPC.Compression, compression)
    error = ask(intake, body, compression=packed, limits=LIMITS)
    assert error.code() is GRPC.StatusCode.RESOURCE_EXHAUSTED
    assert intake.calls == []


def test_more_than_a_request_may_have_comes_through_where_it_is_small_as_sent(intake: FakeIntake) -> None:
    body = traces("a", attribute="x" * 1_500)
    assert len(body) > LIMITS.request
    assert ask(intake, body, compression=GRPC.Compression.Gzip, limits=LIMITS) == b""
    assert intake.names == ["a"]


def test_large_messages_are_decoded_as_well(intake: FakeIntake) -> None:
    assert ask(intake, traces("large", attribute="x" * 300_000)) == b""
    assert intake.names == ["large"]


@pytest.mark.parametrize(
    ("metadata", "taken"),
    [
        ((("authorization", "Bearer secret"),), True),
        ((("authorization", "Bearer other"),), False),
        ((("other", "Bearer secret"),), False),
        ((), False),
    ],
)
def test_the_bearer_token_is_asked_for(intake: FakeIntake, metadata: Any, taken: bool) -> None:
    answer = ask(intake, traces("a"), metadata=metadata, token="secret")
    if taken:
        assert answer == b""
    else:
        assert answer.code() is GRPC.StatusCode.UNAUTHENTICATED
        assert intake.calls == []


def test_an_error_of_ours_is_internal_and_says_nothing_of_the_inside(intake: FakeIntake) -> None:
    def fail() -> None:
        raise ValueError("inside")

    intake.on_accept = fail
    error = ask(intake, traces("a"))
    assert error.code() is GRPC.StatusCode.INTERNAL
    assert error.details() == "the request could not be taken"


def test_unknown_methods_are_unimplemented(intake: FakeIntake) -> None:
    assert ask(intake, b"", "/opentelemetry.proto.other/Export").code() is GRPC.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("service", ["", "opentelemetry.proto.collector.trace.v1.TraceService"])
def test_health_is_served_without_a_token(intake: FakeIntake, service: str) -> None:
    body = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    answer = health_pb2.HealthCheckResponse.FromString(ask(intake, body, CHECK, token="secret"))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_stopping_server_answers_what_is_under_way_and_says_so_to_health_checks(intake: FakeIntake) -> None:
    async def use(channel: Any, server: GrpcServer) -> Any:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=TIMEOUT)
        first = health_pb2.HealthCheckResponse.FromString(await watch.read())
        loop = asyncio.get_running_loop()
        under_way, go_on = asyncio.Event(), asyncio.Event()

        def hold() -> None:
            loop.call_soon_threadsafe(under_way.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(TIMEOUT)

        intake.on_accept = hold
        # Large, so that it is on a thread and the loop can go on.
        call = channel.unary_unary(TRACES)(traces("a", attribute="x" * 300_000), timeout=TIMEOUT)
        await under_way.wait()
        stopping = asyncio.ensure_future(server.stop(TIMEOUT))
        second = health_pb2.HealthCheckResponse.FromString(await watch.read())
        watch.cancel()
        go_on.set()
        answer = await call
        await stopping
        return first.status, second.status, answer

    (first, second, answer), _ = with_server(intake, use)
    assert (first, second) == (
        health_pb2.HealthCheckResponse.SERVING,
        health_pb2.HealthCheckResponse.NOT_SERVING,
    )
    assert answer == b""
    assert intake.names == ["a"]


def test_a_port_that_is_taken_is_an_error(intake: FakeIntake) -> None:
    async def run() -> None:
        first = GrpcServer(Reception(intake), "127.0.0.1:0")
        port = await first.start()
        second = GrpcServer(Reception(intake), f"127.0.0.1:{port}")
        try:
            with pytest.raises(SourceError, match=f"cannot listen for gRPC on 127.0.0.1:{port}"):
                await second.start()
        finally:
            await first.stop(0)

    asyncio.run(run())


def test_counts_what_came(intake: FakeIntake) -> None:
    async def use(channel: Any, server: GrpcServer) -> None:
        export = channel.unary_unary(TRACES)
        await export(traces("a", "b", bad=1), timeout=TIMEOUT)
        with pytest.raises(GRPC.aio.AioRpcError):
            await export(BAD, timeout=TIMEOUT)

    _, reception = with_server(intake, use)
    counts = reception.counts()
    assert (counts.accepted, counts.rejected, counts.refused) == (2, 1, {"INVALID_ARGUMENT": 1})
