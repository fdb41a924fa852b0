"""One request, in either encoding: the same items, and bad ones rejected alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import LogRecord, Resource, Scope, Span
from otel_turns.sources.otlp.decode import Decoded, OtherSignal, decode_logs, decode_traces
from otel_turns.sources.otlp.wire import WireLimits
from tests.sources.otlp.encode import (
    json_logs,
    json_traces,
    logs_request,
    plain_spans,
    traces_request,
    wire_span,
)
from tests.sources.otlp.strategies import TRACES, disordered, encoded, light_spans, randoms, records, spans

TRACE, ID = bytes(range(16)), bytes(range(1, 9))
PLAIN = Span(TRACE, ID, None, "chat", 1, 2)


def loaded(decoded: Decoded) -> list[Any]:
    assert list(decoded.rejections) == []
    return [item.load() for item in decoded.items]


def request(*pieces: bytes, resource: bytes = b"") -> bytes:
    inner = encoded((2, 2, b"".join(encoded((2, 2, piece)) for piece in pieces)))
    return encoded((1, 2, encoded((1, 2, resource)) + inner))


@settings(max_examples=50)
@given(st.lists(spans, max_size=3))
def test_protobuf_and_json_give_equal_spans(given_spans: list[Span]) -> None:
    body = traces_request(given_spans).SerializeToString()
    assert loaded(decode_traces(body, "protobuf")) == given_spans
    assert loaded(decode_traces(body, "protobuf", eager=True)) == given_spans
    assert loaded(decode_traces(json_traces(given_spans), "json")) == given_spans


@settings(max_examples=50)
@given(st.lists(records(), max_size=3))
def test_protobuf_and_json_give_equal_records(given_records: list[LogRecord]) -> None:
    assert loaded(decode_logs(logs_request(given_records).SerializeToString(), "protobuf")) == given_records
    assert loaded(decode_logs(json_logs(given_records), "json")) == given_records


@given(given_spans=st.lists(light_spans, max_size=4), random=randoms)
def test_any_valid_encoding_gives_what_a_plain_parse_gives(given_spans: list[Span], random: Any) -> None:
    plain = traces_request(given_spans)
    body = disordered(plain.SerializeToString(), TRACES, random)
    plain.ParseFromString(body)
    if not plain.resource_spans:
        return
    found = plain_spans(plain)
    # A span that `disordered` cut in two is two spans, one of them without ids.
    expected = [span for span in found if len(span.trace_id) == 16 and len(span.span_id) == 8]
    for eager in (False, True):
        decoded = decode_traces(body, "protobuf", eager=eager)
        assert [item.load() for item in decoded.items] == expected
        assert len(decoded.rejections) == len(found) - len(expected)


@given(given_spans=st.lists(light_spans, min_size=1, max_size=2), data=st.data())
def test_items_of_every_way_are_alike(given_spans: list[Span], data: st.DataObject) -> None:
    body = traces_request(given_spans).SerializeToString()
    ways = [
        decode_traces(body, "protobuf"),
        decode_traces(body, "protobuf", eager=True),
        decode_traces(json_traces(given_spans), "json"),
    ]
    heads = [[(i.trace_id, i.span_id, i.local_root) for i in way.items] for way in ways]
    assert heads[0] == heads[1] == heads[2]
    assert all(item.size > 0 for way in ways for item in way.items)


@pytest.mark.parametrize("eager", [False, True])
def test_a_bad_span_is_rejected_alone(eager: bool) -> None:
    good = wire_span(PLAIN).SerializeToString()
    bad = {
        good + encoded((5, 2, b"\xff")): "a span holds text that is not UTF-8",
        good + b"\x0a\x05": "the protobuf of a span is broken",
        good + encoded((1, 2, b"short")): "a trace id has 5 bytes; 16 are right",
        b"": "a span has no trace id",
    }
    body = request(good, *bad, good)
    decoded = decode_traces(body, "protobuf", eager=eager)
    assert [item.load() for item in decoded.items] == [PLAIN, PLAIN]
    assert [str(r) for r in decoded.rejections] == list(bad.values())


def test_a_bad_record_is_rejected_alone() -> None:
    good = encoded((1, 1, bytes(7) + b"\x01"))
    decoded = decode_logs(request(good, good + encoded((3, 2, b"\xff")), good), "protobuf")
    assert len(decoded.items) == 2
    assert [str(r) for r in decoded.rejections] == ["a log record holds text that is not UTF-8"]


def test_a_bad_resource_rejects_the_spans_below() -> None:
    good = wire_span(PLAIN).SerializeToString()
    broken = encoded((1, 2, encoded((1, 2, b"\xff"))))
    decoded = decode_traces(request(good, good, resource=broken) + request(good), "protobuf")
    assert [item.load() for item in decoded.items] == [PLAIN]
    assert len(decoded.rejections) == 2


@pytest.mark.parametrize("eager", [False, True])
def test_a_span_that_is_too_long_is_rejected_alone(eager: bool) -> None:
    good = wire_span(PLAIN).SerializeToString()
    long = wire_span(replace(PLAIN, name="n" * 5_000)).SerializeToString()
    decoded = decode_traces(request(long, good), "protobuf", WireLimits(item_bytes=5_000), eager=eager)
    assert [item.load() for item in decoded.items] == [PLAIN]
    assert "longer than 5000 bytes" in str(decoded.rejections[0])


def test_equal_resources_and_scopes_are_shared_also_between_requests() -> None:
    def one(scope: Scope) -> bytes:
        resource = Resource({"service.name": "agent"})
        return traces_request([replace(PLAIN, resource=resource, scope=scope)]).SerializeToString()

    first, second = (loaded(decode_traces(one(Scope("lib", "1")), "protobuf"))[0] for _ in range(2))
    assert first.resource is second.resource
    assert first.scope is second.scope
    other = loaded(decode_traces(one(Scope("other")), "protobuf"))[0]
    assert other.resource is first.resource
    assert other.scope == Scope("other")


def test_thousands_of_resources() -> None:
    """More than are remembered at once."""
    given_spans = [replace(PLAIN, resource=Resource({"n": n}), scope=Scope(str(n))) for n in range(3_000)]
    body = traces_request(given_spans).SerializeToString()
    assert loaded(decode_traces(body, "protobuf")) == given_spans


def test_a_long_resource_is_not_remembered_but_read() -> None:
    long = replace(PLAIN, resource=Resource({"x": "y" * 100_000}))
    body = traces_request([long]).SerializeToString()
    assert loaded(decode_traces(body, "protobuf")) == loaded(decode_traces(body, "protobuf")) == [long]


@pytest.mark.parametrize("body", [b"", b"\x0a\x00", request()])
def test_an_empty_request_succeeds(body: bytes) -> None:
    assert decode_traces(body, "protobuf") == Decoded([], [])
    assert decode_logs(body, "protobuf") == Decoded([], [])


def metrics() -> bytes:
    message = ExportMetricsServiceRequest()
    metric = message.resource_metrics.add().scope_metrics.add().metrics.add(name="requests", unit="1")
    metric.sum.data_points.add(as_int=1)
    return message.SerializeToString()


TRACES_BODY = traces_request([PLAIN]).SerializeToString()
LOGS_BODY = logs_request([LogRecord(1, "", "hello", trace_id=TRACE)]).SerializeToString()


@pytest.mark.parametrize(("body", "signal"), [(LOGS_BODY, "logs"), (metrics(), "metrics")])
def test_another_signal_is_no_request_for_traces(body: bytes, signal: str) -> None:
    with pytest.raises(OtherSignal, match=f"the request holds {signal}") as caught:
        decode_traces(body, "protobuf")
    assert caught.value.signal == signal


@pytest.mark.parametrize(("body", "signal"), [(TRACES_BODY, "traces"), (metrics(), "metrics")])
def test_another_signal_is_no_request_for_logs(body: bytes, signal: str) -> None:
    with pytest.raises(OtherSignal, match=f"the request holds {signal}") as caught:
        decode_logs(body, "protobuf")
    assert caught.value.signal == signal


def test_a_record_with_only_an_observed_time_is_no_span() -> None:
    with pytest.raises(OtherSignal, match="logs"):
        decode_traces(request(encoded((11, 1, bytes(7) + b"\x01"))), "protobuf")


@pytest.mark.parametrize("body", [b'{"resourceSpans":[]}', b"[1]", json_traces([PLAIN])])
def test_json_where_protobuf_was_announced(body: bytes) -> None:
    with pytest.raises(MalformedTelemetry, match="this is JSON"):
        decode_traces(body, "protobuf")


def test_protobuf_where_json_was_announced() -> None:
    with pytest.raises(MalformedTelemetry, match="no JSON"):
        decode_traces(TRACES_BODY, "json")


def test_what_was_checked_can_be_loaded() -> None:
    """Whatever lies in a span: it is rejected at once, or `load` gives it."""
    good = wire_span(PLAIN).SerializeToString()
    for number in range(256):
        for inner in (bytes((number,)), bytes((number, 1)), encoded((9, 2, bytes((number, 0))))):
            decoded = decode_traces(request(good + inner), "protobuf")
            eager = decode_traces(request(good + inner), "protobuf", eager=True)
            assert len(decoded.items) + len(decoded.rejections) == 1
            assert [item.load() for item in decoded.items] == [item.load() for item in eager.items]
