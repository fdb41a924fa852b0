"""opencode."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.opencode import Opencode
from otel_turns.model.facts import Decision, Facts, Message, Question, Role, Text
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import exception, record, span, text

SCOPE = "opencode"


def _read(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span(attributes, name=name, scope=SCOPE, **more)
    assert Opencode().matches(made)
    return Opencode().read(made)


def _tool(name: str, arguments: Any, result: Any) -> Facts:
    return _read(
        "ai.toolCall",
        {
            "ai.operationId": "ai.toolCall",
            "ai.toolCall.id": "c1",
            "ai.toolCall.name": name,
            "ai.toolCall.args": text(arguments),
            "ai.toolCall.result": text(result),
        },
    )


def test_a_prompt_is_an_agent_and_a_step_is_none() -> None:
    facts = _read("SessionPrompt.prompt", {"session.id": "s1"})
    assert (facts.role, facts.session_id) == (Role.AGENT, "s1")
    assert _read("ai.streamText", {"ai.operationId": "ai.streamText"}).role is Role.STEP


def test_a_request_has_no_response_id() -> None:
    facts = _read(
        "ai.streamText.doStream",
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.response.id": "constant",
            "ai.response.text": "Hello.",
        },
    )
    assert (facts.role, facts.response_id) == (Role.INFERENCE, None)
    assert facts.outputs == [Message("assistant", [Text("Hello.")])]


def test_what_a_tool_tells_the_model() -> None:
    result = {"title": "Paris", "metadata": {"exit": 0}, "output": "18 degrees"}
    facts = _tool("bash", {"command": "weather"}, result)
    assert (facts.tool, facts.result, facts.failed) == ("shell", "18 degrees", False)
    failed = _tool("bash", {"command": "weather"}, {**result, "metadata": {"exit": 2}})
    assert (failed.result, failed.failed) == ("18 degrees", True)


def test_own_tools() -> None:
    answer = {"output": "task_id: t\n\n<task_result>\nFound.\n</task_result>"}
    task = _tool("task", {"subagent_type": "explore", "prompt": "p"}, answer)
    assert (task.tool, task.delegates_to, task.result) == ("agent_task", "explore", "Found.")
    assert _tool("skill", {"name": "greeter"}, {"output": "x"}).skill == "greeter"
    questions = {"questions": [{"question": "Which?", "options": [{"label": "Red"}, {"label": "Blue"}]}]}
    asked = _tool("question", questions, {"output": "Red"}).questions
    options = [{"id": "Red", "label": "Red"}, {"id": "Blue", "label": "Blue"}]
    assert asked == [Question(None, "question", questions, "Which?", options, "c1", True)]


def test_the_same_call_without_content() -> None:
    facts = _read("Tool.execute", {"tool.name": "bash", "tool.call_id": "c1"})
    assert (facts.role, facts.call_id, facts.tool) == (Role.TOOL, "c1", "shell")
    assert facts.hidden == {"arguments", "result"}


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("PermissionRejectedError", True), ("PermissionCorrectedError", True), ("PermissionDeniedError", False)],
)
def test_refusals(kind: str, asked: bool) -> None:
    events = [exception("The user rejected permission", kind)]
    facts = _read("Permission.ask", status=STATUS_ERROR, events=events)
    assert facts.decisions == [Decision(False)]
    assert [q.answered for q in facts.questions] == ([True] if asked else [])
    tool = _read(
        "Tool.execute",
        {"tool.name": "bash", "tool.call_id": "c1"},
        status=STATUS_ERROR,
        events=[exception("no", kind)],
    )
    assert tool.rejected


def test_permission_given() -> None:
    facts = _read("Permission.ask")
    assert (facts.decisions, facts.questions) == ([Decision(True)], [])


def test_the_record_that_a_human_is_asked() -> None:
    asked = text({"id": "per_1", "permission": "bash", "patterns": ["rm"]})
    facts = Opencode().read_log(record("", body=["asking", asked], scope=SCOPE))
    assert facts is not None
    assert (facts.supplements, facts.questions) == ("whole", [Question(time=5_000)])
    assert Opencode().read_log(record("", body=["asking", "nothing"], scope=SCOPE)) is None
    assert Opencode().read_log(record("", body="asking", scope=SCOPE)) is None


def test_what_the_program_asks_for_itself() -> None:
    assert _read("SessionPrompt.ensureTitle").side
    facts = _read("SessionCompaction.process")
    assert (facts.side, [mark.value for mark in facts.marks]) == (True, [{"type": "compaction"}])
