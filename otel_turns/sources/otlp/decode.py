"""One request's bytes into items, whatever its encoding and signal.

Comes in: the body of an export request, decompressed. Goes out: `Decoded`: items, and beside them a rejection
for each bad span or record. Raises `MalformedTelemetry` where the request as a whole is no OTLP of that
signal, or past a limit that holds for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.item import Item, LoadedItem
from otel_turns.sources.otlp.json import read_logs, read_spans
from otel_turns.sources.otlp.protobuf import Context, RecordSlice, SpanSlice, context_of, read_span
from otel_turns.sources.otlp.wire import DEFAULT_LIMITS, WireLimits, field_tags, walk

__all__ = ["Decoded", "Encoding", "OtherSignal", "Rejection", "decode_logs", "decode_traces"]

Encoding = Literal["protobuf", "json"]


class OtherSignal(MalformedTelemetry):
    """A protobuf request of another signal than the one announced; `signal` is which."""

    def __init__(self, signal: Literal["traces", "logs", "metrics"]) -> None:
        super().__init__(f"the request holds {signal}, which do not belong on this path")
        self.signal = signal


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one span or log record was not taken. Holds nothing of its content."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one request held: items in the order of the request, and one rejection for each other span."""

    items: Sequence[Item]
    rejections: Sequence[Rejection] = ()


def decode_traces(
    body: bytes, encoding: Encoding, limits: WireLimits = DEFAULT_LIMITS, *, eager: bool = False
) -> Decoded:
    """Spans of an `ExportTraceServiceRequest`. An empty body is an empty request.

    Every span is checked, whether or not it is parsed now. `eager`: spans come parsed, which costs less over
    all but needs about twice the memory while they wait; else a protobuf span stays bytes until `load`.
    JSON always comes parsed.
    """
    if encoding == "json":
        return _told(read_spans(body, limits))
    return _decode(body, limits, _read_span if eager else SpanSlice, _no_spans)


def decode_logs(body: bytes, encoding: Encoding, limits: WireLimits = DEFAULT_LIMITS) -> Decoded:
    """Log records of an `ExportLogsServiceRequest`. An empty body is an empty request."""
    if encoding == "json":
        return _told(read_logs(body, limits))
    return _decode(body, limits, RecordSlice, _no_records)


_Make = Callable[[bytes, Context, WireLimits], Item]
_Refuse = Callable[[bytes], None]


def _decode(body: bytes, limits: WireLimits, make: _Make, refuse: _Refuse) -> Decoded:
    try:
        groups = walk(body, limits)
    except MalformedTelemetry:
        if body[:1] in (b"{", b"["):  # as protobuf, these begin a group that does not end
            raise MalformedTelemetry("this is JSON where protobuf was announced") from None
        raise
    items: list[Item] = []
    rejections: list[Rejection] = []
    add = items.append
    for resource, scope, slices in groups:
        if not items and not rejections:
            refuse(slices[0])
        try:
            context = _contexts.get(resource, scope)
        except MalformedTelemetry as error:
            rejections.extend([Rejection(str(error))] * len(slices))
            continue
        for data in slices:
            try:
                if len(data) > limits.item_bytes:
                    raise MalformedTelemetry(f"a span or record is longer than {limits.item_bytes} bytes")
                add(make(data, context, limits))
            except MalformedTelemetry as error:
                rejections.append(Rejection(str(error)))
    return Decoded(items, rejections)


def _told(read: tuple[list[Item], list[str]]) -> Decoded:
    items, reasons = read
    return Decoded(items, [Rejection(reason) for reason in reasons])


_PARSED_COST: Final = 1_000
"""Bytes that a parsed span costs beside its content: the object, its mapping and the heads of some values."""


def _read_span(data: bytes, context: Context, limits: WireLimits) -> LoadedItem:
    span = read_span(data, context, limits)
    # Python keeps most text in one or two bytes a character.
    return LoadedItem(span, 2 * len(data) + _PARSED_COST)


class _Contexts:
    """Parsed resources and scopes by their bytes: equal ones are shared, also between requests. Bounded."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], Context] = {}
        self._resources: dict[bytes, Context] = {}

    def get(self, resource: bytes, scope: bytes) -> Context:
        key = resource, scope
        known = self._known.get(key)
        if known is not None:
            return known
        made = context_of(resource, scope)
        # Two scopes of one resource share it.
        same = self._resources.get(resource)
        if same is not None:
            made = Context(same.resource, made.scope)
        if len(resource) + len(scope) <= _LONGEST_CONTEXT:
            if len(self._known) >= _MOST_CONTEXTS:
                self._known.clear()
                self._resources.clear()
            self._known[key] = made
            self._resources.setdefault(resource, made)
        return made


_MOST_CONTEXTS: Final = 1_024
_LONGEST_CONTEXT: Final = 16 << 10
_contexts = _Contexts()


# --- the other signal on this path --------------------------------------------------------------------------
#
# The three requests have one shape outside, so a request on the wrong path is known only by what lies inside;
# its first span or record is looked at. A span has ids as fields 1 and 2 (tags 0x0A, 0x12) and fixed 64-bit
# times as 7 and 8 (0x39, 0x41). A log record has fixed 64-bit times as 1 and 11 (0x09, 0x59) and no field 1
# of another type. A metric has a name as field 1 and a message as field 7 or 10, where a span has numbers;
# other metrics look like spans with bad ids, and are rejected as such.

_SPAN_TIMES, _RECORD_TIMES = frozenset({0x39, 0x41}), frozenset({0x09, 0x59})
_METRIC_DATA: Final = frozenset({0x3A, 0x52})


def _no_spans(data: bytes) -> None:
    if data[:2] == b"\x0a\x10":  # as nearly every span begins
        return
    tags = _tags(data)
    if 0x0A not in tags and tags & _RECORD_TIMES:
        raise OtherSignal("logs")
    if tags & _METRIC_DATA and not tags & _SPAN_TIMES:
        raise OtherSignal("metrics")


def _no_records(data: bytes) -> None:
    if data[:1] != b"\x0a":  # no field 1 of a record has this form
        return
    tags = _tags(data)
    if tags & _SPAN_TIMES:
        raise OtherSignal("traces")
    if tags & _METRIC_DATA:
        raise OtherSignal("metrics")


def _tags(data: bytes) -> set[int]:
    try:
        return field_tags(data)
    except MalformedTelemetry:
        return set()
