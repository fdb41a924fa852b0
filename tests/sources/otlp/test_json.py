"""OTLP/JSON: every form that exporters write, and what is refused."""

from __future__ import annotations

import base64
import math
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink
from otel_turns.sources.otlp.json import parse, read_logs, read_spans
from otel_turns.sources.otlp.wire import WireLimits
from tests.sources.otlp.encode import json_logs, json_record, json_span, json_traces
from tests.sources.otlp.strategies import records, spans

TRACE, ID, PARENT = bytes(range(16)), bytes(range(1, 9)), bytes(range(2, 10))
PLAIN = Span(TRACE, ID, PARENT, "chat", 1, 2)


def read(span: dict[str, Any]) -> Span:
    [item], rejected = read_spans(json_traces([span]))
    assert rejected == []
    loaded = item.load()
    assert isinstance(loaded, Span)
    return loaded


def refused(span: dict[str, Any]) -> str:
    """Why a span is rejected; a good one beside it lives."""
    items, [reason] = read_spans(json_traces([span, PLAIN]))
    assert [item.load() for item in items] == [PLAIN]
    return reason


def made(**members: Any) -> dict[str, Any]:
    return {**json_span(PLAIN), **members}


def attribute(value: Any) -> dict[str, Any]:
    return made(attributes=[{"key": "k", "value": value}])


@settings(max_examples=50)
@given(st.lists(spans, max_size=2))
def test_spans_come_back(given_spans: list[Span]) -> None:
    items, rejected = read_spans(json_traces(given_spans))
    assert rejected == []
    assert [item.load() for item in items] == given_spans
    assert [(item.trace_id, item.span_id) for item in items] == [(s.trace_id, s.span_id) for s in given_spans]


@settings(max_examples=50)
@given(st.lists(records(), max_size=2))
def test_records_come_back(given_records: list[LogRecord]) -> None:
    items, rejected = read_logs(json_logs(given_records))
    assert rejected == []
    assert [item.load() for item in items] == given_records
    assert [(i.trace_id, i.span_id, i.local_root) for i in items] == [
        (r.trace_id, None, False) for r in given_records
    ]


def test_as_the_specification_writes_it() -> None:
    """The example of opentelemetry-proto, shortened, with its numbers as text."""
    body = b"""
    {"resourceSpans": [{
      "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "my.service"}}]},
      "scopeSpans": [{
        "scope": {"name": "my.library", "version": "1.0.0",
                  "attributes": [{"key": "my.scope.attribute", "value": {"stringValue": "some"}}]},
        "spans": [{
          "traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174",
          "parentSpanId": "EEE19B7EC3C1B173", "name": "I'm a server span",
          "startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": "1544712661000000000", "kind": 2,
          "attributes": [{"key": "my.span.attr", "value": {"stringValue": "some value"}}]}]}]}]}
    """
    [item], _ = read_spans(body)
    assert item.load() == Span(
        trace_id=bytes.fromhex("5b8efff798038103d269b633813fc60c"),
        span_id=bytes.fromhex("eee19b7ec3c1b174"),
        parent_id=bytes.fromhex("eee19b7ec3c1b173"),
        name="I'm a server span",
        start=1544712660000000000,
        end=1544712661000000000,
        kind=2,
        attributes={"my.span.attr": "some value"},
        scope=Scope("my.library", "1.0.0", {"my.scope.attribute": "some"}),
        resource=Resource({"service.name": "my.service"}),
    )


def test_missing_members_have_their_defaults() -> None:
    span = read({"traceId": TRACE.hex(), "spanId": ID.hex()})
    assert span == Span(TRACE, ID, None, "", 0, 0, kind=0)


def test_null_is_the_same_as_nothing() -> None:
    nulls = dict.fromkeys(json_span(PLAIN))
    assert read({**nulls, "traceId": TRACE.hex(), "spanId": ID.hex()}) == Span(
        TRACE, ID, None, "", 0, 0, kind=0
    )
    assert read_spans(b'{"resourceSpans": null}') == ([], [])
    assert read_spans(b'{"resourceSpans": [{"resource": null, "scopeSpans": null}]}') == ([], [])
    assert read(attribute(None)).attributes == {"k": None}


