"""OpenInference itself: roles, requests, tools, agents, failures, redaction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.openinference import OpenInference, last_words
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Message,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import exception, span, text

KIND = "openinference.span.kind"
OUT = "llm.output_messages.0.message."


def read(made: Span) -> Facts:
    dialect = OpenInference()
    assert dialect.matches(made)
    return dialect.read(made)


def llm(attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    return read(span({KIND: "LLM", **(attributes or {})}, **more))


def tool(attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    return read(span({KIND: "TOOL", "tool.name": "f", **(attributes or {})}, **more))


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("LLM", Role.INFERENCE),
        ("llm", Role.INFERENCE),
        ("TOOL", Role.TOOL),
        ("AGENT", Role.AGENT),
        ("CHAIN", Role.CHAIN),
        ("RETRIEVER", Role.NOTHING),
        ("RERANKER", Role.NOTHING),
        ("EMBEDDING", Role.NOTHING),
        ("GUARDRAIL", Role.NOTHING),
        ("EVALUATOR", Role.NOTHING),
        ("PROMPT", Role.NOTHING),
        ("A_KIND_OF_TOMORROW", Role.STEP),
    ],
)
def test_the_kind_says_the_role(kind: str, role: Role) -> None:
    assert read(span({KIND: kind})).role is role


def test_only_spans_with_a_kind_are_read() -> None:
    dialect = OpenInference()
    assert not dialect.matches(span({}))
    assert not dialect.matches(span({KIND: ""}))
    assert not dialect.matches(span({"llm.model_name": "m"}))


def test_numbered_messages_usage_and_model() -> None:
    facts = llm(
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Weather?",
            OUT + "role": "assistant",
            OUT + "content": "Checking.",
            OUT + "tool_calls.0.tool_call.id": "c1",
            OUT + "tool_calls.0.tool_call.function.name": "f",
            OUT + "tool_calls.0.tool_call.function.arguments": '{"a": 1}',
            "llm.model_name": "gpt-4o-mini",
            "llm.token_count.prompt": 120,
            "llm.token_count.completion": 30,
            "llm.token_count.total": 150,
            "llm.token_count.prompt_details.cache_read": 40,
            "llm.token_count.prompt_details.cache_write": 0,
            "llm.token_count.completion_details.reasoning": 7,
            "session.id": "s1",
        }
    )
    assert facts.inputs == [Message("user", [Text("Weather?")])]
    assert facts.outputs == [Message("assistant", [Text("Checking."), ToolCall("c1", "f", {"a": 1})])]
    assert facts.usage == TokenUsage(120, 30, 40, 0, 7)
    assert facts.input_includes_cache is True
    assert (facts.model, facts.session_id) == ("gpt-4o-mini", "s1")


def test_several_output_messages_are_one_reply() -> None:
    facts = llm(
        {
            OUT + "role": "assistant",
            OUT + "contents.0.message_content.type": "reasoning",
            OUT + "contents.0.message_content.text": "Hm.",
            "llm.output_messages.1.message.role": "assistant",
            "llm.output_messages.1.message.content": "Hello.",
        }
    )
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("Hello.")])]


def test_the_raw_exchange_tells_more_than_the_numbered_messages() -> None:
    """Anthropic's results of parallel calls overwrite each other among the numbered attributes."""
    blocks = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True},
    ]
    facts = llm(
        {
            "input.value": text({"messages": [{"role": "user", "content": blocks}]}),
            "output.value": text(
                {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "Done."}]}
            ),
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.tool_call_id": "c2",
            "llm.input_messages.0.message.content": "no",
        }
    )
    assert facts.inputs is not None
    results = [part for message in facts.inputs for part in message.parts]
    assert results == [
        ToolResult("c1", None, "one"),
        ToolResult("c2", None, "no", failed=True),
    ]
    assert facts.outputs == [Message("assistant", [Text("Done.")])]
    assert facts.response_id == "msg_1"


def test_numbered_messages_stand_in_where_the_raw_response_was_cut() -> None:
    facts = llm({"output.value": '{"id": "chatcmpl-1", "choices": [{"me', OUT + "content": "Hello."})
    assert facts.response_id == "chatcmpl-1"
    assert facts.outputs == [Message("assistant", [Text("Hello.")])]


def test_counted_tokens_win_over_those_of_the_raw_response() -> None:
    raw = {"output.value": text({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 9}})}
    assert llm(raw).usage == TokenUsage(9)
    assert llm({**raw, "llm.token_count.prompt": 10}).usage == TokenUsage(10)
    assert llm().usage is None


SCHEMA = {"llm.invocation_parameters": text({"response_format": {"type": "json_schema", "json_schema": {}}})}


@pytest.mark.parametrize(
    ("reply", "structured"),
    [
        ({OUT + "content": '{"temp_c": 18}'}, True),
        ({OUT + "content": "Sorry, no."}, False),
        (
            {OUT + "content": "{}", OUT + "tool_calls.0.tool_call.function.name": "f"},
            False,
        ),
    ],
)
def test_a_reply_is_typed_where_json_was_asked_for_and_given(reply: dict[str, Any], structured: bool) -> None:
    assert llm({**SCHEMA, **reply}).structured is structured
    assert llm(reply).structured is False


def test_the_previous_response() -> None:
    facts = llm({"llm.invocation_parameters": text({"previous_response_id": "resp_0"})})
    assert facts.previous_response_id == "resp_0"


