"""The Vercel AI SDK behind OpenInference's span processor."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.openinference_vercel import OpenInferenceVercelAI, OpenInferenceVercelAILegacy
from otel_turns.model.facts import Facts, Message, Role, Text, ToolCall
from otel_turns.model.span import STATUS_ERROR, STATUS_OK
from tests.dialects.spans import exception, span, text

KIND = "openinference.span.kind"


def new(attributes: dict[str, Any], **more: Any) -> Facts:
    dialect = OpenInferenceVercelAI()
    made = span({KIND: "LLM", **attributes}, scope="gen_ai", **more)
    assert dialect.matches(made)
    return dialect.read(made)


def old(attributes: dict[str, Any], **more: Any) -> Facts:
    dialect = OpenInferenceVercelAILegacy()
    made = span({KIND: "LLM", **attributes}, scope="ai", **more)
    assert dialect.matches(made)
    return dialect.read(made)


def test_only_spans_that_the_processor_marked() -> None:
    assert not OpenInferenceVercelAI().matches(span({"gen_ai.operation.name": "chat"}, scope="gen_ai"))
    assert not OpenInferenceVercelAI().matches(
        span({KIND: "LLM", "gen_ai.operation.name": "chat"}, scope="x")
    )
    assert not OpenInferenceVercelAILegacy().matches(span({"ai.operationId": "ai.toolCall"}, scope="ai"))
    assert not OpenInferenceVercelAILegacy().matches(span({KIND: "LLM"}, scope="ai"))


def test_what_the_ai_sdk_says_wins() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}
    facts = new(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": text([{"role": "assistant", "parts": [call]}]),
            "llm.output_messages.0.message.content": "garbled",
        },
        status=STATUS_OK,
    )
    assert facts.role is Role.INFERENCE
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {"a": 1})])]
    facts = old({"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "Hello"})
    assert facts.role is Role.INFERENCE
    assert facts.outputs == [Message("assistant", [Text("Hello")])]


@pytest.mark.parametrize(
    "attributes", [{"gen_ai.operation.name": "chat"}, {"gen_ai.operation.name": "invoke_agent"}]
)
def test_a_copied_failure_is_none(attributes: dict[str, Any]) -> None:
    facts = new(attributes, status=STATUS_ERROR, message="no such city")
    assert (facts.failed, facts.error, facts.error_type) == (False, None, None)
    facts = old({"ai.operationId": "ai.generateText"}, status=STATUS_ERROR, message="no such city")
    assert (facts.failed, facts.error, facts.error_type) == (False, None, None)


def test_its_own_failure_stays() -> None:
    failed = {"status": STATUS_ERROR, "message": "boom", "events": [exception("boom", "AI_APICallError")]}
    for facts in (
        new({"gen_ai.operation.name": "chat"}, **failed),
        old({"ai.operationId": "ai.generateText.doGenerate"}, **failed),
        new({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}, **failed),
    ):
        assert (facts.failed, facts.error, facts.error_type) == (True, "boom", "AI_APICallError")
