"""Mastra."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.mastra import Mastra
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
from tests.dialects.spans import END, exception, span, text


def _read(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    made = span({"mastra.span.type": kind, **(attributes or {})}, scope="@mastra/otel-exporter", **more)
    assert Mastra().matches(made)
    return Mastra().read(made)


def _agent(given: Any = None, output: Any = None, **attributes: Any) -> Facts:
    common: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "root"}
    if given is not None:
        common["mastra.agent_run.input"] = given
    if output is not None:
        common["mastra.agent_run.output"] = text(output)
    return _read("agent_run", {**common, **attributes})


@pytest.mark.parametrize("given", ["weather?", text([{"role": "user", "content": "weather?"}])])
def test_a_run(given: str) -> None:
    facts = _agent(given, {"text": "Let me check.It is 18.", "files": []})
    assert (facts.role, facts.agent_name) == (Role.AGENT, "root")
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert facts.outputs is None


def test_a_typed_answer() -> None:
    answer = {"city": "Paris"}
    assert _agent("go", {"text": text(answer), "object": answer}).data == answer
    step = _read("model_step", {"mastra.model_step.output": text({"text": text(answer), "object": answer})})
    assert step.structured


def test_a_run_that_waits() -> None:
    facts = _agent(
        "go",
        {"status": "suspended", "reason": "tool-call-approval", "toolName": "delete", "toolCallId": "c1"},
    )
    assert (facts.waiting, facts.data) == (True, MISSING)
    assert facts.questions == [Question("c1", "delete", call_id="c1", time=END)]


def test_a_run_that_goes_on() -> None:
    resumed = {"mastra.metadata.resumed": True}
    yes = _agent(text({"approved": True, "toolName": "delete", "toolCallId": "c1"}), **resumed)
    assert (yes.resumes, yes.inputs) == (True, None)
    assert yes.decisions == [Decision(True, "c1", "c1")]
    no = _agent(
        text({"approved": False, "toolName": "delete", "toolCallId": "c1", "reason": "no"}), **resumed
    )
    assert no.decisions == [Decision(False, "c1", "c1", "no")]
    assert no.inputs == [
        Message("assistant", [ToolCall("c1", "delete")]),
        Message("tool", [ToolResult("c1", "delete", "no", rejected=True)]),
    ]


def test_a_request() -> None:
    facts = _read(
        "model_inference",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": text(
                [{"role": "assistant", "parts": [{"type": "text", "content": "It is 18."}]}]
            ),
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.output_tokens": 30,
        },
    )
    assert (facts.role, facts.usage, facts.hidden) == (Role.INFERENCE, TokenUsage(120, 30), set())
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]


def test_a_request_that_failed_without_saying_so() -> None:
    facts = _read(
        "model_inference",
        {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": '["error"]'},
    )
    assert (facts.failed, facts.error) == (True, "")


def test_the_reply_with_its_calls_stands_on_the_step() -> None:
    calls = [{"toolCallId": "c1", "toolName": "get_weather", "args": {"city": "Paris"}}]
    facts = _read(
        "model_step",
        {"mastra.model_step.output": text({"text": "Let me check.", "toolCalls": calls})},
    )
    assert (facts.role, facts.requests) == (Role.INFERENCE, 0)
    assert facts.outputs == [
        Message("assistant", [Text("Let me check."), ToolCall("c1", "get_weather", {"city": "Paris"})])
    ]
    assert _read("model_step").role is Role.STEP


def test_a_resumed_run_repeats_the_request_before_the_pause() -> None:
    resumed = {"mastra.metadata.resumed": True}
    reply = {"mastra.model_step.output": text({"text": "I delete."})}
    assert _read("model_step", {**resumed, **reply}).role is Role.STEP
    assert _read("model_step", {**resumed, **reply, "mastra.model_step.input": "[]"}).role is Role.INFERENCE
    chat = {**resumed, "gen_ai.operation.name": "chat"}
    assert _read("model_inference", chat).role is Role.STEP
    answered = {**chat, "mastra.completion_start_time": "2026-01-01T00:00:00Z"}
    assert _read("model_inference", answered).role is Role.INFERENCE


def test_chunks() -> None:
    said = _read("model_chunk", {"mastra.model_chunk.output": text({"text": "I delete."})})
    assert (said.role, said.requests) == (Role.INFERENCE, 0)
    assert said.outputs == [Message("assistant", [Text("I delete.")])]
    call = {"toolName": "delete", "toolCallId": "c1", "toolInput": {"path": "x"}}
    assert _read("model_chunk", {"mastra.model_chunk.output": text(call)}).role is Role.STEP
    assert _read("model_chunk").role is Role.STEP


def test_a_call_that_waits_for_approval() -> None:
    asked = {"toolCallId": "c1", "toolName": "delete", "args": {"path": "x"}, "resumeSchema": "{}"}
    facts = _read("model_chunk", {"mastra.model_chunk.output": text(asked)})
    assert (facts.role, facts.paused, facts.call_id) == (Role.TOOL, True, "c1")
    assert facts.questions == [Question("c1", "delete", {"path": "x"}, call_id="c1", time=END)]


def _tool(name: str, result: Any = None, **more: Any) -> Facts:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": "{}",
        "error.type": more.pop("error", None),
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = text(result)
    return _read("tool_call", attributes, **more)


def test_tools() -> None:
    facts = _tool("get_weather", {"temp_c": 18})
    assert (facts.role, facts.call_id, facts.result) == (Role.TOOL, "c1", {"temp_c": 18})
    assert _tool("agent-researcher", {"text": "Found."}).delegates_to == "researcher"


def test_tools_that_failed() -> None:
    facts = _tool(
        "f", error="unknown", status=STATUS_ERROR, message="gone", events=[exception("gone", "Error")]
    )
    assert (facts.failed, facts.error, facts.error_type) == (True, "gone", "Error")
    refused: dict[str, Any] = {
        "error": True,
        "message": "Tool input validation failed",
        "validationErrors": {},
    }
    invalid = _tool("f", refused)
    assert (invalid.failed, invalid.not_run, invalid.error) == (True, True, "Tool input validation failed")


def test_structure() -> None:
    assert _read("model_generation", {"gen_ai.operation.name": "model_generation"}).role is Role.STEP
    assert _read("workflow_run").role is Role.WORKFLOW
    assert (_read("processor_run").side, _read("mapping").side) == (True, False)
