"""Codex CLI: spans and log records."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.codex import Codex
from otel_turns.model.facts import MISSING, Decision, Facts, Message, Question, Role, Text, TokenUsage
from tests.dialects.spans import event, record, span, text

SCOPE = "codex_exec"


def _read(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span(attributes, name=name, scope=SCOPE, **more)
    assert Codex().matches(made)
    return Codex().read(made)


def _log(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts | None:
    made = record("", {"event.name": f"codex.{name}", **(attributes or {})}, scope=SCOPE, **more)
    assert Codex().matches_log(made)
    return Codex().read_log(made)


def _told(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    facts = _log(name, attributes, **more)
    assert facts is not None
    return facts


def test_a_turn() -> None:
    facts = _read("turn/start", {"turn.id": "t1"})
    assert (facts.role, facts.group) == (Role.WORKFLOW, "t1")


def test_the_agent_of_a_turn() -> None:
    total = "codex.turn.token_usage."
    facts = _read(
        "session_task.turn",
        {
            "thread.id": "01-ab",
            "turn.id": "t1",
            "model": "gpt-5",
            total + "input_tokens": 240,
            total + "output_tokens": 60,
            total + "cached_input_tokens": 80,
            total + "reasoning_output_tokens": 10,
        },
    )
    assert (facts.role, facts.agent_id, facts.invocation_id) == (Role.AGENT, "01-ab", "t1")
    assert facts.usage == TokenUsage(240, 60, 80, None, 10)
    assert _read("session_task.turn", {"thread.id": 17}).agent_id is None


def test_a_request_and_its_tokens() -> None:
    assert _read("try_run_sampling_request").role is Role.INFERENCE
    counted = _read(
        "handle_responses", {"gen_ai.usage.input_tokens": 120, "codex.usage.reasoning_output_tokens": 5}
    )
    assert (counted.role, counted.requests) == (Role.INFERENCE, 0)
    assert counted.usage == TokenUsage(120, reasoning=5)
    assert _read("handle_responses").role is Role.STEP


def test_a_tool() -> None:
    ready = event("codex.tool_result_ready", {"call_id": "c1", "tool_name": "exec_command"})
    facts = _read(
        "dispatch_tool_call",
        {"call_id": "c1", "tool_name": "functions.exec_command", "tool_source": "direct"},
        events=[ready],
    )
    assert (facts.role, facts.tool_name, facts.tool) == (Role.TOOL, "exec_command", "shell")
    assert facts.hidden == {"arguments", "result"}


def test_compaction() -> None:
    facts = _read("codex.compaction")
    assert (facts.side, [mark.value for mark in facts.marks]) == (True, [{"type": "compaction"}])
    assert _read("run_auto_compact").marks == []


def test_the_beginning_of_a_turn() -> None:
    facts = _told("user_prompt", {"prompt": "weather?", "conversation.id": "s1"}, span_id=None)
    assert (facts.boundary, facts.session_id) == ("start", "s1")
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert _told("user_prompt", {"prompt": "[REDACTED]"}).hidden == {"inputs"}


def test_the_end_of_a_response_counts_once() -> None:
    counts = {"input_token_count": 120, "output_token_count": 30, "cached_token_count": 40}
    facts = _told("sse_event", {"event.kind": "response.completed", **counts})
    assert (facts.supplements, facts.usage) == ("nearest", TokenUsage(120, 30, 40))
    assert _log("sse_event", {"event.kind": "response.completed"}) is None
    assert _log("sse_event", {"event.kind": "response.output_text.delta"}) is None


def test_failed_requests() -> None:
    failed = _told("sse_event", {"event.kind": "response.failed", "error.message": "boom"})
    assert (failed.failed, failed.error) == (True, "boom")
    status = _told("api_request", {"http.response.status_code": 500})
    assert (status.failed, status.error) == (True, "HTTP status 500")
    assert _log("api_request", {"http.response.status_code": 200}) is None


def test_a_final_reply() -> None:
    facts = _told("agent_response", {"response": "Done.", "response_truncated": "true"})
    assert (facts.requests, facts.cut) == (0, {"outputs"})
    assert facts.outputs == [Message("assistant", [Text("Done.")])]
    other = _told("agent_response", {"response": "x", "agent.type": "subagent", "conversation.id": "s2"})
    assert other.agent_id == "s2"


@pytest.mark.parametrize(
    ("decision", "source", "asked", "decisions"),
    [
        ("approved", "User", True, [Decision(True, "c1")]),
        ("approved_for_session", "User", True, [Decision(True, "c1")]),
        ("denied", "User", True, [Decision(False, "c1")]),
        ("approved", "Config", False, []),
        ("denied", "Config", False, [Decision(False, "c1")]),
    ],
)
def test_permission(decision: str, source: str, asked: bool, decisions: list[Decision]) -> None:
    facts = _told(
        "tool_decision",
        {"call_id": "c1", "tool_name": "shell", "decision": decision, "source": source},
    )
    assert facts.decisions == decisions
    assert facts.questions == ([Question(call_id="c1", answered=True, time=5_000)] if asked else [])
    assert facts.rejected is (decision == "denied")


def _result(name: str, output: str, **more: Any) -> Facts:
    return _told("tool_result", {"call_id": "c1", "tool_name": name, "output": output, **more})


def test_results() -> None:
    arguments = {"cmd": "ls", "justification": "May I?"}
    facts = _result("exec_command", "Output:\na.txt", arguments=text(arguments), success="true")
    assert (facts.arguments, facts.prompt, facts.failed) == (arguments, "May I?", False)
    assert facts.result == "Output:\na.txt"


def test_shells_write_their_exit_code() -> None:
    assert _result("exec_command", "Process exited with code 2\nOutput:\n").failed
    assert not _result("exec_command", "Process exited with code 0\nOutput:\n").failed
    assert not _result("read_file", "Process exited with code 2\n").failed


def test_a_call_that_was_refused() -> None:
    words = 'exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }'
    facts = _result("exec_command", words, success="false")
    assert (facts.failed, facts.rejected, facts.result) == (True, True, words)


def test_a_patch_is_no_json() -> None:
    assert not _result("apply_patch", "ok", arguments="*** Begin Patch").unparsable
    assert _result("other", "ok", arguments="*** Begin").unparsable


def test_a_sub_agent() -> None:
    facts = _result("spawn_agent", text({"agent_id": "s2", "nickname": "Ada"}))
    assert (facts.delegates_to, facts.delegates_session) == ("Ada", "s2")
    assert (facts.background, facts.result, facts.tool) == (True, MISSING, "agent_task")
    failed = _result("spawn_agent", "no such agent", success="false")
    assert (failed.background, failed.failed) == (False, True)
    inside = _result("shell", "ok", agent_name="/root/ada", **{"conversation.id": "s2"})
    assert (inside.agent_name, inside.agent_id) == ("/root/ada", "s2")
    assert _result("shell", "ok", agent_name="/root").agent_id is None


def test_other_records() -> None:
    assert _log("conversation_starts") is None
    assert not Codex().matches_log(record("", {"event.name": "codex.tool_result"}, scope="other"))
