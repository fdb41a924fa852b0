"""CrewAI through OpenInference, by wrappers and by its event listener."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.crewai import OpenInferenceCrewAI
from otel_turns.model.facts import Facts, Message, Role, Text, ToolCall, ToolResult
from tests.dialects.spans import span, text

KIND = "openinference.span.kind"
SCOPE = "openinference.instrumentation.crewai"


def run(
    kind: str, attributes: dict[str, Any] | None = None, *, name: str = "span", scope: str = SCOPE
) -> Facts:
    dialect = OpenInferenceCrewAI()
    made = span({KIND: kind, **(attributes or {})}, name=name, scope=scope)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("CHAIN", "Crew_1.kickoff", Role.WORKFLOW),
        ("CHAIN", "WeatherFlow.kickoff_async", Role.WORKFLOW),
        ("CHAIN", "Task.execute", Role.STEP),
        ("AGENT", "Weather reporter._execute_core", Role.AGENT),
        ("LLM", "gpt-4o-mini.llm_call", Role.INFERENCE),
        ("TOOL", "get_weather.run", Role.TOOL),
    ],
)
def test_what_a_span_stands_for(kind: str, name: str, role: Role) -> None:
    assert run(kind, name=name).role is role


def test_both_instrumentations() -> None:
    assert run("AGENT", scope=SCOPE + "._event_listener").role is Role.AGENT


def test_an_agent_tells_its_whole_run() -> None:
    said = {
        "raw": "18 degrees.",
        "messages": [
            {"role": "system", "content": "You are a reporter."},
            {"role": "user", "content": "Weather in Paris?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "get_weather", "content": "clear"},
            {"role": "assistant", "content": "18 degrees."},
        ],
        "json_dict": {"temp_c": 18},
    }
    facts = run("AGENT", {"graph.node.id": "reporter", "output.value": text(said)}, name="x")
    assert facts.agent_name == "reporter"
    assert facts.outputs == [
        Message("assistant", [ToolCall("c1", "get_weather", {})]),
        Message("tool", [ToolResult("c1", "get_weather", "clear")]),
        Message("assistant", [Text("18 degrees.")]),
    ]
    assert facts.data == {"temp_c": 18}


def test_an_answer_without_messages() -> None:
    hello = [Message("assistant", [Text("Hello")])]
    assert run("AGENT", {"output.value": text({"raw": "Hello", "messages": []})}).outputs == hello
    assert run("AGENT", {"output.value": "Hello"}).outputs == hello
    assert run("CHAIN", {"output.value": text({"raw": "Hello"})}, name="Crew.kickoff").outputs == hello


def test_redacted_content() -> None:
    facts = run("AGENT", {"output.value": "__REDACTED__"})
    assert (facts.outputs, facts.hidden) == (None, {"outputs"})


def test_calls_in_quotes() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call."
    facts = run(
        "LLM",
        {
            call + "id": "c1",
            call + "function.name": "'get_weather'",
            call + "function.arguments": '\'{"city": "Paris"}\'',
        },
    )
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "get_weather", {"city": "Paris"})])]


def test_a_reply_that_only_the_value_tells() -> None:
    assert run("LLM", {"output.value": "Hello"}).outputs == [Message("assistant", [Text("Hello")])]


def test_a_tool() -> None:
    facts = run(
        "TOOL",
        {"tool.name": "get_weather", "input.value": text({"city": "Paris"}), "output.value": "clear"},
        name="get_weather.run",
    )
    assert (facts.tool_name, facts.arguments, facts.result) == ("get_weather", {"city": "Paris"}, "clear")
    assert run("TOOL", name="get_weather.run").tool_name == "get_weather"
    assert run("TOOL", name="get_weather._run").tool_name == "get_weather"
