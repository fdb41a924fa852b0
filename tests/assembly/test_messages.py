"""Messages, thinking and data (SEMANTICS, section 4)."""

from __future__ import annotations

import pytest

from otel_turns.assembly.tree import Read
from otel_turns.model.facts import MISSING, Message, Reasoning, Role, Text, ToolResult
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
    think,
    tool,
    turn,
    turns,
    user,
)


def test_the_texts_of_one_reply_are_one_message() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "Hel", "lo", parent="a")])
    assert record["events"] == [{"type": "message", "role": "assistant", "text": "Hello"}]


def test_each_reply_is_a_message_of_its_own_also_when_it_says_the_same() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "Wait.", parent="a"),
            chat("d", 20, 30, "Wait.", parent="a"),
        ]
    )
    assert story(record) == ["say:Wait.", "say:Wait."]


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_an_empty_text_is_no_message(text: str) -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, text, call("1", "f", {}), parent="a")])
    assert story(record) == ["start:1"]


def test_text_behind_a_call_is_a_message_of_its_own_where_the_parts_stand_in_their_order() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat(
                "c",
                1,
                90,
                "Let me look.",
                call("1", "f", {}),
                ToolResult("1", "f", "x"),
                "Here it is.",
                parent="a",
                ordered_parts=True,
            ),
        ]
    )
    assert story(record) == ["say:Let me look.", "start:1", "end:1:completed", "say:Here it is."]


def test_words_of_the_user_are_no_events() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "Hello.", parent="a", inputs=[user("hi")])])
    assert story(record) == ["say:Hello."]


def test_history_is_no_speech() -> None:
    history = [user("hi"), said(think("hm"), "Hello."), user("and?")]
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "So.", parent="a", inputs=history)])
    assert story(record) == ["say:So."]


def test_a_reply_that_later_requests_repeat_is_told_once() -> None:
    first = [user("hi")]
    second = [*first, said("Wait.", call("1", "f", {})), handed(ToolResult("1", "f", "x"))]
    third = [*second, said("More.", call("2", "f", {})), handed(ToolResult("2", "f", "y"))]
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a", inputs=first),
            chat("d", 20, 30, "More.", call("2", "f", {}), parent="a", inputs=second),
            chat("e", 40, 50, "Done.", parent="a", inputs=third),
        ]
    )
    assert story(record) == [
        "say:Wait.",
        "start:1",
        "end:1:completed",
        "say:More.",
        "start:2",
        "end:2:completed",
        "say:Done.",
    ]


def test_a_reply_that_was_not_captured_is_told_by_the_next_request() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, parent="a", inputs=[user("hi")]),
            chat(
                "d",
                20,
                30,
                "Done.",
                parent="a",
                inputs=[user("hi"), said("Wait.", call("1", "f", {})), handed(ToolResult("1", "f", "x"))],
            ),
        ]
    )
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed", "say:Done."]


def test_a_text_that_nobody_captured_gives_no_event() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, parent="a", hidden={"outputs"})])
    assert record["events"] == []
    assert "content_not_captured" in codes(record)


def test_what_was_redacted_is_absent_and_the_switch_is_named() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), parent="a"),
            tool("f", 20, 30, "1", MISSING, parent="a", hidden={"result"}),
        ]
    )
    assert "output" not in record["events"][1]
    messages = [i["message"] for i in record["otel"]["evidence"]["issues"]]
    assert codes(record) == {"content_not_captured"}
    assert all("switch content on" in m for m in messages)


def test_a_reply_is_told_when_its_request_ended() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "Hello.", parent="a")])
    assert record["otel"]["eventTimes"] == [str(T0 + 10 * MS)]


def test_a_reply_is_told_no_later_than_the_first_call_that_it_asked_for() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 50, "Wait.", call("1", "f", {}), parent="a"),
            tool("f", 20, 30, "1", parent="a"),
        ]
    )
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed"]
    assert record["otel"]["eventTimes"] == [str(T0 + t * MS) for t in (20, 20, 30)]


def test_a_request_within_a_request_without_an_id_of_its_own_is_the_same_one() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("outer", 1, 20, "Hello.", parent="a", scope="framework"),
            chat("inner", 2, 19, "Hello.", parent="outer", scope="sdk", response_id="r1"),
        ]
    )
    assert story(record) == ["say:Hello."]
    assert record["usage"] == {"inputTokens": 10, "outputTokens": 2, "requests": 1}


def test_requests_whose_response_ids_agree_are_one_also_in_another_trace() -> None:
    reads = [
        agent("a", 0, 100, trace="one"),
        chat("outer", 1, 20, "Hello.", trace="one", parent="a", scope="framework", response_id="r1"),
        chat("inner", 2, 19, "Hello.", trace="two", scope="sdk", response_id="r1"),
    ]
    record = turn(reads)
    assert story(record) == ["say:Hello."]
    assert record["usage"]["requests"] == 1


def test_requests_whose_response_ids_differ_are_two() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("outer", 1, 20, "Hello.", parent="a", response_id="r1"),
            chat("inner", 2, 10, "Thinking aloud.", parent="outer", response_id="r2"),
        ]
    )
    assert record["usage"]["requests"] == 2


def test_an_agent_that_repeats_its_last_reply_says_it_once() -> None:
    record = turn([agent("a", 0, 100, outputs=[said("Hello.")]), chat("c", 1, 10, "Hello.", parent="a")])
    assert story(record) == ["say:Hello."]


