"""Microsoft Agent Framework: approvals, workflows, whole runs as outputs."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.agent_framework import AgentFramework
from otel_turns.model.facts import Decision, Facts, Message, Question, Role, Text, ToolCall, ToolResult
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import exception, span, text

SCOPE = "agent_framework"
FUNCTION_CALL = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "delete_file",
    "arguments": '{"path": "/tmp/x"}',
    "id": "af-1",
}
CALL_PART = {"type": "tool_call", "id": "call_1", "name": "delete_file", "arguments": '{"path": "/tmp/x"}'}
REQUEST = {
    "type": "function_approval_request",
    "function_call": FUNCTION_CALL,
    "user_input_request": True,
    "id": "af-1",
}


def read(span: Span) -> Facts:
    dialect = AgentFramework()
    assert dialect.matches(span)
    return dialect.read(span)


def agent(**attributes: Any) -> Facts:
    own = {f"gen_ai.{key.replace('_', '.')}": value for key, value in attributes.items()}
    return read(
        span({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "root", **own}, scope=SCOPE)
    )


def test_an_approval_request_is_a_question() -> None:
    facts = agent(output_messages=text([{"role": "assistant", "parts": [CALL_PART, REQUEST]}]))
    assert facts.waiting
    assert facts.questions == [Question("af-1", "delete_file", {"path": "/tmp/x"}, call_id="call_1")]
    assert facts.outputs == [Message("assistant", [ToolCall("call_1", "delete_file", {"path": "/tmp/x"})])]


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("structured", [False, True])
def test_an_approval_response_is_a_decision(approved: bool, structured: bool) -> None:
    part = {
        "type": "function_approval_response",
        "function_call": FUNCTION_CALL,
        "approved": approved,
        "id": "af-1",
    }
    messages = [{"role": "user", "parts": [part]}]
    facts = agent(input_messages=messages if structured else text(messages))
    assert facts.resumes
    assert facts.decisions == [Decision(approved, "call_1", "af-1")]
    assert not facts.waiting


def test_words_about_approvals_decide_nothing() -> None:
    facts = agent(
        input_messages=text(
            [{"role": "user", "parts": [{"type": "text", "content": "function_approval_response"}]}]
        )
    )
    assert (facts.resumes, facts.decisions) == (False, [])


def test_a_refused_call_is_known_by_its_result() -> None:
    refused = {
        "type": "tool_call_response",
        "id": "call_1",
        "response": "Error: Tool call invocation was rejected by user.",
    }
    asked = span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": text([{"role": "tool", "parts": [refused]}]),
        },
        scope=SCOPE,
    )
    [message] = read(asked).inputs or []
    [part] = message.parts
    assert isinstance(part, ToolResult)
    assert part.rejected


def test_of_the_whole_run_only_the_end_is_the_answer() -> None:
    run = [
        {"role": "assistant", "parts": [CALL_PART]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "deleted"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]},
    ]
    assert agent(output_messages=text(run)).outputs == [Message("assistant", [Text("Done.")])]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("workflow.run", Role.WORKFLOW),
        ("workflow.build", Role.NOTHING),
        ("message.send", Role.NOTHING),
        ("executor.process root", Role.STEP),
        ("edge_group.process SingleEdgeGroup", Role.STEP),
    ],
)
def test_workflow_spans(name: str, role: Role) -> None:
    assert read(span({"workflow.id": "w"}, name=name, scope=SCOPE)).role is role


def test_the_words_of_an_error_with_two_arguments() -> None:
    message = "('service failed: Error code: 500 - boom', InternalServerError('Error code: 500 - boom'))"
    failed = span(
        {"gen_ai.operation.name": "chat", "error.type": "ChatClientException"},
        scope=SCOPE,
        status=STATUS_ERROR,
        events=[exception(message, "agent_framework.exceptions.ChatClientException")],
    )
    assert read(failed).error == "service failed: Error code: 500 - boom"
