"""Order: time, then cause; the same spans in any order, split or repetition give the same bytes (SEMANTICS,
section 5).
"""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.assembly.order import Event, in_order
from otel_turns.assembly.tree import Read
from otel_turns.model.facts import Role, ToolResult
from otel_turns.model.span import Resource
from tests.assembly.stage import (
    agent,
    call,
    chat,
    codes,
    handed,
    said,
    span,
    story,
    think,
    tool,
    turn,
    turns,
    user,
)


def test_a_reply_comes_before_the_operations_it_asked_for_even_where_its_span_ends_after_them() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 90, think("hm"), "Let me see.", call("1", "f", {}), parent="a"),
            tool("f", 20, 30, "1", parent="c"),
        ]
    )
    assert story(record) == ["think:hm", "say:Let me see.", "start:1", "end:1:completed"]


def test_calls_before_text_in_a_reply_are_still_asked_after_it_was_said() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), "Let me see.", parent="a"),
            tool("f", 20, 30, "1", parent="a"),
        ]
    )
    assert story(record) == ["say:Let me see.", "start:1", "end:1:completed"]


def test_calls_that_start_in_one_millisecond_stand_in_the_order_of_the_reply() -> None:
    reads = [
        agent("a", 0, 100),
        chat("c", 1, 10, call("z", "f", {"n": 1}), call("b", "f", {"n": 2}), parent="a"),
        tool("f#2", 20, 25, "b", parent="a", arguments={"n": 2}),
        tool("f#1", 20, 30, "z", parent="a", arguments={"n": 1}),
    ]
    assert story(turn(reads)) == ["start:z", "start:b", "end:b:completed", "end:z:completed"]


def test_a_child_that_ends_after_its_parent_by_a_coarse_clock_still_finishes_first() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "ask", {}), parent="root"),
            tool("ask", 20, 60, "1", parent="root"),
            agent("sub", 20, 60.4, parent="ask"),
            chat("d", 21, 60.3, "x", parent="sub"),
        ]
    )
    assert story(record) == ["start:1", "agent:sub", "agent-end:completed", "end:1:completed"]


def test_a_result_comes_before_the_reply_to_the_request_that_carries_it() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c1", 1, 10, call("1", "f", {}), parent="a", inputs=[user("hi")]),
            tool("f", 11, 45, "1", parent="a"),
            chat(
                "c2",
                40,
                44,
                "done",
                parent="a",
                inputs=[user("hi"), said(call("1", "f", {})), handed(ToolResult("1", "f", "ok"))],
            ),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:done"]


def test_background_work_does_not_bind_its_parent() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "spawn", {}), parent="root"),
            tool("spawn", 20, 25, "1", parent="root"),
            agent("worker", 30, 80, parent="spawn"),
            chat("d", 31, 79, "x", parent="worker"),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "agent:worker", "agent-end:completed"]


def test_the_clock_of_another_host_is_shifted_into_its_callers_window() -> None:
    other = Resource({"service.name": "other"})
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "ask", {}), parent="root"),
            tool("ask", 20, 60, "1", parent="root"),
            agent("remote", 5_000, 5_020, parent="ask", resource=other),
            chat("d", 5_001, 5_010, "far", parent="remote", resource=other),
            chat("e", 70, 80, "near", parent="root"),
        ]
    )
    assert story(record) == ["start:1", "agent:remote", "agent-end:completed", "end:1:completed", "say:near"]
    assert "clock_skew" in codes(record)
    times = [int(t) for t in record["otel"]["eventTimes"]]
    assert times == sorted(times)


def _scene() -> list[Read]:
    return [
        span("flow", Role.WORKFLOW, 0, 200),
        agent("root", 1, 90, parent="flow"),
        chat(
            "c",
            2,
            10,
            "Both.",
            call("1", "f", {"n": 1}),
            call("2", "f", {"n": 2}),
            parent="root",
            inputs=[user("hi")],
        ),
        tool("f#1", 20, 40, None, "one", parent="root", arguments={"n": 1}),
        tool("f#2", 20, 40, None, "two", parent="root", arguments={"n": 2}),
        chat("d", 50, 60, call("3", "transfer_to_expert", {}), parent="root"),
        agent("expert", 100, 190, parent="flow"),
        chat("e", 101, 150, "Mine now.", parent="expert"),
        chat("bare", 300, 310, "alone", trace="other", inputs=[user("hello")]),
    ]


@given(st.permutations(range(9)), st.lists(st.integers(0, 8), max_size=4))
def test_any_permutation_and_repetition_gives_the_same_bytes(order: list[int], again: list[int]) -> None:
    scene = _scene()
    expected = orjson.dumps(turns(scene))
    assert orjson.dumps(turns([scene[i] for i in [*order, *again]])) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12))
def test_every_event_comes_out_once_and_behind_its_causes(rows: list[tuple[int, int]]) -> None:
    events = [
        Event({"type": "message", "text": str(i)}, time, bytes([i]), rank)
        for i, (time, rank) in enumerate(rows)
    ]
    for i, event in enumerate(events):
        event.follows(*events[: i // 2])
    out = in_order(reversed(events))
    assert sorted(e.span_id for e in out) == [e.span_id for e in events]
    place = {id(e): n for n, e in enumerate(out)}
    assert all(place[id(cause)] < place[id(e)] for e in events for cause in e.after)


def test_causes_in_a_circle_lose_no_event() -> None:
    a, b = (Event({"type": "message"}, n, bytes([n])) for n in (1, 2))
    a.follows(b)
    b.follows(a)
    assert len(in_order([b, a])) == 2
