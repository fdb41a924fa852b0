"""What a user may choose: user messages, content, and resumed operations (SEMANTICS, sections 3 and 4)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from otel_turns.assembly.memory import Memory
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.tree import Read
from otel_turns.model import normalized as n
from otel_turns.model.facts import MISSING, Message, Question, Role, Text, ToolResult
from tests.assembly.stage import (
    T0,
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

USERS = AssemblyOptions(include_user_messages=True)
BARE = AssemblyOptions(content=False)
FINISH = AssemblyOptions(resumed_operations="finish")

# --- include_user_messages ----------------------------------------------------------------------------------


def test_user_messages_stand_before_the_reply_to_them() -> None:
    record = turn(
        [agent("a", 0, 100), chat("c", 1, 10, "Hello.", parent="a", inputs=[user("hi")])], options=USERS
    )
    assert record["events"] == [
        {"type": "message", "role": "user", "text": "hi"},
        {"type": "message", "role": "assistant", "text": "Hello."},
    ]


def test_only_the_new_words_of_the_user_are_told_and_never_the_system_s() -> None:
    history = [Message("system", [Text("Be brief.")]), user("hi"), said("Hello."), user("and now?")]
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "So.", parent="a", inputs=history)], options=USERS)
    assert story(record) == ["user:and now?", "say:So."]


def test_words_that_later_requests_repeat_are_told_once() -> None:
    first = [user("hi")]
    second = [*first, said(call("1", "f", {})), handed(ToolResult("1", "f", "x"))]
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), parent="a", inputs=first),
            chat("d", 20, 30, "Done.", parent="a", inputs=second),
        ],
        options=USERS,
    )
    assert story(record) == ["user:hi", "start:1", "end:1:completed", "say:Done."]


def test_words_that_the_user_adds_in_between_stand_where_they_came() -> None:
    first = [user("hi")]
    second = [*first, said("Wait.", call("1", "f", {})), handed(ToolResult("1", "f", "x")), user("hurry")]
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a", inputs=first),
            tool("f", 11, 15, "1", "x", parent="a"),
            chat("d", 20, 30, "Done.", parent="a", inputs=second),
        ],
        options=USERS,
    )
    assert story(record) == [
        "user:hi",
        "say:Wait.",
        "start:1",
        "end:1:completed",
        "user:hurry",
        "say:Done.",
    ]


def test_words_that_only_the_agent_s_span_carries_are_told() -> None:
    record = turn(
        [agent("a", 0, 100, inputs=[user("hi")]), chat("c", 1, 10, "Hello.", parent="a")], options=USERS
    )
    assert story(record) == ["user:hi", "say:Hello."]


def test_what_a_sub_agent_is_told_are_no_words_of_the_user() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, "Wait.", parent="root", inputs=[user("hi")]),
            agent("sub", 20, 60, parent="root"),
            chat("d", 21, 30, "inner", parent="sub", inputs=[user("find it")]),
        ],
        options=USERS,
    )
    assert story(record) == ["user:hi", "say:Wait.", "agent:sub", "agent-end:completed"]


def test_whole_words_of_the_user_in_a_stream_are_told() -> None:
    payload = {"type": "message", "role": "user", "text": "hi"}
    events = [n.Custom("app", "stream_event", payload), n.MessageDelta("Hello.")]
    record = turn([span("s", Role.STEP, 0, 10, normalized=[(T0, e) for e in events])], options=USERS)
    assert story(record) == ["user:hi", "say:Hello."]


# --- content ------------------------------------------------------------------------------------------------

SECRET = "S3CRET"


def _scene() -> list[Read]:
    return [
        agent(
            "a",
            0,
            200,
            failed=True,
            error=SECRET,
            data={"k": SECRET},
            questions=[Question("q", "rm", {"p": SECRET}, SECRET, [{"id": "y", "label": SECRET}], "1")],
        ),
        chat(
            "c",
            1,
            10,
            think(SECRET),
            SECRET,
            call("1", "rm", {"p": SECRET}),
            parent="a",
            inputs=[user(SECRET)],
        ),
        tool("rm", 20, 30, "1", SECRET, parent="a", arguments={"p": SECRET}),
        agent("sub", 40, 60, parent="a"),
        chat("d", 41, 50, SECRET, parent="sub"),
        chat("s", 70, 80, SECRET, parent="a", side=True, compaction=SECRET),
        span(
            "stream",
            Role.STEP,
            90,
            95,
            parent="a",
            normalized=[
                (T0 + 1, n.MessageDelta(SECRET)),
                (T0 + 2, n.CitationAdded({"url": SECRET})),
                (T0 + 3, n.ToolCallComplete(0, "2", "ls", f'"{SECRET}"')),
                (T0 + 4, n.ToolResult("2", "ls", SECRET)),
                (T0 + 5, n.SkillActivation("pdf", "activated")),
            ],
        ),
    ]


@pytest.mark.parametrize("users", [False, True])
def test_without_content_nothing_that_was_said_asked_or_returned_is_left(users: bool) -> None:
    record = turn(_scene(), options=AssemblyOptions(content=False, include_user_messages=users))
    assert SECRET.encode() not in orjson.dumps(record)


def test_without_content_what_was_done_is_still_told() -> None:
    record = turn(_scene(), options=BARE)
    kinds = [e["type"] for e in record["events"]]
    assert kinds.count("operation.started") == kinds.count("operation.finished") == 3
    assert {"input.requested", "skill.loaded", "compaction", "error"} <= set(kinds)
    assert not {"message", "thinking"} & set(kinds)
    assert record["status"] == "failed"
    assert record["usage"]["requests"] == 3


def test_without_content_an_input_is_null_and_an_output_absent() -> None:
    record = turn([agent("a", 0, 100), tool("f", 1, 10, "1", "x", parent="a")], options=BARE)
    assert record["events"] == [
        {
            "type": "operation.started",
            "operationId": "1",
            "operation": {"kind": "tool", "name": "f", "input": None},
        },
        {"type": "operation.finished", "operationId": "1", "kind": "tool", "status": "completed"},
    ]
    assert "data" not in record


def test_without_content_each_event_keeps_its_time_and_span() -> None:
    record = turn(_scene(), options=BARE)
    count = len(record["events"])
    assert len(record["otel"]["eventTimes"]) == len(record["otel"]["eventSpans"]) == count


def test_without_content_the_evidence_says_why() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "Hello.", parent="a")], options=BARE)
    assert codes(record) == {"content_not_captured"}
    assert record["otel"]["evidence"]["complete"] is False


# --- resumed_operations -------------------------------------------------------------------------------------


def _paused(**more: Any) -> list[Read]:
    return [
        agent("one", 0, 30, trace="one", session_id="s", agent_name="a", questions=[Question(call_id="1")]),
        chat("c", 1, 10, call("1", "rm", {}), parent="one", trace="one", inputs=[user("hi")], **more),
    ]


def _resumed_with_a_run() -> list[Read]:
    return [
        agent("two", 50, 90, trace="two", session_id="s", agent_name="a"),
        tool("rm", 51, 60, "1", "gone", parent="two", trace="two"),
        chat("d", 61, 70, "Done.", parent="two", trace="two"),
    ]


def _resumed_with_a_result() -> list[Read]:
    history = [user("hi"), said(call("1", "rm", {})), handed(ToolResult("1", "rm", "gone"))]
    return [
        agent("two", 50, 90, trace="two", session_id="s", agent_name="a"),
        chat("d", 61, 70, "Done.", parent="two", trace="two", inputs=history),
    ]


@pytest.mark.parametrize("resumed", [_resumed_with_a_run, _resumed_with_a_result])
def test_a_turn_that_resumes_a_call_holds_its_pair(resumed: Any) -> None:
    _, second = turns([*_paused(), *resumed()])
    assert story(second) == ["start:1", "end:1:completed", "say:Done."]


@pytest.mark.parametrize("resumed", [_resumed_with_a_run, _resumed_with_a_result])
def test_the_start_is_left_out_on_request_where_the_earlier_turn_had_it(resumed: Any) -> None:
    first, second = turns([*_paused(), *resumed()], options=FINISH)
    assert story(first) == ["start:1", "ask:rm"]
    assert story(second) == ["end:1:completed", "say:Done."]
    assert len(second["otel"]["eventTimes"]) == 2


def test_the_start_stays_where_no_earlier_turn_had_it() -> None:
    assert story(turn(_resumed_with_a_result(), options=FINISH))[0] == "start:1"


def test_the_start_stays_where_the_pending_call_is_of_another_session() -> None:
    other = [
        agent("x", 0, 30, trace="x", session_id="other", questions=[Question(call_id="1")]),
        chat("y", 1, 10, call("1", "rm", {}), parent="x", trace="x"),
    ]
    _, second = turns([*other, *_resumed_with_a_run()], options=FINISH)
    assert story(second)[0] == "start:1"


def test_a_call_of_this_turn_s_own_keeps_its_start() -> None:
    reads = [
        agent("two", 50, 90, trace="two", session_id="s", agent_name="a"),
        chat("d", 51, 55, call("1", "rm", {}), parent="two", trace="two"),
        tool("rm", 56, 60, "1", "gone", parent="two", trace="two"),
    ]
    _, second = turns([*_paused(), *reads], options=FINISH)
    assert story(second) == ["start:1", "end:1:completed"]


def test_memory_is_bounded_and_forgets_the_oldest_first() -> None:
    memory = Memory(limit=2)
    for name in ("1", "2", "3"):
        memory.leave("s", name, asked=True, turn="one")
    assert [memory.asked("s", name, "two") for name in ("1", "2", "3")] == [None, True, True]


def test_memory_is_kept_between_calls() -> None:
    memory = Memory()
    turns(_paused(), memory=memory, options=FINISH)
    (second,) = turns(_resumed_with_a_run(), memory=memory, options=FINISH)
    assert story(second) == ["end:1:completed", "say:Done."]


def test_a_turn_that_is_made_again_is_the_same() -> None:
    memory = Memory()
    told = [turns([*_paused(), *_resumed_with_a_run()], memory=memory, options=FINISH) for _ in range(3)]
    assert told[0] == told[1] == told[2]


def test_a_turn_that_is_made_again_with_more_of_it_resumes_nothing_of_its_own() -> None:
    memory = Memory()
    call_event = (T0 + 1, n.ToolCallComplete(0, "1", "f", "{}"))
    early = span("s", Role.STEP, 0, 100, normalized=[call_event])
    late = span("s", Role.STEP, 0, 100, normalized=[call_event, (T0 + 2, n.ToolResult("1", "f", "x"))])
    assert story(turn([early], memory=memory, options=FINISH)) == ["start:1"]
    assert story(turn([late], memory=memory, options=FINISH)) == ["start:1", "end:1:completed"]


def test_an_answered_call_is_remembered_no_more() -> None:
    memory = Memory()
    turns([*_paused(), *_resumed_with_a_run()], memory=memory, options=FINISH)
    later = [
        agent("three", 100, 190, trace="three", session_id="s", agent_name="a"),
        tool("rm", 151, 160, "1", MISSING, parent="three", trace="three"),
    ]
    (third,) = turns(later, memory=memory, options=FINISH)
    assert story(third)[0] == "start:1"
