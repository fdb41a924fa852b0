"""Semantic Kernel and AutoGen."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.autogen import AutoGen
from otel_turns.dialects.semantic_kernel import SemanticKernel
from otel_turns.model.facts import MISSING, Message, Role, Text, ToolCall, ToolResult
from otel_turns.model.span import KIND_CLIENT, STATUS_ERROR
from tests.dialects.spans import exception, record, span, text

SK = "semantic_kernel.functions.kernel_function"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("{'temp_c': 18, 'sky': None}", {"temp_c": 18, "sky": None}),
        ('{"temp_c": 18}', {"temp_c": 18}),
        ("['a', 'b']", ["a", "b"]),
        ("[see below]", "[see below]"),
        ("09:30", "09:30"),
    ],
)
def test_kernel_results_that_python_printed(result: str, expected: Any) -> None:
    called = span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "Tools-f",
            "gen_ai.tool.call.result": result,
        },
        scope=SK,
    )
    facts = SemanticKernel().read(called)
    assert (facts.role, facts.tool_name, facts.result) == (Role.TOOL, "Tools-f", expected)


def _said(name: str, body: Any) -> Any:
    source = record(
        "",
        {"event.name": name, "gen_ai.system": "openai"},
        body=text(body),
        scope="semantic_kernel.connectors",
    )
    dialect = SemanticKernel()
    assert dialect.matches_log(source)
    facts = dialect.read_log(source)
    assert facts is not None
    assert facts.supplements == "piece"
    return facts


def test_kernel_records_are_pieces_of_a_request() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "Tools-f", "arguments": '{"city": "Paris"}'},
    }
    assert _said("gen_ai.assistant.message", {"role": "assistant", "tool_calls": [call]}).inputs == [
        Message("assistant", [ToolCall("call_1", "Tools-f", {"city": "Paris"})])
    ]
    assert _said(
        "gen_ai.tool.message", {"role": "tool", "content": "{'temp_c': 18}", "tool_call_id": "call_1"}
    ).inputs == [Message("tool", [ToolResult("call_1", None, {"temp_c": 18})])]
    assert _said(
        "gen_ai.choice", {"message": {"role": "assistant", "content": "18."}, "finish_reason": "stop"}
    ).outputs == [Message("assistant", [Text("18.")])]


def test_kernel_errors_and_structure() -> None:
    failed = span(
        {"gen_ai.operation.name": "chat", "error.type": "<class 'openai.BadRequestError'>"},
        scope=SK,
        status=STATUS_ERROR,
        message="BadRequestError('boom')",
    )
    assert SemanticKernel().read(failed).error == "boom"
    assert SemanticKernel().read(span(name="AutoFunctionInvocationLoop", scope=SK)).role is Role.STEP


@pytest.mark.parametrize(
    ("operation", "role"),
    [
        ("create_agent", Role.NOTHING),
        ("invoke_agent", Role.AGENT),
        ("execute_tool", Role.TOOL),
        (None, Role.STEP),
    ],
)
def test_autogen_roles(operation: str | None, role: Role) -> None:
    attributes = (
        {"gen_ai.operation.name": operation, "gen_ai.system": "autogen"}
        if operation
        else {"messaging.operation": "publish"}
    )
    facts = AutoGen().read(span(attributes, scope="autogen-core", kind=KIND_CLIENT))
    assert (facts.role, facts.remote_url) == (role, None)


def test_autogen_a_tool_has_no_content() -> None:
    called = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.id": "call_1",
    }
    facts = AutoGen().read(
        span(called, scope="autogen-core", status=STATUS_ERROR, message="no", events=[exception("no")])
    )
    assert (facts.call_id, facts.arguments, facts.result, facts.error) == ("call_1", MISSING, MISSING, "no")