def test_snake_case() -> None:
    body = orjson.dumps(
        {
            "resource_spans": [
                {
                    "scope_spans": [
                        {
                            "spans": [
                                {
                                    "trace_id": TRACE.hex(),
                                    "span_id": ID.hex(),
                                    "parent_span_id": PARENT.hex(),
                                    "start_time_unix_nano": 1,
                                    "end_time_unix_nano": 2,
                                    "dropped_attributes_count": 3,
                                    "attributes": [
                                        {"key": "a", "value": {"string_value": "x"}},
                                        {
                                            "key": "b",
                                            "value": {"array_value": {"values": [{"int_value": 1}]}},
                                        },
                                        {"key": "c", "value": {"kvlist_value": {"values": []}}},
                                    ],
                                    "events": [{"time_unix_nano": 5, "dropped_attributes_count": 6}],
                                    "links": [{"trace_id": TRACE.hex(), "span_id": PARENT.hex()}],
                                }
                            ]
                        }
                    ]
                }
            ]
        }
    )
    [item], _ = read_spans(body)
    assert item.load() == Span(
        TRACE,
        ID,
        PARENT,
        "",
        1,
        2,
        kind=0,
        attributes={"a": "x", "b": [1], "c": {}},
        events=(SpanEvent(5, "", {}, 6),),
        links=(SpanLink(TRACE, PARENT),),
        dropped_attributes=3,
    )
    [item], _ = read_logs(
        b'{"resource_logs":[{"scope_logs":[{"log_records":[{"observed_time_unix_nano":"7","event_name":"e"}]}]}]}'
    )
    assert item.load() == LogRecord(7, "e")


def test_camel_case_counts_where_both_are_given() -> None:
    assert read(made(end_time_unix_nano="9")).end == 2


def test_unknown_members_are_passed_over() -> None:
    assert read(
        made(colour="red", status={"code": 0, "shade": 1}, attributes=[{"key": "k", "x": 1}])
    ) == replace(PLAIN, attributes={"k": None})
    assert read_spans(b'{"resourceSpans": [], "x": 1}') == ([], [])
    assert read(attribute({"colourValue": 1})).attributes == {"k": None}


@pytest.mark.parametrize(
    ("given_ids", "right"),
    [
        ((TRACE.hex().upper(), ID.hex().upper()), True),
        ((base64.b64encode(TRACE).decode(), base64.b64encode(ID).decode()), True),
        ((base64.b64encode(bytes(15)).decode(), ID.hex()), False),
    ],
    ids=["upper case", "base64", "base64 of 15 bytes"],
)
def test_forms_of_ids(given_ids: tuple[str, str], right: bool) -> None:
    span = made(traceId=given_ids[0], spanId=given_ids[1])
    if right:
        assert read(span) == PLAIN
    else:
        assert "trace id" in refused(span)


