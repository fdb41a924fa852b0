"""Messages of every shape give the same neutral messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.messages import Notes, read_message, read_messages, role_of
from otel_turns.model.facts import MISSING, Message, Reasoning, Text, ToolCall, ToolResult
from tests.dialects.spans import same, text

CALL = ToolCall("call_1", "get_weather", {"city": "Paris"})
RESULT = ToolResult("call_1", None, {"temp_c": 18})
STORY = [
    Message("system", [Text("You are a helpful assistant.")]),
    Message("user", [Text("What is the weather in Paris?")]),
    Message("assistant", [Reasoning("I need the weather."), Text("Let me check the weather."), CALL]),
    Message("tool", [RESULT]),
]
GENAI = [
    {"role": "system", "parts": [{"type": "text", "content": "You are a helpful assistant."}]},
    {"role": "user", "parts": [{"type": "text", "content": "What is the weather in Paris?"}], "name": None},
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "I need the weather."},
            {"type": "text", "content": "Let me check the weather."},
            {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}},
        ],
        "finish_reason": "tool_call",
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": '{"temp_c": 18}'}]},
]
OPENAI_CHAT = [
    {"role": "developer", "content": "You are a helpful assistant."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "What is the weather in Paris?"}, {"type": "image_url"}],
    },
    {
        "role": "assistant",
        "reasoning_content": "I need the weather.",
        "content": "Let me check the weather.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": '{"temp_c": 18}'},
]
ANTHROPIC = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I need the weather.", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Let me check the weather."},
            {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Paris"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": [{"type": "text", "text": '{"temp_c": 18}'}],
            }
        ],
    },
]
GEMINI = [
    {"role": "system", "parts": [{"text": "You are a helpful assistant."}]},
    {"role": "user", "parts": [{"text": "What is the weather in Paris?"}]},
    {
        "role": "model",
        "parts": [
            {"text": "I need the weather.", "thought": True},
            {"text": "Let me check the weather."},
            {"functionCall": {"id": "call_1", "name": "get_weather", "args": {"city": "Paris"}}},
        ],
    },
    {"role": "user", "parts": [{"function_response": {"id": "call_1", "response": {"temp_c": 18}}}]},
]
BEDROCK = [
    {"role": "system", "content": [{"text": "You are a helpful assistant."}]},
    {"role": "user", "content": [{"text": "What is the weather in Paris?"}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "I need the weather."}}},
            {"text": "Let me check the weather."},
            {"toolUse": {"toolUseId": "call_1", "name": "get_weather", "input": {"city": "Paris"}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "toolResult": {
                    "toolUseId": "call_1",
                    "status": "success",
                    "content": [{"text": '{"temp_c": 18}'}],
                }
            }
        ],
    },
]
PYDANTIC_AI = [
    {"role": "system", "parts": [{"type": "text", "content": "You are a helpful assistant."}]},
    {"role": "user", "parts": [{"type": "text", "content": "What is the weather in Paris?"}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "thinking", "content": "I need the weather."},
            {"type": "text", "content": "Let me check the weather."},
            {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
        ],
    },
    {"role": "user", "parts": [{"type": "tool_call_response", "id": "call_1", "result": {"temp_c": 18}}]},
]
STRANDS_LATEST = [
    *GENAI[:2],
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoningContent", "content": {"reasoningText": {"text": "I need the weather."}}},
            {"type": "text", "content": "Let me check the weather."},
            {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}},
        ],
    },
    {
        "role": "user",
        "parts": [{"type": "tool_call_response", "id": "call_1", "response": [{"text": '{"temp_c": 18}'}]}],
    },
]
SHAPES = {
    "genai": GENAI,
    "openai chat": OPENAI_CHAT,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "pydantic-ai": PYDANTIC_AI,
    "strands": STRANDS_LATEST,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("encode", [text, same], ids=["text", "structure"])
def test_every_shape_tells_the_same_story(shape: str, encode: Any) -> None:
    assert read_messages(encode(SHAPES[shape])) == STORY


def test_items_of_the_responses_api() -> None:
    items = [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "What is the weather in Paris?"}],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "I need the weather."}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "get_weather",
            "arguments": '{"city": "Paris"}',
        },
        {"type": "function_call_output", "call_id": "call_1", "output": '{"temp_c": 18}'},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It is 18 degrees."}],
        },
    ]
    assert read_messages(items) == [
        Message("user", [Text("What is the weather in Paris?")]),
        Message("assistant", [Reasoning("I need the weather.")]),
        Message("assistant", [ToolCall("call_1", "get_weather", {"city": "Paris"}, ("fc_1",))]),
        Message("tool", [RESULT]),
        Message("assistant", [Text("It is 18 degrees.")]),
    ]


def test_parts_of_the_ai_sdk() -> None:
    messages = [
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "I need the weather."},
                {
                    "type": "tool-call",
                    "toolCallId": "call_1",
                    "toolName": "get_weather",
                    "input": {"city": "Paris"},
                },
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "call_1",
                    "toolName": "get_weather",
                    "output": {"type": "json", "value": {"temp_c": 18}},
                },
                {
                    "type": "tool-result",
                    "toolCallId": "call_2",
                    "toolName": "f",
                    "output": {"type": "error-text", "value": "it broke"},
                },
            ],
        },
    ]
    assert read_messages(messages) == [
        Message("assistant", [Reasoning("I need the weather."), CALL]),
        Message(
            "tool",
            [
                ToolResult("call_1", "get_weather", {"temp_c": 18}),
                ToolResult("call_2", "f", "it broke", failed=True),
            ],
        ),
    ]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_result", "tool_use_id": "c", "content": "it broke", "is_error": True},
        {"toolResult": {"toolUseId": "c", "status": "error", "content": [{"text": "it broke"}]}},
    ],
)
def test_an_error_mark_of_the_protocol_is_kept(part: dict[str, Any]) -> None:
    assert read_messages([{"role": "user", "content": [part]}]) == [
        Message("tool", [ToolResult("c", None, "it broke", failed=True)])
    ]


def test_a_message_with_words_beside_results_keeps_its_role() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": "x"},
            {"type": "text", "text": "and?"},
        ],
    }
    assert read_message(message).role == "user"


def test_calls_and_ids_beside_the_parts_are_read() -> None:
    messages = [
        {
            "role": "assistant",
            "parts": [],
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "parts": [{"type": "text", "content": '{"a": 1}'}]},
    ]
    assert read_messages(messages) == [
        Message("assistant", [ToolCall("c", "f", {})]),
        Message("tool", [ToolResult("c", None, {"a": 1})]),
    ]


def test_a_server_tool_ran_at_the_provider() -> None:
    parts = [
        {
            "type": "server_tool_call",
            "id": "s",
            "name": "web_search",
            "server_tool_call": {"type": "web_search", "query": "otel"},
        },
        {"type": "tool_call", "id": "srvtoolu_1", "name": "web_search", "arguments": {"query": "otel"}},
    ]
    [message] = read_messages([{"role": "assistant", "parts": parts}])
    assert all(isinstance(part, ToolCall) and part.executed_by_provider for part in message.parts)


def test_content_left_out_is_noted() -> None:
    notes = Notes()
    parts = [
        {"type": "text"},
        {"type": "tool_call", "id": "c", "name": "f"},
        {"type": "tool_call_response", "id": "c", "name": "f"},
    ]
    [message] = read_messages([{"role": "assistant", "parts": parts}], notes=notes)
    assert message.parts == [ToolCall("c", "f", MISSING), ToolResult("c", "f", MISSING)]
    assert notes.hidden


@pytest.mark.parametrize("content", ["[REDACTED]", "", None])
def test_a_placeholder_is_not_said(content: Any) -> None:
    assert read_messages([{"role": "assistant", "content": content}]) == [Message("assistant", [])]


def test_arguments_that_are_no_json_stay_text_and_are_noted() -> None:
    notes = Notes()
    [message] = read_messages(
        [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": "{half"}],
            }
        ],
        notes=notes,
    )
    assert message.parts == [ToolCall("c", "f", "{half")]
    assert notes.unparsable


def test_a_compaction_is_no_text() -> None:
    notes = Notes()
    [message] = read_messages(
        [{"role": "assistant", "parts": [{"type": "compaction", "content": "summary"}]}], notes=notes
    )
    assert message.parts == []
    assert notes.compaction == "summary"


@pytest.mark.parametrize("kind", ["blob", "uri", "file", "image_url", "video", "anthropic_document"])
def test_parts_that_are_no_speech_are_left_out(kind: str) -> None:
    assert (
        read_messages([{"role": "user", "parts": [{"type": kind, "content": "AAAA", "text": "x"}]}])[0].parts
        == []
    )


def test_plain_text_is_one_message_of_the_role_asked_for() -> None:
    assert read_messages("Hello", "assistant") == [Message("assistant", [Text("Hello")])]
    assert read_messages("<elided>") == []


def test_parts_without_a_message_belong_together() -> None:
    assert read_messages([{"type": "text", "content": "a"}, {"type": "text", "content": "b"}], "system") == [
        Message("system", [Text("a"), Text("b")])
    ]


@pytest.mark.parametrize("key", ["messages", "contents", "input"])
def test_a_request_object_holds_messages(key: str) -> None:
    assert read_messages({"model": "m", key: [{"role": "user", "content": "Hello"}]}) == [
        Message("user", [Text("Hello")])
    ]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("model", "assistant"),
        ("human", "user"),
        ("AI", "assistant"),
        ("developer", "system"),
        ("function", "tool"),
        ("odd", "user"),
    ],
)
def test_roles(role: str, expected: str) -> None:
    assert role_of(role) == expected


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "parts",
                    "content",
                    "type",
                    "text",
                    "id",
                    "name",
                    "arguments",
                    "tool_calls",
                    "function",
                    "functionCall",
                    "toolResult",
                    "response",
                    "reasoning",
                    "message",
                    "messages",
                    "server_tool_call",
                    "tool_call_id",
                    "thought",
                ]
            ),
            inner
            | st.sampled_from(
                [
                    "text",
                    "tool_call",
                    "tool_call_response",
                    "reasoning",
                    "function_call",
                    "server_tool_call",
                    "tool",
                ]
            ),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_ODD)
def test_no_value_raises(value: Any) -> None:
    for message in read_messages(value):
        assert message.role in ("system", "user", "assistant", "tool")
