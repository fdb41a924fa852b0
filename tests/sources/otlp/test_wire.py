"""The outer wire walk finds what a plain parse finds, and refuses what no request is."""

from __future__ import annotations

from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import Span
from otel_turns.sources.otlp.wire import WireLimits, field_tags, walk
from tests.sources.otlp.encode import traces_request
from tests.sources.otlp.strategies import TRACES, disordered, encoded, light_spans, randoms, unknown, varint

requests = st.lists(light_spans, max_size=4).map(traces_request)

PADDING = encoded((1_000, 2, bytes(1 << 20)))
"""A field of no meaning. With it a request is walked as large ones are, not cut by protobuf's parser."""


def group(*items: bytes, resource: bytes = b"", scope: bytes = b"") -> bytes:
    inner = encoded((1, 2, scope)) + b"".join(encoded((2, 2, item)) for item in items)
    return encoded((1, 2, encoded((1, 2, resource)) + encoded((2, 2, inner))))


def told(body: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """What a plain parse finds: resource, scope and span, in protobuf's own encoding."""
    return [
        (r.resource.SerializeToString(), s.scope.SerializeToString(), span.SerializeToString())
        for r in ExportTraceServiceRequest.FromString(body).resource_spans
        for s in r.scope_spans
        for span in s.spans
    ]


def walked(body: bytes, limits: WireLimits | None = None) -> list[tuple[bytes, bytes, bytes]]:
    """The same of the walk; slices are parsed only to be comparable."""
    request = ExportTraceServiceRequest()
    for resource, scope, items in walk(body, limits or WireLimits()):
        raw = encoded((1, 2, encoded((1, 2, resource)) + encoded((2, 2, encoded((1, 2, scope))))))
        for item in items:
            one = encoded((1, 2, encoded((2, 2, encoded((2, 2, item))))))
            alone = ExportTraceServiceRequest.FromString(raw)
            span = ExportTraceServiceRequest.FromString(one).resource_spans[0].scope_spans[0].spans[0]
            alone.resource_spans[0].scope_spans[0].spans.append(span)
            request.resource_spans.extend(alone.resource_spans)
    return told(request.SerializeToString())


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
@given(request=requests, random=randoms)
def test_finds_what_a_plain_parse_finds(
    padding: bytes, request: ExportTraceServiceRequest, random: Random
) -> None:
    body = disordered(request.SerializeToString(), TRACES, random)
    if not told(body):
        return
    assert walked(body + padding) == told(body)


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
def test_slices_are_the_bytes_that_came(padding: bytes) -> None:
    body = group(b"\x0a\x01x", b"", resource=b"\x10\x01", scope=b"\x0a\x01s") + padding
    [found] = walk(body)
    assert found.resource == b"\x10\x01"
    assert found.scope == b"\x0a\x01s"
    assert found.items == [b"\x0a\x01x", b""]


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
def test_a_resource_in_pieces_is_joined(padding: bytes) -> None:
    inner = (
        encoded((1, 2, b"\x0a\x02")) + encoded((2, 2, encoded((2, 2, b"x")))) + encoded((1, 2, b"\x10\x01"))
    )
    [found] = walk(encoded((1, 2, inner)) + padding)
    assert found.resource == b"\x0a\x02\x10\x01"


def test_an_empty_request_holds_nothing() -> None:
    assert walk(b"") == []
    assert walk(encoded((1, 2, b""))) == []


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152])
def test_lengths_of_every_width(size: int) -> None:
    item = b"\x7a" * size
    body = group(item, b"z")
    [found] = walk(body)
    assert found.items == [item, b"z"]
    [found] = walk(body + PADDING)
    assert found.items == [item, b"z"]


@given(spans=st.lists(light_spans, min_size=1, max_size=3), data=st.data())
def test_what_is_cut_anywhere_gives_nothing_that_was_not_there(
    spans: list[Span], data: st.DataObject
) -> None:
    body = traces_request(spans).SerializeToString()
    whole = told(body)
    cut = data.draw(st.integers(0, len(body) - 1))
    try:
        found = walked(body[:cut])
    except MalformedTelemetry:
        return
    assert found == whole[: len(found)]


