"""Numbered messages of OpenLLMetry, and its ways within the GenAI attributes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.messages import Notes
from otel_turns.dialects.traceloop_messages import name_history_calls, read_numbered, unfold_reasoning
from otel_turns.model.facts import MISSING, Message, Part, Reasoning, Text, ToolCall, ToolResult
from tests.dialects.spans import text

ASKED, SAID = "gen_ai.prompt.", "gen_ai.completion."


def read(attributes: dict[str, Any]) -> tuple[list[Message] | None, list[Message] | None]:
    return read_numbered(attributes, Notes(), Notes())


def test_no_numbered_attribute_tells_no_messages() -> None:
    assert read({"gen_ai.request.model": "m", "gen_ai.prompt": "x"}) == (None, None)


def test_a_conversation() -> None:
    attributes = {
        f"{ASKED}10.role": "user",
        f"{ASKED}10.content": "And Rome?",
        f"{ASKED}0.role": "system",
        f"{ASKED}0.content": "Be brief.",
        f"{ASKED}1.role": "assistant",
        f"{ASKED}1.tool_calls.0.id": "c1",
        f"{ASKED}1.tool_calls.0.name": "get_weather",
        f"{ASKED}1.tool_calls.0.arguments": '{"city": "Paris"}',
        f"{ASKED}2.role": "tool",
        f"{ASKED}2.tool_call_id": "c1",
        f"{ASKED}2.content": '{"temp_c": 18}',
        f"{SAID}0.role": "assistant",
        f"{SAID}0.content": "Checking.",
        f"{SAID}0.finish_reason": "tool_calls",
        f"{SAID}0.tool_calls.1.name": "b",
        f"{SAID}0.tool_calls.0.name": "a",
        f"{SAID}0.tool_calls.0.id": "c2",
    }
    assert read(attributes) == (
        [
            Message("system", [Text("Be brief.")]),
            Message("assistant", [ToolCall("c1", "get_weather", {"city": "Paris"})]),
            Message("tool", [ToolResult("c1", None, {"temp_c": 18})]),
            Message("user", [Text("And Rome?")]),
        ],
        [
            Message(
                "assistant", [Text("Checking."), ToolCall("c2", "a", MISSING), ToolCall(None, "b", MISSING)]
            )
        ],
    )


def test_content_that_is_the_json_text_of_blocks() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "clear"}
    attributes = {
        f"{ASKED}0.role": "user",
        f"{ASKED}0.content": text([{"type": "text", "text": "Hi"}]),
        f"{ASKED}1.role": "user",
        f"{ASKED}1.content": text([result]),
        f"{ASKED}2.role": "user",
        f"{ASKED}2.content": '[{"no": "block"}]',
    }
    assert read(attributes)[0] == [
        Message("user", [Text("Hi")]),
        Message("tool", [ToolResult("c1", None, "clear")]),
        Message("user", [Text('[{"no": "block"}]')]),
    ]


def test_reasoning_in_each_of_its_places() -> None:
    for attributes in (
        {f"{SAID}0.role": "thinking", f"{SAID}0.content": "Hm."},
        {f"{SAID}0.reasoning": text([{"type": "summary_text", "text": "Hm."}])},
        {f"{SAID}0.role": "assistant", f"{SAID}0.reasoning_content": "Hm."},
    ):
        assert read(attributes)[1] == [Message("assistant", [Reasoning("Hm.")])]


def test_function_calls_of_the_first_convention_have_no_id() -> None:
    attributes = {f"{SAID}0.function_call.name": "f", f"{SAID}0.function_call.arguments": "{}"}
    assert read(attributes)[1] == [Message("assistant", [ToolCall(None, "f", {})])]


def test_reasoning_that_is_the_json_text_of_summaries() -> None:
    said: list[Part] = [Text("Hello"), Reasoning(text([{"type": "summary_text", "text": "Hm."}]))]
    plain: list[Part] = [Reasoning("[not json"), Text("Hello")]
    messages = [Message("assistant", said), Message("assistant", plain)]
    unfold_reasoning(messages)
    assert messages[0].parts == [Reasoning("Hm."), Text("Hello")]
    assert messages[1].parts == [Reasoning("[not json"), Text("Hello")]
    unfold_reasoning(None)


def test_items_of_the_history_take_the_ids_of_their_results() -> None:
    first, second = ToolCall("fc_1", "a", {}), ToolCall("fc_2", "b", {})
    third = ToolCall("fc_3", "c", {})
    messages = [
        Message("user", [Text("Go")]),
        Message("assistant", [first, second]),
        Message("tool", [ToolResult("call_1")]),
        Message("tool", [ToolResult("call_2", "b")]),
        Message("assistant", [third]),
        Message("tool", [ToolResult("call_3")]),
    ]
    name_history_calls(messages)
    assert [(c.id, c.other_ids) for c in (first, second, third)] == [
        ("call_1", ("fc_1",)),
        ("call_2", ("fc_2",)),
        ("call_3", ("fc_3",)),
    ]
    results = [p for m in messages for p in m.parts if isinstance(p, ToolResult)]
    assert [result.name for result in results] == ["a", "b", "c"]


def test_where_the_counts_differ_no_id_is_guessed() -> None:
    calls = [ToolCall("fc_1", "a", {}), ToolCall("fc_2", "b", {})]
    name_history_calls([Message("assistant", list(calls)), Message("tool", [ToolResult("call_1")])])
    assert [(call.id, call.other_ids) for call in calls] == [(None, ("fc_1",)), (None, ("fc_2",))]


def test_ids_of_calls_stay() -> None:
    call = ToolCall("call_1", "a", {})
    name_history_calls([Message("assistant", [call]), Message("tool", [ToolResult("call_2")])])
    assert (call.id, call.other_ids) == ("call_1", ())


LEAVES = st.sampled_from(
    [
        "role",
        "content",
        "tool_calls",
        "tool_calls.0",
        "tool_calls.0.id",
        "tool_calls.0.name",
        "tool_calls.x.id",
        "tool_call_id",
        "name",
        "reasoning",
        "function_call.name",
        "function_call",
    ]
)
VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=6),
    st.sampled_from(["thinking", "tool", "[{}]", '[{"type": "text"}]']),
)


@given(
    st.dictionaries(
        st.builds(
            "{}{}.{}".format,
            st.sampled_from([ASKED, SAID]),
            st.sampled_from(["0", "1", "x", "9" * 9]),
            LEAVES,
        ),
        VALUES,
        max_size=10,
    )
)
def test_odd_attributes_never_raise(attributes: dict[str, Any]) -> None:
    for messages in read(attributes):
        unfold_reasoning(messages)
        name_history_calls(messages)
        assert messages is None or all(isinstance(message, Message) for message in messages)
