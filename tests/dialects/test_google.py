"""Google's two: the Gen AI SDK under OpenTelemetry's instrumentation, and the Agent Development Kit."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.google_adk import GoogleADK
from otel_turns.dialects.google_genai import GoogleGenAI
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Mark,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import END, exception, record, span, text

GENAI_SCOPE = "opentelemetry.instrumentation.google_genai"
ADK_SCOPE = "gcp.vertex.agent"
CALL = {"type": "tool_call", "id": "call_1", "name": "read_file", "arguments": {"path": "/x"}}


def genai(inputs: list[Any], outputs: list[Any] | None = None) -> Facts:
    asked = span(
        {
            "gen_ai.operation.name": "generate_content",
            "gen_ai.input.messages": text(inputs),
            "gen_ai.output.messages": text(outputs or []),
        },
        scope=GENAI_SCOPE,
    )
    dialect = GoogleGenAI()
    assert dialect.matches(asked)
    return dialect.read(asked)


def adk(source: Span) -> Facts:
    dialect = GoogleADK()
    assert dialect.matches(source)
    return dialect.read(source)


def adk_tool(attributes: dict[str, Any], **more: Any) -> Facts:
    own = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "delete_file",
        "gen_ai.tool.call.id": "call_1",
    }
    return adk(span({**own, **attributes}, scope=ADK_SCOPE, **more))


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"result": '{"temp_c": 18}'}, ToolResult("call_1", None, {"temp_c": 18})),
        ({"output": "18"}, ToolResult("call_1", None, 18)),
        ({"error": "no such file"}, ToolResult("call_1", None, "no such file", failed=True)),
        ({"temp_c": 18}, ToolResult("call_1", None, {"temp_c": 18})),
        ({"result": 1, "more": 2}, ToolResult("call_1", None, {"result": 1, "more": 2})),
    ],
)
def test_genai_results_leave_their_object(response: Any, expected: ToolResult) -> None:
    part = {"type": "tool_call_response", "id": "call_1", "response": response}
    facts = genai([{"role": "assistant", "parts": [CALL]}, {"role": "user", "parts": [part]}])
    assert facts.inputs is not None
    assert facts.inputs[1] == Message("tool", [expected])


def test_genai_results_numbered_by_name_belong_to_the_calls_before_them() -> None:
    calls = [CALL, {**CALL, "id": "call_2"}, {**CALL, "id": "call_3", "name": "get_time"}]
    results = [
        {"type": "tool_call_response", "id": "read_file_0", "response": "a"},
        {"type": "tool_call_response", "id": "read_file_1", "response": "b"},
        {"type": "tool_call_response", "id": "get_time_2", "response": "c"},
        {"type": "tool_call_response", "id": "unheard_of_3", "response": "d"},
    ]
    facts = genai([{"role": "assistant", "parts": calls}, {"role": "user", "parts": results}])
    assert facts.inputs is not None
    told = [(part.id, part.result) for part in facts.inputs[1].parts if isinstance(part, ToolResult)]
    assert told == [("call_1", "a"), ("call_2", "b"), ("call_3", "c"), ("unheard_of_3", "d")]


def test_genai_replies_are_in_order() -> None:
    parts = [{"type": "text", "content": "First."}, CALL, {"type": "text", "content": "Then."}]
    facts = genai([], [{"role": "assistant", "parts": parts}])
    assert facts.ordered_parts
    assert facts.outputs == [
        Message("assistant", [Text("First."), ToolCall("call_1", "read_file", {"path": "/x"}), Text("Then.")])
    ]


def test_genai_records_are_read_alike() -> None:
    part = {"type": "tool_call_response", "id": "read_file_0", "response": {"result": "a"}}
    messages = [{"role": "assistant", "parts": [CALL]}, {"role": "user", "parts": [part]}]
    facts = GoogleGenAI().read_log(
        record("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": messages})
    )
    assert facts is not None
    assert facts.inputs is not None
    assert facts.inputs[1] == Message("tool", [ToolResult("call_1", "read_file", "a")])


@pytest.mark.parametrize(
    ("name", "operation", "role"),
    [
        ("invocation", None, Role.WORKFLOW),
        ("invoke_workflow root", "invoke_workflow", Role.WORKFLOW),
        ("invoke_agent root", "invoke_agent", Role.AGENT),
        ("call_llm", None, Role.INFERENCE),
        ("generate_content gemini-2.5-flash", "generate_content", Role.INFERENCE),
        ("execute_tool get_weather", "execute_tool", Role.TOOL),
        ("execute_tool (merged)", "execute_tool", Role.NOTHING),
        ("handle_context_caching", None, Role.STEP),
    ],
)
def test_adk_roles(name: str, operation: str | None, role: Role) -> None:
    attributes = {"gen_ai.operation.name": operation} if operation else {}
    facts = adk(span(attributes, name=name, scope=ADK_SCOPE))
    assert facts.role is role
    assert facts.loose is (role is Role.AGENT)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"result": "18"}, 18),
        ({"result": None}, None),
        ({"error": "x"}, {"error": "x"}),
        ({"temp_c": 18}, {"temp_c": 18}),
    ],
)
def test_adk_results_leave_their_object_and_errors_stay_in_it(result: Any, expected: Any) -> None:
    assert adk_tool({"gen_ai.tool.call.result": text(result)}).result == expected


def test_adk_schema_1() -> None:
    facts = adk_tool(
        {
            "gcp.vertex.agent.tool_call_args": '{"path": "/x"}',
            "gcp.vertex.agent.tool_response": '{"result": "ok"}',
        }
    )
    assert (facts.arguments, facts.result, facts.hidden) == ({"path": "/x"}, "ok", set())


@pytest.mark.parametrize("value", ["{}", "N/A", "<not serializable>"])
def test_adk_placeholders_are_absence(value: str) -> None:
    facts = adk_tool({"gcp.vertex.agent.tool_call_args": value, "gcp.vertex.agent.tool_response": value})
    assert (facts.arguments, facts.result, facts.hidden) == (MISSING, MISSING, {"arguments", "result"})


def test_adk_gives_a_raising_tool_no_id() -> None:
    facts = adk_tool(
        {"gen_ai.tool.call.id": "<not specified>"}, status=STATUS_ERROR, events=[exception("no such file")]
    )
    assert (facts.call_id, facts.failed, facts.error) == (None, True, "no such file")
    assert adk_tool({"gen_ai.tool.call.result": '{"result": "<not specified>"}'}).result is MISSING


def test_adk_schema_1_request() -> None:
    request: dict[str, Any] = {
        "model": "gemini",
        "config": {"system_instruction": "Be brief."},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {"role": "model", "parts": [{"function_call": {"id": "call_1", "name": "f", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"function_response": {"id": "call_1", "name": "f", "response": {"result": 18}}}],
            },
        ],
    }
    reply = {
        "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "18."}]},
        "usage_metadata": {},
    }
    asked = {"gcp.vertex.agent.llm_request": text(request), "gcp.vertex.agent.llm_response": text(reply)}
    facts = adk(span({"gen_ai.system": "gcp.vertex.agent", **asked}, name="call_llm", scope=ADK_SCOPE))
    assert facts.inputs == [
        Message("system", [Text("Be brief.")]),
        Message("user", [Text("Weather?")]),
        Message("assistant", [ToolCall("call_1", "f", {})]),
        Message("tool", [ToolResult("call_1", "f", 18)]),
    ]
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("18.")])]


def test_adk_message_records_hold_geminis_content() -> None:
    body = {"index": 0, "content": {"role": "model", "parts": [{"text": "18."}]}}
    facts = GoogleADK().read_log(record("gen_ai.choice", body=body, scope=ADK_SCOPE))
    assert facts is not None
    assert facts.outputs == [Message("assistant", [Text("18.")])]
    elided = GoogleADK().read_log(
        record("gen_ai.choice", body={"index": 0, "content": "<elided>"}, scope=ADK_SCOPE)
    )
    assert elided is not None
    assert (elided.outputs, elided.hidden) == (None, {"outputs"})


PENDING = {"error": "This tool call requires confirmation, please approve or reject."}
REFUSED = {"error": "This tool call is rejected."}


def test_adk_a_call_that_asks_for_confirmation_is_paused() -> None:
    facts = adk_tool(
        {"gen_ai.tool.call.arguments": '{"path": "/x"}', "gen_ai.tool.call.result": text(PENDING)}
    )
    assert (facts.paused, facts.failed, facts.result) == (True, False, MISSING)
    assert facts.questions == [Question(None, "delete_file", {"path": "/x"}, call_id="call_1")]


def test_adk_a_refused_call_is_rejected() -> None:
    facts = adk_tool(
        {"gen_ai.tool.call.result": text(REFUSED), "error.type": "TOOL_ERROR"}, status=STATUS_ERROR
    )
    assert (facts.rejected, facts.result) == (True, REFUSED)


def test_adk_the_history_knows_both() -> None:
    parts = [
        {"type": "tool_call_response", "id": "call_1", "response": PENDING},
        {"type": "tool_call_response", "id": "call_2", "response": REFUSED},
    ]
    asked = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.input.messages": text([{"role": "user", "parts": parts}]),
    }
    assert adk(span(asked, scope=ADK_SCOPE)).inputs == [
        Message(
            "tool",
            [
                ToolResult("call_1", None, MISSING, pending=True),
                ToolResult("call_2", None, REFUSED, rejected=True),
            ],
        )
    ]


def test_adk_a_transfer_passes_control() -> None:
    facts = adk_tool(
        {
            "gen_ai.tool.name": "transfer_to_agent",
            "gen_ai.tool.call.arguments": '{"agent_name": "researcher"}',
            "gen_ai.tool.call.result": '{"result": null}',
        }
    )
    assert (facts.role, facts.handoff_to, facts.tool_name) == (
        Role.HANDOFF,
        "researcher",
        "transfer_to_agent",
    )
    assert (facts.call_id, facts.arguments) == ("call_1", {"agent_name": "researcher"})


def test_adk_a_skill_is_loaded_by_one_tool_only() -> None:
    assert adk_tool({"gen_ai.tool.name": "load_skill", "gen_ai.skill.name": "pdf"}).skill == "pdf"
    assert adk_tool({"gen_ai.tool.name": "run_skill_script", "gen_ai.skill.name": "pdf"}).skill is None


def test_adk_a_compaction_counts_where_something_was_saved() -> None:
    done = adk(
        span(
            {"gen_ai.compaction.prompt_chars_saved": 900},
            name="compact_events token_threshold",
            scope=ADK_SCOPE,
        )
    )
    assert done.marks == [Mark(END, "event", {"type": "compaction", "reason": "token_threshold"})]
    assert done.side
    assert adk(span(name="compact_events token_threshold", scope=ADK_SCOPE)).marks == []
