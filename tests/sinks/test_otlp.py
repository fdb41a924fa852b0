"""Turns as OTLP log records, through the SDK's real exporters into real servers in this process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from concurrent import futures
from contextlib import contextmanager
from typing import Any, Literal

import grpc
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from opentelemetry._logs import get_logger_provider
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from otel_turns.errors import SinkError
from otel_turns.model.span import LogRecord
from otel_turns.sinks.base import DeliveryError, Record
from otel_turns.sinks.encoding import encode_record
from otel_turns.sinks.otlp import EVENT_NAME, OtlpWriter, record_of
from otel_turns.sinks.queued import QueuedSink
from tests.sinks.records import record
from tests.sinks.server import Answer, Request, loopback
from tests.sinks.test_encoding import JSON

LONG = 30.0
Wire = Literal["grpc", "http/protobuf"]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] # autouse
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "grpc_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


def plain(value: AnyValue) -> Any:
    """An AnyValue as Python says it."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [plain(member) for member in value.array_value.values]
    if kind == "kvlist_value":
        return {member.key: plain(member.value) for member in value.kvlist_value.values}
    return getattr(value, kind)


class Receiver:
    """What an OTLP server got, as the model's log records, and beside it what the model does not say."""

    def __init__(self) -> None:
        self.requests: list[ExportLogsServiceRequest] = []
        self.metadata: list[dict[str, str]] = []
        self.answers: list[grpc.StatusCode | int] = []
        self.endpoint = ""
        self.largest = 4 * 1024 * 1024

    def take(self, data: bytes) -> None:
        request = ExportLogsServiceRequest()
        request.ParseFromString(data)
        self.requests.append(request)

    @property
    def logs(self) -> list[LogRecord]:
        return [
            LogRecord(
                time=log.time_unix_nano,
                event_name=log.event_name,
                body=plain(log.body),
                attributes={pair.key: plain(pair.value) for pair in log.attributes},
                trace_id=log.trace_id or None,
                span_id=log.span_id or None,
                severity=log.severity_number,
            )
            for request in self.requests
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for log in scope.log_records
        ]

    @property
    def records(self) -> list[Record | None]:
        return [record_of(log) for log in self.logs]

    @property
    def resources(self) -> list[dict[str, Any]]:
        return [
            {pair.key: plain(pair.value) for pair in resource.resource.attributes}
            for request in self.requests
            for resource in request.resource_logs
        ]


@contextmanager
def grpc_receiver() -> Generator[Receiver, None, None]:
    receiver = Receiver()

    def export(data: bytes, context: grpc.ServicerContext) -> bytes:
        receiver.metadata.append({key: str(value) for key, value in context.invocation_metadata()})
        if len(data) > receiver.largest:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large")
        if receiver.answers:
            answer = receiver.answers.pop(0)
            assert isinstance(answer, grpc.StatusCode)
            context.abort(answer, "told so")
        receiver.take(data)
        return ExportLogsServiceResponse().SerializeToString()

    handler = grpc.method_handlers_generic_handler(
        "opentelemetry.proto.collector.logs.v1.LogsService",
        {"Export": grpc.unary_unary_rpc_method_handler(export)},
    )
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    receiver.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield receiver
    finally:
        server.stop(None).wait(LONG)


@contextmanager
def http_receiver() -> Generator[Receiver, None, None]:
    receiver = Receiver()

    def export(request: Request) -> Answer:
        receiver.metadata.append(request.headers)
        if receiver.answers:
            status = receiver.answers.pop(0)
            assert isinstance(status, int)
            return Answer(status, body=b"")
        receiver.take(request.content)
        return Answer(body=ExportLogsServiceResponse().SerializeToString())

    with loopback(otherwise=export) as server:
        receiver.endpoint = f"http://{server.address}/v1/logs"
        yield receiver


RECEIVERS: dict[Wire, Callable[[], Any]] = {"grpc": grpc_receiver, "http/protobuf": http_receiver}
both = pytest.mark.parametrize("wire", ["grpc", "http/protobuf"])


