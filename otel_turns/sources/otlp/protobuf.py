"""Spans and log records as slices of protobuf bytes.

Comes in: slices that the wire walk cut, and the encoded resource and scope above them. Goes out: items, and
by `load` or `read_span`, `read_record` the parsed span or record. A slice is checked in full when its item is
made, so that a bad span is told to its sender and `load` does not fail later. Holding the slice, not the
parsed span, gives an exact budget in bytes and half the memory.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as WireRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink
from otel_turns.sources.otlp.draft import make_span
from otel_turns.sources.otlp.raw import (
    parse_event,
    parse_link,
    parse_record,
    parse_resource,
    parse_scope,
    parse_span,
)
from otel_turns.sources.otlp.values import any_value, attributes, broken
from otel_turns.sources.otlp.wire import WireLimits

__all__ = ["Context", "RecordSlice", "SpanSlice", "context_of", "mentions", "read_record", "read_span"]

_NO_TRACE, _NO_SPAN = bytes(16), bytes(8)
_REMOTE: Final = 0x300
"""Flags bits 8 and 9: it is known whether the parent is remote, and it is."""

_OVERHEAD: Final = 320
"""Bytes that an item costs beside its slice: the object, its ids, the bytes object."""

_LARGE: Final = 1 << 18
"""Bytes of a span from which protobuf's own parser, which may spend 90 times as many, does not check it."""

_EVENT_LEVEL, _BODY_LEVEL = 3, 1
"""How deep in messages the values of an event or link, and the body of a record, lie."""


class Context:
    """Resource and scope of a group of slices, parsed once and shared by its spans."""

    __slots__ = ("resource", "scope")

    def __init__(self, resource: Resource, scope: Scope) -> None:
        self.resource = resource
        self.scope = scope


def context_of(resource: bytes, scope: bytes) -> Context:
    """Parses what a group shares. Raises `MalformedTelemetry`."""
    try:
        return Context(_resource(resource), _scope(scope))
    except DecodeError as error:
        raise broken(error, "a resource or scope") from None


class SpanSlice:
    """A span that is not parsed yet. `data` is the encoded `Span`, as it came."""

    __slots__ = ("context", "data", "local_root", "size", "span_id", "trace_id")

    def __init__(self, data: bytes, context: Context, limits: WireLimits) -> None:
        """Raises `MalformedTelemetry` where the span is bad in any way."""
        if len(data) > _LARGE:
            span = read_span(data, context, limits)
            trace_id, span_id, parent, flags = span.trace_id, span.span_id, span.parent_id, span.flags
        else:
            try:
                wire = WireSpan.FromString(data)
            except DecodeError as error:
                raise broken(error, "a span") from None
            trace_id, span_id, parent, flags = (
                wire.trace_id,
                wire.span_id,
                wire.parent_span_id,
                wire.flags,
            )
            if len(data) > 2 * limits.attributes:
                _count(len(wire.attributes) + len(wire.events) + len(wire.links), limits, "span")
            _check_ids(trace_id, span_id, parent)
        self.data = data
        self.context = context
        self.trace_id = trace_id
        self.span_id = span_id
        self.local_root = not parent or parent == _NO_SPAN or flags & _REMOTE == _REMOTE
        self.size = len(data) + _OVERHEAD

    def load(self) -> Span:
        """Parses the span; each call makes a new one."""
        return read_span(self.data, self.context, _UNLIMITED)


class RecordSlice:
    """A log record that is not parsed yet; `trace_id` is None where it belongs to no trace."""

    __slots__ = ("context", "data", "local_root", "size", "span_id", "trace_id")

    def __init__(self, data: bytes, context: Context, limits: WireLimits) -> None:
        """Raises `MalformedTelemetry` where the record is bad in any way."""
        if len(data) > _LARGE:
            trace_id = read_record(data, context, limits).trace_id
        else:
            try:
                wire = WireRecord.FromString(data)
            except DecodeError as error:
                raise broken(error, "a log record") from None
            _count(len(wire.attributes), limits, "log record")
            trace_id, _ = _record_ids(wire.trace_id, wire.span_id)
        self.data = data
        self.context = context
        self.trace_id = trace_id
        self.span_id: bytes | None = None
        self.local_root = False
        self.size = len(data) + _OVERHEAD

    def load(self) -> LogRecord:
        """Parses the record; each call makes a new one."""
        return read_record(self.data, self.context, _UNLIMITED)