def test_redacted_content_is_hidden() -> None:
    facts = llm({"input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert (facts.inputs, facts.outputs) == (None, None)
    assert facts.hidden == {"inputs", "outputs"}
    facts = tool({"input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert (facts.arguments, facts.result) == (MISSING, MISSING)
    assert facts.hidden == {"arguments", "result"}
    facts = read(span({KIND: "AGENT", "input.value": "__REDACTED__", "output.value": "__REDACTED__"}))
    assert facts.hidden == {"inputs", "outputs"}


def test_a_tool() -> None:
    facts = tool(
        {
            "tool_call.id": "c1",
            "input.value": text({"city": "Paris"}),
            "input.mime_type": "application/json",
            "output.value": text({"temp_c": 18}),
        }
    )
    assert (facts.tool_name, facts.call_id) == ("f", "c1")
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})


def test_a_tool_without_a_name_is_called_like_its_span() -> None:
    assert read(span({KIND: "TOOL"}, name="get_weather")).tool_name == "get_weather"


@pytest.mark.parametrize("value", ["Paris", "18", "[1]", "true"])
def test_the_name_of_a_bare_argument_is_lost(value: str) -> None:
    assert tool({"input.value": value}).arguments is MISSING


def test_unless_the_tools_schema_has_only_one() -> None:
    one = text({"type": "object", "properties": {"city": {"type": "string"}}})
    assert tool({"input.value": "75001", "tool.parameters": one}).arguments == {"city": "75001"}
    number = text({"properties": {"n": {"type": "integer"}}})
    assert tool({"input.value": "3", "tool.parameters": number}).arguments == {"n": 3}
    two = text({"properties": {"a": {}, "b": {}}})
    assert tool({"input.value": "x", "tool.parameters": two}).arguments is MISSING


@pytest.mark.parametrize(
    ("value", "result"),
    [("plain", "plain"), ("42", 42), ('{"a": null}', {"a": None}), ("null", None), ("", "")],
)
def test_a_result_is_parsed_where_it_is_json(value: str, result: Any) -> None:
    assert tool({"output.value": value}).result == result


def test_a_tools_exception_is_its_failure() -> None:
    facts = tool(status=STATUS_ERROR, message="ValueError: no such city", events=[exception("no such city")])
    assert (facts.failed, facts.error, facts.error_type) == (True, "no such city", "ValueError")


def test_an_error_with_its_traceback() -> None:
    told = (
        "ValueError('no such city')Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x"
    )
    facts = tool(status=STATUS_ERROR, message=told)
    assert (facts.failed, facts.error) == (True, "no such city")


@pytest.mark.parametrize(
    ("value", "outputs"),
    [
        ("It is 18 degrees.", [Message("assistant", [Text("It is 18 degrees.")])]),
        (
            text({"messages": [{"role": "user", "content": "Hi"}]}),
            None,
        ),
        (text([{"role": "assistant", "content": "Hello"}]), [Message("assistant", [Text("Hello")])]),
        (text({"score": 3}), None),
        (text(["a", "b"]), None),
        ("", None),
    ],
)
def test_the_answer_of_an_agent(value: str, outputs: list[Message] | None) -> None:
    facts = read(span({KIND: "AGENT", "agent.name": "root", "output.value": value}, name="run"))
    assert facts.outputs == outputs
    assert facts.agent_name == "root"


def test_an_agent_without_a_name_is_called_like_its_span() -> None:
    assert read(span({KIND: "AGENT"}, name="Researcher")).agent_name == "Researcher"
    assert read(span({KIND: "AGENT", "graph.node.name": "n"}, name="x")).agent_name == "n"


def test_what_a_user_asked_an_agent() -> None:
    facts = read(span({KIND: "CHAIN", "input.value": "Weather?"}))
    assert facts.inputs == [Message("user", [Text("Weather?")])]


CALL = ToolCall("c1", "f", {})


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (None, None),
        ([], None),
        ([Message("user", [Text("Hi")])], None),
        ([Message("assistant", [Text("a")]), Message("assistant", [Text("b")])], 1),
        ([Message("assistant", [Text("a")]), Message("tool", [ToolResult("c1")])], 0),
        ([Message("assistant", [Text("a"), CALL])], None),
        ([Message("assistant", [])], None),
    ],
)
def test_the_last_words(messages: list[Message] | None, words: int | None) -> None:
    expected = None if words is None or messages is None else [messages[words]]
    assert last_words(messages) == expected


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "input.value",
                "output.value",
                "tool.name",
                "tool_call.id",
                "tool.parameters",
                "llm.invocation_parameters",
                "llm.token_count.prompt",
                "llm.model_name",
                "session.id",
                "agent.name",
                "metadata",
            ]
        ),
        st.one_of(
            st.none(),
            st.integers(),
            st.text(max_size=6),
            st.lists(st.text(max_size=3), max_size=2),
            st.sampled_from(
                ["{", "[", "{}", "[]", "[[]]", '{"messages": 1}', '{"choices": [1]}', '{"output": [{}]}']
            ),
        ),
    ),
    st.sampled_from(["LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER"]),
)
def test_odd_values_never_raise(attributes: dict[str, Any], kind: str) -> None:
    facts = read(span({**attributes, KIND: kind}))
    assert facts.convention.name == "openinference"
    assert json.dumps(facts.role.value)
