"""Encoders for tests: spans and records into OTLP, and protobuf's own messages back into spans.

Written against opentelemetry-proto's generated classes and the specification's JSON, and independent of the
code under test.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as WireRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink


def any_value(value: Any) -> AnyValue:
    out = AnyValue()
    if value is None:
        return out
    if isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, str):
        out.string_value = value
    elif isinstance(value, int):
        out.int_value = value
    elif isinstance(value, float):
        out.double_value = value
    elif isinstance(value, bytes):
        out.bytes_value = value
    elif isinstance(value, list):
        out.array_value.SetInParent()
        out.array_value.values.extend(any_value(v) for v in value)  # pyright: ignore[reportUnknownVariableType] # any JSON
    else:
        out.kvlist_value.SetInParent()
        out.kvlist_value.values.extend(key_values(value))
    return out


def key_values(attributes: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=k, value=any_value(v)) for k, v in attributes.items()]


def wire_span(span: Span) -> WireSpan:
    out = WireSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id or b"",
        name=span.name,
        start_time_unix_nano=span.start,
        end_time_unix_nano=span.end,
        kind=span.kind,  # pyright: ignore[reportArgumentType] # an enum is open
        attributes=key_values(span.attributes),
        dropped_attributes_count=span.dropped_attributes,
        dropped_events_count=span.dropped_events,
        dropped_links_count=span.dropped_links,
        flags=span.flags,
    )
    if span.status or span.status_message:
        out.status.code = span.status  # pyright: ignore[reportAttributeAccessIssue] # as above
        out.status.message = span.status_message
    for event in span.events:
        out.events.add(
            time_unix_nano=event.time,
            name=event.name,
            attributes=key_values(event.attributes),
            dropped_attributes_count=event.dropped_attributes,
        )
    for link in span.links:
        out.links.add(trace_id=link.trace_id, span_id=link.span_id, attributes=key_values(link.attributes))
    return out


def traces_request(spans: Sequence[Span]) -> ExportTraceServiceRequest:
    """One group for each run of spans with the same resource and scope."""
    request = ExportTraceServiceRequest()
    last: tuple[Resource, Scope] | None = None
    for span in spans:
        if last is None or last[0] is not span.resource or last[1] is not span.scope:
            last = span.resource, span.scope
            group = request.resource_spans.add()
            group.resource.attributes.extend(key_values(span.resource.attributes))
            scope = group.scope_spans.add().scope
            scope.name, scope.version = span.scope.name, span.scope.version
            scope.attributes.extend(key_values(span.scope.attributes))
        request.resource_spans[-1].scope_spans[0].spans.append(wire_span(span))
    return request


def logs_request(records: Sequence[LogRecord]) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    for record in records:
        group = request.resource_logs.add()
        group.resource.attributes.extend(key_values(record.resource.attributes))
        inner = group.scope_logs.add()
        inner.scope.name, inner.scope.version = record.scope.name, record.scope.version
        inner.scope.attributes.extend(key_values(record.scope.attributes))
        inner.log_records.append(wire_record(record))
    return request


def wire_record(record: LogRecord) -> WireRecord:
    out = WireRecord(
        time_unix_nano=record.time,
        severity_number=record.severity,  # pyright: ignore[reportArgumentType] # an enum is open
        attributes=key_values(record.attributes),
        dropped_attributes_count=record.dropped_attributes,
        trace_id=record.trace_id or b"",
        span_id=record.span_id or b"",
        event_name=record.event_name,
    )
    if record.body is not None:
        out.body.CopyFrom(any_value(record.body))
    return out


# --- protobuf's own messages back ---------------------------------------------------------------------------


def plain_value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain_value(v) for v in value.array_value.values]
    if kind == "kvlist_value":
        return plain_attributes(value.kvlist_value.values)
    return None if kind is None else getattr(value, kind)


def plain_attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: plain_value(pair.value) for pair in pairs}


def plain_span(span: WireSpan, scope: Scope, resource: Resource) -> Span:
    return Span(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_span_id or None,
        name=span.name,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        kind=span.kind,
        status=span.status.code,
        status_message=span.status.message,
        attributes=plain_attributes(span.attributes),
        events=tuple(
            SpanEvent(e.time_unix_nano, e.name, plain_attributes(e.attributes), e.dropped_attributes_count)
            for e in span.events
        ),
        links=tuple(SpanLink(x.trace_id, x.span_id, plain_attributes(x.attributes)) for x in span.links),
        scope=scope,
        resource=resource,
        dropped_attributes=span.dropped_attributes_count,
        dropped_events=span.dropped_events_count,
        dropped_links=span.dropped_links_count,
        flags=span.flags,
    )


def plain_spans(request: ExportTraceServiceRequest) -> list[Span]:
    return [
        plain_span(
            span,
            Scope(inner.scope.name, inner.scope.version, plain_attributes(inner.scope.attributes)),
            Resource(plain_attributes(group.resource.attributes)),
        )
        for group in request.resource_spans
        for inner in group.scope_spans
        for span in inner.spans
    ]


# --- JSON ---------------------------------------------------------------------------------------------------


def json_value(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        if math.isfinite(value):
            return {"doubleValue": value}
        return {"doubleValue": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return {"arrayValue": {"values": [json_value(v) for v in value]}}  # pyright: ignore[reportUnknownVariableType] # any JSON
    return {"kvlistValue": {"values": json_attributes(value)}}


def json_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": k, "value": json_value(v)} for k, v in attributes.items()]


def json_span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_id.hex() if span.parent_id else "",
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": json_attributes(span.attributes),
        "droppedAttributesCount": span.dropped_attributes,
        "events": [
            {
                "timeUnixNano": str(e.time),
                "name": e.name,
                "attributes": json_attributes(e.attributes),
                "droppedAttributesCount": e.dropped_attributes,
            }
            for e in span.events
        ],
        "droppedEventsCount": span.dropped_events,
        "links": [
            {
                "traceId": x.trace_id.hex(),
                "spanId": x.span_id.hex(),
                "attributes": json_attributes(x.attributes),
            }
            for x in span.links
        ],
        "droppedLinksCount": span.dropped_links,
        "status": {"code": span.status, "message": span.status_message},
        "flags": span.flags,
    }


def json_traces(spans: Sequence[Span | dict[str, Any]]) -> bytes:
    """Each span under a resource and scope of its own; a dict stands for a span without either."""
    groups: list[dict[str, Any]] = []
    for span in spans:
        if isinstance(span, dict):
            groups.append({"scopeSpans": [{"spans": [span]}]})
            continue
        groups.append(
            {
                "resource": {"attributes": json_attributes(span.resource.attributes)},
                "scopeSpans": [{"scope": _scope(span.scope), "spans": [json_span(span)]}],
            }
        )
    return orjson.dumps({"resourceSpans": groups})


def json_logs(records: Sequence[LogRecord]) -> bytes:
    return orjson.dumps(
        {
            "resourceLogs": [
                {
                    "resource": {"attributes": json_attributes(record.resource.attributes)},
                    "scopeLogs": [{"scope": _scope(record.scope), "logRecords": [json_record(record)]}],
                }
                for record in records
            ]
        }
    )


def json_record(record: LogRecord) -> dict[str, Any]:
    return {
        "timeUnixNano": str(record.time),
        "severityNumber": record.severity,
        "body": json_value(record.body),
        "attributes": json_attributes(record.attributes),
        "droppedAttributesCount": record.dropped_attributes,
        "traceId": record.trace_id.hex() if record.trace_id else "",
        "spanId": record.span_id.hex() if record.span_id else "",
        "eventName": record.event_name,
    }


def _scope(scope: Scope) -> dict[str, Any]:
    return {"name": scope.name, "version": scope.version, "attributes": json_attributes(scope.attributes)}