def mentions(data: bytes, needles: tuple[bytes, ...]) -> bool:
    """Whether an encoded span holds one of `needles` (UTF-8 of attribute keys or their beginnings) anywhere.

    Quick, and a hint only: True may be chance, but False means that no such key is in the span.
    """
    return any(map(data.__contains__, needles))


def read_span(data: bytes, context: Context, limits: WireLimits) -> Span:
    """The `Span` that encoded bytes stand for. Raises `MalformedTelemetry`."""
    try:
        raw = parse_span(data)
        status = raw.status
        pairs, events, links = raw.attributes, raw.events, raw.links
        if len(data) > 2 * limits.attributes:
            _count(len(pairs) + len(events) + len(links), limits, "span")
        trace_id, span_id, parent = raw.trace_id, raw.span_id, raw.parent_span_id
        _check_ids(trace_id, span_id, parent)
        return make_span(
            trace_id,
            span_id,
            parent if parent and parent != _NO_SPAN else None,
            raw.name,
            raw.start,
            raw.end,
            raw.kind,
            status.code,
            status.message,
            attributes(pairs[:]),
            tuple([_event(event, limits) for event in events]) if events else (),
            tuple([_link(link, limits) for link in links]) if links else (),
            context.scope,
            context.resource,
            raw.dropped_attributes,
            raw.dropped_events,
            raw.dropped_links,
            raw.flags,
        )
    except DecodeError as error:
        raise broken(error, "a span") from None


def read_record(data: bytes, context: Context, limits: WireLimits) -> LogRecord:
    """The `LogRecord` that encoded bytes stand for. Raises `MalformedTelemetry`.

    Its time is the event's own, or the observed one where that is missing.
    """
    try:
        raw = parse_record(data)
    except DecodeError as error:
        raise broken(error, "a log record") from None
    pairs = raw.attributes
    _count(len(pairs), limits, "log record")
    trace_id, span_id = _record_ids(raw.trace_id, raw.span_id)
    return LogRecord(
        raw.time or raw.observed,
        raw.event_name,
        any_value(b"".join(raw.body), _BODY_LEVEL),
        attributes(pairs[:]),
        trace_id,
        span_id,
        raw.severity,
        context.scope,
        context.resource,
        raw.dropped_attributes,
    )


_UNLIMITED: Final = WireLimits(*(1 << 62,) * 4)
"""What was checked once needs no second check."""


def _check_ids(trace_id: bytes, span_id: bytes, parent: bytes) -> None:
    if len(trace_id) != 16 or trace_id == _NO_TRACE:
        raise _bad_id("trace id", trace_id, 16)
    if len(span_id) != 8 or span_id == _NO_SPAN:
        raise _bad_id("span id", span_id, 8)
    if parent and len(parent) != 8:
        raise _bad_id("parent span id", parent, 8)


def _bad_id(what: str, given: bytes, right: int) -> MalformedTelemetry:
    if not given:
        return MalformedTelemetry(f"a span has no {what}")
    if len(given) == right:
        return MalformedTelemetry(f"a {what} is all zero")
    return MalformedTelemetry(f"a {what} has {len(given)} bytes; {right} are right")


def _record_ids(trace_id: bytes, span_id: bytes) -> tuple[bytes | None, bytes | None]:
    """Ids of a record; None for both where it belongs to no trace."""
    if (trace_id and len(trace_id) != 16) or (span_id and len(span_id) != 8):
        raise MalformedTelemetry("an id of a log record has a wrong length; 16 and 8 bytes are right")
    if trace_id in (b"", _NO_TRACE):
        return None, None
    return trace_id, None if span_id in (b"", _NO_SPAN) else span_id


def _count(parts: int, limits: WireLimits, what: str) -> None:
    if parts > limits.attributes:
        raise MalformedTelemetry(f"a {what} has more than {limits.attributes} attributes, events and links")


def _event(data: bytes, limits: WireLimits) -> SpanEvent:
    raw = parse_event(data)
    pairs = raw.attributes
    _count(len(pairs), limits, "span")
    return SpanEvent(raw.time, raw.name, attributes(pairs[:], _EVENT_LEVEL), raw.dropped_attributes)


def _link(data: bytes, limits: WireLimits) -> SpanLink:
    raw = parse_link(data)
    pairs = raw.attributes
    _count(len(pairs), limits, "span")
    return SpanLink(raw.trace_id, raw.span_id, attributes(pairs[:], _EVENT_LEVEL))


def _resource(data: bytes) -> Resource:
    return Resource(attributes(parse_resource(data).attributes[:]))


def _scope(data: bytes) -> Scope:
    raw = parse_scope(data)
    return Scope(raw.name, raw.version, attributes(raw.attributes[:]))