def send(wire: Wire, *records: Record, bare: bool = False) -> Receiver:
    """A receiver that got these records in one request."""
    with RECEIVERS[wire]() as receiver:
        writer = OtlpWriter(protocol=wire, endpoint=receiver.endpoint, bare=bare)
        writer.deliver([encode_record(one) for one in records])
        writer.close()
    return receiver


@both
def test_a_turn_travels_as_a_log_record_and_is_read_back_as_it_was(wire: Wire) -> None:
    rich = record(
        1,
        revision=2,
        sessionId="session-1",
        service={"name": "shop", "version": "1.2"},
        text="é\u2028",
    )
    rich["data"] = {"n": [0, -1, 2**63 - 1, -(2**63), 1.0, 1e-300, True, None, "", [], {}, [[{}]]]}
    receiver = send(wire, rich, record(2))
    assert receiver.records == [rich, record(2)]
    assert str(receiver.records[0]) == str(rich)  # order of members, and 1.0 is not 1
    log = receiver.logs[0]
    assert log.event_name == EVENT_NAME == "otel_turns.turn"
    assert log.time == 1_700_000_000_123_456_789
    assert log.trace_id == (1).to_bytes(16, "big")
    assert log.span_id == (1).to_bytes(8, "big")
    assert log.attributes == {
        "otel_turns.turn.id": "turn-1",
        "otel_turns.turn.revision": 2,
        "session.id": "session-1",
    }
    assert len(receiver.requests) == 1


@given(value=JSON)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_turn_comes_back_as_it_was(otlp: tuple[Receiver, OtlpWriter], value: Any) -> None:
    receiver, writer = otlp
    receiver.requests.clear()
    one = {**record(1), "data": value}
    writer.deliver([encode_record(one)])
    assert receiver.records == [one]


@pytest.fixture
def otlp() -> Generator[tuple[Receiver, OtlpWriter], None, None]:
    with grpc_receiver() as receiver:
        writer = OtlpWriter(protocol="grpc", endpoint=receiver.endpoint)
        yield receiver, writer
        writer.close()


@pytest.mark.parametrize("levels", [10, 27, 28, 29, 30, 31, 200, 2_000])
def test_a_deep_turn_can_be_parsed_by_every_receiver(otlp: tuple[Receiver, OtlpWriter], levels: int) -> None:
    receiver, writer = otlp
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    try:
        writer.deliver([encode_record({**record(1), "data": value})])
    except (DeliveryError, DecodeError) as error:
        pytest.fail(f"a receiver cannot read it: {error}")
    (log,) = receiver.logs
    assert isinstance(log.body, dict) == (levels < 30)
    if levels <= 200:
        assert receiver.records == [{**record(1), "data": value}]


def test_integers_beyond_64_bits_travel_as_text_and_keep_every_digit() -> None:
    big = [{**record(n), "data": [n]} for n in (2**63, 2**64, -(2**63) - 1)]
    receiver = send("grpc", *big)
    assert receiver.records == big
    assert all(isinstance(log.body, str) for log in receiver.logs)


@both
def test_bare_sends_the_turn_alone_and_its_identity_beside_it(wire: Wire) -> None:
    receiver = send(wire, record(1, sessionId="s"), {**record(2), "data": 2**70}, bare=True)
    assert [set(one or {}) for one in receiver.records] == [
        {"events", "status", "usage"},
        {"events", "status", "usage", "data"},
    ]
    assert receiver.logs[0].attributes["session.id"] == "s"
    assert [log.attributes["otel_turns.turn.id"] for log in receiver.logs] == ["turn-1", "turn-2"]


def test_turns_go_by_the_name_of_their_own_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "receiver")
    receiver = send(
        "grpc",
        record(1, service={"name": "shop", "version": "1.2"}),
        record(2),
        record(3, service={"name": "shop", "version": "1.2"}),
        record(4, service={"name": "bank"}),
    )
    shop, own, bank = receiver.resources
    assert shop == {"service.name": "shop", "service.version": "1.2"}
    assert own["service.name"] == "receiver"
    assert bank == {"service.name": "bank"}
    scope = receiver.requests[0].resource_logs[0].scope_logs[0].scope
    assert scope.name == "otel_turns"


