"""Langfuse's SDKs, and the values of functions that tracers keep."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.function_values import call_arguments, request_messages, value_of
from otel_turns.dialects.langfuse import Langfuse
from otel_turns.dialects.messages import Notes
from otel_turns.model.facts import MISSING, Facts, Message, Role, Text, TokenUsage, ToolCall
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import exception, span, text


def _read(
    kind: str, given: Any = None, output: Any = None, attributes: dict[str, Any] | None = None, **more: Any
) -> Facts:
    made: dict[str, Any] = {"langfuse.observation.type": kind, **(attributes or {})}
    if given is not None:
        made["langfuse.observation.input"] = given if type(given) is str else text(given)
    if output is not None:
        made["langfuse.observation.output"] = output if type(output) is str else text(output)
    observed = span(made, name="work", **more)
    assert Langfuse().matches(observed)
    return Langfuse().read(observed)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("generation", Role.INFERENCE),
        ("agent", Role.AGENT),
        ("tool", Role.TOOL),
        ("chain", Role.CHAIN),
        ("span", Role.CHAIN),
        ("retriever", Role.NOTHING),
        ("guardrail", Role.NOTHING),
        ("something", Role.STEP),
    ],
)
def test_roles(kind: str, role: Role) -> None:
    assert _read(kind).role is role


def test_a_generation() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    usage = {"prompt_tokens": 120, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 40}}
    facts = _read(
        "generation",
        [{"role": "user", "content": "weather?"}],
        {"role": "assistant", "content": "Let me check.", "tool_calls": [call]},
        {
            "langfuse.observation.usage_details": text(usage),
            "langfuse.observation.model.name": "gpt-4o",
            "session.id": "s1",
        },
    )
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert facts.outputs == [Message("assistant", [Text("Let me check."), ToolCall("c1", "f", {"a": 1})])]
    assert (facts.usage, facts.model, facts.session_id) == (TokenUsage(120, 30, 40), "gpt-4o", "s1")


def test_tokens_in_langfuses_own_words() -> None:
    counts = {
        "input": 80,
        "output": 30,
        "input_cached_tokens": 40,
        "output_reasoning_tokens": 5,
        "total": 155,
    }
    facts = _read("generation", attributes={"langfuse.observation.usage_details": text(counts)})
    assert facts.usage == TokenUsage(80, 30, 40, None, 5)


def test_plain_texts() -> None:
    facts = _read("generation", "weather?", "It is 18.")
    assert facts.inputs == [Message("user", [Text("weather?")])]
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]
    assert _read("generation").hidden == {"inputs", "outputs"}


def test_a_tool() -> None:
    facts = _read("tool", {"args": [], "kwargs": {"city": "Paris"}}, {"temp_c": 18})
    assert (facts.tool_name, facts.arguments, facts.result) == ("work", {"city": "Paris"}, {"temp_c": 18})
    message = {"type": "tool", "content": "gone", "tool_call_id": "c1", "status": "error", "name": "work"}
    told = _read("tool", {"city": "Paris"}, message)
    assert (told.call_id, told.result, told.failed) == ("c1", "gone", True)
    failed = _read("tool", {}, status=STATUS_ERROR, events=[exception("gone")])
    assert (failed.failed, failed.error, failed.hidden) == (True, "gone", set())


def test_failures_by_level() -> None:
    level = {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "gone"}
    facts = _read("span", attributes=level)
    assert (facts.failed, facts.error) == (True, "gone")


def test_functions() -> None:
    facts = _read("agent", {"args": ["weather?"], "kwargs": {}}, "It is 18.")
    assert (facts.agent_name, facts.inputs) == ("work", [Message("user", [Text("weather?")])])
    assert facts.outputs == [Message("assistant", [Text("It is 18.")])]
    assert _read("agent", "go", {"city": "Paris"}).data == {"city": "Paris"}
    assert _read("span", "go", {"city": "Paris"}).data is MISSING


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("hello", "hello"),
        ({"question": "hello"}, "hello"),
        ({"args": ["hello"], "kwargs": {}}, "hello"),
        ({"args": [], "kwargs": {"query": "hello"}}, "hello"),
        (["hello"], "hello"),
        ({"unknown": "hello"}, None),
        ({"question": 5}, None),
        (MISSING, None),
    ],
)
def test_the_one_question_of_a_function(value: Any, said: str | None) -> None:
    expected = None if said is None else [Message("user", [Text(said)])]
    assert request_messages(value, Notes()) == expected


def test_values() -> None:
    assert value_of(None) is MISSING
    assert value_of("<redacted>") is MISSING
    assert value_of('{"a": 1}') == {"a": 1}
    assert value_of("text") == "text"
    assert call_arguments({"args": [1], "kwargs": {}}) == {"args": [1], "kwargs": {}}
    assert call_arguments({"args": [], "kwargs": {}, "more": 1}) == {"args": [], "kwargs": {}, "more": 1}
