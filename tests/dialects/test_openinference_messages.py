"""Messages in the numbered attributes of OpenInference."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference_messages import as_one_reply, read_indexed
from otel_turns.model.facts import MISSING, Message, Reasoning, Text, ToolCall, ToolResult

IN, OUT = "llm.input_messages.", "llm.output_messages."


def read(attributes: dict[str, Any]) -> tuple[list[Message] | None, list[Message] | None]:
    return read_indexed(attributes, Notes(), Notes())


def test_no_numbered_attribute_tells_no_messages() -> None:
    assert read({"llm.model_name": "m", "input.value": "Hi"}) == (None, None)


def test_messages_stand_in_the_order_of_their_numbers() -> None:
    attributes = {
        f"{IN}10.message.role": "user",
        f"{IN}10.message.content": "last",
        f"{IN}2.message.role": "assistant",
        f"{IN}2.message.content": "middle",
        f"{IN}0.message.role": "system",
        f"{IN}0.message.content": "first",
    }
    assert read(attributes)[0] == [
        Message("system", [Text("first")]),
        Message("assistant", [Text("middle")]),
        Message("user", [Text("last")]),
    ]


def test_calls_of_a_reply_with_parsed_arguments() -> None:
    call = f"{OUT}0.message.tool_calls.0.tool_call."
    attributes = {
        f"{OUT}0.message.role": "assistant",
        f"{OUT}0.message.content": "Let me check.",
        f"{call}id": "call_1",
        f"{call}function.name": "get_weather",
        f"{call}function.arguments": '{"city": "Paris"}',
    }
    assert read(attributes)[1] == [
        Message("assistant", [Text("Let me check."), ToolCall("call_1", "get_weather", {"city": "Paris"})])
    ]


def test_a_call_without_captured_arguments_has_none() -> None:
    attributes = {f"{OUT}0.message.tool_calls.0.tool_call.function.name": "now"}
    assert read(attributes)[1] == [Message("assistant", [ToolCall(None, "now", MISSING)])]


def test_arguments_that_do_not_parse_stay_text_and_are_noted() -> None:
    call = f"{OUT}0.message.tool_calls.0.tool_call.function."
    notes = Notes()
    _, reply = read_indexed({f"{call}name": "f", f"{call}arguments": '{"city": "Par'}, Notes(), notes)
    assert reply == [Message("assistant", [ToolCall(None, "f", '{"city": "Par')])]
    assert notes.unparsable


def test_contents_keep_their_order_and_a_call_that_stands_twice_counts_once() -> None:
    at = f"{OUT}0.message."
    attributes = {
        f"{at}role": "assistant",
        f"{at}contents.0.message_content.type": "reasoning",
        f"{at}contents.0.message_content.text": "Hm.",
        f"{at}contents.1.message_content.type": "text",
        f"{at}contents.1.message_content.text": "Checking.",
        f"{at}contents.2.message_content.type": "tool_use",
        f"{at}contents.2.tool_call.id": "c1",
        f"{at}contents.2.tool_call.function.name": "f",
        f"{at}contents.2.tool_call.function.arguments": "{}",
        f"{at}tool_calls.0.tool_call.id": "c1",
        f"{at}tool_calls.0.tool_call.function.name": "f",
        f"{at}tool_calls.0.tool_call.function.arguments": "{}",
    }
    assert read(attributes)[1] == [
        Message("assistant", [Reasoning("Hm."), Text("Checking."), ToolCall("c1", "f", {})])
    ]


def test_two_equal_calls_without_ids_stay_two() -> None:
    at = f"{OUT}0.message."
    attributes: dict[str, Any] = {}
    for number in (0, 1):
        attributes[f"{at}contents.{number}.message_content.type"] = "tool_use"
        attributes[f"{at}contents.{number}.tool_call.function.name"] = "f"
        attributes[f"{at}contents.{number}.tool_call.function.arguments"] = "{}"
        attributes[f"{at}tool_calls.{number}.tool_call.function.name"] = "f"
        attributes[f"{at}tool_calls.{number}.tool_call.function.arguments"] = "{}"
    _, reply = read(attributes)
    assert reply == [Message("assistant", [ToolCall(None, "f", {}), ToolCall(None, "f", {})])]


def test_text_beside_contents_that_hold_only_calls_stands_before_them() -> None:
    at = f"{OUT}0.message."
    attributes = {
        f"{at}content": "Let me check.",
        f"{at}contents.0.message_content.type": "tool_use",
        f"{at}contents.0.tool_call.id": "c1",
        f"{at}contents.0.tool_call.function.name": "f",
    }
    assert read(attributes)[1] == [
        Message("assistant", [Text("Let me check."), ToolCall("c1", "f", MISSING)])
    ]


def test_a_message_with_a_call_id_is_the_result_of_that_call() -> None:
    attributes = {
        f"{IN}0.message.role": "tool",
        f"{IN}0.message.tool_call_id": "call_1",
        f"{IN}0.message.name": "get_weather",
        f"{IN}0.message.content": '{"temp_c": 18}',
        f"{IN}1.message.role": "user",
        f"{IN}1.message.tool_call_id": "call_2",
        f"{IN}1.message.contents.0.message_content.type": "text",
        f"{IN}1.message.contents.0.message_content.text": "09:30",
    }
    assert read(attributes)[0] == [
        Message("tool", [ToolResult("call_1", "get_weather", {"temp_c": 18})]),
        Message("tool", [ToolResult("call_2", None, "09:30")]),
    ]


def test_function_calls_of_the_first_convention_have_no_id() -> None:
    attributes = {
        f"{OUT}0.message.role": "assistant",
        f"{OUT}0.message.function_call_name": "f",
        f"{OUT}0.message.function_call_arguments_json": '{"a": 1}',
    }
    assert read(attributes)[1] == [Message("assistant", [ToolCall(None, "f", {"a": 1})])]


def test_text_completions() -> None:
    assert read({"llm.prompts.0.prompt.text": "Once", "llm.choices.0.completion.text": " upon"}) == (
        [Message("user", [Text("Once")])],
        [Message("assistant", [Text(" upon")])],
    )
    assert read({"llm.prompts": ["Once"]})[0] == [Message("user", [Text("Once")])]


def test_redacted_content_is_noted_and_no_text() -> None:
    asked, said = Notes(), Notes()
    attributes = {f"{IN}0.message.content": "__REDACTED__", f"{OUT}0.message.content": "fine"}
    request, _ = read_indexed(attributes, asked, said)
    assert request is not None
    assert request[0].parts == []
    assert (asked.hidden, said.hidden) == (True, False)


def test_several_messages_of_a_reply_are_one() -> None:
    items = [Message("assistant", [Reasoning("a")]), Message("assistant", [Text("b")])]
    assert as_one_reply(items) == [Message("assistant", [Reasoning("a"), Text("b")])]
    assert as_one_reply(items[:1]) == items[:1]
    assert as_one_reply(None) is None


KEYS = st.lists(
    st.sampled_from(
        [
            "llm",
            "input_messages",
            "output_messages",
            "prompts",
            "choices",
            "message",
            "role",
            "content",
            "contents",
            "tool_calls",
            "tool_call",
            "function",
            "name",
            "arguments",
            "id",
            "0",
            "1",
            "99999999",
            "x",
            "message_content",
            "type",
            "text",
            "tool_call_id",
        ]
    ),
    max_size=8,
).map(".".join)
VALUES = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.integers(),
    st.lists(st.text(max_size=3), max_size=3),
    st.just({"a": 1}),
)


@given(st.dictionaries(st.one_of(KEYS, KEYS.map(lambda key: f"{OUT}0.message.{key}")), VALUES, max_size=10))
def test_odd_attributes_never_raise(attributes: dict[str, Any]) -> None:
    request, reply = read(attributes)
    assert request is None or all(isinstance(message, Message) for message in request)
    assert reply is None or all(isinstance(message, Message) for message in reply)
