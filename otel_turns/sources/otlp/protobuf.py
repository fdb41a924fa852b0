"""Spans and log records as slices of protobuf bytes, parsed once, when their trace settles.

Comes in: slices that the wire walk cut. Goes out: `SpanSlice` and `RecordSlice` items, and, by `load`, the
parsed span or record. Holding the slice and not the parsed message gives an exact byte budget and lets one
bad span be rejected alone.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as WireRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as WireResource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink

__all__ = ["Context", "RecordSlice", "SpanSlice", "context_of"]

_DEEPEST: Final = 48
_NO_TRACE, _NO_SPAN = b"\0" * 16, b"\0" * 8
_REMOTE: Final = 0x300


class Context:
    """Resource and scope of a group of slices, parsed once and shared."""

    __slots__ = ("resource", "scope")

    def __init__(self, resource: Resource, scope: Scope) -> None:
        self.resource = resource
        self.scope = scope


def context_of(resource: bytes, scope: bytes) -> Context:
    """Parses what a group shares. Raises `MalformedTelemetry`."""
    try:
        wire_resource, wire_scope = WireResource.FromString(resource), InstrumentationScope.FromString(scope)
    except DecodeError:
        raise MalformedTelemetry("a resource or scope is no valid protobuf message") from None
    return Context(
        Resource(_attributes(wire_resource.attributes)),
        Scope(wire_scope.name, wire_scope.version, _attributes(wire_scope.attributes)),
    )


def _value(value: Any, depth: int = 0) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        if depth >= _DEEPEST:
            raise MalformedTelemetry(f"an attribute is nested deeper than {_DEEPEST} levels")
        return [_value(v, depth + 1) for v in value.array_value.values]
    if kind == "kvlist_value":
        if depth >= _DEEPEST:
            raise MalformedTelemetry(f"an attribute is nested deeper than {_DEEPEST} levels")
        return {kv.key: _value(kv.value, depth + 1) for kv in value.kvlist_value.values}
    return getattr(value, kind)


def _attributes(pairs: Any) -> dict[str, Any]:
    # Most values are strings: that read is tried before the kind is asked for.
    return {kv.key: kv.value.string_value or _value(kv.value) for kv in pairs}


class SpanSlice:
    """A span that is not parsed yet. Its ids stand beside it, so that a buffer need not look inside."""

    __slots__ = ("_context", "body", "local_root", "span_id", "trace_id")

    def __init__(self, body: bytes, context: Context) -> None:
        """Reads ids only. Raises `MalformedTelemetry` where the span's bytes or ids are bad."""
        self.body = body
        self._context = context
        head = _head(body)
        if head is None:
            head = self._slow_head(body)
        self.trace_id, self.span_id, self.local_root = head

    @staticmethod
    def _slow_head(body: bytes) -> tuple[bytes, bytes, bool]:
        try:
            wire = WireSpan.FromString(body)
        except DecodeError:
            raise MalformedTelemetry("a span is no valid protobuf message") from None
        _check_ids(wire.trace_id, wire.span_id)
        parent = wire.parent_span_id
        return (
            wire.trace_id,
            wire.span_id,
            not parent or parent == _NO_SPAN or wire.flags & _REMOTE == _REMOTE,
        )

    @property
    def size(self) -> int:
        return len(self.body)

    def load(self) -> Span:
        try:
            wire = WireSpan.FromString(self.body)
        except DecodeError:
            raise MalformedTelemetry("a span is no valid protobuf message") from None
        parent = wire.parent_span_id
        status = wire.status
        events, links = wire.events, wire.links
        context = self._context
        return Span(
            self.trace_id,
            self.span_id,
            parent if parent and parent != _NO_SPAN else None,
            wire.name,
            wire.start_time_unix_nano,
            wire.end_time_unix_nano,
            wire.kind,
            status.code,
            status.message,
            _attributes(wire.attributes),
            tuple(
                SpanEvent(e.time_unix_nano, e.name, _attributes(e.attributes), e.dropped_attributes_count)
                for e in events
            )
            if events
            else (),
            tuple(SpanLink(x.trace_id, x.span_id, _attributes(x.attributes)) for x in links) if links else (),
            context.scope,
            context.resource,
            wire.dropped_attributes_count,
            wire.dropped_events_count,
            wire.dropped_links_count,
            wire.flags,
        )


def _head(body: bytes) -> tuple[bytes, bytes, bool] | None:
    """Ids of a span as every known encoder writes it: trace id, span id, then perhaps a state and a parent."""
    if body[:2] != b"\x0a\x10" or body[18:20] != b"\x12\x08":
        return None
    trace_id, span_id = body[2:18], body[20:28]
    if len(span_id) != 8 or trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    at = 28
    if body[at : at + 1] == b"\x1a":
        return None
    if body[at : at + 2] == b"\x22\x08":
        parent = body[at + 2 : at + 10]
        if parent == _NO_SPAN:
            return None
        # Flags stand last, as a fixed 32-bit field behind a two-byte tag, where they are written at all.
        if body[-6:-4] == b"\x85\x01" and body[-3] & 0x03 == 0x03:
            return None
        return trace_id, span_id, False
    if body[at : at + 1] == b"\x2a":
        return trace_id, span_id, True
    return None


def _check_ids(trace_id: bytes, span_id: bytes) -> None:
    if len(trace_id) != 16 or trace_id == _NO_TRACE:
        raise MalformedTelemetry("a trace id is not 16 bytes, or all zero")
    if len(span_id) != 8 or span_id == _NO_SPAN:
        raise MalformedTelemetry("a span id is not 8 bytes, or all zero")


class RecordSlice:
    """A log record; `trace_id` is None where it belongs to no trace."""

    __slots__ = ("_context", "_wire", "size", "trace_id")

    span_id = None
    local_root = False

    def __init__(self, body: bytes, context: Context) -> None:
        self._context = context
        self.size = len(body)
        try:
            self._wire = WireRecord.FromString(body)
        except DecodeError:
            raise MalformedTelemetry("a log record is no valid protobuf message") from None
        trace_id = self._wire.trace_id
        self.trace_id = trace_id if len(trace_id) == 16 and trace_id != _NO_TRACE else None

    def load(self) -> LogRecord:
        wire, context = self._wire, self._context
        span_id = wire.span_id
        return LogRecord(
            wire.time_unix_nano or wire.observed_time_unix_nano,
            wire.event_name,
            _value(wire.body),
            _attributes(wire.attributes),
            self.trace_id,
            span_id if len(span_id) == 8 and span_id != _NO_SPAN and self.trace_id else None,
            wire.severity_number,
            context.scope,
            context.resource,
            wire.dropped_attributes_count,
        )
