"""smolagents through OpenInference."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.smolagents import OpenInferenceSmolagents
from otel_turns.model.facts import MISSING, Facts, Message, Role, Text
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import exception, span, text

KIND = "openinference.span.kind"


def run(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = OpenInferenceSmolagents()
    made = span({KIND: kind, **(attributes or {})}, scope="openinference.instrumentation.smolagents", **more)
    assert dialect.matches(made)
    return dialect.read(made)


def test_an_agent_its_task_and_its_answer() -> None:
    asked = {"task": "What is the weather in Paris?", "reset": True, "images": None}
    facts = run("AGENT", {"input.value": text(asked), "output.value": "18 degrees"}, name="researcher.run")
    assert (facts.role, facts.agent_name) == (Role.AGENT, "researcher")
    assert facts.inputs == [Message("user", [Text("What is the weather in Paris?")])]
    assert facts.outputs == [Message("assistant", [Text("18 degrees")])]


@pytest.mark.parametrize("name", ["ToolCallingAgent.run", "CodeAgent.run"])
def test_a_class_is_no_name(name: str) -> None:
    assert run("AGENT", name=name).agent_name is None


def test_a_step_is_structure_and_its_failure_got_over() -> None:
    facts = run("CHAIN", name="Step 1", status=STATUS_ERROR, events=[exception("no such city")])
    assert (facts.role, facts.failed, facts.recovered) == (Role.STEP, True, True)
    assert not run("CHAIN", name="Step 2").recovered


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"args": [], "kwargs": {"city": "Paris"}, "sanitize_inputs_outputs": True}, {"city": "Paris"}),
        ({"args": [], "kwargs": {}}, {}),
        ({"args": [{"city": "Paris"}], "kwargs": {}}, {"city": "Paris"}),
        ({"args": ["Paris"], "kwargs": {}}, {"city": "Paris"}),
        ({"args": ["Paris", 1, 2], "kwargs": {}}, MISSING),
    ],
)
def test_the_arguments_of_a_tool(value: dict[str, Any], arguments: Any) -> None:
    schema = text({"city": {"type": "string"}, "unit": {"type": "string"}})
    facts = run("TOOL", {"tool.name": "get_weather", "tool.parameters": schema, "input.value": text(value)})
    assert (facts.tool_name, facts.call_id, facts.arguments) == ("get_weather", None, arguments)


def test_hidden_content() -> None:
    facts = run("TOOL", {"tool.name": "f", "input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert (facts.arguments, facts.result, facts.hidden) == (MISSING, MISSING, {"arguments", "result"})
    facts = run("AGENT", {"output.value": "__REDACTED__"}, name="root.run")
    assert (facts.outputs, facts.hidden) == (None, {"outputs"})


def test_a_failed_tool() -> None:
    facts = run("TOOL", {"tool.name": "f"}, status=STATUS_ERROR, events=[exception("no such city")])
    assert (facts.failed, facts.error, facts.recovered) == (True, "no such city", False)
