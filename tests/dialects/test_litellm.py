"""LiteLLM's own callback."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.litellm import LiteLLM
from otel_turns.model.facts import Facts, Message, Role, Text, TokenUsage, ToolCall, ToolResult
from tests.dialects.spans import span, text


def run(attributes: dict[str, Any], name: str = "litellm_request") -> Facts:
    dialect = LiteLLM()
    made = span(attributes, scope="litellm", name=name)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize(
    ("attributes", "name", "role"),
    [
        ({"gen_ai.operation.name": "chat"}, "litellm_request", Role.INFERENCE),
        ({"gen_ai.operation.name": "acompletion"}, "litellm_request", Role.INFERENCE),
        ({"llm.request.type": "completion"}, "litellm_request", Role.INFERENCE),
        ({"gen_ai.operation.name": "embeddings"}, "litellm_request", Role.NOTHING),
        ({"gen_ai.operation.name": "chat"}, "raw_gen_ai_request", Role.STEP),
        ({}, "Received Proxy Server Request", Role.STEP),
        ({}, "auth /v1/chat/completions", Role.STEP),
    ],
)
def test_what_a_span_stands_for(attributes: dict[str, Any], name: str, role: Role) -> None:
    assert run(attributes, name=name).role is role


def test_only_its_own_scope() -> None:
    assert not LiteLLM().matches(span({"gen_ai.operation.name": "acompletion"}, scope="x"))


def test_calls_and_results_beside_the_parts() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    asked: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
        {"role": "assistant", "parts": [], "tool_calls": [call]},
        {"role": "tool", "parts": [{"type": "text", "content": "clear"}], "tool_call_id": "c1"},
    ]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}]
    facts = run(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": text(asked),
            "gen_ai.output.messages": text(said),
            "gen_ai.usage.input_tokens": 5,
            "gen_ai.response.id": "chatcmpl-1",
        }
    )
    assert facts.inputs is not None
    parts = [(message.role, part) for message in facts.inputs for part in message.parts]
    assert parts == [
        ("user", Text("Hi")),
        ("assistant", ToolCall("c1", "f", {"a": 1})),
        ("tool", ToolResult("c1", None, "clear")),
    ]
    assert facts.outputs == [Message("assistant", [Text("Done.")])]
    assert (facts.usage, facts.response_id, facts.hidden) == (TokenUsage(5), "chatcmpl-1", set())


def test_a_reply_that_asks_for_calls() -> None:
    """The messages of the reply are empty then; its N-th call stands at the N-th completion."""
    facts = run(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": "[]",
            "gen_ai.completion.0.function_call.name": "f",
            "gen_ai.completion.0.function_call.arguments": '{"a": 1}',
            "gen_ai.completion.1.function_call.name": "g",
            "gen_ai.completion.1.function_call.arguments": "{}",
        }
    )
    assert facts.outputs == [Message("assistant", [ToolCall(None, "f", {"a": 1}), ToolCall(None, "g", {})])]
    assert "outputs" not in facts.hidden


def test_numbered_messages_of_older_versions() -> None:
    facts = run(
        {
            "gen_ai.operation.name": "acompletion",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "Hi",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Hello",
        }
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert facts.hidden == set()


def test_hidden_content() -> None:
    assert run({"gen_ai.operation.name": "chat"}).hidden == {"inputs", "outputs"}
