"""Records as OTLP log records, so that a Turn can travel on through any Collector.

Comes in: entries. Goes out: one log record a Turn, through the OpenTelemetry SDK's own OTLP exporter, set
up by the standard `OTEL_EXPORTER_OTLP_*` variables (those for logs before the general ones), gRPC or HTTP.
It has a logger provider of its own and never touches the global one.

| member of the log record | holds | |---|---| | event name | `otel_turns.turn` | | body | the record as a
structured value; as JSON text where OTLP cannot say it | | timestamp | the
end of the Turn, nanoseconds | | trace id, span id | of the Turn's root | | attributes |
`otel_turns.turn.id`, `otel_turns.turn.revision`, `session.id` where there is one | | resource |
`service.name` and `service.version` of the Turn's own service, where the record says it | | scope |
`otel_turns` |

`record_of` reads such a log record back.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, cast

from opentelemetry import trace
from opentelemetry._logs import LogRecord as ApiLogRecord
from opentelemetry._logs import NoOpLogger, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk.resources import Resource

from otel_turns.errors import SinkError
from otel_turns.model.span import LogRecord
from otel_turns.sinks.base import Entry, Record, Writer
from otel_turns.sinks.encoding import decode_record, encode_record
from otel_turns.sinks.otlp_exporter import Exporter, GrpcExporter, HttpExporter
from otel_turns.sinks.product import own_version

__all__ = ["EVENT_NAME", "REVISION", "SESSION_ID", "TURN_ID", "OtlpWriter", "Protocol", "record_of"]

EVENT_NAME: Final = "otel_turns.turn"
TURN_ID: Final = "otel_turns.turn.id"
REVISION: Final = "otel_turns.turn.revision"
SESSION_ID: Final = "session.id"

Protocol = Literal["grpc", "http/protobuf"]

_PROTOCOL_ENV: Final = ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
# protobuf readers stop at 100 nested messages; an object costs three, and five stand around the body.
_MOST_LEVELS: Final = 30
_INT64: Final = range(-(2**63), 2**63)
_KNOWN_SERVICES: Final = 64


class OtlpWriter(Writer):
    """Exports each record as a log record.

    protocol: from the environment where not given; gRPC where that says nothing, as the SDK does.
    endpoint: from the environment where not given: `host:port` or a URL for gRPC, a whole URL for HTTP.

    Raises `SinkError` for a protocol that is not there, settings that the exporter refuses, and an SDK that
    is switched off.
    """

    batch_records = 128
    batch_bytes = 2 * 1024 * 1024  # gRPC servers refuse messages above 4 MiB unless told otherwise
    linger_s = 0.1

    def __init__(
        self, *, protocol: Protocol | None = None, endpoint: str | None = None, bare: bool = False
    ) -> None:
        self._protocol = _protocol(protocol)
        self._endpoint = endpoint
        self.name = f"otlp {self._protocol}"
        # The body is made without `otel` in `deliver`, which needs what that says.
        self.bare = False
        self._bare = bare
        self._begin()

    def _begin(self) -> None:
        try:
            self._batch = _Batch()
        except TypeError:
            raise SinkError(
                "the OTLP sink needs opentelemetry-sdk 1.38 or newer; the other sinks do not"
            ) from None
        self._loggers: OrderedDict[tuple[str, str] | None, _Emit] = OrderedDict()
        try:
            self._exporter: Exporter = (
                GrpcExporter(self._endpoint) if self._protocol == "grpc" else HttpExporter(self._endpoint)
            )
            self._logger_of(None)
        except SinkError:
            raise
        except Exception as error:  # whatever a version of the exporter finds wrong with the settings
            raise SinkError(
                f"the OTLP exporter refuses its settings ({type(error).__name__}); check OTEL_EXPORTER_OTLP_*"
            ) from None

    def deliver(self, entries: Sequence[Entry]) -> None:
        self._batch.records.clear()
        for entry in entries:
            self._emit(entry)
        records, self._batch.records = self._batch.records, []
        self._exporter.export(records, sum(len(entry.data) for entry in entries))

    def after_fork(self) -> None:
        self._begin()

    def close(self) -> None:
        with suppress(Exception):  # whatever is under way on it ends with it
            self._exporter.shutdown()

    def _emit(self, entry: Entry) -> None:
        record = decode_record(entry)
        otel = cast("Mapping[str, Any]", record.get("otel") or {})
        if self._bare:
            record = {name: value for name, value in record.items() if name != "otel"}
        attributes: dict[str, str | int] = {TURN_ID: entry.turn_id, REVISION: entry.revision}
        if session := otel.get("sessionId"):
            attributes[SESSION_ID] = str(session)
        body: Any = record
        if entry.odd is not None or not _fits(record, _MOST_LEVELS):
            body = (encode_record(record) if self._bare else entry).data.decode()
        service = cast("Mapping[str, Any]", otel.get("service") or {})
        named = service.get("name")
        emit = self._logger_of((str(named), str(service.get("version") or "")) if named else None)
        emit(
            ApiLogRecord(
                timestamp=int(otel.get("endTimeUnixNano") or 0) or None,
                context=_span_context(otel),
                severity_number=SeverityNumber.INFO,
                body=body,
                attributes=attributes,
                event_name=EVENT_NAME,
            )
        )

    def _logger_of(self, service: tuple[str, str] | None) -> _Emit:
        emit = self._loggers.get(service)
        if emit is None:
            provider = LoggerProvider(resource=_resource(service), shutdown_on_exit=False)
            provider.add_log_record_processor(self._batch)
            logger = provider.get_logger("otel_turns", own_version())
            if isinstance(logger, NoOpLogger):
                raise SinkError(
                    "OTEL_SDK_DISABLED switches the OTLP sink off; unset it or choose another sink"
                )
            emit = self._loggers[service] = logger.emit
            if len(self._loggers) > _KNOWN_SERVICES:
                self._loggers.popitem(last=False)
        return emit


def record_of(log: LogRecord) -> Record | None:
    """The record that a log record carries, or None where it carries none (another event name, or a body
    that is none).

    Of one that was sent `bare`, the Turn alone."""
    if log.event_name != EVENT_NAME:
        return None
    body = log.body
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return None
    return cast("Record", body) if isinstance(body, dict) else None


_Emit = Callable[[ApiLogRecord], None]


class _Batch(LogRecordProcessor):
    """Collects what the loggers emit, in the shape that this SDK's exporters take."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def on_emit(self, log_record: Any) -> None:
        self.records.append(log_record)

    def shutdown(self) -> None:
        return

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