BAD_SPANS: list[tuple[dict[str, Any], str]] = [
    ({"traceId": None}, "a trace id is missing"),
    ({"traceId": ""}, "a trace id is missing"),
    ({"traceId": "0" * 32}, "a trace id is all zero"),
    ({"traceId": "ab"}, "a trace id has 1 bytes; 16 are right"),
    ({"traceId": "zz" * 16}, "a trace id is no hex"),
    ({"traceId": "ab " * 10 + "ab"}, "a trace id is no hex"),
    ({"traceId": 7}, "a trace id is no hex"),
    ({"traceId": "\u0661" * 32}, "a trace id is no hex"),
    ({"spanId": "0" * 16}, "a span id is all zero"),
    ({"spanId": TRACE.hex()}, "a span id has 16 bytes; 8 are right"),
    ({"parentSpanId": "abcd"}, "a parent span id has 2 bytes; 8 are right"),
    ({"name": 5}, "the name of a span is no text"),
    ({"startTimeUnixNano": "soon"}, "a start time is no whole number of 64 bits"),
    ({"startTimeUnixNano": "-1"}, "a start time is no whole number of 64 bits"),
    ({"endTimeUnixNano": True}, "an end time is no whole number of 64 bits"),
    ({"endTimeUnixNano": float(2**64)}, "an end time is no whole number of 64 bits"),
    ({"endTimeUnixNano": 1.5}, "an end time is no whole number of 64 bits"),
    ({"endTimeUnixNano": "9" * 100_000}, "an end time is no whole number of 64 bits"),
    ({"kind": []}, "a span kind is no enum's number or name"),
    ({"kind": 2**40}, "a span kind is no enum's number or name"),
    ({"flags": 2**32}, "flags is no whole number of 32 bits"),
    ({"attributes": {}}, "attributes is no JSON array"),
    ({"attributes": [1]}, "an attribute is no JSON object"),
    ({"attributes": [{"key": 1, "value": {}}]}, "the key of an attribute is no text"),
    ({"attributes": [{"key": "k", "value": "x"}]}, "a value is no JSON object"),
    ({"events": {}}, "events is no JSON array"),
    ({"events": [None, 1]}, "an event is no JSON object"),
    ({"events": [{"timeUnixNano": "x"}]}, "the time of an event is no whole number"),
    ({"links": [{"traceId": "x"}]}, "the trace id of a link is no hex"),
    ({"status": "OK"}, "a status is no JSON object"),
]


@pytest.mark.parametrize(("members", "reason"), BAD_SPANS)
def test_a_bad_span_is_rejected_alone(members: dict[str, Any], reason: str) -> None:
    assert reason in refused(made(**members))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"stringValue": 1}, "a string value is no text"),
        ({"boolValue": "true"}, "a bool value is neither true nor false"),
        ({"intValue": "1.5"}, "an int value is no whole number"),
        ({"intValue": str(2**63)}, "an int value is no whole number"),
        ({"intValue": True}, "an int value is no whole number"),
        ({"intValue": 1e30}, "an int value is no whole number"),
        ({"doubleValue": "much"}, "a double value is no number"),
        ({"doubleValue": False}, "a double value is no number"),
        ({"doubleValue": "1" * 1_000}, "a double value is no number"),
        ({"bytesValue": "!"}, "a bytes value is no base64"),
        ({"bytesValue": 1}, "a bytes value is no base64"),
        ({"arrayValue": []}, "an array value is no JSON object"),
        ({"arrayValue": {"values": 1}}, "the values of an array value is no JSON array"),
        ({"kvlistValue": {"values": [1]}}, "an attribute is no JSON object"),
    ],
)
def test_a_bad_value_rejects_its_span(value: Any, reason: str) -> None:
    assert reason in refused(attribute(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, None),
        ({"stringValue": None}, None),
        ({"stringValue": ""}, ""),
        ({"intValue": 5}, 5),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 5.0}, 5),
        ({"doubleValue": 5}, 5.0),
        ({"doubleValue": "1.5"}, 1.5),
        ({"doubleValue": "Infinity"}, math.inf),
        ({"doubleValue": "-Infinity"}, -math.inf),
        ({"boolValue": False}, False),
        ({"bytesValue": "AP8="}, b"\x00\xff"),
        ({"bytesValue": "AP8"}, b"\x00\xff"),
        ({"bytesValue": "-_8="}, b"\xfb\xff"),
        ({"arrayValue": {}}, []),
        ({"arrayValue": {"values": [{}, {"intValue": 1}]}}, [None, 1]),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}}, {"a": True}),
    ],
)
def test_forms_of_values(value: Any, expected: Any) -> None:
    found = read(attribute(value)).attributes["k"]
    assert found == expected
    assert type(found) is type(expected)


def test_nan() -> None:
    assert math.isnan(read(attribute({"doubleValue": "NaN"})).attributes["k"])


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("SPAN_KIND_CLIENT", 3),
        ("span_kind_internal", 1),
        ("3", 3),
        (3, 3),
        ("SPAN_KIND_OF_TOMORROW", 0),
        (9, 9),
    ],
)
def test_forms_of_kinds(kind: Any, number: int) -> None:
    assert read(made(kind=kind)).kind == number


