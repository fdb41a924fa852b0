"""GitHub Copilot CLI."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.copilot_cli import CopilotCLI
from otel_turns.model.facts import Decision, Facts, Question, Role
from otel_turns.model.span import KIND_CLIENT, STATUS_ERROR
from tests.dialects.spans import START, event, record, span, text

SCOPE = "github.copilot"


def _read(attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span(attributes, scope=SCOPE, **more)
    assert CopilotCLI().matches(made)
    return CopilotCLI().read(made)


def _tool(name: str, arguments: Any = None, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    given: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": "c1",
    }
    if arguments is not None:
        given["gen_ai.tool.call.arguments"] = text(arguments)
    return _read({**given, **(attributes or {})}, name=f"execute_tool {name} {name}", **more)


def test_a_scope_of_another_name() -> None:
    made = span({"github.copilot.turn_id": "0", "gen_ai.operation.name": "chat"}, scope="mine")
    assert CopilotCLI().matches(made)
    assert not CopilotCLI().matches(span({"gen_ai.operation.name": "chat"}, scope="mine"))
    assert not CopilotCLI().matches_log(record("gen_ai.choice", scope="mine"))


def test_the_models_host_is_no_agents_address() -> None:
    facts = _read(
        {"gen_ai.operation.name": "invoke_agent", "server.address": "127.0.0.1", "server.port": 8080},
        name="invoke_agent",
        kind=KIND_CLIENT,
    )
    assert (facts.role, facts.agent_name, facts.remote_url) == (Role.AGENT, None, None)


def test_a_failed_run_in_the_providers_words() -> None:
    failed = event(
        "gen_ai.client.operation.exception",
        {"github.copilot.message": "400 boom", "exception.message": "Session error: 400 boom"},
    )
    facts = _read(
        {"gen_ai.operation.name": "invoke_agent"},
        status=STATUS_ERROR,
        message="Session error: 400 boom",
        events=[failed],
    )
    assert (facts.failed, facts.error) == (True, "400 boom")


def test_own_tools() -> None:
    task = _tool("task", {"agent_type": "explore", "mode": "background"})
    assert (task.tool, task.delegates_to, task.background) == ("agent_task", "explore", True)
    assert not _tool("task", {"agent_type": "explore", "mode": "sync"}).background
    assert _tool("skill", {"skill": "greeter"}).skill == "greeter"
    asked = {"question": "Which?", "choices": ["Red", "Blue"]}
    options = [{"id": "Red", "label": "Red"}, {"id": "Blue", "label": "Blue"}]
    assert _tool("ask_user", asked).questions == [
        Question(action="ask_user", input=asked, prompt="Which?", options=options, call_id="c1")
    ]
    assert _tool("mcp-tool", {}).tool is None


@pytest.mark.parametrize(("code", "rejected"), [("failure", False), ("denied", True)])
def test_tools_that_did_not_go_well(code: str, rejected: bool) -> None:
    failed = event(
        "gen_ai.client.operation.exception",
        {"github.copilot.error_code": code, "exception.type": "ToolError", "exception.message": "no"},
    )
    facts = _tool("view", {}, {"error.type": code}, status=STATUS_ERROR, events=[failed])
    assert (facts.failed, facts.error, facts.rejected) == (True, "no", rejected)


def test_a_commands_exit_code() -> None:
    assert _tool("bash", {}, {"process.exit.code": 1}).failed
    assert not _tool("bash", {}, {"process.exit.code": 0}).failed


@pytest.mark.parametrize(
    ("outcome", "answers", "decisions"),
    [
        ("approved", [True], [Decision(True)]),
        ("denied-interactively-by-user", [True], [Decision(False)]),
        ("denied-by-rules", [], [Decision(False)]),
        ("denied-no-approval-rule-and-could-not-request-from-user", [], [Decision(False)]),
        ("cancelled", [None], []),
    ],
)
def test_permission(outcome: str, answers: list[bool | None], decisions: list[Decision]) -> None:
    facts = _read({"github.copilot.permission.result": outcome}, name="permission")
    assert facts.role is Role.STEP
    assert facts.questions == [Question(answered=answer, time=START) for answer in answers]
    assert facts.decisions == decisions


def test_an_approval_on_the_tool_itself_tells_of_no_human() -> None:
    facts = _tool("view", {}, {"github.copilot.permission.result": "approved"})
    assert (facts.questions, facts.decisions) == ([], [])


def test_compaction_and_skills() -> None:
    done = event("github.copilot.session.compaction_complete", {"github.copilot.success": True})
    assert [m.value for m in _read({}, events=[done]).marks] == [{"type": "compaction"}]
    failed = event("github.copilot.session.compaction_complete", {"github.copilot.success": False})
    assert _read({}, events=[failed]).marks == []

    def skill(trigger: str) -> list[Any]:
        invoked = event(
            "github.copilot.skill.invoked",
            {"gen_ai.skill.name": "greeter", "github.copilot.skill.invocation_trigger": trigger},
        )
        return [m.value for m in _read({}, events=[invoked]).marks]

    assert skill("user-invoked") == [{"type": "skill.loaded", "skill": "greeter"}]
    assert skill("agent-invoked") == []
