"""The SDK's span, read straight, is the span that OTLP gives for the same telemetry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import Resource, Scope, Span, SpanEvent, SpanLink
from otel_turns.sources.otlp.decode import decode_traces
from otel_turns.sources.readable import MAX_DEPTH, SpanReader

TRACE, SPAN, PARENT = 0x0102030405060708090A0B0C0D0E0F10, 0x1112131415161718, 0x2122232425262728


def context(trace_id: int = TRACE, span_id: int = SPAN, *, remote: bool = False) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=remote, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def readable(**fields: Any) -> ReadableSpan:
    usual: dict[str, Any] = {
        "name": "chat",
        "context": context(),
        "resource": SdkResource({"service.name": "agent"}),
        "start_time": 1_000,
        "end_time": 2_000,
    }
    return ReadableSpan(**{**usual, **fields})


def read(span: ReadableSpan) -> Span:
    value = SpanReader().read(span).value
    assert isinstance(value, Span)
    return value


def through_otlp(span: ReadableSpan) -> Span:
    decoded = decode_traces(encode_spans([span]).SerializeToString(), "protobuf")
    assert list(decoded.rejections) == []
    [item] = decoded.items
    loaded = item.load()
    assert isinstance(loaded, Span)
    return loaded


def recorded(make: Callable[[TracerProvider], object]) -> Sequence[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=SdkResource({"service.name": "agent", "n": 1}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    make(provider)
    return exporter.get_finished_spans()


def test_reads_every_member() -> None:
    link = context(TRACE + 1, SPAN + 1)
    span = read(
        readable(
            parent=context(span_id=PARENT, remote=True),
            kind=SpanKind.CLIENT,
            status=Status(StatusCode.ERROR, "broke"),
            attributes={
                "text": "a",
                "flag": True,
                "count": 3,
                "ratio": 0.5,
                "raw": b"\x00\xff",
                "none": None,
            },
            events=[Event("said", {"x": (1, 2)}, 1_500)],
            links=[Link(link, {"why": "retry"})],
            instrumentation_scope=InstrumentationScope("lib", "1.2", None, {"s": 1}),
        )
    )
    assert span == Span(
        trace_id=bytes(range(1, 17)),
        span_id=bytes(range(0x11, 0x19)),
        parent_id=bytes(range(0x21, 0x29)),
        name="chat",
        start=1_000,
        end=2_000,
        kind=3,
        status=2,
        status_message="broke",
        attributes={"text": "a", "flag": True, "count": 3, "ratio": 0.5, "raw": b"\x00\xff", "none": None},
        events=(SpanEvent(1_500, "said", {"x": [1, 2]}),),
        links=(
            SpanLink(link.trace_id.to_bytes(16, "big"), link.span_id.to_bytes(8, "big"), {"why": "retry"}),
        ),
        scope=Scope("lib", "1.2", {"s": 1}),
        resource=Resource({"service.name": "agent"}),
        flags=0x300,
    )


def test_absent_members_are_otlps_defaults() -> None:
    span = read(readable(start_time=None, end_time=None, instrumentation_scope=None))
    assert (span.parent_id, span.start, span.end, span.kind, span.status) == (None, 0, 0, 1, 0)
    assert (span.status_message, span.scope, span.flags) == ("", Scope(), 0x100)
    assert (span.attributes, span.events, span.links) == ({}, (), ())


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
ATTRIBUTES = st.dictionaries(st.text(min_size=1, max_size=6), VALUES, max_size=6)


@given(attributes=ATTRIBUTES, inner=ATTRIBUTES, name=st.text(max_size=8), remote=st.booleans())
def test_equals_what_otlp_gives(
    attributes: Mapping[str, Any], inner: Mapping[str, Any], name: str, remote: bool
) -> None:
    def make(provider: TracerProvider) -> None:
        tracer = provider.get_tracer("lib", "2", attributes={"k": "v"})
        above = set_span_in_context(NonRecordingSpan(context(remote=remote)))
        links = [Link(context(), inner)]
        with tracer.start_as_current_span(name, above, SpanKind.SERVER, attributes, links) as span:
            span.add_event(name, inner, 5)
            span.set_status(Status(StatusCode.ERROR, name))

    [span] = recorded(make)
    assert read(span) == through_otlp(span)


def test_dropped_counts_equal_what_otlp_gives() -> None:
    def make(provider: TracerProvider) -> None:
        with provider.get_tracer("lib").start_as_current_span("many") as span:
            for n in range(130):
                span.add_event("e", {f"k{i}": i for i in range(129)} if n == 129 else None)
                span.set_attribute(f"a{n}", n)
                span.add_link(context(span_id=n + 1))

    [span] = recorded(make)
    ours = read(span)
    assert ours == through_otlp(span)
    assert (ours.dropped_attributes, ours.dropped_events, ours.dropped_links) == (2, 2, 2)
    assert ours.events[-1].dropped_attributes == 1


class Word(str, Enum):
    OPEN = "open"


class Number(IntEnum):
    TWO = 2


def test_members_of_enums_are_their_values() -> None:
    span = readable(attributes={"word": Word.OPEN, "number": Number.TWO, "list": (Word.OPEN,)})
    ours = read(span)
    assert ours == through_otlp(span)
    assert [type(v) for v in ours.attributes.values()] == [str, int, list]
    assert type(ours.attributes["list"][0]) is str


@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63) - 1, object(), {1, 2}, [1, object()], {"a": {"b": 2**70}}],
    ids=["large", "small", "object", "set", "in a list", "in a map"],
)
def test_what_otlp_cannot_say_leaves_its_attribute_out(value: object) -> None:
    span = readable(attributes={"bad": value, "good": 1})
    assert read(span).attributes == {"good": 1} == through_otlp(span).attributes


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_read_as_deep_as_promised_and_no_deeper() -> None:
    span = readable(attributes={"ok": nested(MAX_DEPTH), "deep": nested(MAX_DEPTH + 1)})
    assert read(span).attributes == {"ok": nested(MAX_DEPTH)}
    fits = readable(attributes={"ok": nested(MAX_DEPTH)})
    assert read(fits) == through_otlp(fits)


def test_lone_surrogates_become_replacement_characters() -> None:
    span = read(
        readable(
            name="n\ud800",
            attributes={"a\udfff": "x\ud83dy", "fine": "\U0001f600", "deep": {"k\ud800": ["\udc00"]}},
            status=Status(StatusCode.ERROR, "\ud800"),
        )
    )
    assert span.name == "n\ufffd"
    assert span.status_message == "\ufffd"
    assert span.attributes == {"a\ufffd": "x\ufffdy", "fine": "\U0001f600", "deep": {"k\ufffd": ["\ufffd"]}}


def test_nan_passes() -> None:
    assert math.isnan(read(readable(attributes={"x": math.nan})).attributes["x"])


@pytest.mark.parametrize("time", [-1, 2**64, math.nan, "soon"])
def test_odd_times_are_not_given(time: Any) -> None:
    assert read(readable(start_time=time)).start == 0


def test_float_times_are_whole_nanoseconds() -> None:
    assert read(readable(start_time=1e9)).start == 1_000_000_000


def test_shares_nothing_that_can_change() -> None:
    inner: dict[str, Any] = {"list": ["a"], "map": {"k": "v"}}
    source: dict[str, Any] = {"deep": inner, "word": "w"}
    span = read(readable(attributes=source))
    inner["list"].append("b")
    inner["map"]["k"] = "changed"
    source["word"] = "changed"
    source["new"] = 1
    assert span.attributes == {"deep": {"list": ["a"], "map": {"k": "v"}}, "word": "w"}


def test_attributes_that_are_only_a_mapping_are_read() -> None:
    class Plain(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return {"a": "b"}[key]

        def __iter__(self) -> Any:
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    class Bare(ReadableSpan):
        @property
        def attributes(self) -> Any:
            return Plain()

    assert read(Bare("x", context())).attributes == {"a": "b"}


def test_a_span_without_ids_is_malformed() -> None:
    with pytest.raises(MalformedTelemetry):
        SpanReader().read(ReadableSpan("lost"))


def test_spans_share_their_resource_and_scope() -> None:
    reader = SpanReader()
    resource, scope = SdkResource({"a": 1}), InstrumentationScope("lib")
    items = [reader.read(readable(resource=resource, instrumentation_scope=scope)) for _ in range(2)]
    one, two = (item.value for item in items)
    assert one.resource is two.resource
    assert one.scope is two.scope


def test_many_resources_and_scopes_do_not_pile_up_or_mix() -> None:
    reader = SpanReader()
    for n in range(600):
        resource, scope = SdkResource({"n": n}), InstrumentationScope(str(n))
        item = reader.read(readable(resource=resource, instrumentation_scope=scope))
        assert (item.value.resource.attributes["n"], item.value.scope.name) == (n, str(n))


def test_size_grows_with_the_text() -> None:
    reader = SpanReader()
    small = reader.read(readable(attributes={"a": "x"}))
    for attributes in (
        {"a": "x" * 1_001},
        {"a": "é" * 1_001},
        {"a": ["x" * 1_001]},
        {"a": {"b": b"x" * 1_001}},
    ):
        large = reader.read(readable(attributes=attributes))
        assert large.size >= small.size + 1_000
    with_event = reader.read(readable(attributes={"a": "x"}, events=[Event("e", {"t": "y" * 500})]))
    assert with_event.size >= small.size + 500
