"""LangChain's serialized messages and run states."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.langchain import (
    lc_generation,
    lc_message,
    lc_messages,
    lc_tool_message,
    only_call,
    structured_answer,
    tool_messages,
)
from otel_turns.dialects.messages import Notes
from otel_turns.model.facts import MISSING, Message, Reasoning, Text, ToolCall, ToolResult


def constructor(kind: str, /, **kwargs: Any) -> dict[str, Any]:
    """A message as LangChain's `dumpd` writes it."""
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


CALL = {"name": "get_weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}


@pytest.mark.parametrize(
    "value",
    [
        constructor("AIMessage", content="Hi", type="ai"),
        constructor("AIMessageChunk", content="Hi", type="AIMessageChunk"),
        {"type": "ai", "data": {"content": "Hi", "type": "ai"}},
        {"type": "ai", "content": "Hi"},
        {"role": "assistant", "content": "Hi"},
    ],
)
def test_every_form_of_a_message_says_the_same(value: dict[str, Any]) -> None:
    assert lc_message(value, Notes()) == Message("assistant", [Text("Hi")])


def test_other_roles() -> None:
    assert lc_message(constructor("HumanMessage", content="Hi"), Notes()) == Message("user", [Text("Hi")])
    assert lc_message(constructor("SystemMessage", content="Be."), Notes()) == Message(
        "system", [Text("Be.")]
    )
    assert lc_message(["user", "Hi"], Notes()) == Message("user", [Text("Hi")])


@pytest.mark.parametrize("value", [None, 3, "text", {}, {"type": "ai"}, {"lc": 1}, constructor("Document")])
def test_other_values_are_no_messages(value: Any) -> None:
    assert lc_message(value, Notes()) is None


def test_a_reply_with_reasoning_text_and_a_call() -> None:
    value = constructor(
        "AIMessage",
        content="Let me check.",
        additional_kwargs={"reasoning_content": "Hm."},
        tool_calls=[CALL],
    )
    assert lc_message(value, Notes()) == Message(
        "assistant",
        [Reasoning("Hm."), Text("Let me check."), ToolCall("c1", "get_weather", {"city": "Paris"})],
    )


def test_a_call_among_the_blocks_and_the_calls_counts_once() -> None:
    value = constructor(
        "AIMessage",
        content=[{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Paris"}}],
        tool_calls=[CALL],
    )
    assert lc_message(value, Notes()) == Message(
        "assistant", [ToolCall("c1", "get_weather", {"city": "Paris"})]
    )


def test_a_call_whose_arguments_do_not_parse() -> None:
    value = constructor(
        "AIMessage", content="", tool_calls=[], invalid_tool_calls=[{"name": "f", "args": '{"a', "id": "c1"}]
    )
    assert lc_message(value, Notes()) == Message("assistant", [ToolCall("c1", "f", '{"a')])


def test_raw_calls_where_the_parsed_ones_are_missing() -> None:
    raw = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    value = constructor("AIMessage", content="", additional_kwargs={"tool_calls": raw})
    assert lc_message(value, Notes()) == Message("assistant", [ToolCall("c1", "f", {})])


def test_a_tool_message() -> None:
    value = constructor(
        "ToolMessage", content='{"temp_c": 18}', tool_call_id="c1", name="get_weather", status="success"
    )
    assert lc_tool_message(value) == ToolResult("c1", "get_weather", {"temp_c": 18})


def test_a_failed_and_a_refused_tool_message() -> None:
    failed = constructor("ToolMessage", content="Error: no", tool_call_id="c1", status="error")
    assert lc_tool_message(failed) == ToolResult("c1", None, "Error: no", failed=True)
    refused = constructor(
        "ToolMessage",
        content="No.",
        tool_call_id="c1",
        status="error",
        additional_kwargs={"lc_data": {"decision": "reject"}},
    )
    assert lc_tool_message(refused) == ToolResult("c1", None, "No.", rejected=True)
    assert lc_tool_message(constructor("AIMessage", content="x")) is None


def test_messages_of_a_state_and_of_a_command() -> None:
    message = constructor("ToolMessage", content="x", tool_call_id="c1")
    state = {"messages": [constructor("HumanMessage", content="Hi"), message]}
    assert lc_messages(state, Notes()) == [
        Message("user", [Text("Hi")]),
        Message("tool", [ToolResult("c1", None, "x")]),
    ]
    command = {"output": {"update": {"messages": [message]}, "goto": "b"}}
    assert tool_messages(command) == [ToolResult("c1", None, "x")]
    assert lc_messages({"messages": [["user", "Hi"]]}, Notes()) == [Message("user", [Text("Hi")])]
    assert lc_messages({"city": "Paris"}, Notes()) is None


def test_the_reply_among_generations() -> None:
    message = constructor(
        "AIMessage",
        content="Hi",
        id="lc_run--1",
        response_metadata={"id": "chatcmpl-1"},
        usage_metadata={"input_tokens": 5, "output_tokens": 2},
    )
    for value in (
        {"generations": [[{"text": "Hi", "message": message}]]},
        {"generations": [[{"message": message}]]},
    ):
        generation = lc_generation(value, Notes())
        assert generation is not None
        assert generation.message == Message("assistant", [Text("Hi")])
        assert generation.response_id == "chatcmpl-1"
        assert generation.usage is not None
        assert (generation.usage.input, generation.usage.output) == (5, 2)


def test_a_runs_own_id_is_no_response_id() -> None:
    for own, told in (("run-1", None), ("lc_run--1", None), ("msg_1", "msg_1"), ("resp_1", "resp_1")):
        generation = lc_generation(constructor("AIMessage", content="x", id=own), Notes())
        assert generation is not None
        assert generation.response_id == told


def test_a_text_completion() -> None:
    generation = lc_generation({"generations": [[{"text": "Once"}]]}, Notes())
    assert generation is not None
    assert generation.message == Message("assistant", [Text("Once")])
    assert lc_generation({"generations": []}, Notes()) is None
    assert lc_generation({"generations": [[{"text": ""}]]}, Notes()) is None


@pytest.mark.parametrize(
    "value",
    [
        [CALL],
        {"input": [CALL]},
        {"lg_tool_call": CALL},
        {"__type": "x", "tool_call": CALL},
        {"__tool_call": CALL},
    ],
)
def test_the_one_call_of_a_tools_node(value: Any) -> None:
    assert only_call(value) == ToolCall("c1", "get_weather", {"city": "Paris"})


@pytest.mark.parametrize(
    "value", [None, [], [CALL, CALL], {"messages": []}, {"name": "f"}, [{"name": "f", "id": "c"}]]
)
def test_several_calls_or_none_are_not_one(value: Any) -> None:
    assert only_call(value) is None


def test_a_typed_answer_and_the_call_that_handed_it_over() -> None:
    answer = {"temp_c": 18}
    state = {
        "messages": [
            constructor("AIMessage", content="", tool_calls=[CALL]),
            constructor("ToolMessage", content="clear", tool_call_id="c1"),
            constructor("AIMessage", content="", tool_calls=[{"name": "Answer", "args": answer, "id": "c2"}]),
            constructor("ToolMessage", content="Returning structured response", tool_call_id="c2"),
        ],
        "structured_response": answer,
    }
    assert structured_answer(state) == (answer, ("c2",))
    assert structured_answer({"outputs": {"update": state}}) == (answer, ("c2",))


def test_a_typed_answer_without_a_call() -> None:
    state = {"messages": [constructor("AIMessage", content='{"a": 1}')], "structured_response": {"a": 1}}
    assert structured_answer(state) == ({"a": 1}, ())
    assert structured_answer({"messages": []}) == (MISSING, ())
    assert structured_answer({"structured_response": None}) == (MISSING, ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["ai", "tool", "user"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "lc",
                    "id",
                    "kwargs",
                    "type",
                    "data",
                    "content",
                    "tool_calls",
                    "name",
                    "args",
                    "generations",
                    "message",
                    "messages",
                    "output",
                    "update",
                    "additional_kwargs",
                    "lc_data",
                    "structured_response",
                    "role",
                    "input",
                    "response_metadata",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_odd_values_never_raise(value: Any) -> None:
    messages = lc_messages(value, Notes())
    assert messages is None or all(isinstance(message, Message) for message in messages)
    assert all(isinstance(result, ToolResult) for result in tool_messages(value))
    only_call(value)
    lc_generation(value, Notes())
    structured_answer(value)
