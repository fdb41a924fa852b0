"""Gemini CLI: spans and log records."""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.gemini_cli import GeminiCLI
from otel_turns.model.facts import (
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
from tests.dialects.spans import record, span, text

SCOPE = "gemini-cli"
USER = {"role": "user", "parts": [{"text": "weather?"}]}
CALL = {
    "role": "model",
    "parts": [
        {"text": "Let me check."},
        {"functionCall": {"id": "get_weather__c1", "name": "get_weather", "args": {"city": "Paris"}}},
    ],
}


def _read(operation: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    common = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "gemini-cli"}
    made = span({**common, **(attributes or {})}, name=operation, scope=SCOPE, **more)
    assert GeminiCLI().matches(made)
    return GeminiCLI().read(made)


def _log(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = record("", {"event.name": f"gemini_cli.{name}", **(attributes or {})}, scope=SCOPE, **more)
    assert GeminiCLI().matches_log(made)
    facts = GeminiCLI().read_log(made)
    assert facts is not None
    return facts


def test_a_request() -> None:
    facts = _read(
        "llm_call",
        {
            "gen_ai.input.messages": text([USER]),
            "gen_ai.output.messages": text([CALL]),
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.output_tokens": 30,
            "gen_ai.conversation.id": "s1",
            "gen_ai.prompt.name": "p1",
        },
    )
    assert (facts.role, facts.session_id, facts.group) == (Role.INFERENCE, "s1", "p1")
    assert facts.inputs == [Message("user", [Text("weather?")])]
    call = ToolCall("c1", "get_weather", {"city": "Paris"}, ("get_weather__c1",))
    assert facts.outputs == [Message("assistant", [Text("Let me check."), call])]
    assert facts.usage == TokenUsage(120, 30)


def test_a_request_that_failed_in_the_providers_words() -> None:
    words = text({"error": {"message": "boom", "code": 500}})
    facts = _read("llm_call", status=STATUS_ERROR, message=words)
    assert (facts.failed, facts.error) == (True, "boom")


def _tool(status: str, response: dict[str, Any], name: str = "read_file") -> Facts:
    return _read(
        "tool_call",
        {
            "gen_ai.tool.name": name,
            "gen_ai.tool.call_id": f"{name}__c1",
            "gen_ai.input.messages": text({"args": {"path": "x"}, "prompt_id": "p1"}),
            "gen_ai.output.messages": text({"status": status, "response": response}),
        },
    )


def _parts(**response: Any) -> dict[str, Any]:
    return {"responseParts": [{"functionResponse": {"id": "c1", "name": "f", "response": response}}]}


def test_a_tool() -> None:
    facts = _tool("success", _parts(output="hello"))
    assert (facts.role, facts.call_id, facts.other_ids) == (Role.TOOL, "c1", ("read_file__c1",))
    assert (facts.tool, facts.arguments, facts.result) == ("file_read", {"path": "x"}, "hello")
    assert (facts.group, facts.failed) == ("p1", False)


def test_tools_that_failed_though_their_span_says_ok() -> None:
    facts = _tool("error", {**_parts(error="no such file"), "errorType": "file_not_found"})
    assert (facts.failed, facts.error, facts.error_type) == (True, "no such file", "file_not_found")
    shell = _tool("success", {**_parts(output="x"), "data": {"exitCode": 3}}, "run_shell_command")
    assert (shell.failed, shell.result) == (True, "x")


def test_a_call_that_the_human_cancelled() -> None:
    facts = _tool("cancelled", _parts(error="[Operation Cancelled] Reason: User did not allow tool call"))
    assert (facts.rejected, facts.decisions) == (True, [Decision(False, "c1")])
    assert facts.questions == [Question(call_id="c1", answered=True)]


def test_own_tools() -> None:
    def own(name: str, arguments: dict[str, Any]) -> Facts:
        given = text({"args": arguments})
        return _read("tool_call", {"gen_ai.tool.name": name, "gen_ai.input.messages": given})

    assert own("invoke_agent", {"agent_name": "researcher"}).delegates_to == "researcher"
    assert own("activate_skill", {"name": "greeter"}).skill == "greeter"
    questions = {"questions": [{"question": "Which?", "options": [{"label": "Red"}]}]}
    assert own("ask_user", questions).questions == [
        Question(action="ask_user", input=questions, prompt="Which?", options=[{"id": "Red", "label": "Red"}])
    ]


def test_agents() -> None:
    facts = _read("agent_call", {"gen_ai.agent.name": "researcher"})
    assert (facts.role, facts.agent_name) == (Role.AGENT, "researcher")
    assert _read("agent_call").agent_name is None
    assert _read("schedule_tool_calls").role is Role.STEP


def test_a_prompt_begins_a_turn() -> None:
    facts = _log("user_prompt", {"prompt": "weather?", "prompt_id": "p1", "session.id": "s1"}, span_id=None)
    assert (facts.boundary, facts.group, facts.session_id) == ("start", "p1", "s1")


def test_records_of_a_request() -> None:
    asked = _log("api_request", {"request_text": text([USER]), "role": "main"})
    assert (asked.requests, asked.side, asked.inputs) == (0, False, [Message("user", [Text("weather?")])])
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": word}]}}]} for word in "ab"]
    said = _log(
        "api_response",
        {
            "response_text": text(chunks),
            "input_token_count": 120,
            "output_token_count": 30,
            "cached_content_token_count": 40,
            "thoughts_token_count": 5,
            "role": "utility_compressor",
        },
    )
    assert said.outputs is not None
    assert "".join(p.text for m in said.outputs for p in m.parts if isinstance(p, Text)) == "ab"
    assert said.usage == TokenUsage(120, 30, 40, None, 5)
    assert (said.side, said.compaction) == (True, "")
    failed = _log("api_error", {"error": "boom", "error_type": "ApiError"})
    assert (failed.failed, failed.error, failed.error_type) == (True, "boom", "ApiError")


def test_records_of_a_call() -> None:
    facts = _log("tool_call", {"function_name": "glob", "function_args": text({"p": "*"}), "success": True})
    assert (facts.role, facts.call_id, facts.tool) == (Role.TOOL, None, "glob")
    assert (facts.arguments, facts.hidden) == ({"p": "*"}, {"result"})
    refused = _log(
        "tool_call", {"function_name": "glob", "success": False, "decision": "reject", "error": "no"}
    )
    assert (refused.rejected, refused.decisions) == (True, [Decision(False)])
    metadata = text({"exitCode": 3})
    shell = _log("tool_call", {"function_name": "run_shell_command", "success": True, "metadata": metadata})
    assert shell.failed


def test_other_records() -> None:
    named = _log("agent.start", {"agent_name": "researcher", "agent_id": "a1"})
    assert (named.role, named.agent_name, named.agent_id) == (Role.AGENT, "researcher", "a1")
    assert [m.value for m in _log("chat_compression").marks] == [{"type": "compaction"}]
    nothing = record("", {"event.name": "gemini_cli.config"}, scope=SCOPE)
    assert GeminiCLI().read_log(nothing) is None


def test_results_in_the_history() -> None:
    response = {"id": "f__c1", "name": "f", "response": {"error": "[Operation Cancelled] Reason: x"}}
    history = [{"role": "user", "parts": [{"functionResponse": response}]}]
    facts = _read("llm_call", {"gen_ai.input.messages": text(history)})
    assert facts.inputs is not None
    result = facts.inputs[0].parts[0]
    assert isinstance(result, ToolResult)
    assert (result.id, result.failed, result.rejected) == ("c1", True, True)
