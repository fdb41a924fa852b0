"""The OpenAI Agents SDK through OpenInference and OpenLLMetry."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.openai_agents_traced import OpenInferenceOpenAIAgents, TraceloopOpenAIAgents
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import span, text

KIND = "openinference.span.kind"
TL_KIND = "traceloop.span.kind"
TL_SCOPE = "opentelemetry.instrumentation.openai_agents"


def phoenix(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = OpenInferenceOpenAIAgents()
    made = span(
        {KIND: kind, **(attributes or {})}, scope="openinference.instrumentation.openai_agents", **more
    )
    assert dialect.matches(made)
    return dialect.read(made)


def traceloop(attributes: dict[str, Any], **more: Any) -> Facts:
    dialect = TraceloopOpenAIAgents()
    made = span(attributes, scope=TL_SCOPE, **more)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize(
    ("kind", "attributes", "name", "role"),
    [
        ("AGENT", {}, "Agent workflow", Role.WORKFLOW),
        ("AGENT", {"agent.name": "root"}, "root", Role.AGENT),
        ("AGENT", {"graph.node.id": "root"}, "root", Role.AGENT),
        ("CHAIN", {}, "turn", Role.STEP),
        ("CHAIN", {}, "Agent workflow", Role.STEP),
        ("TOOL", {"tool.name": "f"}, "f", Role.TOOL),
        ("TOOL", {}, "handoff to b", Role.HANDOFF),
        ("TOOL", {"tool.name": "handoff_to_b"}, "handoff to b", Role.HANDOFF),
        ("TOOL", {"tool.name": "handoff_notes"}, "handoff_notes", Role.TOOL),
        ("LLM", {}, "response", Role.INFERENCE),
    ],
)
def test_levels_of_the_trace(kind: str, attributes: dict[str, Any], name: str, role: Role) -> None:
    assert phoenix(kind, attributes, name=name).role is role


def test_an_agent_repeats_nothing() -> None:
    facts = phoenix("AGENT", {"agent.name": "b", "graph.node.parent_id": "a", "output.value": "Hello"})
    assert (facts.agent_name, facts.handoff_from, facts.outputs) == ("b", "a", None)


def test_a_handoff() -> None:
    facts = phoenix("TOOL", {"input.value": "a", "output.value": "b"}, name="handoff to b")
    assert (facts.handoff_from, facts.handoff_to) == ("a", "b")
    facts = phoenix(
        "TOOL",
        {"input.value": text({"from_agent": "a"}), "output.value": text({"to_agent": "b"})},
        name="handoff",
    )
    assert (facts.handoff_from, facts.handoff_to) == ("a", "b")
    assert phoenix("TOOL", name="handoff to b").handoff_to == "b"


def test_a_tool() -> None:
    facts = phoenix("TOOL", {"tool.name": "f", "input.value": text({"a": 1}), "output.value": "clear"})
    assert (facts.tool_name, facts.call_id, facts.arguments, facts.result) == ("f", None, {"a": 1}, "clear")
    assert (facts.paused, facts.questions) == (False, [])


def test_a_call_without_result_and_error_waits_for_a_human() -> None:
    facts = phoenix("TOOL", {"tool.name": "f", "input.value": text({"a": 1})})
    assert facts.paused
    assert facts.questions == [Question(action="f", input={"a": 1})]


def test_hidden_content_says_nothing_about_waiting() -> None:
    facts = phoenix("TOOL", {"tool.name": "f", "input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert (facts.paused, facts.questions) == (False, [])
    assert not phoenix("TOOL", {"tool.name": "f"}).paused


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Error running tool: {'tool_name': 'f', 'error': 'no such city'}", "no such city"),
        ('Error running tool: {"tool_name": "f", "error": "no such city"}', "no such city"),
        (
            "{'message': 'Error running tool', 'data': {'tool_name': 'f', 'error': 'no such city'}}",
            "no such city",
        ),
        ("no such city", "no such city"),
        ("Error: {'error': 'Tool execution failed. Error details are redacted.'}", ""),
    ],
)
def test_the_words_of_a_failure(message: str, error: str) -> None:
    facts = phoenix("TOOL", {"tool.name": "f", "input.value": "{}"}, status=STATUS_ERROR, message=message)
    assert (facts.failed, facts.error, facts.paused) == (True, error, False)


def test_a_humans_no() -> None:
    message = "Tool execution for call_1 was manually rejected by user"
    facts = phoenix("TOOL", {"tool.name": "f", "input.value": "{}"}, status=STATUS_ERROR, message=message)
    assert (facts.rejected, facts.failed, facts.error, facts.call_id) == (True, False, None, "call_1")
    assert (facts.result, facts.paused) == (MISSING, False)


def test_output_items_are_one_reply_with_real_ids() -> None:
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Checking."}]},
        {"type": "function_call", "id": "__fake_id__", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]
    facts = phoenix("LLM", {"output.value": text({"id": "__fake_id__", "output": items})})
    assert facts.outputs == [
        Message("assistant", [Reasoning("Hm."), Text("Checking."), ToolCall("c1", "f", {})])
    ]
    assert facts.response_id is None


def test_the_items_of_the_javascript_sdk_are_read_from_the_numbered_messages() -> None:
    asked = [{"type": "function_call", "callId": "c1", "name": "f", "arguments": "{}"}]
    facts = phoenix(
        "LLM",
        {
            "input.value": text(asked),
            "llm.input_messages.0.message.role": "tool",
            "llm.input_messages.0.message.tool_call_id": "c1",
            "llm.input_messages.0.message.content": "clear",
        },
    )
    assert facts.inputs == [Message("tool", [ToolResult("c1", None, "clear")])]


def test_the_package_of_the_same_scope_is_another_convention() -> None:
    dialect = TraceloopOpenAIAgents()
    assert not dialect.matches(span({"gen_ai.operation.name": "invoke_agent"}, scope=TL_SCOPE))
    assert not dialect.matches(span({TL_KIND: "agent"}, scope="x"))
    assert dialect.matches(span({}, scope=TL_SCOPE, name="openai.response"))


def test_levels_through_openllmetry() -> None:
    assert traceloop({TL_KIND: "workflow"}, name="Agent Workflow").role is Role.WORKFLOW
    facts = traceloop({TL_KIND: "agent", "gen_ai.agent.name": "root"}, name="root.agent")
    assert (facts.role, facts.agent_name, facts.loose) == (Role.AGENT, "root", True)
    facts = traceloop({TL_KIND: "tool", "gen_ai.tool.name": "f"}, name="f.tool")
    assert (facts.role, facts.tool_name, facts.loose) == (Role.TOOL, "f", False)
    facts = traceloop(
        {TL_KIND: "handoff", "gen_ai.handoff.from_agent": "a", "gen_ai.handoff.to_agent": "b"},
        name="a → b.handoff",
    )
    assert (facts.role, facts.handoff_to) == (Role.HANDOFF, "b")


def test_a_call_that_waits_through_openllmetry() -> None:
    waiting = {TL_KIND: "tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": "{}"}
    facts = traceloop(waiting)
    assert facts.paused
    assert facts.questions == [Question(action="f", input={})]
    assert not traceloop({**waiting, "gen_ai.tool.call.result": "clear"}).paused
    assert not traceloop({TL_KIND: "tool", "gen_ai.tool.name": "f"}).paused


def test_a_failed_tool_through_openllmetry() -> None:
    told = (
        "{'message': 'Error running tool (non-fatal)', 'data': {'tool_name': 'f', 'error': 'no such city'}}"
    )
    facts = traceloop(
        {TL_KIND: "tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": "{}"},
        status=STATUS_ERROR,
        message=told,
    )
    assert (facts.failed, facts.error, facts.paused) == (True, "no such city", False)
