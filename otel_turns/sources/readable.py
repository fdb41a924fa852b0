"""Reads the SDK's finished spans straight into `Span`, never through an encoder.

Comes in: `opentelemetry.sdk.trace.ReadableSpan` after its end. Goes out: a `LoadedItem` with the `Span`
that OTLP gives for the same telemetry (opentelemetry-proto, trace/v1/trace.proto) and what it costs to
hold. It shares nothing that can change with the agent: containers are copied, only texts and numbers are
shared. What OTLP cannot say (an integer past 64 bits, an object, nesting past `MAX_DEPTH`) leaves its
attribute out, as the SDK's own encoder does. Lone surrogates become U+FFFD, so that one bad character does
not cost a whole message. Never raises for odd values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, cast

from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.item import LoadedItem
from otel_turns.model.span import Resource, Scope, Span, SpanEvent, SpanLink

__all__ = ["MAX_DEPTH", "SpanReader"]

MAX_DEPTH: Final = 48
"""How deep lists and maps of one attribute may be nested: what protobuf's limit of 100 messages leaves."""

_INT_MIN, _INT_MAX, _TIME_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_IS_REMOTE_KNOWN, _IS_REMOTE = 0x100, 0x200

# What the objects of a span cost in memory beyond its texts, in bytes.
_SPAN_COST, _EVENT_COST, _LINK_COST, _VALUE_COST = 640, 360, 360, 64

_CACHED: Final = 256


class _Unfit(Enum):
    """The type of `_UNFIT`: a value that OTLP cannot say."""

    UNFIT = 0


_UNFIT: Final = _Unfit.UNFIT


class SpanReader:
    """Reads spans one by one; remembers the resources and scopes they share. For one thread at a time."""

    __slots__ = ("_resources", "_scopes")

    def __init__(self) -> None:
        # By identity, since the SDK's own hash of a resource serialises it. The value keeps its object alive.
        self._resources: dict[int, tuple[object, Resource]] = {}
        self._scopes: dict[int, tuple[object, Scope]] = {}

    def read(self, span: ReadableSpan) -> LoadedItem:
        """The span as an item. Raises `MalformedTelemetry` where it has no ids and nothing could join it."""
        context = span.context
        if context is None:
            raise MalformedTelemetry("a span without ids")
        attributes, size = _attributes(span.attributes)
        size += _SPAN_COST
        events: tuple[SpanEvent, ...] = ()
        sdk_events = span.events
        if sdk_events:
            read_events: list[SpanEvent] = []
            for event in sdk_events:
                values, cost = _attributes(event.attributes)
                size += cost + _EVENT_COST
                time = _time(event.timestamp)
                read_events.append(SpanEvent(time, _text(event.name), values, event.dropped_attributes))
            events = tuple(read_events)
        links: tuple[SpanLink, ...] = ()
        sdk_links = span.links
        if sdk_links:
            read_links: list[SpanLink] = []
            for link in sdk_links:
                values, cost = _attributes(link.attributes)
                size += cost + _LINK_COST
                trace_id, span_id = link.context.trace_id, link.context.span_id
                read_links.append(SpanLink(trace_id.to_bytes(16, "big"), span_id.to_bytes(8, "big"), values))
            links = tuple(read_links)
        parent, status = span.parent, span.status
        parent_id = parent.span_id.to_bytes(8, "big") if parent is not None and parent.span_id else None
        return LoadedItem(
            Span(
                trace_id=context.trace_id.to_bytes(16, "big"),
                span_id=context.span_id.to_bytes(8, "big"),
                parent_id=parent_id,
                name=_text(span.name),
                start=_time(span.start_time),
                end=_time(span.end_time),
                kind=span.kind.value + 1,
                status=status.status_code.value,
                status_message=_text(status.description),
                attributes=attributes,
                events=events,
                links=links,
                scope=self._scope(span.instrumentation_scope),
                resource=self._resource(span.resource),
                dropped_attributes=span.dropped_attributes,
                dropped_events=span.dropped_events,
                dropped_links=span.dropped_links,
                flags=_IS_REMOTE_KNOWN | (_IS_REMOTE if parent is not None and parent.is_remote else 0),
            ),
            size,
        )

    def _resource(self, resource: SdkResource) -> Resource:
        cached = self._resources.get(id(resource))
        if cached is None:
            if len(self._resources) >= _CACHED:
                self._resources.clear()
            cached = resource, Resource(_attributes(resource.attributes)[0])
            self._resources[id(resource)] = cached
        return cached[1]

    def _scope(self, scope: InstrumentationScope | None) -> Scope:
        cached = self._scopes.get(id(scope))
        if cached is None:
            if len(self._scopes) >= _CACHED:
                self._scopes.clear()
            if scope is None:
                cached = None, Scope()
            else:
                # Scopes had no attributes before SDK 1.29.
                attributes = _attributes(getattr(scope, "attributes", None))[0]
                cached = scope, Scope(_text(scope.name), _text(scope.version), attributes)
            self._scopes[id(scope)] = cached
        return cached[1]


