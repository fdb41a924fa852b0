"""Qwen Code: spans and log records."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.qwen_code import QwenCode
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
)
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import START, record, span, text

SCOPE = "qwen-code"
PROMPT = "s1########0"


def _read(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span(attributes, name=f"qwen-code.{name}", scope=SCOPE, **more)
    assert QwenCode().matches(made)
    return QwenCode().read(made)


def _log(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = record("", {"event.name": f"qwen-code.{name}", **(attributes or {})}, scope=SCOPE, **more)
    assert QwenCode().matches_log(made)
    facts = QwenCode().read_log(made)
    assert facts is not None
    return facts


def _messages(role: str, words: str) -> str:
    return text([{"role": role, "parts": [{"type": "text", "content": words}]}])


def test_a_prompt() -> None:
    facts = _read(
        "interaction",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "qwen-code",
            "gen_ai.conversation.id": "s1",
            "qwen-code.prompt_id": PROMPT,
            "gen_ai.input.messages": _messages("user", "weather?"),
        },
    )
    assert (facts.role, facts.session_id, facts.group) == (Role.AGENT, "s1", PROMPT)
    assert facts.inputs == [Message("user", [Text("weather?")])]


def test_a_prompt_of_older_versions() -> None:
    facts = _read("interaction", {"new_context": "[USER PROMPT]\nweather?"})
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert _read("interaction").hidden == {"inputs"}


def test_a_sub_agent() -> None:
    facts = _read(
        "subagent",
        {
            "gen_ai.agent.name": "explore",
            "qwen-code.subagent.id": "explore-c1",
            "qwen-code.subagent.invoking_request_id": "c1",
        },
    )
    assert (facts.role, facts.agent_name) == (Role.AGENT, "explore")
    assert (facts.invocation_id, facts.called_by) == ("explore-c1", "c1")


@pytest.mark.parametrize(
    "counts",
    [
        {
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.output_tokens": 30,
            "gen_ai.usage.cache_read.input_tokens": 40,
        },
        {"input_tokens": 120, "output_tokens": 30, "cached_input_tokens": 40},
    ],
)
def test_a_request(counts: dict[str, int]) -> None:
    facts = _read(
        "llm_request",
        {
            "gen_ai.operation.name": "chat",
            "qwen-code.prompt_id": PROMPT,
            "gen_ai.output.messages": _messages("assistant", "It is 18."),
            "thoughts_token_count": 5,
            **counts,
        },
    )
    assert (facts.role, facts.side, facts.group) == (Role.INFERENCE, False, PROMPT)
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]
    assert facts.usage == TokenUsage(120, 30, 40, None, 5)


@pytest.mark.parametrize(
    "attributes",
    [
        {"qwen-code.prompt_id": "prompt_suggestion"},
        {"qwen-code.prompt_id": "side-query:title"},
        {"qwen-code.prompt_id": PROMPT, "subagent_name": "managed-auto-memory-extractor"},
        {"gen_ai.input.messages": _messages("user", "[SUGGESTION MODE: Suggest what comes next.]")},
    ],
)
def test_what_the_program_asks_for_itself(attributes: dict[str, Any]) -> None:
    assert _read("llm_request", attributes).side


def test_a_request_of_a_sub_agent() -> None:
    facts = _read("llm_request", {"qwen-code.prompt_id": "s1#explore-c1#0", "subagent_name": "explore"})
    assert (facts.agent_id, facts.agent_name, facts.group) == ("explore-c1", "explore", None)
    assert not facts.side


def test_fixed_phrases_are_no_words() -> None:
    phrase = _read("llm_request", status=STATUS_ERROR, message="API call failed")
    assert (phrase.failed, phrase.error) == (True, None)
    words = _read("llm_request", status=STATUS_ERROR, message="400 boom")
    assert (words.failed, words.error) == (True, "400 boom")


def test_a_tool() -> None:
    facts = _read(
        "tool",
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.agent.name": "qwen-code",
            "gen_ai.tool.name": "read_file",
            "gen_ai.tool.call.id": "c1",
            "tool.call_id": "own1",
            "gen_ai.tool.call.arguments": text({"file_path": "x"}),
            "gen_ai.tool.call.result": text({"output": "hello"}),
        },
    )
    assert (facts.role, facts.call_id, facts.other_ids) == (Role.TOOL, "c1", ("own1",))
    assert (facts.tool, facts.arguments, facts.result) == ("file_read", {"file_path": "x"}, "hello")
    assert facts.agent_name is None


def test_a_tool_of_older_versions() -> None:
    facts = _read(
        "tool",
        {
            "tool.name": "read_file",
            "tool.call_id": "c1",
            "tool_input": '[TOOL INPUT: read_file]\n{"file_path": "x"}',
            "tool_result": "[TOOL RESULT: read_file]\nhello",
        },
    )
    assert (facts.call_id, facts.arguments, facts.result) == ("c1", {"file_path": "x"}, "hello")
    assert facts.hidden == set()


def test_a_result_that_was_cut() -> None:
    cut = "hel\n\n[TRUNCATED - Content exceeds configured limit of 3 characters]"
    facts = _read("tool", {"tool.name": "f", "gen_ai.tool.call.result": text({"output": cut})})
    assert facts.cut == {"result"}


FAILED: dict[str, Any] = {"tool.name": "read_file", "tool.call_id": "c1", "success": False}


@pytest.mark.parametrize(
    ("attributes", "rejected", "asked"),
    [
        ({"tool.failure_kind": "tool_error"}, False, False),
        ({"tool.failure_kind": "timeout"}, False, False),
        ({"tool.failure_kind": "permission_denied"}, True, False),
        ({"tool.failure_kind": "pre_hook_blocked"}, True, False),
        ({"tool.failure_kind": "cancelled"}, True, True),
        ({"tool.failure_kind": "cancelled", "gen_ai.tool.call.arguments": "{}"}, False, False),
    ],
)
def test_calls_that_did_not_go_well(attributes: dict[str, Any], rejected: bool, asked: bool) -> None:
    facts = _read("tool", {**FAILED, **attributes})
    assert (facts.failed, facts.rejected) == (True, rejected)
    assert facts.decisions == ([Decision(False, "c1")] if rejected else [])
    assert [q.answered for q in facts.questions] == ([True] if asked else [])


@pytest.mark.parametrize(
    ("decision", "source", "answered", "decisions"),
    [
        ("proceed_once", "cli", True, [Decision(True, "c1")]),
        ("proceed_always", "ide", True, [Decision(True, "c1")]),
        ("cancel", "cli", True, [Decision(False, "c1")]),
        ("aborted", "system", None, []),
    ],
)
def test_waiting_for_a_human(
    decision: str, source: str, answered: bool | None, decisions: list[Decision]
) -> None:
    facts = _read(
        "tool.blocked_on_user",
        {"tool.name": "edit", "tool.call_id": "c1", "decision": decision, "source": source},
    )
    assert facts.questions == [Question(action="edit", call_id="c1", answered=answered, time=START)]
    assert (facts.role, facts.decisions) == (Role.STEP, decisions)


def test_a_hook_that_answers_is_no_human() -> None:
    facts = _read("tool.blocked_on_user", {"decision": "proceed_once", "source": "hook"})
    assert (facts.questions, facts.decisions) == ([], [])


def test_own_tools() -> None:
    def own(name: str, arguments: dict[str, Any], result: str = "ok") -> Facts:
        return _read(
            "tool",
            {
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.arguments": text(arguments),
                "gen_ai.tool.call.result": text({"output": result}),
            },
        )

    task = own("agent", {"subagent_type": "explore"})
    assert (task.tool, task.delegates_to, task.background) == ("agent_task", "explore", False)
    assert own("agent", {}, "Background agent launched successfully.\ntask_id: x").background
    assert own("skill", {"skill": "greeter"}).skill == "greeter"
    typed = own("structured_output", {"city": "Paris"})
    assert (typed.hands_over, typed.data) == (True, {"city": "Paris"})
    assert own("structured_output", {"__redacted": "x"}).data is MISSING
    questions = {"questions": [{"question": "Which?", "options": [{"label": "Red"}]}]}
    assert [q.prompt for q in own("ask_user_question", questions).questions] == ["Which?"]


def test_hooks_and_structure() -> None:
    hook = _read("hook", {"tool.use_id": "toolu_1"}, status=STATUS_ERROR, message="no output")
    assert (hook.role, hook.failed, hook.call_id) == (Role.NOTHING, False, None)
    execution = _read("tool.execution", {"gen_ai.tool.name": "f"}, status=STATUS_ERROR)
    assert (execution.role, execution.failed) == (Role.STEP, False)


def test_a_record_of_a_prompt() -> None:
    facts = _log("user_prompt", {"prompt": "weather?", "prompt_id": PROMPT}, span_id=None)
    assert (facts.role, facts.boundary, facts.group) == (Role.AGENT, "start", PROMPT)


def test_records_of_a_request() -> None:
    contents: list[Any] = [
        {"role": "user", "parts": [{"text": "weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {}}}]},
    ]
    asked = _log("api_request", {"request_text": text(contents), "prompt_id": PROMPT})
    assert asked.inputs == [
        Message("user", [Text("weather?")]),
        Message("assistant", [ToolCall("c1", "f", {})]),
    ]
    said = _log(
        "api_response",
        {
            "response_text": "It is...[truncated]",
            "input_token_count": 120,
            "output_token_count": 30,
            "cached_content_token_count": 40,
            "thoughts_token_count": 0,
        },
    )
    assert said.usage == TokenUsage(120, 30, 40, None, 0)
    assert (said.cut, "outputs" in said.hidden) == ({"outputs"}, True)
    failed = _log("api_error", {"error_message": "400 boom", "error_type": "BadRequestError"})
    assert (failed.failed, failed.error, failed.error_type) == (True, "400 boom", "BadRequestError")


CALLED: dict[str, Any] = {"function_name": "glob", "function_args": "{}", "call_id": "c1"}


def test_a_record_of_a_call() -> None:
    facts = _log("tool_call", {**CALLED, "status": "success", "duration_ms": 2})
    assert (facts.role, facts.call_id, facts.tool) == (Role.TOOL, "c1", "glob")
    assert (facts.arguments, facts.began, facts.failed) == ({}, 5_000 - 2_000_000, False)


@pytest.mark.parametrize(
    ("attributes", "rejected", "asked"),
    [
        ({"status": "error", "error": "no such file"}, False, False),
        ({"status": "error", "error": "denied", "error_type": "execution_denied"}, True, False),
        ({"status": "cancelled", "decision": "reject"}, True, True),
        ({"status": "cancelled", "execution_status": "not_started"}, True, True),
        ({"status": "cancelled", "execution_status": "cancelled"}, False, False),
    ],
)
def test_records_of_calls_that_did_not_go_well(
    attributes: dict[str, Any], rejected: bool, asked: bool
) -> None:
    facts = _log("tool_call", {**CALLED, **attributes})
    assert (facts.failed, facts.error, facts.rejected) == (True, attributes.get("error"), rejected)
    assert bool(facts.questions) is asked


def test_other_records() -> None:
    assert [m.value for m in _log("chat_compression").marks] == [{"type": "compaction"}]
    nothing = record("", {"event.name": "qwen-code.config"}, scope=SCOPE)
    assert QwenCode().read_log(nothing) is None
