"""Vercel AI SDK: its own spans, and version 7's GenAI spans."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.vercel_ai import VercelAILegacy
from otel_turns.dialects.vercel_ai_genai import VercelAI
from otel_turns.model.facts import (
    MISSING,
    Decision,
    Facts,
    Message,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import exception, record, same, span, text


def _legacy(operation: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span({"ai.operationId": operation, **(attributes or {})}, name=operation, **more)
    assert VercelAILegacy().matches(made)
    return VercelAILegacy().read(made)


def _modern(operation: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span({"gen_ai.operation.name": operation, **(attributes or {})}, scope="gen_ai", **more)
    assert VercelAI().matches(made)
    return VercelAI().read(made)


@pytest.mark.parametrize(
    ("operation", "role"),
    [
        ("ai.generateText", Role.AGENT),
        ("ai.streamText", Role.AGENT),
        ("ai.generateObject", Role.AGENT),
        ("ai.streamObject", Role.AGENT),
        ("ai.generateText.doGenerate", Role.INFERENCE),
        ("ai.streamText.doStream", Role.INFERENCE),
        ("ai.generateObject.doGenerate", Role.INFERENCE),
        ("ai.toolCall", Role.TOOL),
        ("ai.embed", Role.NOTHING),
        ("ai.somethingNew", Role.STEP),
    ],
)
def test_roles(operation: str, role: Role) -> None:
    assert _legacy(operation).role is role


def test_not_the_sdk() -> None:
    assert not VercelAILegacy().matches(span({"gen_ai.operation.name": "chat"}))
    assert not VercelAI().matches(span({"gen_ai.operation.name": "chat"}, scope="other"))
    assert not VercelAI().matches_log(record("gen_ai.choice", scope="other"))


@pytest.mark.parametrize("form", [text, same])
def test_a_call_and_its_session(form: Any) -> None:
    facts = _legacy(
        "ai.generateText",
        {
            "ai.telemetry.functionId": "planner",
            "ai.telemetry.metadata.sessionId": "s1",
            "ai.prompt": form({"system": "be good", "prompt": "weather?"}),
            "ai.response.text": "18 degrees.",
            "ai.response.toolCalls": form([{"toolCallId": "c1", "toolName": "old", "input": "{}"}]),
            "ai.usage.promptTokens": 240,
            "ai.usage.completionTokens": 60,
        },
    )
    assert (facts.agent_name, facts.session_id) == ("planner", "s1")
    assert facts.inputs == [Message("system", [Text("be good")]), Message("user", [Text("weather?")])]
    assert facts.outputs == [Message("assistant", [Text("18 degrees.")])]
    assert facts.usage == TokenUsage(240, 60)


@pytest.mark.parametrize("arguments", ['{"city": "Paris"}', {"city": "Paris"}])
def test_a_request(arguments: Any) -> None:
    calls = [{"toolCallId": "c1", "toolName": "get_weather", "input": arguments}]
    facts = _legacy(
        "ai.generateText.doGenerate",
        {
            "ai.prompt.messages": text([{"role": "user", "content": [{"type": "text", "text": "weather?"}]}]),
            "ai.response.text": "Let me check.",
            "ai.response.reasoning": "Hm.",
            "ai.response.toolCalls": text(calls),
            "ai.response.id": "r1",
            "ai.response.model": "gpt-4o",
            "ai.usage.inputTokens": 120,
            "ai.usage.outputTokens": 30,
            "ai.usage.cachedInputTokens": 40,
            "ai.usage.reasoningTokens": 5,
        },
    )
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert facts.outputs == [
        Message(
            "assistant",
            [Reasoning("Hm."), Text("Let me check."), ToolCall("c1", "get_weather", {"city": "Paris"})],
        )
    ]
    assert facts.usage == TokenUsage(120, 30, 40, None, 5)
    assert (facts.response_id, facts.model, facts.hidden) == ("r1", "gpt-4o", set())


def test_content_that_was_not_recorded() -> None:
    facts = _legacy("ai.generateText.doGenerate", {"ai.response.finishReason": "tool-calls"})
    assert facts.hidden == {"inputs", "outputs"}
    assert _legacy("ai.toolCall", {"ai.toolCall.id": "c1"}).hidden == {"arguments", "result"}


def test_tokens_of_version_4_in_the_providers_metadata() -> None:
    facts = _legacy(
        "ai.generateText.doGenerate",
        {
            "ai.usage.promptTokens": 9,
            "ai.usage.completionTokens": 3,
            "ai.response.providerMetadata": text({"openai": {"cachedPromptTokens": 4, "reasoningTokens": 2}}),
        },
    )
    assert facts.usage == TokenUsage(9, 3, 4, None, 2)


def test_a_typed_answer() -> None:
    answer = {"city": "Paris"}
    assert _legacy("ai.generateObject", {"ai.response.object": text(answer)}).data == answer
    facts = _legacy("ai.generateObject.doGenerate", {"ai.response.object": text(answer)})
    assert facts.structured
    assert facts.outputs == [Message("assistant", [Text(text(answer))])]


def test_a_tool() -> None:
    attributes = {
        "ai.toolCall.id": "c1",
        "ai.toolCall.name": "get_weather",
        "ai.toolCall.args": text({"city": "Paris"}),
    }
    facts = _legacy("ai.toolCall", {**attributes, "ai.toolCall.result": text({"temp_c": 18})})
    assert (facts.call_id, facts.tool_name) == ("c1", "get_weather")
    assert (facts.arguments, facts.result, facts.failed) == ({"city": "Paris"}, {"temp_c": 18}, False)
    failed = _legacy(
        "ai.toolCall", attributes, status=STATUS_ERROR, events=[exception("no such file", "FileError")]
    )
    assert (failed.failed, failed.error, failed.error_type) == (True, "no such file", "FileError")
    assert failed.result is MISSING
    assert failed.hidden == set()


APPROVAL: list[dict[str, Any]] = [
    {"role": "user", "content": "delete x"},
    {
        "role": "assistant",
        "content": [
            {"type": "tool-call", "toolCallId": "c1", "toolName": "delete_file", "input": {"path": "x"}},
            {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"},
        ],
    },
]


@pytest.mark.parametrize("approved", [True, False])
def test_a_humans_answer(approved: bool) -> None:
    answer = {
        "type": "tool-approval-response",
        "approvalId": "a1",
        "approved": approved,
        "reason": "not today",
    }
    facts = _legacy(
        "ai.generateText",
        {"ai.prompt": text({"messages": [*APPROVAL, {"role": "tool", "content": [answer]}]})},
    )
    assert facts.resumes
    assert facts.decisions == [Decision(approved, "c1", "a1", "not today")]


def test_an_answer_of_an_earlier_run() -> None:
    answer = {"type": "tool-approval-response", "approvalId": "a1", "approved": True}
    messages = [
        *APPROVAL,
        {"role": "tool", "content": [answer]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "thanks"},
    ]
    facts = _legacy("ai.generateText", {"ai.prompt": text({"messages": messages})})
    assert (facts.resumes, facts.decisions) == (False, [])


def test_a_denied_call_in_the_history() -> None:
    denied = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "delete_file",
        "output": {"type": "execution-denied", "reason": "not allowed"},
    }
    facts = _legacy(
        "ai.generateText.doGenerate",
        {"ai.prompt.messages": text([{"role": "tool", "content": [denied]}])},
    )
    assert facts.inputs == [
        Message("tool", [ToolResult("c1", "delete_file", "not allowed", rejected=True)]),
    ]


def test_an_error_result_in_the_history() -> None:
    broken = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "f",
        "output": {"type": "error-text", "value": "boom"},
    }
    facts = _legacy(
        "ai.generateText.doGenerate",
        {"ai.prompt.messages": text([{"role": "tool", "content": [broken]}])},
    )
    assert facts.inputs == [Message("tool", [ToolResult("c1", "f", "boom", failed=True)])]


def test_version_7_names_the_agent_and_not_the_model() -> None:
    assert _modern("invoke_agent", name="invoke_agent gpt-4o").agent_name is None
    named = _modern("invoke_agent", {"gen_ai.agent.name": "root"}, name="invoke_agent gpt-4o")
    assert (named.role, named.agent_name) == (Role.AGENT, "root")
    assert _modern("agent_step").role is Role.STEP


def test_version_7_last_reply_of_a_run() -> None:
    parts = [
        {"type": "text", "content": "18 degrees."},
        {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}},
    ]
    facts = _modern("invoke_agent", {"gen_ai.output.messages": text([{"role": "assistant", "parts": parts}])})
    assert facts.outputs == [Message("assistant", [Text("18 degrees.")])]


def test_version_7_refusals_and_answers() -> None:
    refused = {
        "type": "tool_call_response",
        "id": "c1",
        "response": {"denied": True, "reason": "not allowed"},
    }
    facts = _modern("chat", {"gen_ai.input.messages": text([{"role": "tool", "parts": [refused]}])})
    assert facts.inputs is not None
    assert facts.inputs[0].parts == [ToolResult("c1", None, "not allowed", rejected=True)]
    answered = [{"role": "tool", "parts": [{"type": "tool-approval-response"}]}]
    assert _modern("invoke_agent", {"gen_ai.input.messages": text(answered)}).resumes


def test_version_7_supplements() -> None:
    facts = _modern(
        "chat",
        {
            "gen_ai.usage.input_tokens": 120,
            "ai.usage.outputTokenDetails.reasoningTokens": 7,
            "ai.settings.context.sessionId": "s1",
        },
    )
    assert (facts.usage, facts.session_id) == (TokenUsage(120, reasoning=7), "s1")
