"""One request's bytes into items, whatever its encoding and signal.

Comes in: the body of an export request, decompressed. Goes out: `Decoded`: items, and a rejection for each
bad span or record beside them. Raises `MalformedTelemetry` where the request as a whole is no OTLP.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.item import Item
from otel_turns.sources.otlp.json import read_logs, read_spans
from otel_turns.sources.otlp.protobuf import Context, RecordSlice, SpanSlice, context_of
from otel_turns.sources.otlp.wire import DEFAULT_LIMITS, WireLimits, field_tags, walk

__all__ = ["Decoded", "Encoding", "Rejection", "decode_logs", "decode_traces"]

Encoding = Literal["protobuf", "json"]

_MOST_CONTEXTS: Final = 1_024
_contexts: OrderedDict[tuple[bytes, bytes], Context] = OrderedDict()

_SPAN_TAGS: Final = frozenset({0x0A, 0x12})
_RECORD_TAGS: Final = frozenset({0x09, 0x59})


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one span or log record was not taken."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one request held."""

    items: Sequence[Item]
    rejections: Sequence[Rejection] = ()


def decode_traces(body: bytes, encoding: Encoding, limits: WireLimits = DEFAULT_LIMITS) -> Decoded:
    """Spans of an `ExportTraceServiceRequest`."""
    if encoding == "json":
        return _told(*read_spans(body, limits))
    return _slices(body, limits, SpanSlice, _is_record, "log records; they belong to the logs path")


def decode_logs(body: bytes, encoding: Encoding, limits: WireLimits = DEFAULT_LIMITS) -> Decoded:
    """Log records of an `ExportLogsServiceRequest`."""
    if encoding == "json":
        return _told(*read_logs(body, limits))
    return _slices(body, limits, RecordSlice, _is_span, "spans; they belong to the traces path")


def _told(items: list[Item], reasons: list[str]) -> Decoded:
    return Decoded(items, [Rejection(reason) for reason in reasons])


def _slices(
    body: bytes,
    limits: WireLimits,
    make: Callable[[bytes, Context], Item],
    is_other: Callable[[bytes], bool],
    other: str,
) -> Decoded:
    items: list[Item] = []
    rejections: list[Rejection] = []
    for group in walk(body, limits):
        context = _context(group.resource, group.scope)
        for piece in group.items:
            try:
                if len(piece) > limits.item_bytes:
                    raise MalformedTelemetry(f"a span or log record is longer than {limits.item_bytes} bytes")
                items.append(make(piece, context))
            except MalformedTelemetry as error:
                if not items and not rejections and is_other(piece):
                    raise MalformedTelemetry(f"the request holds {other}") from None
                rejections.append(Rejection(str(error)))
    return Decoded(items, rejections)


def _context(resource: bytes, scope: bytes) -> Context:
    key = (resource, scope)
    known = _contexts.get(key)
    if known is None:
        known = _contexts[key] = context_of(resource, scope)
        while len(_contexts) > _MOST_CONTEXTS:
            _contexts.popitem(last=False)
    return known


def _is_record(piece: bytes) -> bool:
    """A log record has a fixed 64-bit time as field 1 or 11, where a span has an id."""
    return bool(_tags(piece) & _RECORD_TAGS) and 0x0A not in _tags(piece)


def _is_span(piece: bytes) -> bool:
    return _SPAN_TAGS <= _tags(piece)


def _tags(piece: bytes) -> set[int]:
    try:
        return field_tags(piece, 64)
    except MalformedTelemetry:
        return set()