def test_a_large_request_cut_anywhere_is_refused() -> None:
    body = PADDING + group(b"\x0a\x03abc", b"\x12\x00", resource=b"\x0a\x00")
    for cut in range(len(PADDING) + 1, len(body)):
        with pytest.raises(MalformedTelemetry):
            walk(body[:cut])


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
@given(noise=st.binary(min_size=1, max_size=60))
def test_noise_raises_one_error_only(padding: bytes, noise: bytes) -> None:
    try:
        ExportTraceServiceRequest.FromString(noise + padding)
        well_formed = True
    except Exception:
        well_formed = False
    try:
        walk(noise + padding)
    except MalformedTelemetry:
        return
    # The walk does not look into spans and texts, so it may take more than a plain parse does.
    assert well_formed or b"\x0a" in noise


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
@pytest.mark.parametrize(
    "broken",
    [
        b"\x00\x01",  # field number 0
        b"\x0b",  # a group without an end
        b"\x0b\x14",  # a group that another one ends
        b"\x0c",  # an end without a group
        b"\x0e\x00",  # a wire type that does not exist
        b"\x10",  # a number that is missing
        b"\x10" + b"\xff" * 10 + b"\x01",  # a number of 11 bytes
        b"\x0a\xff\xff\xff\xff\x0f",  # a length past 2^31
        b"\x0a\x05abc",  # longer than the rest
        b"\x80\x80\x80\x80\x80\x01",  # a tag of 6 bytes
        b"\x0b" * 200,  # groups in groups
        b"\x09abc",
    ],
)
def test_broken_protobuf_is_refused(padding: bytes, broken: bytes) -> None:
    with pytest.raises(MalformedTelemetry):
        walk(padding + broken)
    with pytest.raises(MalformedTelemetry):
        walk(padding + encoded((1, 2, encoded((2, 2, broken)))))


@given(random=randoms)
def test_only_unknown_fields_are_no_request(random: Random) -> None:
    body = unknown(random)
    with pytest.raises(MalformedTelemetry, match="no OTLP request"):
        walk(body)
    with pytest.raises(MalformedTelemetry, match="no OTLP request"):
        walk(body + PADDING)


@pytest.mark.parametrize("padding", [b"", PADDING], ids=["small", "large"])
def test_limits_hold_for_the_whole_request(padding: bytes) -> None:
    body = group(b"a", b"b") + group(b"c") + padding
    assert sum(len(g.items) for g in walk(body, WireLimits(items=3, groups=4))) == 3
    with pytest.raises(MalformedTelemetry, match="more than 2 spans or log records"):
        walk(body, WireLimits(items=2))
    with pytest.raises(MalformedTelemetry, match="more than 3 resources and scopes"):
        walk(body, WireLimits(groups=3))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\x0a\x00" * 2_000_000, id="resources"),
        pytest.param(encoded((1, 2, b"\x12\x00" * 2_000_000)), id="scopes"),
        pytest.param(encoded((1, 2, encoded((2, 2, b"\x12\x00" * 2_000_000)))), id="spans"),
        pytest.param(encoded((1, 2, b"\x0a\x00" * 2_000_000)), id="pieces of a resource"),
        pytest.param(
            encoded((1, 2, b"\x0a\x08" + b"\x52\x06abcdef" + b"\x0a\x00" * 10)) * 300_000, id="groups"
        ),
        pytest.param(encoded((1, 2, (b"\x0a\x64" + bytes(100)) * 40_000)), id="long pieces of a resource"),
        pytest.param(b"\x18\x00" * 2_000_000, id="unknown fields"),
        pytest.param(b"\x1b" + b"\x18\x00" * 2_000_000 + b"\x1c", id="fields of a group"),
    ],
)
def test_millions_of_tiny_fields_are_refused_soon(body: bytes) -> None:
    begun = process_time()
    with pytest.raises(MalformedTelemetry):
        walk(body)
    # Far above what the limits allow on any machine, traced or not; far below what the whole body would take.
    assert process_time() - begun < 10, "the walk must stop at its limits"


def test_tags_of_a_message() -> None:
    assert field_tags(b"\x09" + bytes(8) + b"\x2a\x01x\x10\x05") == {0x09, 0x2A, 0x10}
    assert field_tags(b"\x08\x01" * 50 + b"\x10\x01", most=50) == {0x08}
    with pytest.raises(MalformedTelemetry):
        field_tags(b"\x0a\x05ab")
    with pytest.raises(MalformedTelemetry):
        field_tags(b"\x0a")


def test_strategies_encode_as_protobuf_does() -> None:
    """The encoder that the tests above trust."""
    assert varint(300) == b"\xac\x02"
    assert varint(1, 2) == b"\x81\x80\x00"
    assert encoded((2, 2, b"testing")) == b"\x12\x07testing"
