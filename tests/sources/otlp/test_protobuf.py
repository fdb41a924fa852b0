"""Slices become items, and items the spans and records that their bytes stand for."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from random import Random

import pytest
from hypothesis import given, settings
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink
from otel_turns.sources.otlp.draft import make_span
from otel_turns.sources.otlp.protobuf import Context, RecordSlice, SpanSlice, context_of, mentions, read_span
from otel_turns.sources.otlp.wire import DEFAULT_LIMITS, WireLimits
from tests.sources.otlp.encode import any_value, key_values, plain_span, wire_record, wire_span
from tests.sources.otlp.strategies import SPAN, disordered, encoded, fields, randoms, records, spans, unknown

TRACE, ID, PARENT = bytes(range(16)), bytes(range(1, 9)), bytes(range(2, 10))
CONTEXT = Context(Resource({"service.name": "agent"}), Scope("lib", "1"))
PLAIN = Span(TRACE, ID, PARENT, "chat", 1, 2, scope=CONTEXT.scope, resource=CONTEXT.resource)


def slice_of(span: Span, limits: WireLimits = DEFAULT_LIMITS) -> SpanSlice:
    return SpanSlice(wire_span(span).SerializeToString(), CONTEXT, limits)


def test_reads_every_member() -> None:
    span = Span(
        trace_id=TRACE,
        span_id=ID,
        parent_id=PARENT,
        name="chat",
        start=1_700_000_000_000_000_001,
        end=1_700_000_000_000_000_002,
        kind=3,
        status=2,
        status_message="broke",
        attributes={"a": "text", "b": [1, {"c": b"\x00"}], "d": None},
        events=(SpanEvent(5, "said", {"x": True}, 1), SpanEvent(0, "")),
        links=(SpanLink(TRACE, PARENT, {"why": "retry"}), SpanLink(b"", b"")),
        scope=CONTEXT.scope,
        resource=CONTEXT.resource,
        dropped_attributes=1,
        dropped_events=2,
        dropped_links=3,
        flags=0x301,
    )
    assert slice_of(span).load() == span


def test_loads_again_and_again() -> None:
    item = slice_of(PLAIN)
    assert item.load() == item.load() == PLAIN


@settings(max_examples=60)
@given(span=spans, random=randoms)
def test_any_valid_encoding(span: Span, random: Random) -> None:
    data = disordered(wire_span(span).SerializeToString(), SPAN, random)
    # What is given twice in `data` may differ from `span`; protobuf's own parse says which counts.
    wire = WireSpan.FromString(data)
    context = Context(span.resource, span.scope)
    item = SpanSlice(data, context, DEFAULT_LIMITS)
    assert item.load() == plain_span(wire, span.scope, span.resource)
    assert (item.trace_id, item.span_id) == (wire.trace_id, wire.span_id)
    assert item.load() == read_span(data, context, DEFAULT_LIMITS)


@settings(max_examples=60)
@given(record=records(), random=randoms)
def test_records_in_any_valid_encoding(record: LogRecord, random: Random) -> None:
    context = Context(record.resource, record.scope)
    data = wire_record(record).SerializeToString()
    assert RecordSlice(data, context, DEFAULT_LIMITS).load() == record
    shuffled = fields(data)
    random.shuffle(shuffled)
    odd = b"".join(encoded(field, 1) + unknown(random) for field in shuffled)
    item = RecordSlice(odd, context, DEFAULT_LIMITS)
    assert item.load() == record
    assert item.trace_id == record.trace_id
    assert item.span_id is None
    assert not item.local_root


def test_a_record_without_a_time_of_its_own_has_the_observed_one() -> None:
    wire = wire_record(LogRecord(0, "", "hello"))
    wire.observed_time_unix_nano = 7
    assert RecordSlice(wire.SerializeToString(), CONTEXT, DEFAULT_LIMITS).load().time == 7
    wire.time_unix_nano = 6
    assert RecordSlice(wire.SerializeToString(), CONTEXT, DEFAULT_LIMITS).load().time == 6


def test_a_record_with_ids_of_zeros_belongs_to_no_trace() -> None:
    wire = wire_record(LogRecord(1, "e"))
    wire.trace_id, wire.span_id = bytes(16), bytes(8)
    item = RecordSlice(wire.SerializeToString(), CONTEXT, DEFAULT_LIMITS)
    assert item.trace_id is None
    record = item.load()
    assert (record.trace_id, record.span_id) == (None, None)
    wire.trace_id = TRACE
    record = RecordSlice(wire.SerializeToString(), CONTEXT, DEFAULT_LIMITS).load()
    assert (record.trace_id, record.span_id) == (TRACE, None)


@pytest.mark.parametrize(
    ("trace_id", "span_id", "parent_id", "reason"),
    [
        (b"", ID, b"", "a span has no trace id"),
        (TRACE[:15], ID, b"", "a trace id has 15 bytes; 16 are right"),
        (bytes(16), ID, b"", "a trace id is all zero"),
        (TRACE, b"", b"", "a span has no span id"),
        (TRACE, ID + b"x", b"", "a span id has 9 bytes; 8 are right"),
        (TRACE, bytes(8), b"", "a span id is all zero"),
        (TRACE, ID, b"abc", "a parent span id has 3 bytes; 8 are right"),
    ],
)
def test_bad_ids(trace_id: bytes, span_id: bytes, parent_id: bytes, reason: str) -> None:
    data = WireSpan(trace_id=trace_id, span_id=span_id, parent_span_id=parent_id).SerializeToString()
    with pytest.raises(MalformedTelemetry, match=reason):
        SpanSlice(data, CONTEXT, DEFAULT_LIMITS)
    with pytest.raises(MalformedTelemetry, match=reason):
        read_span(data, CONTEXT, DEFAULT_LIMITS)


@pytest.mark.parametrize("size", [3, 17])
def test_bad_ids_of_a_record(size: int) -> None:
    wire = wire_record(LogRecord(1, "e"))
    wire.trace_id = b"x" * size
    with pytest.raises(MalformedTelemetry, match="wrong length"):
        RecordSlice(wire.SerializeToString(), CONTEXT, DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("parent", "flags", "local_root"),
    [
        (None, 0, True),
        (bytes(8), 0, True),
        (PARENT, 0, False),
        (PARENT, 0x100, False),
        (PARENT, 0x200, False),
        (PARENT, 0x300, True),
        (PARENT, 0x101, False),
        (PARENT, 0x301, True),
    ],
)
def test_local_root(parent: bytes | None, flags: int, local_root: bool) -> None:
    item = slice_of(replace(PLAIN, parent_id=parent, flags=flags))
    assert item.local_root is local_root
    assert item.load().parent_id == (None if parent == bytes(8) else parent)


def test_text_that_is_not_utf8() -> None:
    for bad in (
        encoded((5, 2, b"\xff")),
        encoded((9, 2, encoded((1, 2, b"\xff")))),
        encoded((15, 2, encoded((2, 2, b"\xff")))),
        encoded((11, 2, encoded((2, 2, b"\xff")))),
        encoded((3, 2, b"\xff")),
    ):
        data = WireSpan(trace_id=TRACE, span_id=ID).SerializeToString() + bad
        with pytest.raises(MalformedTelemetry, match="UTF-8"):
            SpanSlice(data, CONTEXT, DEFAULT_LIMITS)
        with pytest.raises(MalformedTelemetry, match="UTF-8"):
            read_span(data, CONTEXT, DEFAULT_LIMITS)


def test_a_span_cut_anywhere() -> None:
    span = replace(PLAIN, attributes={"a": "x", "n": 300}, events=(SpanEvent(1, "e", {"k": [1]}),))
    data = wire_span(span).SerializeToString()
    for cut in range(len(data)):
        try:
            wire = WireSpan.FromString(data[:cut])
            fits = len(wire.trace_id) == 16 and len(wire.span_id) == 8
        except Exception:
            fits = False
        if fits:
            SpanSlice(data[:cut], CONTEXT, DEFAULT_LIMITS).load()
        else:
            with pytest.raises(MalformedTelemetry):
                SpanSlice(data[:cut], CONTEXT, DEFAULT_LIMITS)
            with pytest.raises(MalformedTelemetry):
                read_span(data[:cut], CONTEXT, DEFAULT_LIMITS)


@pytest.mark.parametrize(
    "span",
    [
        replace(PLAIN, attributes={str(n): n for n in range(20)}),
        replace(PLAIN, events=tuple(SpanEvent(n, "") for n in range(20))),
        replace(PLAIN, links=(SpanLink(TRACE, ID),) * 20),
        replace(PLAIN, attributes={str(n): n for n in range(7)}, links=(SpanLink(TRACE, ID),) * 13),
    ],
    ids=["attributes", "events", "links", "together"],
)
def test_too_many_parts(span: Span) -> None:
    assert slice_of(span, WireLimits(attributes=20)).load() == span
    with pytest.raises(MalformedTelemetry, match="more than 19 attributes, events and links"):
        slice_of(span, WireLimits(attributes=19))


def test_too_many_attributes_of_an_event_or_link() -> None:
    many = {str(n): n for n in range(20)}
    for span in (
        replace(PLAIN, events=(SpanEvent(1, "e", many),)),
        replace(PLAIN, links=(SpanLink(TRACE, ID, many),)),
    ):
        data = wire_span(span).SerializeToString()
        with pytest.raises(MalformedTelemetry, match="more than 19"):
            read_span(data, CONTEXT, WireLimits(attributes=19))


def test_a_large_span_is_checked_as_any() -> None:
    large = replace(PLAIN, attributes={"a": "x" * 300_000})
    assert slice_of(large).load() == large
    assert slice_of(large).local_root is False
    bad = wire_span(large).SerializeToString() + encoded((5, 2, b"\xff"))
    with pytest.raises(MalformedTelemetry, match="UTF-8"):
        SpanSlice(bad, CONTEXT, DEFAULT_LIMITS)
    record = LogRecord(1, "e", "x" * 300_000, trace_id=TRACE, scope=CONTEXT.scope, resource=CONTEXT.resource)
    item = RecordSlice(wire_record(record).SerializeToString(), CONTEXT, DEFAULT_LIMITS)
    assert item.trace_id == TRACE
    assert item.load() == record


def test_size_covers_the_bytes_that_are_held() -> None:
    small, large = slice_of(PLAIN), slice_of(replace(PLAIN, name="n" * 5_000))
    assert small.size > len(small.data)
    assert large.size - small.size == len(large.data) - len(small.data)


def test_context_shares_nothing_with_its_bytes() -> None:
    resource = b"".join(encoded((1, 2, p.SerializeToString())) for p in key_values({"service.name": "agent"}))
    scope = encoded((1, 2, b"lib")) + encoded((2, 2, b"1"))
    context = context_of(resource, scope)
    assert context.resource == CONTEXT.resource
    assert context.scope == CONTEXT.scope
    assert context_of(b"", b"").resource == Resource()
    for broken in ((b"\x0a\x05a", b""), (b"", b"\x0a\x01\xff")):
        with pytest.raises(MalformedTelemetry, match="a resource or scope"):
            context_of(*broken)


def test_mentions() -> None:
    data = wire_span(replace(PLAIN, attributes={"gen_ai.system": "x"})).SerializeToString()
    assert mentions(data, (b"openinference.", b"gen_ai."))
    assert not mentions(data, (b"openinference.", b"llm."))
    assert not mentions(data, ())


def test_a_span_made_quickly_is_a_span() -> None:
    members = [getattr(PLAIN, name) for name in Span.__slots__]  # pyright: ignore[reportUnknownMemberType] # slots of a dataclass
    made = make_span(*members)
    assert type(made) is Span
    assert made == PLAIN
    assert repr(made) == repr(PLAIN)
    assert replace(made, name="other") == replace(PLAIN, name="other")
    with pytest.raises(FrozenInstanceError):
        made.name = "other"  # pyright: ignore[reportAttributeAccessIssue] # frozen, as it must be


def test_value_encoder_of_the_tests() -> None:
    """What the tests above trust, against bytes written by hand."""
    assert any_value("hi").SerializeToString() == b"\x0a\x02hi"
    assert any_value([True, None]).SerializeToString() == b"\x2a\x06\x0a\x02\x10\x01\x0a\x00"
