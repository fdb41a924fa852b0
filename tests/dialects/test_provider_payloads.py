"""Raw requests and responses of the providers' APIs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.messages import Notes
from otel_turns.dialects.provider_payloads import (
    asks_for_json,
    head_id,
    read_request,
    read_response,
    read_usage,
)
from otel_turns.model.facts import Message, Reasoning, Text, TokenUsage, ToolCall, ToolResult

CHAT_REQUEST: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "clear"},
    ],
}
RESPONSES_REQUEST: dict[str, Any] = {
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": "Weather?"},
        {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "clear"},
    ],
}
ANTHROPIC_REQUEST: dict[str, Any] = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "clear"}]},
    ],
}


@pytest.mark.parametrize("body", [CHAT_REQUEST, RESPONSES_REQUEST, ANTHROPIC_REQUEST])
@pytest.mark.parametrize("as_text", [True, False])
def test_requests_of_each_api_tell_the_same_conversation(body: dict[str, Any], as_text: bool) -> None:
    request = read_request(json.dumps(body) if as_text else body, Notes())
    assert request is not None
    parts = [(m.role, type(p)) for m in request.messages for p in m.parts]
    assert parts == [("system", Text), ("user", Text), ("assistant", ToolCall), ("tool", ToolResult)]
    results = [p for m in request.messages for p in m.parts if isinstance(p, ToolResult)]
    assert (results[0].id, results[0].result) == ("c1", "clear")
    assert not request.structured


def test_a_text_as_input_is_the_users() -> None:
    request = read_request({"input": "Hi", "previous_response_id": "resp_0"}, Notes())
    assert request is not None
    assert request.messages == [Message("user", [Text("Hi")])]
    assert request.previous_response_id == "resp_0"


@pytest.mark.parametrize(
    "contents", ["Hi", [{"role": "user", "parts": [{"text": "Hi"}]}], [{"parts": [{"text": "Hi"}]}]]
)
def test_a_request_to_gemini(contents: Any) -> None:
    system = {"parts": [{"text": "Be brief."}], "role": "user"}
    request = read_request({"contents": contents, "system_instruction": system}, Notes())
    assert request is not None
    assert request.messages == [Message("system", [Text("Be brief.")]), Message("user", [Text("Hi")])]


def test_a_response_of_gemini() -> None:
    response = read_response(
        {
            "response_id": "r1",
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "Hm.", "thought": True},
                            {"function_call": {"id": "c1", "name": "f", "args": {"a": 1}}},
                        ],
                    }
                }
            ],
            "usage_metadata": {
                "prompt_token_count": 5,
                "candidates_token_count": 2,
                "thoughts_token_count": 1,
            },
        },
        Notes(),
    )
    assert response is not None
    assert response.messages == [Message("assistant", [Reasoning("Hm."), ToolCall("c1", "f", {"a": 1})])]
    assert response.response_id == "r1"
    assert response.usage == TokenUsage(5, 2, None, None, 1)


def test_a_chat_response_is_its_first_choice() -> None:
    response = read_response(
        {
            "id": "chatcmpl-1",
            "choices": [{"message": {"content": "one"}}, {"message": {"content": "two"}}],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        },
        Notes(),
    )
    assert response is not None
    assert response.messages == [Message("assistant", [Text("one")])]
    assert response.response_id == "chatcmpl-1"
    assert response.usage == TokenUsage(10, 4, 0, None, 3)


def test_a_responses_response() -> None:
    response = read_response(
        {
            "id": "resp_1",
            "previous_response_id": "resp_0",
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Done."}],
                },
            ],
            "text": {"format": {"type": "json_schema", "name": "Answer"}},
        },
        Notes(),
    )
    assert response is not None
    parts = [part for message in response.messages for part in message.parts]
    assert parts[0] == Reasoning("Hm.")
    assert isinstance(parts[1], ToolCall)
    assert (parts[1].id, parts[1].name, parts[1].arguments) == ("c1", "f", {})
    assert parts[2] == Text("Done.")
    assert (response.response_id, response.previous_response_id) == ("resp_1", "resp_0")
    assert response.structured


def test_an_anthropic_response() -> None:
    response = read_response(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "text", "text": "Checking."},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            ],
            "usage": {"input_tokens": 7, "output_tokens": 2, "cache_creation_input_tokens": 4},
        },
        Notes(),
    )
    assert response is not None
    assert response.messages == [
        Message("assistant", [Reasoning("Hm."), Text("Checking."), ToolCall("c1", "f", {"a": 1})])
    ]
    assert response.usage == TokenUsage(7, 2, None, 4)


def test_a_list_of_whole_responses_is_one_reply() -> None:
    both = [{"id": n, "choices": [{"message": {"content": n}}]} for n in ("a", "b")]
    response = read_response(both, Notes())
    assert response is not None
    assert [part for m in response.messages for part in m.parts] == [Text("a"), Text("b")]
    assert response.response_id == "a"


@pytest.mark.parametrize(
    "value",
    [None, "", "Hello", 3, [], [1], {}, {"answer": 42}, '{"answer": 42}', "{", ["a", "b"], {"messages": 3}],
)
def test_other_shapes_are_neither(value: Any) -> None:
    assert read_request(value, Notes()) is None
    assert read_response(value, Notes()) is None


@pytest.mark.parametrize(
    ("body", "asks"),
    [
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, True),
        ({"response_format": {"type": "json_object"}}, True),
        ({"response_format": {"type": "text"}}, False),
        ({"response_format": "Answer"}, True),
        ({"response_format": "auto"}, False),
        ({"text": {"format": {"type": "json_schema"}}}, True),
        ({"text": {"format": {"type": "text"}}}, False),
        ({"output_config": {"format": {"type": "json_schema"}}}, True),
        ({"output_format": {"type": "json_schema"}}, True),
        ({"config": {"response_mime_type": "application/json"}}, True),
        ({"config": {"response_schema": {"type": "OBJECT"}}}, True),
        ({"config": {}}, False),
        ({}, False),
    ],
)
def test_whether_an_answer_in_json_is_asked_for(body: dict[str, Any], asks: bool) -> None:
    assert asks_for_json(body) is asks


def test_the_id_survives_where_the_rest_was_cut() -> None:
    assert head_id('{"id": "chatcmpl-1", "choices": [{"mess') == "chatcmpl-1"
    assert head_id('{"model": "m", "id": "x"') is None
    assert head_id("plain") is None
    assert head_id(None) is None


def test_usage_that_says_nothing_is_none() -> None:
    assert read_usage({}) is None
    assert read_usage({"total_tokens": 3}) is None
    assert read_usage(None) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "messages",
                    "input",
                    "contents",
                    "choices",
                    "message",
                    "output",
                    "candidates",
                    "content",
                    "parts",
                    "role",
                    "type",
                    "text",
                    "usage",
                    "response_format",
                    "tool_calls",
                    "function",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_odd_payloads_never_raise(value: Any) -> None:
    request, response = read_request(value, Notes()), read_response(value, Notes())
    assert request is None or all(isinstance(m, Message) for m in request.messages)
    assert response is None or all(isinstance(m, Message) for m in response.messages)
