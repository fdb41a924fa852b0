"""Evidence: what is missing is told by a code, and complete is true exactly where nothing is (SEMANTICS,
sections 1 and 9).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from otel_turns.assembly.evidence import Remarks
from otel_turns.assembly.tree import Read
from otel_turns.model import normalized as n
from otel_turns.model.evidence import CODES, EvidenceCode
from otel_turns.model.facts import MISSING, Mark, Question, Role, ToolResult
from otel_turns.model.span import Resource, Span, SpanEvent
from tests.assembly.stage import (
    T0,
    agent,
    call,
    chat,
    codes,
    handed,
    ident,
    record_of,
    said,
    span,
    story,
    think,
    tool,
    turn,
    unended,
    user,
)

A = agent("a", 0, 100)
ASK = chat("c", 1, 10, call("1", "f", {}), parent="a", inputs=[user("hi")])
RUN = tool("f", 20, 30, "1", parent="a")
END = chat("d", 40, 50, "Done.", parent="a")


def with_source(read: Read, **members: Any) -> Read:
    assert isinstance(read.source, Span)
    return Read(replace(read.source, **members), read.facts)


def of(record: dict[str, Any], code: str) -> list[dict[str, Any]]:
    return [i for i in record["otel"]["evidence"]["issues"] if i["code"] == code]


WHOLE = [
    pytest.param([A, ASK, RUN, END], id="a call and an answer"),
    pytest.param([A, chat("c", 1, 10, think("hm"), "Hello.", parent="a")], id="thinking and text"),
    pytest.param([A, chat("c", 1, 10, '{"t": 1}', parent="a", structured=True)], id="typed answer"),
    pytest.param([chat("c", 1, 10, "Hello.", inputs=[user("hi")])], id="one request without an agent"),
    pytest.param(
        [A, chat("c", 1, 10, parent="a", failed=True, error="busy", usage=None), END], id="an error got over"
    ),
    pytest.param(
        [agent("a", 0, 100, questions=[Question(call_id="1")]), ASK], id="a call that waits for a human"
    ),
    pytest.param(
        [
            A,
            ASK,
            tool("f", 20, 60, "1", parent="a"),
            agent("sub", 21, 59, parent="f"),
            chat("e", 22, 30, "found", parent="sub"),
            chat("d", 70, 80, "Done.", parent="a"),
        ],
        id="a sub-agent",
    ),
    pytest.param(
        [
            span(
                "s",
                Role.STEP,
                0,
                10,
                normalized=[(T0, n.MessageDelta("Hello.")), (T0, n.Usage(1, 2, 3)), (T0, n.Done())],
            )
        ],
        id="a stream",
    ),
    pytest.param([A, ASK, tool("f", 20, 30, "1", None, parent="a"), END], id="a result of null"),
    pytest.param([A, chat("t", 1, 2, "A title", parent="a", side=True), ASK, RUN, END], id="a side request"),
]


@pytest.mark.parametrize("reads", WHOLE)
def test_a_turn_that_lacks_nothing_is_complete(reads: list[Read]) -> None:
    evidence = turn(reads)["otel"]["evidence"]
    assert [
        i for i in evidence["issues"] if CODES[i["code"]].missing and i["code"] != "operation_unfinished"
    ] == []
    assert evidence["complete"] is True


OTHER_HOST = Resource({"service.name": "other"})
EACH: list[tuple[EvidenceCode, list[Read]]] = [
    ("content_not_captured", [A, chat("c", 1, 10, parent="a", hidden={"outputs"})]),
    (
        "content_not_captured",
        [A, ASK, tool("f", 20, 30, "1", MISSING, parent="a", hidden={"result"}), END],
    ),
    (
        "content_not_captured",
        [
            A,
            chat("c", 1, 10, "Wait.", parent="a"),
            tool("f", 20, 30, "1", parent="a", arguments=MISSING, hidden={"arguments"}),
            END,
        ],
    ),
    ("content_not_captured", [agent("a", 0, 100, failed=True, error=""), END]),
    ("content_not_captured", [A, tool("f", 20, 30, "1", parent="a")]),
    ("content_not_captured", [A, END, agent("sub", 60, 70, parent="a")]),
    ("root_missing", [chat("c", 1, 10, "Hello.", parent="lost")]),
    ("root_unfinished", [unended(A), END]),
    ("orphan_spans", [A, ASK, tool("f", 20, 30, "1", parent="lost"), END]),
    ("span_events_dropped", [A, with_source(END, dropped_events=3)]),
    ("attributes_dropped", [A, with_source(END, dropped_attributes=3)]),
    ("attributes_dropped", [A, with_source(END, events=(SpanEvent(T0, "e", dropped_attributes=1),))]),
    ("truncated_value", [A, chat("c", 1, 10, "Hello.", parent="a", truncated=True)]),
    (
        "truncated_value",
        [
            A,
            END,
            span("s", Role.STEP, 1, 2, parent="a", normalized=[(T0, n.ToolCallDelta(0, "1", "f", '{"a"'))]),
        ],
    ),
    ("operation_unfinished", [A, ASK]),
    ("operation_unfinished", [A, ASK, END]),
    (
        "operation_unstarted",
        [
            A,
            chat("c", 1, 10, "Wait.", parent="a", inputs=[user("hi")]),
            chat(
                "d",
                20,
                30,
                "Done.",
                parent="a",
                inputs=[user("hi"), said("Wait."), handed(ToolResult("9", "f", "x"))],
            ),
        ],
    ),
    ("synthetic_operation_id", [A, END, tool("f", 60, 70, None, parent="a")]),
    ("unparsable_json", [A, ASK, tool("f", 20, 30, "1", parent="a", arguments="{", unparsable=True), END]),
    ("unparsable_json", [A, chat("c", 1, 10, "no", parent="a", structured=True)]),
    (
        "malformed_event",
        [A, with_source(END), span("s", Role.STEP, 1, 2, parent="a", marks=[Mark(T0, "malformed", "x")])],
    ),
    (
        "clock_skew",
        [
            A,
            ASK,
            tool("f", 20, 60, "1", parent="a"),
            agent("far", 5000, 5010, parent="f", resource=OTHER_HOST),
            chat("e", 5001, 5009, "found", parent="far", resource=OTHER_HOST),
            chat("d", 70, 80, "Done.", parent="a"),
        ],
    ),
    ("usage_partial", [A, chat("c", 1, 10, "Hello.", parent="a", usage=None)]),
    ("unread_spans", [A, END, span("odd", Role.STEP, 1, 2, parent="a", unread=True)]),
]


@pytest.mark.parametrize(("code", "reads"), EACH, ids=[f"{c}-{i}" for i, (c, _) in enumerate(EACH)])
def test_each_code_is_told_and_makes_the_turn_incomplete_where_something_is_missing(
    code: EvidenceCode, reads: list[Read]
) -> None:
    record = turn(reads)
    assert code in codes(record)
    assert codes(record) == {code} or CODES[code].missing
    assert record["otel"]["evidence"]["complete"] is not CODES[code].missing


def test_every_code_that_assembly_can_say_is_tried_here() -> None:
    of_others = {"spans_dropped", "malformed_span", "late_spans", "over_limit"}
    assert {code for code, _ in EACH} == set(CODES) - of_others


def test_a_log_record_that_lost_attributes_is_told() -> None:
    told = record_of(10, Role.INFERENCE, group="p", outputs=[said("Hello.")])
    record = turn([Read(replace(told.source, dropped_attributes=2), told.facts)])
    assert "attributes_dropped" in codes(record)


def test_missing_content_names_the_switch_that_turns_it_on() -> None:
    record = turn([A, chat("c", 1, 10, parent="a", hidden={"outputs"})])
    assert ["switch content on" in i["message"] for i in of(record, "content_not_captured")] == [True]


def test_an_issue_names_the_span_and_the_operation() -> None:
    record = turn([A, ASK, tool("f", 20, 30, "1", MISSING, parent="a"), END])
    (issue,) = of(record, "content_not_captured")
    assert issue["spanId"] == ident("f", 8).hex()
    assert issue["operationId"] == "1"


def test_no_message_shows_content() -> None:
    secret = "SECRET"
    record = turn(
        [
            agent("a", 0, 100, failed=True, error=secret, session_id=secret),
            chat("c", 1, 10, secret, call("1", secret, "{" + secret), parent="a", structured=True),
            tool(
                "f",
                20,
                30,
                "1",
                secret,
                parent="a",
                tool_name=secret,
                arguments="{" + secret,
                unparsable=True,
            ),
            tool("g", 31, 35, None, MISSING, parent="a", tool_name=secret, failed=True, error=secret),
            chat("d", 40, 50, secret, parent="a", usage=None, truncated=True),
        ]
    )
    issues = record["otel"]["evidence"]["issues"]
    assert len(issues) > 3
    assert all(secret not in i["message"] for i in issues)


def test_an_output_that_a_human_refused_without_words_is_not_missing() -> None:
    record = turn(
        [A, ASK, tool("f", 20, 30, "1", MISSING, parent="a", rejected=True), END],
    )
    assert story(record) == ["start:1", "end:1:rejected", "say:Done."]
    assert record["otel"]["evidence"]["complete"] is True


def test_a_waiting_turn_with_a_call_that_nobody_asks_about_is_not_complete() -> None:
    record = turn(
        [
            agent("a", 0, 100, questions=[Question(call_id="1")]),
            chat("c", 1, 10, call("1", "rm", {}), call("2", "ls", {}), parent="a"),
        ]
    )
    assert record["status"] == "waiting"
    assert [i["operationId"] for i in of(record, "operation_unfinished")] == ["1", "2"]
    assert record["otel"]["evidence"]["complete"] is False


def test_issues_are_told_once_and_in_a_fixed_order() -> None:
    one, two = Remarks(), Remarks()
    for remarks, order in ((one, (1, 2, 1)), (two, (2, 1))):
        for number in order:
            remarks.add("usage_partial", "why", ident(str(number), 8))
    assert one.member() == two.member()
    assert len(one.member()["issues"]) == 2


def test_without_remarks_a_turn_is_complete() -> None:
    assert Remarks().member() == {"complete": True, "issues": []}
