"""OpenLLMetry: its instrumentations, its SDK's decorators, MCP."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.traceloop import Traceloop, entity_arguments
from otel_turns.model.facts import (
    MISSING,
    Decision,
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import START, exception, span, text

KIND = "traceloop.span.kind"
NAME = "traceloop.entity.name"
INPUT, OUTPUT = "traceloop.entity.input", "traceloop.entity.output"


def read(made: Span) -> Facts:
    dialect = Traceloop()
    assert dialect.matches(made)
    return dialect.read(made)


def tool(attributes: dict[str, Any], **more: Any) -> Facts:
    return read(span({KIND: "tool", NAME: "get_weather", **attributes}, **more))


@pytest.mark.parametrize(
    ("attributes", "role"),
    [
        ({KIND: "workflow"}, Role.WORKFLOW),
        ({KIND: "agent"}, Role.AGENT),
        ({KIND: "task"}, Role.CHAIN),
        ({KIND: "tool"}, Role.TOOL),
        ({KIND: "handoff"}, Role.HANDOFF),
        ({"llm.request.type": "chat"}, Role.INFERENCE),
        ({"llm.request.type": "completion"}, Role.INFERENCE),
        ({"llm.request.type": "embedding"}, Role.NOTHING),
        ({"llm.request.type": "rerank"}, Role.NOTHING),
        ({"gen_ai.operation.name": "chat"}, Role.INFERENCE),
        ({"gen_ai.prompt.0.role": "user"}, Role.INFERENCE),
        ({"gen_ai.completion.0.content": "Hello"}, Role.INFERENCE),
        ({NAME: "x"}, Role.STEP),
    ],
)
def test_what_a_span_stands_for(attributes: dict[str, Any], role: Role) -> None:
    assert read(span(attributes)).role is role


def test_other_spans() -> None:
    dialect = Traceloop()
    assert not dialect.matches(span({}))
    assert not dialect.matches(span({KIND: "a_kind_of_tomorrow"}))
    assert not dialect.matches(span({"http.method": "GET"}, name="GET"))


def test_numbered_messages_and_usage_of_the_first_convention() -> None:
    facts = read(
        span(
            {
                "llm.request.type": "chat",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Hi",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.content": "Hello",
                "llm.usage.prompt_tokens": 5,
                "llm.usage.completion_tokens": 2,
            },
            name="openai.chat",
        )
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert facts.usage == TokenUsage(5, 2)
    assert facts.hidden == set()


def test_messages_of_genai_with_reasoning_as_json_text() -> None:
    parts = [
        {"type": "reasoning", "content": text([{"type": "summary_text", "text": "Hm."}])},
        {"type": "text", "content": "Hello"},
    ]
    said = [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]
    facts = read(span({"gen_ai.operation.name": "chat", "gen_ai.output.messages": text(said)}))
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("Hello")])]


def test_several_completions_are_one_reply() -> None:
    facts = read(
        span(
            {
                "llm.request.type": "chat",
                "gen_ai.completion.0.role": "thinking",
                "gen_ai.completion.0.content": "Hm.",
                "gen_ai.completion.1.role": "assistant",
                "gen_ai.completion.1.content": "Hello",
            }
        )
    )
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("Hello")])]


def test_an_items_id_names_no_operation() -> None:
    asked: list[dict[str, Any]] = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "fc_1", "name": "f", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "clear"}]},
    ]
    facts = read(span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": text(asked)}))
    assert facts.inputs == [
        Message("assistant", [ToolCall("call_1", "f", {}, ("fc_1",))]),
        Message("tool", [ToolResult("call_1", "f", "clear")]),
    ]


def test_a_request_without_content() -> None:
    facts = read(span({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5}))
    assert facts.hidden == {"inputs", "outputs"}


def test_json_that_a_length_limit_cut_is_no_speech() -> None:
    cut = '[{"role": "assistant", "parts": [{"type": "text", "conte'
    facts = read(
        span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": cut, "gen_ai.output.messages": cut})
    )
    assert (facts.inputs, facts.outputs) == (None, None)
    assert facts.hidden == {"inputs", "outputs"}
    assert facts.truncated


def test_a_reply_that_is_typed() -> None:
    schema = {"gen_ai.operation.name": "chat", "gen_ai.request.structured_output_schema": "{}"}
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": '{"a": 1}'}]}]
    call: list[dict[str, Any]] = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {}}]}
    ]
    assert read(span({**schema, "gen_ai.output.messages": text(answer)})).structured
    assert not read(span({**schema, "gen_ai.output.messages": text(call)})).structured


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"args": [], "kwargs": {"city": "Paris"}}, {"city": "Paris"}),
        ({"args": [{"city": "Paris"}], "kwargs": {}}, {"city": "Paris"}),
        ({"args": ["Paris"], "kwargs": {}}, MISSING),
        ({"args": ["Paris"], "kwargs": {"n": 1}}, MISSING),
        ({"args": [], "kwargs": {}}, {}),
        ({"tool_name": "f", "arguments": {"city": "Paris"}}, {"city": "Paris"}),
        ({"tool_name": "f", "arguments": None}, MISSING),
        ({"city": "Paris"}, {"city": "Paris"}),
        ("Paris", MISSING),
        (None, MISSING),
    ],
)
def test_arguments_of_an_entity(value: Any, arguments: Any) -> None:
    assert entity_arguments(value) == arguments


def test_a_decorated_tool() -> None:
    facts = tool({INPUT: text({"args": [], "kwargs": {"city": "Paris"}}), OUTPUT: text({"temp_c": 18})})
    assert facts.tool_name == "get_weather"
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})
    assert facts.hidden == set()


def test_a_decorated_tool_whose_argument_names_are_lost() -> None:
    facts = tool({INPUT: text({"args": ["Paris"], "kwargs": {}}), OUTPUT: '"clear"'})
    assert (facts.arguments, facts.result) == (MISSING, "clear")


def test_a_tool_without_content() -> None:
    facts = tool({})
    assert facts.hidden == {"arguments", "result"}


def test_a_failed_tool() -> None:
    facts = tool({}, status=STATUS_ERROR, message="no such city", events=[exception("no such city")])
    assert (facts.failed, facts.error) == (True, "no such city")


def test_a_tool_of_an_mcp_server() -> None:
    facts = read(
        span(
            {
                KIND: "tool",
                INPUT: text({"tool_name": "get_weather", "arguments": {"city": "Paris"}}),
                OUTPUT: text({"result": {"content": [{"type": "text", "text": "clear"}], "isError": False}}),
            },
            name="get_weather.tool",
        )
    )
    assert (facts.tool_name, facts.arguments, facts.result) == ("get_weather", {"city": "Paris"}, "clear")
    assert not facts.failed


def test_a_tool_of_an_mcp_server_that_says_it_failed() -> None:
    facts = tool({OUTPUT: text({"content": [{"type": "text", "text": "no such city"}], "isError": True})})
    assert (facts.failed, facts.result) == (True, "no such city")


def test_structure_of_mcp() -> None:
    scope = "opentelemetry.instrumentation.mcp"
    assert read(span({}, name="initialize.mcp", scope=scope)).role is Role.STEP
    assert read(span({}, name="ResponseStreamWriter", scope=scope)).role is Role.STEP


@pytest.mark.parametrize(("action", "approved"), [("accept", True), ("decline", False), ("cancel", False)])
def test_a_servers_tool_asks_its_user(action: str, approved: bool) -> None:
    asked: dict[str, Any] = {
        "method": "elicitation/create",
        "params": {"message": "Really?", "requestedSchema": {}},
    }
    facts = read(span({INPUT: text(asked), OUTPUT: text({"action": action})}, name="elicitation/create.mcp"))
    options = [{"id": "accept"}, {"id": "decline"}, {"id": "cancel"}]
    assert facts.questions == [Question(prompt="Really?", options=options, answered=True, time=START)]
    assert facts.decisions == [Decision(approved)]


def test_an_agent_and_what_it_said() -> None:
    facts = read(
        span({KIND: "workflow", NAME: "root", INPUT: text({"args": ["Hi"], "kwargs": {}}), OUTPUT: '"Hello"'})
    )
    assert facts.agent_name == "root"
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]


def test_objects_are_no_speech() -> None:
    facts = read(span({KIND: "task", NAME: "plan", INPUT: text({"n": 1}), OUTPUT: text({"m": 2})}))
    assert (facts.role, facts.inputs, facts.outputs) == (Role.CHAIN, None, None)


def test_a_handoff() -> None:
    facts = read(span({KIND: "handoff", "gen_ai.handoff.from_agent": "a", "gen_ai.handoff.to_agent": "b"}))
    assert (facts.handoff_from, facts.handoff_to) == ("a", "b")


@pytest.mark.parametrize("key", ["session_id", "thread_id", "conversation_id", "chat_id"])
def test_the_session_that_the_application_associated(key: str) -> None:
    assert read(span({KIND: "tool", f"traceloop.association.properties.{key}": "s1"})).session_id == "s1"


@given(
    st.sampled_from(["workflow", "agent", "task", "tool", "handoff"]),
    st.sampled_from(
        ["", "{", "null", "3", "[]", '{"args": 1}', '{"kwargs": []}', '{"tool_name": 1, "arguments": 2}']
    ),
    st.sampled_from(["", "}", "null", '{"result": null}', '{"content": [], "isError": 1}', '"x"']),
)
def test_odd_entities_never_raise(kind: str, asked: str, said: str) -> None:
    assert read(span({KIND: kind, INPUT: asked, OUTPUT: said})).convention.name == "traceloop"