def test_a_text_that_only_the_agent_carries_is_the_message() -> None:
    record = turn([agent("a", 0, 100, outputs=[said("Hello.")]), chat("c", 1, 10, parent="a")])
    assert story(record) == ["say:Hello."]
    assert record["otel"]["eventTimes"] == [str(T0 + 100 * MS)]


def test_an_agent_whose_transcript_ends_in_a_call_says_nothing_of_its_own() -> None:
    transcript = [said("Wait.", call("1", "f", {})), handed(ToolResult("1", "f", "x")), said("Done.")]
    record = turn(
        [
            agent("a", 0, 100, outputs=transcript),
            chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a"),
            tool("f", 11, 20, "1", "x", parent="a"),
            chat("d", 21, 30, "Done.", parent="a"),
        ]
    )
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed", "say:Done."]


def test_the_words_of_a_sub_agent_are_its_output_and_no_message() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            agent("sub", 1, 50, parent="root"),
            chat("c", 2, 10, think("hm"), "inner", parent="sub"),
            chat("d", 60, 70, "outer", parent="root"),
        ]
    )
    assert story(record) == ["agent:sub", "agent-end:completed", "say:outer"]
    assert record["events"][1]["output"] == "inner"


def test_the_words_of_a_model_that_a_tool_calls_are_no_message() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "summarise", {}), parent="a"),
            tool("summarise", 20, 60, "1", "short", parent="a"),
            chat("d", 21, 30, think("hm"), "short", parent="summarise"),
            chat("e", 70, 80, "Done.", parent="a"),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Done."]


def test_a_call_that_a_model_within_a_tool_makes_is_an_operation_all_the_same() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "outer", {}), parent="a"),
            tool("outer", 20, 60, "1", "x", parent="a"),
            chat("d", 21, 30, call("2", "inner", {}), parent="outer"),
            tool("inner", 31, 40, "2", "y", parent="outer"),
        ]
    )
    assert story(record) == ["start:1", "start:2", "end:2:completed", "end:1:completed"]


def test_after_a_handoff_the_other_agent_speaks() -> None:
    record = turn(
        [
            agent("triage", 0, 100),
            chat("c", 1, 10, call("1", "transfer_to_expert", {}), parent="triage"),
            span("handoff", Role.HANDOFF, 11, 12, parent="triage", handoff_to="expert", call_id="1"),
            agent("expert", 20, 90, parent="triage"),
            chat("d", 21, 30, "Mine now.", parent="expert"),
        ]
    )
    assert "say:Mine now." in story(record)


def test_reasoning_is_thinking_before_the_text_of_its_reply() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "Hello.", think("hm"), parent="a")])
    assert record["events"] == [
        {"type": "thinking", "text": "hm"},
        {"type": "message", "role": "assistant", "text": "Hello."},
    ]


def test_reasoning_without_text_gives_no_event() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, Reasoning(""), "Hello.", parent="a")])
    assert story(record) == ["say:Hello."]


# --- data ---------------------------------------------------------------------------------------------------


def test_a_structured_reply_is_data_and_no_message() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, '{"t": 18}', parent="a", structured=True)])
    assert record["data"] == {"t": 18}
    assert record["events"] == []


def test_a_reply_that_happens_to_be_json_is_a_message_and_no_data() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, '{"t": 18}', parent="a")])
    assert story(record) == ['say:{"t": 18}']
    assert "data" not in record


def test_only_the_last_reply_is_the_structured_answer() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a", structured=True),
            tool("f", 11, 20, "1", parent="a"),
            chat("d", 21, 30, '{"t": 18}', parent="a", structured=True),
        ]
    )
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed"]
    assert record["data"] == {"t": 18}


def test_a_structured_reply_that_is_no_json_stands_as_text() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "I cannot.", parent="a", structured=True)])
    assert story(record) == ["say:I cannot."]
    assert "data" not in record
    assert "unparsable_json" in codes(record)


def test_the_typed_result_of_an_agent_is_data_once() -> None:
    record = turn(
        [agent("a", 0, 100, data={"t": 18}), chat("c", 1, 10, '{"t": 18}', parent="a")],
    )
    assert record["data"] == {"t": 18}
    assert record["events"] == []


def test_the_typed_result_of_a_sub_agent_is_its_output_and_not_the_turn_s_data() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            agent("sub", 1, 50, parent="root", data={"t": 18}),
            chat("c", 2, 10, '{"t": 18}', parent="sub"),
            chat("d", 60, 70, "outer", parent="root"),
        ]
    )
    assert record["events"][1]["output"] == {"t": 18}
    assert "data" not in record


def test_a_typed_answer_of_null_is_data() -> None:
    record = turn([agent("a", 0, 100, data=None), chat("c", 1, 10, "null", parent="a")])
    assert record["data"] is None


# --- the same request serialized late -----------------------------------------------------------------------


def test_messages_of_the_tool_role_and_of_the_system_are_never_said() -> None:
    inputs = [Message("system", [Text("Be brief.")]), user("hi")]
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "Hello.", parent="a", inputs=inputs)])
    assert story(record) == ["say:Hello."]


def test_an_instrumentation_that_serializes_late_repeats_nothing() -> None:
    late = [user("hi"), said("Wait.", call("1", "f", {})), handed(ToolResult("1", "f", "x"))]
    reads: list[Read] = [
        agent("a", 0, 100),
        chat("c", 1, 10, "Wait.", call("1", "f", {}), parent="a", inputs=late),
        tool("f", 11, 20, "1", "x", parent="a"),
        chat("d", 21, 30, "Done.", parent="a", inputs=late),
    ]
    (record,) = turns(reads)
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed", "say:Done."]