def test_names_of_status_and_severity() -> None:
    assert read(made(status={"code": "STATUS_CODE_ERROR", "message": "m"})).status == 2
    for name, number in (
        ("SEVERITY_NUMBER_TRACE", 1),
        ("SEVERITY_NUMBER_INFO", 9),
        ("SEVERITY_NUMBER_INFO2", 10),
        ("SEVERITY_NUMBER_FATAL4", 24),
    ):
        record = {**json_record(LogRecord(1, "e")), "severityNumber": name}
        body = orjson.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
        loaded = read_logs(body)[0][0].load()
        assert isinstance(loaded, LogRecord)
        assert loaded.severity == number


@pytest.mark.parametrize("parent", ["", "0" * 16, None])
def test_no_parent(parent: str | None) -> None:
    [item], _ = read_spans(json_traces([made(parentSpanId=parent)]))
    assert item.load() == replace(PLAIN, parent_id=None)
    assert item.local_root


def test_records_without_a_trace() -> None:
    for ids in ({"traceId": "", "spanId": ""}, {"traceId": "0" * 32, "spanId": "0" * 16}, {}):
        record = {"timeUnixNano": "0", "observedTimeUnixNano": "3", "body": {"stringValue": "b"}, **ids}
        [item], _ = read_logs(orjson.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}))
        assert item.load() == LogRecord(3, "", "b")
        assert item.trace_id is None


def nested(levels: int, kind: str) -> Any:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(levels):
        if kind == "lists":
            value = {"arrayValue": {"values": [value]}}
        else:
            value = {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
    return value


@pytest.mark.parametrize(("kind", "deepest"), [("lists", 49), ("maps", 32)])
def test_nesting_is_limited_as_in_protobuf(kind: str, deepest: int) -> None:
    """Protobuf takes 100 messages inside one another: 49 lists or 32 maps in an attribute."""
    read(attribute(nested(deepest, kind)))
    assert "nested too deep" in refused(attribute(nested(deepest + 1, kind)))


def test_hostile_nesting() -> None:
    deep = b'{"arrayValue":{"values":[' * 3_000 + b"{}" + b"]}}" * 3_000
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"k","value":%b}]}]}]}]}' % deep
    with pytest.raises(MalformedTelemetry, match="no JSON"):
        read_spans(body)
    with pytest.raises(MalformedTelemetry, match="no JSON"):
        read_spans(b"[" * 1_000_000)
    # Within what the parser takes, and far past what protobuf does.
    deep = b"[" * 900 + b"]" * 900
    assert read_spans(b'{"resourceSpans": [], "x": %b}' % deep) == ([], [])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"resourceSpans": [{"x": ' + b"9" * 100_000 + b"}]}", id="number of 100,000 digits"),
        pytest.param(b'{"resourceSpans": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"resourceSpans": NaN}', id="NaN"),
        pytest.param(b'{"resourceSpans": [', id="cut off"),
        pytest.param(b"{} {}", id="two documents"),
        pytest.param(b"hello", id="text"),
    ],
)
def test_what_is_no_json(body: bytes) -> None:
    with pytest.raises(MalformedTelemetry, match="this is no JSON"):
        read_spans(body)


def test_half_a_character_costs_no_span() -> None:
    """RFC 8259, section 8.2, allows it, and JavaScript writes it where a text was cut."""
    halved = json_traces([attribute({"stringValue": "cut"}), made()]).replace(b'"cut"', b'"cut \\ud83d"')
    items, rejected = read_spans(halved)
    assert (len(items), rejected) == (2, [])
    [value] = cast("Span", items[0].load()).attributes.values()
    assert value == "cut \ufffd"


def test_errors_never_quote_content() -> None:
    secret = "hunter2"
    for body in (
        json_traces([made(traceId=secret)]),
        json_traces([attribute({"intValue": secret})]),
        json_traces([made(startTimeUnixNano=secret)]),
    ):
        assert secret not in " ".join(read_spans(body)[1])
    with pytest.raises(MalformedTelemetry) as caught:
        read_spans(b'{"a": "' + secret.encode())
    assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"resourceLogs": []}', "holds resourceLogs"),
        (b'{"resourceMetrics": []}', "holds resourceMetrics"),
        (b'{"resource_logs": []}', "holds resourceLogs"),
        (b'{"spans": []}', "no OTLP request"),
        (b'{"data": [{"traceID": "1"}]}', "no OTLP request"),
        (b"[]", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b'{"resourceSpans": {}}', "resourceSpans is no JSON array"),
        (b'{"resourceSpans": [1]}', "an entry of resourceSpans is no JSON object"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": 1}]}]}', "spans is no JSON array"),
    ],
)
def test_what_is_no_request_for_traces(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedTelemetry, match=reason):
        read_spans(body)


