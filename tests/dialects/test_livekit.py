"""LiveKit Agents."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.livekit import LiveKit
from otel_turns.model.facts import Facts, Message, Role, Text, TokenUsage, ToolCall, ToolResult
from tests.dialects.spans import record, span, text


def _read(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span(attributes, name=name, scope="livekit-agents", **more)
    assert LiveKit().matches(made)
    return LiveKit().read(made)


def test_a_session_is_no_turn() -> None:
    facts = _read("agent_session", {"gen_ai.operation.name": "invoke_workflow", "lk.room_sid": "RM_1"})
    assert (facts.role, facts.session_id) == (Role.STEP, "RM_1")


@pytest.mark.parametrize("prefix", ["lk.", "lk.pii."])
def test_a_turn(prefix: str) -> None:
    facts = _read(
        "agent_turn",
        {
            "gen_ai.operation.name": "invoke_agent",
            "lk.agent_label": "assistant",
            "lk.speech_id": "speech_1",
            prefix + "user_input": "weather?",
        },
    )
    assert (facts.role, facts.agent_name, facts.group) == (Role.AGENT, "assistant", "speech_1")
    assert facts.inputs == [Message("user", [Text("weather?")])]


@pytest.mark.parametrize("prefix", ["lk.", "lk.pii."])
def test_a_request(prefix: str) -> None:
    context = {
        "items": [
            {"type": "message", "role": "user", "content": ["weather?"]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "name": "f",
                "output": "gone",
                "is_error": True,
            },
        ]
    }
    call = {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"}
    facts = _read(
        "llm_node",
        {
            prefix + "chat_ctx": text(context),
            prefix + "response.text": "Once more.",
            prefix + "response.function_calls": [text(call)],
        },
    )
    assert facts.inputs == [
        Message("user", [Text("weather?")]),
        Message("assistant", [ToolCall("c1", "f", {"a": 1})]),
        Message("tool", [ToolResult("c1", "f", "gone", failed=True)]),
    ]
    assert facts.outputs == [Message("assistant", [Text("Once more."), ToolCall("c2", "f", {})])]
    assert facts.hidden == set()


def test_the_providers_request() -> None:
    facts = _read(
        "llm_request",
        {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 120, "gen_ai.response.id": "r1"},
    )
    assert (facts.role, facts.usage, facts.response_id) == (Role.INFERENCE, TokenUsage(120), "r1")


@pytest.mark.parametrize("prefix", ["lk.", "lk.pii."])
def test_a_tool(prefix: str) -> None:
    common = {
        "lk.function_tool.id": "c1",
        "lk.function_tool.name": "get_weather",
        prefix + "function_tool.arguments": '{"city": "Paris"}',
    }
    facts = _read("function_tool", {**common, prefix + "function_tool.output": "18 degrees"})
    assert (facts.role, facts.call_id, facts.tool_name) == (Role.TOOL, "c1", "get_weather")
    assert (facts.arguments, facts.result, facts.hidden) == ({"city": "Paris"}, "18 degrees", set())
    gone = {prefix + "function_tool.output": "gone", "lk.function_tool.is_error": True}
    failed = _read("function_tool", {**common, **gone})
    assert (failed.failed, failed.error) == (True, "gone")


def test_speech_is_no_request() -> None:
    assert _read("tts_request", {"gen_ai.operation.name": "generate_content"}).role is Role.STEP
    assert _read("llm_request_run").role is Role.STEP
    assert not LiveKit().matches_log(record("gen_ai.choice", scope="other"))