def _attributes(source: Mapping[str, Any] | None) -> tuple[dict[str, Any], int]:
    """A plain copy of `source`, and what its values cost in bytes."""
    if not source:
        return {}, 0
    # `copy` of the SDK's mappings is one call in C; iterating them is several calls of Python a key.
    copy = cast("Callable[[], Mapping[str, Any]] | None", getattr(source, "copy", None))
    values = dict(copy() if copy is not None else source)
    size = len(values) * _VALUE_COST
    odd: list[str] = []
    for key, value in values.items():
        kind = value.__class__
        if kind is str and value.isascii():
            size += len(value)
        elif kind not in _PLAIN or (kind is int and not _INT_MIN <= value <= _INT_MAX):
            odd.append(key)
        if not key.isascii():
            odd.append(key)
    for key in odd:
        if key not in values:
            continue  # odd in key and value
        value, cost = _value(values[key], 0)
        size += cost
        if value is _UNFIT or not key.isascii():
            del values[key]
        if value is not _UNFIT:
            values[_text(key)] = value
    return values, size


_PLAIN: Final = frozenset({int, bool, float, type(None)})


def _value(value: Any, depth: int) -> tuple[Any, int]:
    """`value` in the types that OTLP has, copied, and its cost; `_UNFIT` where OTLP cannot say it."""
    if value is None or isinstance(value, bool):
        return value, 0
    if isinstance(value, str):
        text = _text(value)
        return text, len(text)
    if isinstance(value, int):
        number = int(value)
        return (number, 0) if _INT_MIN <= number <= _INT_MAX else (_UNFIT, 0)
    if isinstance(value, float):
        return float(value), 0
    if isinstance(value, bytes):
        return bytes(value), len(value)
    if depth >= MAX_DEPTH:
        return _UNFIT, 0
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, Any]", value)
        read_map: dict[str, Any] = {}
        size = _VALUE_COST * len(entries)
        for key, inner in entries.items():
            read, cost = _value(inner, depth + 1)
            if read is _UNFIT:
                return _UNFIT, 0
            read_map[_text(str(key))] = read
            size += cost
        return read_map, size
    if isinstance(value, Sequence):
        items = cast("Sequence[Any]", value)
        read_list: list[Any] = []
        size = _VALUE_COST * len(items)
        for inner in items:
            read, cost = _value(inner, depth + 1)
            if read is _UNFIT:
                return _UNFIT, 0
            read_list.append(read)
            size += cost
        return read_list, size
    return _UNFIT, 0


def _text(value: object) -> str:
    """`value` as a plain `str` that UTF-8 can say; "" for what is no text."""
    if type(value) is not str:
        if not isinstance(value, str):
            return ""
        value = str.__str__(
            value
        )  # the text of a subclass (an enum's member), not what its own __str__ shows
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def _time(value: object) -> int:
    """Nanoseconds; 0 where nothing was given or the value is no time."""
    if type(value) is int and 0 <= value <= _TIME_MAX:
        return value
    if isinstance(value, (int, float)) and 0 <= value <= _TIME_MAX:
        return int(value)
    return 0
