"""MLflow."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.mlflow import MLflow
from otel_turns.model.facts import Facts, Message, Role, Text, TokenUsage, ToolCall
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import exception, span, text


def _read(
    kind: str, given: Any = None, output: Any = None, attributes: dict[str, Any] | None = None, **more: Any
) -> Facts:
    made: dict[str, Any] = {"mlflow.spanType": text(kind), **(attributes or {})}
    if given is not None:
        made["mlflow.spanInputs"] = text(given)
    if output is not None:
        made["mlflow.spanOutputs"] = text(output)
    traced = span(made, name="work", **more)
    assert MLflow().matches(traced)
    return MLflow().read(traced)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("CHAT_MODEL", Role.INFERENCE),
        ("LLM", Role.INFERENCE),
        ("AGENT", Role.AGENT),
        ("TOOL", Role.TOOL),
        ("CHAIN", Role.CHAIN),
        ("UNKNOWN", Role.CHAIN),
        ("RETRIEVER", Role.NOTHING),
        ("CUSTOM", Role.STEP),
    ],
)
def test_roles(kind: str, role: Role) -> None:
    assert _read(kind).role is role


def test_a_request_of_openai() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    response = {
        "id": "r1",
        "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 30},
    }
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "weather?"}]}
    facts = _read("CHAT_MODEL", request, response)
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {"a": 1})])]
    assert (facts.model, facts.response_id, facts.usage) == ("gpt-4o", "r1", TokenUsage(120, 30))


def test_a_request_of_anthropic() -> None:
    request = {"messages": [{"role": "user", "content": "weather?"}], "system": "be good"}
    response = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "It is 18."}]}
    facts = _read("CHAT_MODEL", request, response)
    assert facts.inputs == [Message("system", [Text("be good")]), Message("user", [Text("weather?")])]
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]


def test_tokens_that_mlflow_counts_itself() -> None:
    counts = {"input_tokens": 120, "output_tokens": 30, "total_tokens": 150, "cache_read_input_tokens": 40}
    facts = _read("CHAT_MODEL", attributes={"mlflow.chat.tokenUsage": text(counts)})
    assert facts.usage == TokenUsage(120, 30, 40)
    assert facts.hidden == {"inputs", "outputs"}


def test_a_typed_answer() -> None:
    request: dict[str, Any] = {
        "messages": [{"role": "user", "content": "weather?"}],
        "response_format": {"type": "json_schema", "json_schema": {}},
    }
    response = {"choices": [{"message": {"role": "assistant", "content": '{"city": "Paris"}'}}]}
    assert _read("CHAT_MODEL", request, response).structured


def test_a_tool() -> None:
    facts = _read("TOOL", {"city": "Paris"}, {"temp_c": 18})
    assert (facts.tool_name, facts.arguments, facts.result) == ("work", {"city": "Paris"}, {"temp_c": 18})
    message = {"type": "tool", "content": "18", "tool_call_id": "c1", "name": "work"}
    assert _read("TOOL", {}, message).call_id == "c1"
    failed = _read("TOOL", {}, status=STATUS_ERROR, events=[exception("gone")])
    assert (failed.failed, failed.error) == (True, "gone")


def test_functions() -> None:
    facts = _read("AGENT", {"question": "weather?"}, "It is 18.", {"session.id": "s1"})
    assert (facts.agent_name, facts.session_id) == ("work", "s1")
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]
    assert _read("AGENT", {}, {"city": "Paris"}).data == {"city": "Paris"}


def test_spans_without_a_type() -> None:
    made = span({"mlflow.spanInputs": text({"query": "weather?"})}, name="work")
    assert MLflow().matches(made)
    facts = MLflow().read(made)
    assert (facts.role, facts.inputs) == (Role.CHAIN, [Message("user", [Text("weather?")])])
    assert not MLflow().matches(span({"mlflow.traceRequestId": text("tr-1")}))