def _protocol(given: str | None) -> Protocol:
    named = given or next((value for name in _PROTOCOL_ENV if (value := os.environ.get(name))), "grpc")
    if named == "grpc" or named == "http/protobuf":
        return named
    raise SinkError(f"the OTLP sink speaks grpc and http/protobuf, and not {named!r}")


def _resource(service: tuple[str, str] | None) -> Resource:
    if service is None:
        return Resource.create({})
    name, of_version = service
    return Resource({"service.name": name, **({"service.version": of_version} if of_version else {})})


def _span_context(otel: Mapping[str, Any]) -> Context:
    span = trace.SpanContext(
        trace_id=_identifier(otel.get("traceId"), 16),
        span_id=_identifier(otel.get("rootSpanId"), 8),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(span), Context())


def _identifier(value: object, nbytes: int) -> int:
    try:
        raw = bytes.fromhex(str(value))
    except ValueError:
        return 0
    return int.from_bytes(raw, "big") if len(raw) == nbytes else 0


def _fits(value: Any, levels: int) -> bool:
    """Whether OTLP's AnyValue can say it."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).values()
        return levels > 0 and all(_fits(member, levels - 1) for member in members)
    if isinstance(value, list):
        return levels > 0 and all(_fits(member, levels - 1) for member in cast("list[Any]", value))
    return not isinstance(value, int) or value in _INT64