def test_traces_are_no_request_for_logs() -> None:
    with pytest.raises(MalformedTelemetry, match="holds resourceSpans; resourceLogs belong here"):
        read_logs(b'{"resourceSpans": []}')


@pytest.mark.parametrize("body", [b"", b"  \n", b"{}"])
def test_an_empty_request_holds_nothing(body: bytes) -> None:
    assert read_spans(body) == ([], [])
    assert read_logs(body) == ([], [])


def test_a_bad_resource_or_scope_rejects_the_spans_below() -> None:
    span = json_span(PLAIN)
    good = {"scopeSpans": [{"spans": [span]}]}
    for bad in (
        {"resource": {"attributes": 1}, "scopeSpans": [{"spans": [span, span]}]},
        {"scopeSpans": [{"scope": {"name": 1}, "spans": [span, span]}]},
    ):
        items, rejected = read_spans(orjson.dumps({"resourceSpans": [bad, good]}))
        assert [item.load() for item in items] == [PLAIN]
        assert len(rejected) == 2


def test_spans_share_their_resource_and_scope() -> None:
    body = orjson.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": [{"key": "a", "value": {"intValue": 1}}]},
                    "scopeSpans": [{"spans": [json_span(PLAIN)] * 2}, {"spans": [json_span(PLAIN)]}],
                }
            ]
        }
    )
    first, second, third = (item.load() for item in read_spans(body)[0])
    assert first.resource is second.resource is third.resource
    assert first.scope is second.scope


def test_limits() -> None:
    body = json_traces([PLAIN, PLAIN])
    assert len(read_spans(body, WireLimits(items=2, groups=4))[0]) == 2
    with pytest.raises(MalformedTelemetry, match="more than 1 spans or log records"):
        read_spans(body, WireLimits(items=1))
    with pytest.raises(MalformedTelemetry, match="more than 3 resources and scopes"):
        read_spans(body, WireLimits(groups=3))
    many: list[dict[str, Any]] = [{"key": str(n), "value": {}} for n in range(20)]
    too_many: list[dict[str, Any]] = [
        {"attributes": many},
        {"events": [{}] * 20},
        {"links": [{}] * 20},
        {"events": [{"attributes": many}]},
        {"links": [{"attributes": many}]},
    ]
    for members in too_many:
        [reason] = read_spans(json_traces([made(**members)]), WireLimits(attributes=19))[1]
        assert "more than 19 attributes, events and links" in reason
    record = {"attributes": many}
    logs = orjson.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    assert "more than 19" in read_logs(logs, WireLimits(attributes=19))[1][0]


def test_size_grows_with_content() -> None:
    def size(value: Any) -> int:
        return read_spans(json_traces([attribute(value)]))[0][0].size

    empty = size({})
    assert empty > 500
    assert size({"stringValue": "x" * 10_000}) > empty + 9_900
    assert size({"stringValue": "日" * 10_000}) > empty + 19_900
    assert size({"arrayValue": {"values": [{"stringValue": "x" * 10_000}]}}) > empty + 9_900
    assert (
        size({"kvlistValue": {"values": [{"key": "k", "value": {"bytesValue": "AAAA" * 1_000}}]}})
        > empty + 2_900
    )
    event = made(events=[{"attributes": [{"key": "k", "value": {"stringValue": "x" * 10_000}}]}])
    assert read_spans(json_traces([event]))[0][0].size > empty + 9_900


def test_parse_takes_parsed_json_too() -> None:
    request = parse(json_traces([PLAIN]))
    [item], _ = read_spans(request)
    assert item.load() == PLAIN
