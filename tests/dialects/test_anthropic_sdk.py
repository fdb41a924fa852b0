"""The Anthropic SDK's own spans."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.anthropic_sdk import AnthropicSDK
from otel_turns.model.facts import MISSING, Facts, Message, Role, TokenUsage, ToolCall, ToolResult
from otel_turns.model.span import STATUS_ERROR, STATUS_OK
from tests.dialects.spans import span, text

SCOPE = "com.anthropic.sdk.python"


def read(attributes: dict[str, Any], **more: Any) -> Facts:
    source = span(attributes, scope=SCOPE, **more)
    dialect = AnthropicSDK()
    assert dialect.matches(source)
    return dialect.read(source)


def test_a_request() -> None:
    history = [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "toolu_1", "name": "f", "arguments": {"city": "Paris"}}],
        },
        {
            "role": "user",
            "parts": [
                {
                    "type": "tool_call_response",
                    "id": "toolu_1",
                    "response": [{"type": "text", "text": '{"temp_c": 18}'}],
                }
            ],
        },
    ]
    facts = read(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": text(history),
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.cache_read.input_tokens": 40,
            "gen_ai.usage.cache_write.input_tokens": 0,
            "gen_ai.response.id": "msg_1",
        },
        name="anthropic.messages.create",
        status=STATUS_OK,
    )
    assert facts.role is Role.INFERENCE
    assert facts.inputs == [
        Message("assistant", [ToolCall("toolu_1", "f", {"city": "Paris"})]),
        Message("tool", [ToolResult("toolu_1", None, {"temp_c": 18})]),
    ]
    assert (facts.usage, facts.input_includes_cache, facts.response_id) == (
        TokenUsage(120, None, 40, 0),
        True,
        "msg_1",
    )


def test_a_runner_is_an_agent_without_a_name() -> None:
    facts = read({"gen_ai.operation.name": "invoke_agent"}, name="anthropic.messages.tool_runner")
    assert (facts.role, facts.agent_name) == (Role.AGENT, None)


@pytest.mark.parametrize(
    "name", ["anthropic.custom_tool_use f", "anthropic.tool_use f", "anthropic.mcp_tool_use f"]
)
def test_a_tool_has_its_result_as_blocks(name: str) -> None:
    facts = read(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "f",
            "gen_ai.tool.call.arguments": '{"city": "Paris"}',
            "anthropic.tool_result.content": text([{"type": "text", "text": '{"temp_c": 18}'}]),
        },
        name=name,
    )
    assert (facts.role, facts.arguments, facts.result, facts.hidden) == (
        Role.TOOL,
        {"city": "Paris"},
        {"temp_c": 18},
        set(),
    )


def test_a_failed_tool() -> None:
    failed = {"gen_ai.operation.name": "execute_tool", "error.type": "tool_error"}
    content = text([{"type": "text", "text": "FileNotFoundError('no such file')"}])
    facts = read({**failed, "anthropic.tool_result.content": content}, status=STATUS_ERROR)
    assert (facts.failed, facts.error, facts.result) == (True, "", "FileNotFoundError('no such file')")
    assert read(failed, status=STATUS_ERROR).result is MISSING


def test_the_managed_session() -> None:
    assert read({"gen_ai.operation.name": "execute_tool", "anthropic.session.id": "s1"}).session_id == "s1"
    assert read({"anthropic.environment.work.id": "w"}, name="anthropic.environment.work").role is Role.STEP
