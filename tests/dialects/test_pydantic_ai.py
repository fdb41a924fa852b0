"""pydantic-ai, instrumentation versions 1 to 6."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.pydantic_ai import PydanticAI
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Message,
    Question,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import END, exception, record, span, text

SCOPE = "pydantic-ai"
USER = {"role": "user", "parts": [{"type": "text", "content": "Delete /tmp/x"}]}
ASKS = {
    "role": "assistant",
    "parts": [
        {"type": "tool_call", "id": "call_1", "name": "delete_file", "arguments": '{"path": "/tmp/x"}'}
    ],
}
DENIED = {
    "role": "tool",
    "parts": [{"type": "tool_call_response", "id": "call_1", "name": "delete_file", "result": "No."}],
}
DONE = {"role": "assistant", "parts": [{"type": "text", "content": "Okay."}]}
CALL = ToolCall("call_1", "delete_file", {"path": "/tmp/x"})


def read(span: Span) -> Facts:
    dialect = PydanticAI()
    assert dialect.matches(span)
    return dialect.read(span)


def agent(messages: list[Any], **attributes: Any) -> Facts:
    return read(
        span(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "assistant",
                "gen_ai.agent.call.id": "run-1",
                "pydantic_ai.all_messages": text(messages),
                **attributes,
            },
            scope=SCOPE,
        )
    )


def chat(outputs: list[Any], parameters: dict[str, Any], inputs: list[Any] | None = None) -> Facts:
    return read(
        span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": text(inputs or [USER]),
                "gen_ai.output.messages": text(outputs),
                # As pydantic writes it: without spaces.
                "model_request_parameters": text(parameters).replace(": ", ":").replace(", ", ","),
            },
            scope=SCOPE,
        )
    )


def tool(attributes: dict[str, Any], **more: Any) -> Facts:
    own = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "delete_file",
        "gen_ai.tool.call.id": "call_1",
    }
    return read(span({**own, **attributes}, scope=SCOPE, **more))


def test_an_answer_in_words() -> None:
    facts = agent([USER, DONE], final_result="Okay.")
    assert facts.inputs == [Message("user", [Text("Delete /tmp/x")])]
    assert facts.outputs == [Message("assistant", [Text("Okay.")])]
    assert (facts.data, facts.agent_name, facts.invocation_id) == (MISSING, "assistant", "run-1")


def test_words_that_are_json_are_still_words() -> None:
    said = {"role": "assistant", "parts": [{"type": "text", "content": '{"a":1}'}]}
    facts = agent([USER, said], final_result='{"a":1}')
    assert facts.data is MISSING
    assert facts.outputs == [Message("assistant", [Text('{"a":1}')])]


def test_a_typed_answer_through_an_output_tool() -> None:
    hands_over = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c", "name": "final_result", "arguments": '{"city": "Paris"}'}],
    }
    processed = {
        "role": "user",
        "parts": [
            {
                "type": "tool_call_response",
                "id": "c",
                "name": "final_result",
                "result": "Final result processed.",
            }
        ],
    }
    facts = agent([USER, hands_over, processed], final_result='{"city":"Paris"}')
    assert facts.data == {"city": "Paris"}
    assert [part for message in facts.inputs or () for part in message.parts] == [Text("Delete /tmp/x")]


def test_a_typed_answer_in_native_mode() -> None:
    said = {"role": "assistant", "parts": [{"type": "text", "content": '{"city": "Paris"}'}]}
    facts = agent([USER, said], final_result='{"city":"Paris"}')
    assert (facts.data, facts.outputs) == ({"city": "Paris"}, None)


def test_a_typed_scalar() -> None:
    assert (
        agent(
            [
                USER,
                {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "final_result"}]},
            ],
            final_result="42",
        ).data
        == 42
    )


OUTPUT_TOOL = {"output_mode": "tool", "output_tools": [{"name": "final_result", "kind": "output"}]}


def test_the_call_of_an_output_tool_is_no_operation() -> None:
    call = {"type": "tool_call", "id": "c", "name": "final_result", "arguments": '{"city": "Paris"}'}
    facts = chat([{"role": "assistant", "parts": [call]}], OUTPUT_TOOL)
    assert facts.structured
    assert facts.outputs == [Message("assistant", [])]


def test_words_and_other_calls_beside_it_stay() -> None:
    parts = [
        {"type": "text", "content": "Here."},
        {"type": "tool_call", "id": "c", "name": "final_result"},
        *ASKS["parts"],
    ]
    facts = chat([{"role": "assistant", "parts": parts}], OUTPUT_TOOL)
    assert not facts.structured
    assert facts.outputs == [Message("assistant", [Text("Here."), CALL])]


def test_the_history_of_an_output_tool_is_left_out() -> None:
    history = [
        USER,
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c", "name": "final_result", "arguments": "{}"}],
        },
        {
            "role": "user",
            "parts": [
                {
                    "type": "tool_call_response",
                    "id": "c",
                    "name": "final_result",
                    "result": "Final result processed.",
                }
            ],
        },
    ]
    facts = chat([DONE], OUTPUT_TOOL, history)
    assert [part for message in facts.inputs or () for part in message.parts] == [Text("Delete /tmp/x")]


@pytest.mark.parametrize(
    ("mode", "typed"), [("native", True), ("prompted", True), ("text", False), ("tool", False)]
)
def test_the_output_mode_says_whether_a_reply_is_typed(mode: str, typed: bool) -> None:
    said = {"role": "assistant", "parts": [{"type": "text", "content": '{"city": "Paris"}'}]}
    assert chat([said], {"output_mode": mode, "output_tools": []}).structured is typed


DEFERRED: dict[str, Any] = {
    "calls": [],
    "approvals": [{"tool_name": "delete_file", "args": '{"path": "/tmp/x"}', "tool_call_id": "call_1"}],
    "metadata": {},
}
QUESTION = Question("call_1", "delete_file", {"path": "/tmp/x"}, call_id="call_1")


def test_deferred_requests_are_questions() -> None:
    facts = agent([USER, ASKS], final_result=text(DEFERRED))
    assert facts.waiting
    assert facts.questions == [QUESTION]
    assert facts.data is MISSING


def test_external_calls_wait_as_well() -> None:
    facts = agent([USER, ASKS], final_result=text({"calls": DEFERRED["approvals"], "approvals": []}))
    assert (facts.waiting, facts.questions) == (True, [QUESTION])


@pytest.mark.parametrize(
    "result",
    [{"calls": [], "approvals": []}, {"calls": 1, "approvals": 2}, {"approvals": [{"x": 1}], "calls": []}],
)
def test_an_answer_that_only_resembles_them_is_data(result: dict[str, Any]) -> None:
    facts = agent([USER, DONE], final_result=text(result))
    assert (facts.waiting, facts.data) == (False, result)


def test_a_resumed_run_says_what_is_new() -> None:
    facts = agent([USER, ASKS, DENIED, DONE], final_result="Okay.", **{"pydantic_ai.new_message_index": 2})
    assert (facts.new_from, facts.resumes) == (2, True)
    assert facts.inputs is not None
    assert facts.inputs[2] == Message("tool", [ToolResult("call_1", "delete_file", "No.")])


def test_a_new_question_to_an_old_conversation_resumes_nothing() -> None:
    facts = agent([USER, DONE, USER, DONE], final_result="Okay.", **{"pydantic_ai.new_message_index": 2})
    assert (facts.new_from, facts.resumes) == (2, False)


def test_a_denied_call_is_told_by_its_missing_span() -> None:
    assert PydanticAI.convention.runs_have_spans


@pytest.mark.parametrize("failed", [False, True], ids=["version 5", "version 4"])
@pytest.mark.parametrize("name", ["ApprovalRequired", "CallDeferred"])
def test_a_deferral_is_a_pause_and_no_failure(name: str, failed: bool) -> None:
    more: dict[str, Any] = {"status": STATUS_ERROR, "events": [exception("", name)]} if failed else {}
    facts = tool(
        {"pydantic_ai.tool.deferral.name": name, "gen_ai.tool.call.arguments": '{"path":"/tmp/x"}'}, **more
    )
    assert (facts.paused, facts.failed, facts.error, facts.result) == (True, False, None, MISSING)
    assert facts.questions == [
        Question("call_1", "delete_file", {"path": "/tmp/x"}, call_id="call_1", time=END)
    ]


def test_a_call_that_failed_validation_never_ran() -> None:
    facts = tool(
        {"pydantic_ai.tool.failure_stage": "validation", "gen_ai.tool.call.result": "Fix the errors."},
        status=STATUS_ERROR,
    )
    assert (facts.not_run, facts.failed, facts.result) == (True, True, "Fix the errors.")


def test_version_2_has_its_own_names_for_content() -> None:
    facts = tool({"tool_arguments": '{"path":"/tmp/x"}', "tool_response": '{"ok":true}'}, name="running tool")
    assert (facts.arguments, facts.result, facts.hidden) == ({"path": "/tmp/x"}, {"ok": True}, set())


def test_an_output_function_is_no_operation() -> None:
    ran = {
        "logfire.msg": "running output function: final_result",
        "gen_ai.tool.call.result": '{"city": "Paris"}',
    }
    facts = tool(ran)
    assert (facts.role, facts.hands_over, facts.data) == (Role.TOOL, True, {"city": "Paris"})
    assert tool(ran, status=STATUS_ERROR).role is Role.NOTHING


def test_usage_of_the_run() -> None:
    facts = agent(
        [USER, DONE],
        **{
            "gen_ai.aggregated_usage.input_tokens": 240,
            "gen_ai.aggregated_usage.output_tokens": 60,
            "gen_ai.aggregated_usage.cache_read.input_tokens": 80,
            "gen_ai.aggregated_usage.details.cache_read_tokens": 80,
            "gen_ai.aggregated_usage.details.reasoning_tokens": 0,
        },
    )
    assert facts.usage == TokenUsage(240, 60, 80, None, 0)
    assert agent([USER, DONE], **{"gen_ai.usage.input_tokens": 240}).usage == TokenUsage(240)


def test_a_failed_run() -> None:
    failed = span(
        {"gen_ai.operation.name": "invoke_agent"},
        scope=SCOPE,
        status=STATUS_ERROR,
        message="FileNotFoundError: no such file",
        events=[exception("no such file", "FileNotFoundError")],
    )
    assert (read(failed).failed, read(failed).error) == (True, "no such file")


def test_version_1_writes_events_into_an_attribute() -> None:
    events = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "Delete /tmp/x"},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "Okay."}},
    ]
    facts = read(span({"gen_ai.operation.name": "chat", "events": text(events)}, scope=SCOPE))
    assert facts.inputs == [Message("user", [Text("Delete /tmp/x")])]
    assert facts.outputs == [Message("assistant", [Text("Okay.")])]


def test_without_content_the_calls_are_named() -> None:
    bare = [
        {"role": "user", "parts": [{"type": "text"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "f"}]},
    ]
    facts = agent(bare)
    assert facts.outputs == [Message("assistant", [ToolCall("call_1", "f", MISSING)])]
    assert "outputs" in facts.hidden


def test_a_pending_span_of_logfire_only_announces_another() -> None:
    announced = span({"gen_ai.operation.name": "chat", "logfire.span_type": "pending_span"}, scope=SCOPE)
    assert read(announced).role is Role.NOTHING


def test_its_attributes_tell_it_under_another_scope() -> None:
    assert PydanticAI().matches(
        span({"gen_ai.operation.name": "chat", "model_request_parameters": "{}"}, scope="logfire")
    )
    assert not PydanticAI().matches(
        span({"gen_ai.agent.call.id": "run-1", "http.request.method": "GET"}, scope="opentelemetry.httpx")
    )
    assert not PydanticAI().matches_log(record("gen_ai.choice", body={"message": {"content": "Hi."}}))
