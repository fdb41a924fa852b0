"""Claude Code: spans and log records."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.claude_code import ClaudeCode
from otel_turns.model.facts import (
    MISSING,
    Decision,
    Facts,
    Message,
    Question,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import START, event, record, span, text

SCOPE = "com.anthropic.claude_code.tracing"
LOGS = "com.anthropic.claude_code.events"


def _read(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span(
        {"span.type": kind, "session.id": "s1", **(attributes or {})},
        name=f"claude_code.{kind}",
        scope=SCOPE,
        **more,
    )
    assert ClaudeCode().matches(made)
    return ClaudeCode().read(made)


def _log(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = record("", {"event.name": name, **(attributes or {})}, scope=LOGS, **more)
    assert ClaudeCode().matches_log(made)
    facts = ClaudeCode().read_log(made)
    assert facts is not None
    return facts


def test_a_prompt() -> None:
    facts = _read("interaction", {"user_prompt": "weather?"})
    assert (facts.role, facts.session_id) == (Role.AGENT, "s1")
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert _read("interaction", {"user_prompt": "<REDACTED>"}).hidden == {"inputs"}


def test_the_end_of_a_background_call_comes_as_a_prompt() -> None:
    words = (
        "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n"
        "<status>completed</status>\n<result>Found.</result>\n</task-notification>"
    )
    facts = _read("interaction", {"user_prompt": words})
    assert facts.continues == "toolu_1"
    assert facts.inputs == [Message("tool", [ToolResult("toolu_1", None, "Found.")])]
    failed = _read("interaction", {"user_prompt": words.replace("completed", "failed")})
    assert failed.inputs == [Message("tool", [ToolResult("toolu_1", None, "Found.", failed=True)])]


def test_a_request() -> None:
    facts = _read(
        "llm_request",
        {
            "model": "claude",
            "request_id": "req_1",
            "query_source": "repl_main_thread",
            "gen_ai.usage.input_tokens": 160,
            "gen_ai.usage.output_tokens": 30,
            "gen_ai.usage.cache_read.input_tokens": 40,
            "gen_ai.usage.cache_creation.input_tokens": 5,
            "response.model_output": "It is 18.",
            "stop_reason": "end_turn",
        },
    )
    assert (facts.role, facts.response_id, facts.side) == (Role.INFERENCE, "req_1", False)
    assert facts.usage == TokenUsage(160, 30, 40, 5)
    assert facts.input_includes_cache is True
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]


def test_tokens_before_the_genai_names() -> None:
    attributes = {"input_tokens": 120, "output_tokens": 30, "cache_read_tokens": 40}
    facts = _read("llm_request", attributes)
    assert (facts.usage, facts.input_includes_cache) == (TokenUsage(120, 30, 40), False)


def test_what_a_request_adds_to_the_history() -> None:
    context = "[TOOL RESULT: toolu_1]\n18 degrees\n\n---\n\n[USER]\nand Rome?"
    facts = _read("llm_request", {"new_context": context})
    assert facts.inputs == [
        Message("tool", [ToolResult("toolu_1", None, "18 degrees")]),
        Message("user", [Text("and Rome?")]),
    ]


@pytest.mark.parametrize(
    ("source", "side"),
    [
        ("repl_main_thread", False),
        ("sdk", False),
        ("agent:custom", False),
        ("generate_session_title", True),
        ("compact", True),
    ],
)
def test_whose_request_it_is(source: str, side: bool) -> None:
    facts = _read("llm_request", {"query_source": source})
    assert facts.side is side
    assert (facts.compaction == "") is (source == "compact")


def test_a_request_that_failed() -> None:
    facts = _read("llm_request", {"success": False, "error": "boom", "attempt": 3}, status=STATUS_ERROR)
    assert (facts.failed, facts.error, facts.requests, facts.hidden) == (True, "boom", 3, set())


def test_a_tool_with_content() -> None:
    output = event("tool.output", {"output": "18 degrees"})
    facts = _read(
        "tool",
        {
            "tool_name": "Bash",
            "tool_use_id": "toolu_1",
            "tool_input": '[TOOL INPUT: Bash]\n{"command": "weather"}',
        },
        events=[output],
    )
    assert (facts.role, facts.call_id, facts.tool) == (Role.TOOL, "toolu_1", "shell")
    assert (facts.arguments, facts.result, facts.hidden) == ({"command": "weather"}, "18 degrees", set())


def test_content_that_editing_tools_were_given_is_no_result() -> None:
    content = event("tool.output", {"file_path": "a", "content": "hello"})
    assert _read("tool", {"tool_name": "Read", "tool_use_id": "t"}, events=[content]).result == "hello"
    assert _read("tool", {"tool_name": "Write", "tool_use_id": "t"}, events=[content]).result is MISSING


def test_the_run_of_a_tool() -> None:
    facts = _read("tool.execution", {"tool_use_id": "toolu_1", "success": False, "error": "exit 1"})
    assert (facts.role, facts.call_id) == (Role.TOOL, "toolu_1")
    assert (facts.failed, facts.error) == (True, "exit 1")


@pytest.mark.parametrize(
    ("decision", "source", "questions", "decisions"),
    [
        ("accept", "user_temporary", [Question(answered=True, time=START)], [Decision(True)]),
        ("reject", "user_reject", [Question(answered=True, time=START)], [Decision(False)]),
        ("accept", "config", [], []),
        ("reject", "hook", [], [Decision(False)]),
    ],
)
def test_permission(decision: str, source: str, questions: list[Question], decisions: list[Decision]) -> None:
    facts = _read("tool.blocked_on_user", {"decision": decision, "source": source})
    assert (facts.role, facts.questions, facts.decisions) == (Role.STEP, questions, decisions)


def test_own_tools() -> None:
    task = _log(
        "tool_result",
        {
            "tool_use_id": "t",
            "tool_name": "Agent",
            "tool_input": text({"subagent_type": "explore", "run_in_background": True}),
        },
    )
    assert (task.tool, task.delegates_to, task.background) == ("agent_task", "explore", True)
    skill = _log(
        "tool_result", {"tool_use_id": "t", "tool_name": "Skill", "tool_input": text({"skill": "greeter"})}
    )
    assert skill.skill == "greeter"
    answer = _log(
        "tool_result", {"tool_use_id": "t", "tool_name": "StructuredOutput", "tool_input": text({"a": 1})}
    )
    assert (answer.hands_over, answer.arguments) == (True, {"a": 1})
    questions = {"questions": [{"question": "Which?", "options": [{"label": "Red"}]}]}
    asked = _log(
        "tool_result",
        {"tool_use_id": "t", "tool_name": "AskUserQuestion", "tool_input": text(questions)},
    )
    assert asked.questions == [
        Question(
            action="AskUserQuestion",
            input=questions,
            prompt="Which?",
            options=[{"id": "Red", "label": "Red"}],
            call_id="t",
        )
    ]


def test_records_of_a_request() -> None:
    common = {"request_id": "req_1", "query_source": "sdk", "prompt.id": "p1", "event.sequence": 7}
    counted = _log(
        "api_request", {**common, "input_tokens": 120, "output_tokens": 30, "cache_read_tokens": 40}
    )
    assert (counted.supplements, counted.group, counted.sequence) == ("nearest", "p1", 7)
    assert (counted.usage, counted.input_includes_cache) == (TokenUsage(120, 30, 40), False)
    said = _log("assistant_response", {**common, "response": "It is 18."})
    assert (said.requests, said.response_id) == (0, "req_1")
    assert said.outputs == [Message("assistant", [Text("It is 18.")])]
    assert _log("assistant_response", {**common, "response": "<REDACTED>"}).hidden == {"outputs"}
    failed = _log("api_error", {**common, "error": "boom", "attempt": 2, "duration_ms": 3})
    assert (failed.failed, failed.error, failed.requests) == (True, "boom", 2)
    assert failed.began == 5_000 - 3_000_000


def test_raw_bodies() -> None:
    body = {"content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "x"}}]}
    facts = _log("api_response_body", {"body": text(body), "query_source": "sdk"})
    assert facts.outputs == [Message("assistant", [ToolCall("toolu_1", "Bash", {"command": "x"})])]
    made = record("", {"event.name": "api_response_body", "body": text(body)[:-9]}, scope=LOGS)
    assert ClaudeCode().read_log(made) is None


def test_records_of_a_call() -> None:
    refused = _log(
        "tool_decision",
        {"tool_use_id": "t", "tool_name": "Bash", "decision": "reject", "source": "user_reject"},
    )
    assert (refused.role, refused.rejected) == (Role.TOOL, True)
    assert refused.decisions == [Decision(False, "t")]
    failed = _log(
        "tool_result",
        {"tool_use_id": "t", "tool_name": "Bash", "success": "false", "error": "exit 1"},
    )
    assert (failed.failed, failed.error) == (True, "exit 1")
    mcp = {"mcp_server_name": "maps", "mcp_tool_name": "find"}
    found = _log("tool_result", {"tool_use_id": "t", "tool_name": "mcp_tool", "tool_parameters": text(mcp)})
    assert found.tool_name == "mcp__maps__find"


def test_the_beginning_of_a_turn_without_spans() -> None:
    facts = _log("user_prompt", {"prompt": "weather?", "prompt.id": "p1"}, span_id=None)
    assert (facts.role, facts.boundary, facts.group) == (Role.AGENT, "start", "p1")
    assert _log("user_prompt", {"prompt": "weather?"}).supplements == "whole"


def test_skills_and_compaction() -> None:
    named = _log("skill_activated", {"skill.name": "greeter", "invocation_trigger": "user-slash"})
    assert [mark.value for mark in named.marks] == [{"type": "skill.loaded", "skill": "greeter"}]
    chosen = _log("skill_activated", {"skill.name": "greeter", "invocation_trigger": "claude-proactive"})
    assert (chosen.role, chosen.skill, chosen.marks) == (Role.TOOL, "greeter", [])
    compacted = _log("compaction", {"trigger": "manual", "success": "true"})
    assert [mark.value for mark in compacted.marks] == [{"type": "compaction", "reason": "manual"}]
    assert _read("compaction").side


def test_structure() -> None:
    assert _read("hook").role is Role.NOTHING
    assert _read("something.new").role is Role.STEP
    unknown = record("", {"event.name": "plugin_installed"}, scope=LOGS)
    assert ClaudeCode().read_log(unknown) is None
