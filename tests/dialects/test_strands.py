"""Strands Agents: its older events, its details events, interrupts and handoffs."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.strands import Strands
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR, STATUS_OK, Span
from tests.dialects.spans import event, exception, span, text

SCOPE = "strands.telemetry.tracer"
DETAILS = "gen_ai.client.inference.operation.details"
CALL_ID = "call_1"


def read(span: Span) -> Facts:
    dialect = Strands()
    assert dialect.matches(span)
    return dialect.read(span)


def strands(operation: str, *events: Any, **attributes: Any) -> Facts:
    return read(
        span({"gen_ai.operation.name": operation, **attributes}, scope=SCOPE, status=STATUS_OK, events=events)
    )


@pytest.mark.parametrize(
    ("operation", "role"),
    [
        ("invoke_agent", Role.AGENT),
        ("invoke_swarm", Role.WORKFLOW),
        ("invoke_graph", Role.WORKFLOW),
        ("execute_event_loop_cycle", Role.STEP),
        ("chat", Role.INFERENCE),
        ("execute_tool", Role.TOOL),
    ],
)
def test_roles(operation: str, role: Role) -> None:
    assert strands(operation).role is role


def test_a_request_with_the_older_events() -> None:
    use = {"toolUse": {"toolUseId": CALL_ID, "name": "get_weather", "input": {"city": "Paris"}}}
    result = {
        "toolResult": {"toolUseId": CALL_ID, "status": "success", "content": [{"text": '{"temp_c": 18}'}]}
    }
    facts = strands(
        "chat",
        event("gen_ai.system.message", {"content": text([{"text": "Be brief."}])}),
        event("gen_ai.user.message", {"content": text([{"text": "Weather?"}])}),
        event("gen_ai.assistant.message", {"content": text([{"text": "Let me check."}, use])}),
        event("gen_ai.tool.message", {"content": text([result])}),
        event(
            "gen_ai.choice",
            {"message": text([{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": "18."}])},
        ),
    )
    assert facts.inputs == [
        Message("system", [Text("Be brief.")]),
        Message("user", [Text("Weather?")]),
        Message("assistant", [Text("Let me check."), ToolCall(CALL_ID, "get_weather", {"city": "Paris"})]),
        Message("tool", [ToolResult(CALL_ID, None, {"temp_c": 18})]),
    ]
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("18.")])]


def test_a_result_marked_as_an_error() -> None:
    result = {"toolResult": {"toolUseId": CALL_ID, "status": "error", "content": [{"text": "no"}]}}
    facts = strands("chat", event("gen_ai.tool.message", {"content": text([result])}))
    assert facts.inputs == [Message("tool", [ToolResult(CALL_ID, None, "no", failed=True)])]


def test_on_a_tool_the_tool_message_is_the_input_and_the_choice_the_result() -> None:
    facts = strands(
        "execute_tool",
        event("gen_ai.tool.message", {"role": "tool", "content": '{"city": "Paris"}', "id": CALL_ID}),
        event("gen_ai.choice", {"message": text([{"text": '{"temp_c": 18}'}]), "id": CALL_ID}),
        **{
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": CALL_ID,
            "gen_ai.tool.status": "success",
        },
    )
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})
    assert (facts.failed, facts.hidden) == (False, set())


def test_on_a_tool_with_details_events() -> None:
    call = {"type": "tool_call", "name": "f", "id": CALL_ID, "arguments": {"city": "Paris"}}
    response = {"type": "tool_call_response", "id": CALL_ID, "response": [{"text": "18"}]}
    facts = strands(
        "execute_tool",
        event(DETAILS, {"gen_ai.input.messages": text([{"role": "tool", "parts": [call]}])}),
        event(DETAILS, {"gen_ai.output.messages": text([{"role": "tool", "parts": [response]}])}),
    )
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, 18)


def test_a_failed_tool_keeps_what_the_model_was_told() -> None:
    failed = span(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.status": "error"},
        scope=SCOPE,
        status=STATUS_ERROR,
        message="no such file",
        events=[
            event("gen_ai.choice", {"message": text([{"text": "Error: no such file"}])}),
            exception("no such file"),
        ],
    )
    facts = read(failed)
    assert (facts.failed, facts.error, facts.result) == (True, "no such file", "Error: no such file")


def test_a_status_of_the_tool_alone_is_a_failure() -> None:
    facts = strands("execute_tool", **{"gen_ai.tool.status": "error"})
    assert (facts.failed, facts.error) == (True, "")


def test_redacted_events_are_hidden_content() -> None:
    facts = strands(
        "chat",
        event("gen_ai.user.message", {"content": "[REDACTED]"}),
        event("gen_ai.choice", {"message": "[REDACTED]"}),
    )
    assert (facts.inputs, facts.outputs) == (None, None)
    assert facts.hidden == {"inputs", "outputs"}


def test_the_agents_text_is_its_reply_without_the_line_end() -> None:
    facts = strands(
        "invoke_agent",
        event("gen_ai.choice", {"message": "It is 18 degrees.\n", "finish_reason": "end_turn"}),
    )
    assert facts.outputs == [Message("assistant", [Text("It is 18 degrees.")])]


def test_the_agents_usage_adds_up_over_its_life() -> None:
    assert Strands.convention.usage_accumulates


INTERRUPTS = [
    (
        "[{'id': 'v1:before_tool_call:call_1:34342e5c-90ed', 'name': 'delete_file-approval', "
        "'reason': {'tool': 'delete_file'}, 'response': None}]",
        Question("v1:before_tool_call:call_1:34342e5c-90ed", call_id="call_1"),
    ),
    (
        "[{'id': 'v1:before_tool_call:call_1:b9e6', 'name': 'strands:human-in-the-loop', "
        "'reason': 'Approve \"delete_file\"?\\n  Input: {}', 'response': None}]",
        Question(
            "v1:before_tool_call:call_1:b9e6", prompt='Approve "delete_file"?\n  Input: {}', call_id="call_1"
        ),
    ),
    (
        "[{'id': 'own', 'name': 'confirm', 'reason': {'path': '/x'}}]",
        Question("own", "confirm", {"path": "/x"}),
    ),
]


@pytest.mark.parametrize(("said", "question"), INTERRUPTS)
@pytest.mark.parametrize("latest", [False, True])
def test_an_interrupt_is_a_question_and_no_text(said: str, question: Question, latest: bool) -> None:
    if latest:
        message = {
            "role": "assistant",
            "parts": [{"type": "text", "content": said}],
            "finish_reason": "interrupt",
        }
        told = event(DETAILS, {"gen_ai.output.messages": text([message])})
    else:
        told = event("gen_ai.choice", {"message": said, "finish_reason": "interrupt"})
    facts = strands("invoke_agent", told)
    assert (facts.waiting, facts.questions, facts.outputs) == (True, [question], None)


def test_a_text_that_only_looks_like_interrupts_is_text() -> None:
    said = "[{'id': 'v1:a:b:c'}]"
    facts = strands("invoke_agent", event("gen_ai.choice", {"message": said, "finish_reason": "end_turn"}))
    assert (facts.waiting, facts.outputs) == (False, [Message("assistant", [Text(said)])])


def test_a_handoff_tool_passes_control() -> None:
    given = {
        "gen_ai.tool.name": "handoff_to_agent",
        "gen_ai.tool.call.arguments": '{"agent_name": "researcher"}',
    }
    facts = strands("execute_tool", **given)
    assert (facts.role, facts.handoff_to, facts.tool_name) == (Role.HANDOFF, "researcher", "handoff_to_agent")
    assert strands("execute_tool", **given, **{"gen_ai.tool.status": "error"}).role is Role.TOOL


def test_the_structured_output_tool_hands_the_answer_over() -> None:
    described = "IMPORTANT: This StructuredOutputTool should only be invoked as the last and final tool."
    facts = strands(
        "execute_tool",
        **{"gen_ai.tool.description": described, "gen_ai.tool.call.arguments": '{"city": "Paris"}'},
    )
    assert (facts.hands_over, facts.arguments) == (True, {"city": "Paris"})
    assert not strands("execute_tool", **{"gen_ai.tool.description": "Weather."}).hands_over


def test_a_tool_without_content_is_hidden() -> None:
    facts = strands("execute_tool", event("gen_ai.choice", {"message": "[REDACTED]"}))
    assert (facts.result, facts.hidden) == (MISSING, {"arguments", "result"})