def test_any_number_of_services_is_told_apart() -> None:
    receiver = send("grpc", *[record(n, service={"name": f"service-{n}"}) for n in range(100)])
    assert {resource["service.name"] for resource in receiver.resources} == {
        f"service-{n}" for n in range(100)
    }


def test_a_turn_that_does_not_say_where_it_came_from_is_sent_all_the_same() -> None:
    receiver = send("grpc", {"events": [], "status": "completed"}, record(2, traceId="xyz", rootSpanId="1"))
    assert [(log.trace_id, log.span_id) for log in receiver.logs] == [(None, None)] * 2
    assert receiver.logs[0].time == 0
    assert receiver.records[0] == {"events": [], "status": "completed"}


@pytest.mark.parametrize(
    "log",
    [
        LogRecord(time=1, event_name="gen_ai.choice", body={"events": []}),
        LogRecord(time=1, event_name=EVENT_NAME, body="{"),
        LogRecord(time=1, event_name=EVENT_NAME, body="[1]"),
        LogRecord(time=1, event_name=EVENT_NAME, body="[" * 100_000),
        LogRecord(time=1, event_name=EVENT_NAME, body=None),
    ],
)
def test_other_log_records_carry_no_turn(log: LogRecord) -> None:
    assert record_of(log) is None


# -- settings


@pytest.mark.parametrize(
    ("variables", "wire"),
    [
        ({}, "grpc"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http/protobuf"),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc"},
            "grpc",
        ),
    ],
)
def test_the_standard_variables_say_how_and_where_to(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], wire: Wire
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with RECEIVERS[wire]() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint.removesuffix("/v1/logs"))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        sink = QueuedSink(OtlpWriter())
        sink.write(record(1))
        assert sink.flush(LONG)
        sink.close()
    assert sink.name == f"otlp {wire}"
    assert receiver.records == [record(1)]
    assert receiver.metadata[0]["x-team"] == "blue"


def test_a_protocol_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    with pytest.raises(SinkError, match="grpc and http/protobuf, and not 'http/json'"):
        OtlpWriter()


def test_settings_that_the_exporter_refuses_are_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
    with pytest.raises(SinkError, match="OTEL_EXPORTER_OTLP"):
        OtlpWriter(protocol="grpc")


def test_an_sdk_that_is_switched_off_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(SinkError, match="OTEL_SDK_DISABLED"):
        OtlpWriter()


def test_an_sdk_that_is_too_old_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def older() -> None:
        raise TypeError("Can't instantiate abstract class")

    monkeypatch.setattr("otel_turns.sinks.otlp._Batch", older)
    with pytest.raises(SinkError, match=r"opentelemetry-sdk 1\.38"):
        OtlpWriter()


