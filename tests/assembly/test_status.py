"""How a turn ends: waiting, failed, completed, and which errors are events (SEMANTICS, section 8)."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.assembly.tree import Read
from otel_turns.model.facts import MISSING, Decision, Mark, Question, Role, ToolResult
from tests.assembly.stage import (
    MS,
    T0,
    agent,
    call,
    chat,
    codes,
    handed,
    said,
    span,
    story,
    tool,
    turn,
    turns,
    unended,
    user,
)

RM = {"path": "/x"}


def asked(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [e["request"] for e in record["events"] if e["type"] == "input.requested"]


# --- questions ----------------------------------------------------------------------------------------------


def test_a_pending_question_makes_the_turn_wait_and_its_call_stands_before_it() -> None:
    record = turn(
        [
            agent("a", 0, 100, questions=[Question(call_id="1")]),
            chat("c", 1, 10, call("1", "rm", RM), parent="a"),
        ]
    )
    assert story(record) == ["start:1", "ask:rm"]
    assert record["status"] == "waiting"
    assert asked(record) == [{"id": "1", "action": "rm", "input": RM}]


def test_every_field_that_is_known_is_filled() -> None:
    options = [{"id": "approve", "label": "Yes"}, {"id": "deny"}]
    question = Question("q1", "rm", RM, "Delete?", options, "1")
    record = turn(
        [agent("a", 0, 100, questions=[question]), chat("c", 1, 10, call("1", "rm", RM), parent="a")]
    )
    assert asked(record) == [
        {"id": "q1", "action": "rm", "input": RM, "prompt": "Delete?", "options": options}
    ]


def test_a_question_about_no_call_stands_by_itself() -> None:
    record = turn(
        [
            agent("a", 0, 100, questions=[Question("q1", prompt="Which city?")]),
            chat("c", 1, 10, "Hm.", parent="a"),
        ]
    )
    assert story(record) == ["say:Hm.", "ask:None"]
    assert asked(record) == [{"id": "q1", "prompt": "Which city?"}]
    assert record["status"] == "waiting"


def test_each_pending_call_is_a_question_of_its_own() -> None:
    record = turn(
        [
            agent("a", 0, 100, questions=[Question(call_id="1"), Question(call_id="2")]),
            chat("c", 1, 10, call("1", "rm", RM), call("2", "mv", {}), parent="a"),
        ]
    )
    assert [q["action"] for q in asked(record)] == ["rm", "mv"]
    assert record["status"] == "waiting"


def test_a_question_that_several_spans_repeat_is_put_once() -> None:
    record = turn(
        [
            agent("a", 0, 100, questions=[Question(call_id="1")]),
            chat("c", 1, 10, call("1", "rm", RM), parent="a", questions=[Question(call_id="1")]),
        ]
    )
    assert story(record) == ["start:1", "ask:rm"]


def test_a_question_that_is_answered_within_the_turn_is_an_event_and_nothing_waits() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "rm", RM), parent="a", questions=[Question(call_id="1")]),
            tool("rm", 40, 50, "1", "gone", parent="a", arguments=RM),
            chat("d", 60, 70, "Done.", parent="a"),
        ]
    )
    assert story(record) == ["start:1", "ask:rm", "end:1:completed", "say:Done."]
    assert record["status"] == "completed"


def test_a_question_that_was_refused_within_the_turn_waits_no_more() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "rm", RM), parent="a", questions=[Question(call_id="1")]),
            chat("d", 60, 70, "As you wish.", parent="a", decisions=[Decision(False, "1", reason="no")]),
        ]
    )
    assert story(record) == ["start:1", "ask:rm", "end:1:rejected", "say:As you wish."]
    assert record["status"] == "completed"


def test_one_open_question_among_answered_ones_still_waits() -> None:
    record = turn(
        [
            agent("a", 0, 100, questions=[Question(call_id="1"), Question(call_id="2")]),
            chat("c", 1, 10, call("1", "rm", RM), call("2", "mv", {}), parent="a"),
            tool("rm", 20, 30, "1", "gone", parent="a", arguments=RM),
        ]
    )
    assert record["status"] == "waiting"
    assert len(asked(record)) == 2


def test_a_run_that_paused_without_a_question_of_its_own_asks_about_its_pending_calls() -> None:
    record = turn(
        [
            agent("a", 0, 100, waiting=True),
            chat("c", 1, 10, call("1", "rm", RM), call("2", "ls", {}), parent="a"),
            tool("ls", 11, 20, "2", "x", parent="a"),
        ]
    )
    assert record["status"] == "waiting"
    assert asked(record) == [{"id": "1", "action": "rm", "input": RM}]


def test_a_question_that_a_mark_tells_makes_the_turn_wait() -> None:
    event = {"type": "input.requested", "request": {"action": "deploy"}}
    record = turn(
        [
            agent("a", 0, 100, marks=[Mark(T0 + 50 * MS, "event", event)]),
            chat("c", 1, 10, "Hm.", parent="a"),
        ]
    )
    assert story(record) == ["say:Hm.", "ask:deploy"]
    assert record["status"] == "waiting"


# --- failed and completed -----------------------------------------------------------------------------------


def test_a_root_that_failed_fails_the_turn_and_its_error_is_the_last_event() -> None:
    record = turn(
        [
            agent("a", 0, 100, failed=True, error="upstream exploded"),
            chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a"),
            tool("f", 11, 20, "1", parent="a"),
        ]
    )
    assert record["status"] == "failed"
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed", "error:upstream exploded"]


def test_a_run_that_broke_off_with_an_error_failed_also_where_its_root_does_not_say_so() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a"),
            tool("f", 11, 20, "1", parent="a"),
            chat("d", 21, 30, parent="a", failed=True, error="busy", usage=None),
        ]
    )
    assert record["status"] == "failed"
    assert story(record)[-1] == "error:busy"


def test_a_failed_tool_alone_does_not_fail_the_turn_and_is_no_error_event() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), parent="a"),
            tool("f", 11, 20, "1", MISSING, parent="a", failed=True, error="disk full"),
            chat("d", 21, 30, "It failed.", parent="a"),
        ]
    )
    assert record["status"] == "completed"
    assert story(record) == ["start:1", "end:1:failed", "say:It failed."]


def test_the_error_of_a_tool_that_spread_to_the_root_though_the_agent_answered_fails_nothing() -> None:
    history = [user("hi"), said(call("1", "f", {})), handed(ToolResult("1", "f", "disk full", failed=True))]
    record = turn(
        [
            agent("a", 0, 100, failed=True, error="disk full"),
            chat("c", 1, 10, call("1", "f", {}), parent="a", inputs=[user("hi")]),
            tool("f", 11, 20, "1", MISSING, parent="a", failed=True, error="disk full"),
            chat("d", 21, 30, "It failed.", parent="a", inputs=history),
        ]
    )
    assert record["status"] == "completed"
    assert story(record) == ["start:1", "end:1:failed", "say:It failed."]


def test_the_error_of_a_tool_that_ended_the_turn_fails_it() -> None:
    record = turn(
        [
            agent("a", 0, 100, failed=True, error="disk full"),
            chat("c", 1, 10, call("1", "f", {}), parent="a"),
            tool("f", 11, 20, "1", MISSING, parent="a", failed=True, error="disk full"),
        ]
    )
    assert record["status"] == "failed"
    assert story(record) == ["start:1", "end:1:failed", "error:disk full"]


def test_an_error_that_the_agent_got_over_is_an_event_and_fails_nothing() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, parent="a", failed=True, error="busy", usage=None),
            chat("d", 20, 30, "Hello.", parent="a"),
        ]
    )
    assert record["status"] == "completed"
    assert story(record) == ["error:busy", "say:Hello."]


def test_repeated_attempts_with_one_error_are_one_event() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, parent="a", failed=True, error="busy", usage=None),
            chat("d", 20, 30, parent="a", failed=True, error="busy", usage=None),
            chat("e", 40, 50, "Hello.", parent="a"),
        ]
    )
    assert story(record) == ["error:busy", "say:Hello."]


def test_different_errors_are_different_events() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, parent="a", failed=True, error="busy", usage=None),
            chat("d", 20, 30, parent="a", failed=True, error="too long", usage=None),
            chat("e", 40, 50, "Hello.", parent="a"),
        ]
    )
    assert story(record) == ["error:busy", "error:too long", "say:Hello."]


def test_one_cause_that_nested_spans_carry_is_told_once_as_the_outermost_says_it() -> None:
    record = turn(
        [
            span("flow", Role.WORKFLOW, 0, 100, failed=True, error="run failed: busy"),
            agent("a", 1, 99, parent="flow", failed=True, error="busy"),
            chat("c", 2, 10, parent="a", failed=True, error="busy (attempt 1)", usage=None),
            chat("d", 20, 30, parent="a", failed=True, error="busy (attempt 2)", usage=None),
        ]
    )
    assert record["status"] == "failed"
    assert story(record) == ["error:run failed: busy"]


def test_an_outer_span_that_failed_without_words_leaves_them_to_the_inner_one() -> None:
    record = turn(
        [
            agent("a", 0, 100, failed=True, error=""),
            chat("c", 1, 10, parent="a", failed=True, error="busy", usage=None),
        ]
    )
    assert record["status"] == "failed"
    assert story(record) == ["error:busy"]


def test_a_failure_that_nobody_puts_in_words_is_told_by_the_evidence() -> None:
    record = turn([agent("a", 0, 100, failed=True, error=""), chat("c", 1, 10, "Wait.", parent="a")])
    assert record["status"] == "failed"
    assert story(record) == ["say:Wait."]
    assert "content_not_captured" in codes(record)


def test_a_failed_sub_agent_alone_does_not_fail_the_turn() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "ask", {}), parent="root"),
            tool("ask", 20, 60, "1", MISSING, parent="root", failed=True, error="lost"),
            agent("sub", 21, 59, parent="ask", failed=True, error="lost"),
            chat("d", 70, 80, "It failed.", parent="root"),
        ]
    )
    assert record["status"] == "completed"
    assert story(record) == [
        "start:1",
        "agent:sub",
        "agent-end:failed",
        "end:1:failed",
        "say:It failed.",
    ]


def test_a_span_that_knows_that_its_error_was_got_over_fails_nothing() -> None:
    record = turn(
        [
            agent("a", 0, 100, failed=True, error="busy", recovered=True),
            chat("c", 1, 10, "Hello.", parent="a"),
        ]
    )
    assert record["status"] == "completed"


def test_a_turn_that_failed_does_not_wait() -> None:
    record = turn(
        [
            agent("a", 0, 100, failed=True, error="lost", questions=[Question(call_id="1")]),
            chat("c", 1, 10, call("1", "rm", RM), parent="a"),
        ]
    )
    assert record["status"] == "failed"
    assert story(record) == ["start:1", "ask:rm", "error:lost"]


def test_otherwise_a_turn_is_completed() -> None:
    assert turn([agent("a", 0, 100), chat("c", 1, 10, "Hello.", parent="a")])["status"] == "completed"


# --- spans that never ended ---------------------------------------------------------------------------------


def _cut_off(**root: Any) -> list[Read]:
    return [
        unended(agent("a", 0, 100, **root)),
        chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a"),
        unended(tool("f", 20, 99, "1", MISSING, parent="a")),
    ]


def test_a_root_that_never_ended_is_told_with_evidence() -> None:
    record = turn(_cut_off())
    assert record["status"] == "completed"
    assert "root_unfinished" in codes(record)
    assert record["otel"]["evidence"]["complete"] is False


def test_a_root_that_never_ended_failed_where_anything_says_so() -> None:
    record = turn(_cut_off(failed=True, error="killed"))
    assert record["status"] == "failed"
    assert story(record)[-1] == "error:killed"


def test_a_run_that_never_ended_is_not_finished() -> None:
    record = turn(_cut_off())
    assert story(record) == ["say:Wait.", "start:1"]
    assert "operation_unfinished" in codes(record)


def test_a_sub_agent_that_never_ended_is_not_finished() -> None:
    record = turn(
        [
            unended(agent("root", 0, 100)),
            chat("c", 1, 10, "Wait.", parent="root"),
            unended(agent("sub", 20, 60, parent="root")),
            chat("d", 21, 30, "inner", parent="sub"),
        ]
    )
    assert story(record) == ["say:Wait.", "agent:sub"]
    assert "operation_unfinished" in codes(record)


def test_a_root_that_never_came_is_told_and_failed_where_anything_says_so() -> None:
    record = turn(
        [
            chat("c", 1, 10, "Wait.", parent="lost"),
            chat("d", 20, 30, parent="lost", failed=True, error="busy", usage=None),
        ]
    )
    assert record["status"] == "failed"
    assert "root_missing" in codes(record)


# --- compaction ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "event"),
    [("full", {"type": "compaction", "reason": "full"}), ("", {"type": "compaction"})],
)
def test_a_compaction_is_an_event_with_its_reason(reason: str, event: dict[str, str]) -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("s", 1, 10, "a summary", parent="a", side=True, compaction=reason),
            chat("c", 20, 30, "Hello.", parent="a"),
        ]
    )
    assert record["events"] == [event, {"type": "message", "role": "assistant", "text": "Hello."}]


def test_a_session_that_waits_and_one_that_goes_on_are_two_turns() -> None:
    first = [
        agent("a", 0, 30, trace="one", session_id="s", questions=[Question(call_id="1")]),
        chat("c", 1, 10, call("1", "rm", RM), parent="a", trace="one"),
    ]
    second = [
        agent("b", 50, 90, trace="two", session_id="s", agent_name="a"),
        tool("rm", 51, 60, "1", "gone", parent="b", trace="two", arguments=RM),
        chat("d", 61, 70, "Done.", parent="b", trace="two"),
    ]
    waiting, resumed = turns([*first, *second])
    assert (waiting["status"], resumed["status"]) == ("waiting", "completed")
    assert story(resumed) == ["start:1", "end:1:completed", "say:Done."]
