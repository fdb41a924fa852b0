"""Agno through OpenInference."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.agno import OpenInferenceAgno
from otel_turns.model.facts import MISSING, Facts, Message, Role, Text, ToolCall
from tests.dialects.spans import span, text

KIND = "openinference.span.kind"


def run(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = OpenInferenceAgno()
    made = span({KIND: kind, **(attributes or {})}, scope="openinference.instrumentation.agno", **more)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("AGENT", "root.run", Role.AGENT),
        ("AGENT", "Team.run", Role.AGENT),
        ("CHAIN", "pipeline.run", Role.WORKFLOW),
        ("CHAIN", "research.execute", Role.STEP),
        ("TOOL", "get_weather", Role.TOOL),
        ("LLM", "OpenAIChat.invoke", Role.INFERENCE),
    ],
)
def test_what_a_span_stands_for(kind: str, name: str, role: Role) -> None:
    assert run(kind, name=name).role is role


@pytest.mark.parametrize(
    ("attributes", "name", "agent"),
    [
        ({"agent.name": "root"}, "x.run", "root"),
        ({"graph.node.name": "root"}, "x.run", "root"),
        ({}, "root.run", "root"),
        ({}, "root.arun", "root"),
        ({}, "Agent.run", None),
        ({}, "Team.arun", None),
    ],
)
def test_an_agents_name(attributes: dict[str, Any], name: str, agent: str | None) -> None:
    facts = run("AGENT", attributes, name=name)
    assert (facts.agent_name, facts.loose) == (agent, True)


def test_the_texts_of_a_run_in_one_are_no_speech() -> None:
    facts = run(
        "AGENT", {"input.value": "Hi", "output.value": "Let me check.It is 18 degrees."}, name="root.run"
    )
    assert facts.outputs is None
    facts = run("AGENT", {"input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert facts.hidden == {"inputs", "outputs"}


def test_a_tool_and_arguments_that_stand_where_a_schema_would() -> None:
    facts = run("TOOL", {"tool.name": "f", "input.value": text({"a": 1}), "output.value": '{"b": 2}'})
    assert (facts.tool_name, facts.arguments, facts.result) == ("f", {"a": 1}, {"b": 2})
    facts = run("TOOL", {"tool.name": "f", "input.value": "__REDACTED__", "tool.parameters": text({"a": 1})})
    assert (facts.arguments, facts.hidden) == ({"a": 1}, set())
    schema = text({"type": "object", "properties": {"a": {}, "b": {}}})
    assert run("TOOL", {"tool.name": "f", "tool.parameters": schema}).arguments is MISSING


def test_a_delegation_names_the_member() -> None:
    facts = run(
        "TOOL",
        {
            "tool.name": "delegate_task_to_member",
            "input.value": text({"member_id": "researcher", "task": "x"}),
        },
    )
    assert facts.delegates_to == "researcher"
    assert run("TOOL", {"tool.name": "f", "input.value": text({"member_id": "m"})}).delegates_to is None


def test_a_request() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    facts = run(
        "LLM",
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Hi",
            "llm.output_messages.0.message.role": "assistant",
            call + "id": "c1",
            call + "function.name": "f",
            call + "function.arguments": "{}",
        },
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {})])]