def test_a_connection_error_that_the_exporter_lets_through_is_tried_again(
    otlp: tuple[Receiver, OtlpWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(
        "opentelemetry.exporter.otlp.proto.grpc._log_exporter.OTLPLogExporter.export", refused
    )
    with pytest.raises(DeliveryError, match="connection: ConnectionRefusedError") as caught:
        otlp[1].deliver([encode_record(record(1))])
    assert caught.value.retry


def test_the_global_provider_is_left_alone() -> None:
    before = get_logger_provider()
    send("grpc", record(1))
    assert get_logger_provider() is before


# -- answers


CASES: list[tuple[Wire, grpc.StatusCode | int, str]] = [
    ("grpc", grpc.StatusCode.UNAUTHENTICATED, "drop"),
    ("grpc", grpc.StatusCode.PERMISSION_DENIED, "drop"),
    ("grpc", grpc.StatusCode.UNIMPLEMENTED, "drop"),
    ("grpc", grpc.StatusCode.INVALID_ARGUMENT, "split"),
    ("grpc", grpc.StatusCode.INTERNAL, "split"),
    ("http/protobuf", 401, "drop"),
    ("http/protobuf", 404, "drop"),
    ("http/protobuf", 302, "drop"),
    ("http/protobuf", 400, "split"),
    ("http/protobuf", 413, "split"),
]


@pytest.mark.parametrize(("wire", "status", "then"), CASES)
def test_final_answers_are_final_and_those_for_one_record_split_the_batch(
    wire: Wire, status: grpc.StatusCode | int, then: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    with RECEIVERS[wire]() as receiver:
        receiver.answers = [status]
        writer = OtlpWriter(protocol=wire, endpoint=receiver.endpoint)
        writer.linger_s = 1e6
        sink = QueuedSink(writer)
        for number in (1, 2):
            sink.write(record(number))
        assert sink.flush(LONG)
        sink.close()
    reason = f"status {status.name if isinstance(status, grpc.StatusCode) else status}"
    if then == "drop":
        assert dict(sink.counters.dropped) == {reason: 2}
    else:
        assert sink.counters.written == 2
        assert [len(r.resource_logs[0].scope_logs[0].log_records) for r in receiver.requests] == [1, 1]


@both
def test_a_server_that_is_not_there_is_tried_again(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with RECEIVERS[wire]() as receiver:
        endpoint = receiver.endpoint
    writer = OtlpWriter(protocol=wire, endpoint=endpoint)
    with pytest.raises(DeliveryError) as caught:
        writer.deliver([encode_record(record(1))])
    assert caught.value.retry
    writer.close()


@both
def test_a_server_that_is_busy_is_tried_again(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")  # shorter than the exporter's own first wait
    busy: dict[Wire, list[grpc.StatusCode | int]] = {
        "grpc": [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED],
        "http/protobuf": [503, 429],
    }
    with RECEIVERS[wire]() as receiver:
        receiver.answers = busy[wire]
        sink = QueuedSink(OtlpWriter(protocol=wire, endpoint=receiver.endpoint), sleep=lambda _: None)
        sink.write(record(1))
        assert sink.flush(LONG)
        sink.close()
    assert (sink.counters.written, sink.counters.failed) == (1, 2)
    assert receiver.records == [record(1)]


def test_a_request_that_is_too_large_for_the_server_is_cut_and_its_largest_record_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.7")  # shorter than the exporter's own first wait
    with grpc_receiver() as receiver:
        receiver.largest = 700_000
        writer = OtlpWriter(protocol="grpc", endpoint=receiver.endpoint)
        writer.linger_s = 1e6
        sink = QueuedSink(writer)
        sink.write(record(1, text="x" * 1_000_000))
        sink.write(record(2))
        assert sink.flush(LONG)
        sink.close()
    assert dict(sink.counters.dropped) == {"status RESOURCE_EXHAUSTED": 1}
    assert receiver.records == [record(2)]


@both
def test_closing_ends_an_export_that_is_under_way(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    arrived = threading.Event()
    with RECEIVERS[wire]() as receiver:
        busy: grpc.StatusCode | int = grpc.StatusCode.UNAVAILABLE if wire == "grpc" else 503

        class Noted(list[Any]):
            def pop(self, index: Any = -1) -> Any:
                arrived.set()
                return busy

        receiver.answers = Noted([busy])
        sink = QueuedSink(OtlpWriter(protocol=wire, endpoint=receiver.endpoint), close_timeout_s=0.01)
        sink.write(record(1))
        assert arrived.wait(LONG)
        sink.close()
    assert dict(sink.counters.dropped) == {"closed": 1}


def test_a_forked_child_makes_an_exporter_of_its_own() -> None:
    with grpc_receiver() as receiver:
        writer = OtlpWriter(protocol="grpc", endpoint=receiver.endpoint)
        parents = writer._exporter  # pyright: ignore[reportPrivateUsage] # what must not be shared
        writer.after_fork()
        assert writer._exporter is not parents  # pyright: ignore[reportPrivateUsage] # as above
        writer.deliver([encode_record(record(1))])
        parents.shutdown()
        writer.close()
    assert receiver.records == [record(1)]
