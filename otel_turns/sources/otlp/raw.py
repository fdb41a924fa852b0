"""OTLP messages of which only the outer layer is parsed: what is nested stays bytes.

Comes in: encoded messages. Goes out: the same messages as protobuf's parser (upb) sees them under a schema in
which nested messages are declared as `bytes`, which have the same form on the wire. So the parser in C does
the cutting, checks what it parses, and makes no Python object for each of many small nested messages. Field
numbers are those of opentelemetry-proto 1.x (trace.proto, logs.proto, common.proto, resource.proto). It
interprets nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, cast

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

__all__ = [
    "RawEvent",
    "RawKeyValue",
    "RawLink",
    "RawRecord",
    "RawRequest",
    "RawResource",
    "RawScope",
    "RawSpan",
    "RawStatus",
    "RawValues",
    "parse_event",
    "parse_key_value",
    "parse_link",
    "parse_record",
    "parse_request",
    "parse_resource",
    "parse_scope",
    "parse_span",
    "parse_values",
]

_PACKAGE = "otel_turns.raw"

_TYPES: Final = {
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "string": FieldDescriptorProto.TYPE_STRING,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
    "fixed32": FieldDescriptorProto.TYPE_FIXED32,
    "fixed64": FieldDescriptorProto.TYPE_FIXED64,
}

# Message -> field number -> "type name"; "*" marks repeated ones. A singular message that has to be merged
# when it comes in pieces is declared repeated: its pieces joined are the merged message.
_SCHEMA: Final[Mapping[str, Mapping[int, str]]] = {
    "Request": {1: "Resources* groups"},
    "Resources": {1: "bytes* resource", 2: "Scopes* groups"},
    "Scopes": {1: "bytes* scope", 2: "bytes* items"},
    "Span": {
        1: "bytes trace_id",
        2: "bytes span_id",
        3: "string trace_state",
        4: "bytes parent_span_id",
        5: "string name",
        6: "int32 kind",
        7: "fixed64 start",
        8: "fixed64 end",
        9: "bytes* attributes",
        10: "uint32 dropped_attributes",
        11: "bytes* events",
        12: "uint32 dropped_events",
        13: "bytes* links",
        14: "uint32 dropped_links",
        15: "Status status",
        16: "fixed32 flags",
    },
    "Status": {2: "string message", 3: "int32 code"},
    "Event": {1: "fixed64 time", 2: "string name", 3: "bytes* attributes", 4: "uint32 dropped_attributes"},
    "Link": {
        1: "bytes trace_id",
        2: "bytes span_id",
        3: "string trace_state",
        4: "bytes* attributes",
        5: "uint32 dropped_attributes",
        6: "fixed32 flags",
    },
    "Record": {
        1: "fixed64 time",
        2: "int32 severity",
        3: "string severity_text",
        5: "bytes* body",
        6: "bytes* attributes",
        7: "uint32 dropped_attributes",
        8: "fixed32 flags",
        9: "bytes trace_id",
        10: "bytes span_id",
        11: "fixed64 observed",
        12: "string event_name",
    },
    "Resource": {1: "bytes* attributes", 2: "uint32 dropped_attributes"},
    "Scope": {
        1: "string name",
        2: "string version",
        3: "bytes* attributes",
        4: "uint32 dropped_attributes",
    },
    "KeyValue": {1: "string key", 2: "bytes* value"},
    # ArrayValue and KeyValueList have one form: a repeated message in field 1.
    "Values": {1: "bytes* values"},
}


class _Scopes(Protocol):
    scope: Sequence[bytes]
    items: Sequence[bytes]


class _Resources(Protocol):
    resource: Sequence[bytes]
    groups: Sequence[_Scopes]


class RawRequest(Protocol):
    """ExportTraceServiceRequest or ExportLogsServiceRequest; `items` are encoded spans or records."""

    groups: Sequence[_Resources]


class RawStatus(Protocol):
    """Status."""

    code: int
    message: str


class RawSpan(Protocol):
    """Span; attributes are encoded KeyValues, events and links encoded messages."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    name: str
    kind: int
    start: int
    end: int
    attributes: Sequence[bytes]
    dropped_attributes: int
    events: Sequence[bytes]
    dropped_events: int
    links: Sequence[bytes]
    dropped_links: int
    status: RawStatus
    flags: int


class RawEvent(Protocol):
    """Span.Event."""

    time: int
    name: str
    attributes: Sequence[bytes]
    dropped_attributes: int


class RawLink(Protocol):
    """Span.Link."""

    trace_id: bytes
    span_id: bytes
    attributes: Sequence[bytes]


class RawRecord(Protocol):
    """LogRecord; `body` holds the pieces of an encoded AnyValue, none where there is no body."""

    time: int
    severity: int
    body: Sequence[bytes]
    attributes: Sequence[bytes]
    dropped_attributes: int
    trace_id: bytes
    span_id: bytes
    observed: int
    event_name: str


class RawResource(Protocol):
    """Resource."""

    attributes: Sequence[bytes]


class RawScope(Protocol):
    """InstrumentationScope."""

    name: str
    version: str
    attributes: Sequence[bytes]


class RawKeyValue(Protocol):
    """KeyValue; `value` holds the pieces of an encoded AnyValue."""

    key: str
    value: Sequence[bytes]


class RawValues(Protocol):
    """ArrayValue (encoded AnyValues) or KeyValueList (encoded KeyValues)."""

    values: Sequence[bytes]


def _file() -> FileDescriptorProto:
    file = FileDescriptorProto(name="otel_turns/raw.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _SCHEMA.items():
        declared = file.message_type.add(name=message)
        for number, field in fields.items():
            kind, name = field.split()
            added = declared.field.add(name=name, number=number)
            label = FieldDescriptorProto.LABEL_OPTIONAL
            if kind.endswith("*"):
                label = FieldDescriptorProto.LABEL_REPEATED
            added.label = label
            kind = kind.rstrip("*")
            if kind in _TYPES:
                added.type = _TYPES[kind]
            else:
                added.type = FieldDescriptorProto.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
    return file


# A pool of its own: the names cannot meet those of a generated module.
_pool: Any = DescriptorPool()
_pool.AddSerializedFile(_file().SerializeToString())


def _parser(message: str) -> Any:
    return GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{message}")).FromString


# Each raises google.protobuf.message.DecodeError.
parse_request = cast("Callable[[bytes], RawRequest]", _parser("Request"))
parse_span = cast("Callable[[bytes], RawSpan]", _parser("Span"))
parse_event = cast("Callable[[bytes], RawEvent]", _parser("Event"))
parse_link = cast("Callable[[bytes], RawLink]", _parser("Link"))
parse_record = cast("Callable[[bytes], RawRecord]", _parser("Record"))
parse_resource = cast("Callable[[bytes], RawResource]", _parser("Resource"))
parse_scope = cast("Callable[[bytes], RawScope]", _parser("Scope"))
parse_key_value = cast("Callable[[bytes], RawKeyValue]", _parser("KeyValue"))
parse_values = cast("Callable[[bytes], RawValues]", _parser("Values"))
