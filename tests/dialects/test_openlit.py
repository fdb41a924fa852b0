"""OpenLIT: its additions to GenAI."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.openlit import OpenLIT
from otel_turns.model.facts import MISSING, Facts, Message, Part, Reasoning, Role, Text, ToolCall
from tests.dialects.spans import span, text

OPERATION = "gen_ai.operation.name"


def run(attributes: dict[str, Any], **more: Any) -> Facts:
    dialect = OpenLIT()
    made = span(attributes, scope="openlit.instrumentation.openai", **more)
    assert dialect.matches(made)
    return dialect.read(made)


def test_only_its_own_scopes() -> None:
    assert not OpenLIT().matches(span({OPERATION: "chat"}, scope="x"))
    assert run({OPERATION: "chat"}).role is Role.INFERENCE
    assert run({OPERATION: "execute_task"}).role is Role.STEP


@pytest.mark.parametrize(
    ("names", "ids", "arguments", "calls"),
    [
        ("f", "c1", '{"a": 1}', [ToolCall("c1", "f", {"a": 1})]),
        ("f, g", "c1, c2", '{"a": 1}, {}', [ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "g", {})]),
        ("f, g", "c1, c2", "{broken", [ToolCall("c1", "f", MISSING), ToolCall("c2", "g", MISSING)]),
        ("f, g", "c1", "{}", []),
        ("f", "", "{}", []),
    ],
)
def test_calls_joined_by_commas(names: str, ids: str, arguments: str, calls: list[Part]) -> None:
    facts = run(
        {
            OPERATION: "chat",
            "gen_ai.tool.name": names,
            "gen_ai.tool.call.id": ids,
            "gen_ai.tool.args": arguments,
        }
    )
    assert facts.outputs == ([Message("assistant", calls)] if calls else None)


def test_reasoning_stands_before_the_text() -> None:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}]
    facts = run({OPERATION: "chat", "gen_ai.output.messages": text(said), "gen_ai.content.reasoning": "Hm."})
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("Hello")])]


def test_what_the_reply_says_itself_counts_once() -> None:
    call: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {}}
    facts = run(
        {
            OPERATION: "chat",
            "gen_ai.output.messages": text([{"role": "assistant", "parts": [call]}]),
            "gen_ai.tool.name": "f",
            "gen_ai.tool.call.id": "c1",
        }
    )
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {})])]


@pytest.mark.parametrize("key", ["gen_ai.tool.input", "gen_ai.tool.args"])
def test_a_tool(key: str) -> None:
    facts = run(
        {OPERATION: "execute_tool", "gen_ai.tool.name": "f", key: '{"a": 1}', "gen_ai.tool.output": "clear"}
    )
    assert (facts.tool_name, facts.arguments, facts.result, facts.hidden) == ("f", {"a": 1}, "clear", set())


def test_a_tool_without_content() -> None:
    assert run({OPERATION: "execute_tool", "gen_ai.tool.name": "f"}).hidden == {"arguments", "result"}
