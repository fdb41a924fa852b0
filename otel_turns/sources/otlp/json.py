"""OTLP/JSON, parsed by orjson and mapped straight to spans and log records.

Comes in: the bytes of one request, or what orjson made of them. Goes out: items, and a reason for each span
or record that was rejected. It gives equal spans to those of the same request in protobuf, and never quotes
a value in a message.

Read are lower camel case as the specification has it, and snake case as some exporters write it; ids as hex
in either case, or as base64 as protobuf's own JSON has it, which their lengths tell apart for certain; 64-bit
numbers as text or number; enums as number or name; NaN and the infinities as text; bytes as base64. Unknown
fields are passed over, and null is the same as nothing. Nesting is limited as it is in protobuf.

Source: OTLP specification, "JSON Protobuf Encoding" (https://opentelemetry.io/docs/specs/otlp/), and the JSON
mapping of protobuf 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.item import Item, LoadedItem
from otel_turns.model.json_text import JSONDecodeError, loads
from otel_turns.model.span import LogRecord, Resource, Scope, SpanEvent, SpanLink
from otel_turns.sources.otlp.draft import make_span
from otel_turns.sources.otlp.json_values import (
    Table,
    attributes_of,
    bytes_of,
    cost_of,
    enum_of,
    id_of,
    list_of,
    number_of,
    table_of,
    text_of,
    value_of,
)
from otel_turns.sources.otlp.wire import DEFAULT_LIMITS, WireLimits

__all__ = ["parse", "read_logs", "read_spans"]

_KINDS: Final = {
    "SPAN_KIND_UNSPECIFIED": 0,
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
}
_CODES: Final = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_SEVERITIES: Final = {
    f"SEVERITY_NUMBER_{name}{step or ''}": first + max(step - 1, 0)
    for first, name in ((1, "TRACE"), (5, "DEBUG"), (9, "INFO"), (13, "WARN"), (17, "ERROR"), (21, "FATAL"))
    for step in (0, 2, 3, 4)
} | {"SEVERITY_NUMBER_UNSPECIFIED": 0}
_NO_TRACE, _NO_SPAN = bytes(16), bytes(8)
_SIGNALS: Final = ("resourceSpans", "resourceLogs", "resourceMetrics", "resourceProfiles")

_COST: Final = 400
"""Bytes that a span, an event or a record costs beside its attributes and body."""

_Make = Callable[[Any, Scope, Resource, WireLimits], Item]


def read_spans(body: bytes | Table, limits: WireLimits = DEFAULT_LIMITS) -> tuple[list[Item], list[str]]:
    """Spans of an `ExportTraceServiceRequest`, and why others were rejected."""
    return _read(body, "resourceSpans", "scopeSpans", "spans", _span, limits)


def read_logs(body: bytes | Table, limits: WireLimits = DEFAULT_LIMITS) -> tuple[list[Item], list[str]]:
    """Log records of an `ExportLogsServiceRequest`, and why others were rejected."""
    return _read(body, "resourceLogs", "scopeLogs", "logRecords", _record, limits)


def parse(body: bytes) -> Any:
    """JSON, parsed. Raises `MalformedTelemetry` for what is none, and for nesting past 1,000 levels."""
    if not body.strip():
        return {}
    try:
        return loads(body)
    except JSONDecodeError as error:
        # The parser's message quotes nothing but the place.
        raise MalformedTelemetry(f"this is no JSON: {error.msg} at byte {error.pos}") from None


def _read(
    body: bytes | Table, groups_name: str, scopes_name: str, items_name: str, make: _Make, limits: WireLimits
) -> tuple[list[Item], list[str]]:
    parsed: Any = parse(body) if isinstance(body, bytes) else body
    request = table_of(parsed, "the request")
    if request and groups_name not in request:
        raise _other_signal(request, groups_name)
    items: list[Item] = []
    rejected: list[str] = []
    groups_left, items_left = limits.groups, limits.items
    for one in list_of(request.get(groups_name), groups_name):
        group = table_of(one, f"an entry of {groups_name}")
        scopes = list_of(group.get(scopes_name), scopes_name)
        groups_left -= 1 + len(scopes)
        if groups_left < 0:
            raise MalformedTelemetry(f"the request has more than {limits.groups} resources and scopes")
        shared: Resource | None = None
        for other in scopes:
            inner = table_of(other, f"an entry of {scopes_name}")
            given = list_of(inner.get(items_name), items_name)
            items_left -= len(given)
            if items_left < 0:
                raise MalformedTelemetry(f"the request has more than {limits.items} spans or log records")
            try:
                shared = shared or _resource(group.get("resource"))
                scope = _scope(inner.get("scope"))
            except MalformedTelemetry as error:
                rejected.extend([str(error)] * len(given))
                continue
            for item in given:
                try:
                    items.append(make(item, scope, shared, limits))
                except MalformedTelemetry as error:
                    rejected.append(str(error))
    return items, rejected


def _other_signal(request: Table, wanted: str) -> MalformedTelemetry:
    for name in _SIGNALS:
        if name in request:
            return MalformedTelemetry(f"the request holds {name}; {wanted} belong here")
    return MalformedTelemetry(f"this is no OTLP request: it has no {wanted}")


def _resource(given: Any) -> Resource:
    return Resource(attributes_of(table_of(given, "a resource").get("attributes")))


def _scope(given: Any) -> Scope:
    table = table_of(given, "a scope")
    return Scope(
        text_of(table.get("name"), "the name of a scope"),
        text_of(table.get("version"), "the version of a scope"),
        attributes_of(table.get("attributes")),
    )


def _span(given: Any, scope: Scope, resource: Resource, limits: WireLimits) -> LoadedItem:
    get = table_of(given, "a span").get
    pairs = list_of(get("attributes"), "attributes")
    given_events, given_links = list_of(get("events"), "events"), list_of(get("links"), "links")
    _count(len(pairs) + len(given_events) + len(given_links), limits, "span")
    parent = bytes_of(get("parentSpanId"), "a parent span id")
    if parent and len(parent) != 8:
        raise MalformedTelemetry(f"a parent span id has {len(parent)} bytes; 8 are right")
    status = table_of(get("status"), "a status")
    attributes = attributes_of(pairs)
    events = tuple([_event(event, limits) for event in given_events])
    span = make_span(
        id_of(get("traceId"), "a trace id", 16),
        id_of(get("spanId"), "a span id", 8),
        parent if parent and parent != _NO_SPAN else None,
        text_of(get("name"), "the name of a span"),
        number_of(get("startTimeUnixNano"), "a start time"),
        number_of(get("endTimeUnixNano"), "an end time"),
        enum_of(get("kind"), _KINDS, "a span kind"),
        enum_of(status.get("code"), _CODES, "a status code"),
        text_of(status.get("message"), "a status message"),
        attributes,
        events,
        tuple([_link(link, limits) for link in given_links]),
        scope,
        resource,
        number_of(get("droppedAttributesCount"), "a dropped count", 32),
        number_of(get("droppedEventsCount"), "a dropped count", 32),
        number_of(get("droppedLinksCount"), "a dropped count", 32),
        number_of(get("flags"), "flags", 32),
    )
    cost = _COST + cost_of(attributes)
    for event in events:
        cost += _COST + cost_of(event.attributes)
    return LoadedItem(span, cost)


def _event(given: Any, limits: WireLimits) -> SpanEvent:
    get = table_of(given, "an event").get
    pairs = list_of(get("attributes"), "attributes")
    _count(len(pairs), limits, "span")
    return SpanEvent(
        number_of(get("timeUnixNano"), "the time of an event"),
        text_of(get("name"), "the name of an event"),
        attributes_of(pairs, 3),
        number_of(get("droppedAttributesCount"), "a dropped count", 32),
    )


def _link(given: Any, limits: WireLimits) -> SpanLink:
    get = table_of(given, "a link").get
    pairs = list_of(get("attributes"), "attributes")
    _count(len(pairs), limits, "span")
    return SpanLink(
        bytes_of(get("traceId"), "the trace id of a link"),
        bytes_of(get("spanId"), "the span id of a link"),
        attributes_of(pairs, 3),
    )


def _record(given: Any, scope: Scope, resource: Resource, limits: WireLimits) -> LoadedItem:
    get = table_of(given, "a log record").get
    pairs = list_of(get("attributes"), "attributes")
    _count(len(pairs), limits, "log record")
    trace_id, span_id = bytes_of(get("traceId"), "a trace id"), bytes_of(get("spanId"), "a span id")
    if (trace_id and len(trace_id) != 16) or (span_id and len(span_id) != 8):
        raise MalformedTelemetry("an id of a log record has a wrong length; 16 and 8 bytes are right")
    within = trace_id not in (b"", _NO_TRACE)
    attributes, body = attributes_of(pairs), value_of(get("body"), 1)
    time = number_of(get("timeUnixNano"), "the time of a log record")
    observed = number_of(get("observedTimeUnixNano"), "the observed time of a log record")
    record = LogRecord(
        time or observed,
        text_of(get("eventName"), "the event name of a log record"),
        body,
        attributes,
        trace_id if within else None,
        span_id if within and span_id not in (b"", _NO_SPAN) else None,
        enum_of(get("severityNumber"), _SEVERITIES, "a severity number"),
        scope,
        resource,
        number_of(get("droppedAttributesCount"), "a dropped count", 32),
    )
    return LoadedItem(record, _COST + cost_of(attributes) + cost_of(body))


def _count(parts: int, limits: WireLimits, what: str) -> None:
    if parts > limits.attributes:
        raise MalformedTelemetry(f"a {what} has more than {limits.attributes} attributes, events and links")
