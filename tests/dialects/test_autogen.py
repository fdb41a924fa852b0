"""AutoGen."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.autogen import AutoGen
from otel_turns.model.facts import Facts, Message, Role, Text, TokenUsage, ToolCall, ToolResult
from otel_turns.model.span import KIND_CLIENT
from tests.dialects.spans import span, text

TEAM = "5c3593f0-075b-4820-9a43-6cc45334fc37"
MANAGER = "RoundRobinGroupChatManager"
RUNTIME = "autogen SingleThreadedAgentRuntime"


def _core(operation: str, attributes: dict[str, Any] | None = None) -> Facts:
    made = span(
        {"gen_ai.operation.name": operation, "gen_ai.system": "autogen", **(attributes or {})},
        name=f"{operation} root",
        scope="autogen-core",
        kind=KIND_CLIENT,
    )
    assert AutoGen().matches(made)
    return AutoGen().read(made)


def _delivered(envelope: Any, *, to: str = MANAGER, operation: str = "process") -> Facts:
    made = span(
        {
            "messaging.operation": operation,
            "messaging.destination": f"{MANAGER}_{TEAM}.({TEAM})-A",
            "recipient_agent_class": to,
            "message": text(envelope),
        },
        scope=RUNTIME,
    )
    assert AutoGen().matches(made)
    return AutoGen().read(made)


def _message(kind: str, content: Any, usage: Any = None, **more: Any) -> dict[str, Any]:
    return {"message": {"type": kind, "source": "root", "content": content, "models_usage": usage, **more}}


def test_agents_and_tools() -> None:
    facts = _core("invoke_agent", {"gen_ai.agent.name": "root"})
    assert (facts.role, facts.agent_name, facts.group) == (Role.AGENT, "root", None)
    assert _core("create_agent").role is Role.NOTHING
    tool = _core("execute_tool", {"gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c1"})
    assert (tool.role, tool.call_id, tool.hidden) == (Role.TOOL, "c1", {"arguments", "result"})


def test_a_member_of_a_team_is_structure() -> None:
    facts = _core("invoke_agent", {"gen_ai.agent.name": "root", "gen_ai.agent.id": f"root_{TEAM}/{TEAM}"})
    assert (facts.role, facts.group) == (Role.STEP, TEAM)


def test_the_beginning_of_a_teams_run() -> None:
    facts = _delivered({"messages": [{"type": "TextMessage", "source": "user", "content": "go"}]})
    assert (facts.role, facts.boundary, facts.group) == (Role.STEP, "start", TEAM)


@pytest.mark.parametrize("kind", ["TextMessage", "ThoughtEvent"])
def test_texts(kind: str) -> None:
    facts = _delivered(_message(kind, "Let me check."))
    assert (facts.role, facts.group, facts.agent_name) == (Role.INFERENCE, TEAM, "root")
    assert facts.outputs == [Message("assistant", [Text("Let me check.")])]
    assert (facts.requests, facts.usage) == (0, None)


def test_calls_and_their_tokens() -> None:
    calls = [{"id": "c1", "name": "get_weather", "arguments": '{"city": "Paris"}'}]
    usage = {"prompt_tokens": 120, "completion_tokens": 30}
    facts = _delivered(_message("ToolCallRequestEvent", calls, usage))
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "get_weather", {"city": "Paris"})])]
    assert (facts.requests, facts.usage) == (None, TokenUsage(120, 30))


def test_results() -> None:
    results = [{"call_id": "c1", "name": "f", "content": "gone", "is_error": True}]
    facts = _delivered(_message("ToolCallExecutionEvent", results))
    assert facts.inputs == [Message("tool", [ToolResult("c1", "f", "gone", failed=True)])]
    assert facts.requests == 0


def test_a_handoff() -> None:
    handoff = _message("HandoffMessage", "Transferred.", target="researcher")
    for envelope in (handoff, {"response": {"chat_message": handoff["message"]}}):
        facts = _delivered(envelope)
        assert (facts.role, facts.handoff_from, facts.handoff_to) == (Role.HANDOFF, "root", "researcher")


def test_deliveries_that_say_nothing_new() -> None:
    said = _message("TextMessage", "Done.")
    assert _delivered(said, to="ChatAgentContainer").role is Role.STEP
    assert _delivered(said, operation="publish").role is Role.STEP
    assert _delivered({"response": {"chat_message": said["message"]}}).role is Role.STEP
    assert _delivered(_message("TextMessage", "go", source="user")).role is Role.STEP
