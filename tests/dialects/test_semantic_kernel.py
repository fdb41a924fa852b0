"""Semantic Kernel."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.semantic_kernel import SemanticKernel
from otel_turns.model.facts import Message, Role, Text, ToolCall, ToolResult
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import record, span, text

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
