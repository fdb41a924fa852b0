"""Haystack: its own tracing, and OpenInference's view of it."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.haystack import Haystack, OpenInferenceHaystack, read_chat_messages
from otel_turns.dialects.messages import Notes
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
from tests.dialects.spans import SPAN, span, text

KIND = "openinference.span.kind"
USER = "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='Hi')], _name=None, _meta={})"
ASKS = (
    "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='Checking.'), "
    "ToolCall(tool_name='f', arguments={'a': 1}, id='c1', extra=None)], _name=None, _meta={'model': 'm'})"
)
TOLD = (
    "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='{\"b\": 2}', "
    "origin=ToolCall(tool_name='f', arguments={'a': 1}, id='c1', extra=None), error=False)], "
    "_name=None, _meta={})"
)
SAYS = (
    "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[ReasoningContent(reasoning_text='Hm.', "
    "extra={}), TextContent(text='Done.')], _name=None, _meta={})"
)
RUN = [
    Message("assistant", [Text("Checking."), ToolCall("c1", "f", {"a": 1})]),
    Message("tool", [ToolResult("c1", "f", {"b": 2})]),
    Message("assistant", [Reasoning("Hm."), Text("Done.")]),
]
DICTS: list[dict[str, Any]] = [
    {"role": "user", "meta": {}, "content": [{"text": "Hi"}]},
    {
        "role": "assistant",
        "content": [
            {"text": "Checking."},
            {"tool_call": {"tool_name": "f", "arguments": {"a": 1}, "id": "c1"}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {
                "tool_call_result": {
                    "result": '{"b": 2}',
                    "origin": {"tool_name": "f", "arguments": {"a": 1}, "id": "c1"},
                    "error": False,
                }
            }
        ],
    },
    {"role": "assistant", "content": [{"reasoning": {"reasoning_text": "Hm."}}, {"text": "Done."}]},
]


def phoenix(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = OpenInferenceHaystack()
    made = span({KIND: kind, **(attributes or {})}, scope="openinference.instrumentation.haystack", **more)
    assert dialect.matches(made)
    return dialect.read(made)


def native(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = Haystack()
    made = span(attributes, name=name, scope="haystack", **more)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize("listed", [[USER, ASKS, TOLD, SAYS], DICTS])
def test_messages_as_repr_and_as_dictionary(listed: list[Any]) -> None:
    assert read_chat_messages(listed, Notes()) == [Message("user", [Text("Hi")]), *RUN]


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [{"role": "x"}], "ChatMessage("])
def test_other_values_are_no_messages(value: Any) -> None:
    assert read_chat_messages(value, Notes()) is None


def test_a_failed_result_in_a_message() -> None:
    failed = TOLD.replace("error=False", "error=True").replace('{"b": 2}', "no")
    assert read_chat_messages([failed], Notes()) == [
        Message("tool", [ToolResult("c1", "f", "no", failed=True)])
    ]


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("CHAIN", "Pipeline.run", Role.WORKFLOW),
        ("CHAIN", "AsyncPipeline.run_async_generator", Role.WORKFLOW),
        ("CHAIN", "Agent.run", Role.AGENT),
        ("AGENT", "Agent.run", Role.AGENT),
        ("CHAIN", "ToolInvoker.run", Role.STEP),
        ("LLM", "OpenAIChatGenerator.run", Role.INFERENCE),
        ("RETRIEVER", "InMemoryBM25Retriever.run", Role.NOTHING),
    ],
)
def test_what_a_span_stands_for(kind: str, name: str, role: Role) -> None:
    assert phoenix(kind, name=name).role is role


def test_an_agent_tells_its_whole_run() -> None:
    facts = phoenix(
        "CHAIN",
        {
            "input.value": text({"messages": [USER]}),
            "output.value": text({"messages": [USER, ASKS, TOLD, SAYS], "last_message": SAYS}),
        },
        name="Agent.run",
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == RUN
    assert facts.invocation_id == f"agent:{SPAN.hex()}"


def test_redacted_content() -> None:
    facts = phoenix(
        "AGENT", {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}, name="Agent.run"
    )
    assert facts.hidden == {"inputs", "outputs"}


@pytest.mark.parametrize(
    ("name", "attributes", "role"),
    [
        ("haystack.agent.run", {}, Role.AGENT),
        ("haystack.agent.step", {}, Role.STEP),
        ("haystack.agent.step.llm", {}, Role.INFERENCE),
        ("haystack.agent.step.tool", {}, Role.TOOL),
        ("haystack.pipeline.run", {}, Role.WORKFLOW),
        ("haystack.async_pipeline.run", {}, Role.WORKFLOW),
        ("haystack.component.run", {"haystack.component.type": "OpenAIChatGenerator"}, Role.INFERENCE),
        ("haystack.component.run", {"haystack.component.type": "Agent"}, Role.STEP),
    ],
)
def test_its_own_spans(name: str, attributes: dict[str, Any], role: Role) -> None:
    assert native(name, attributes).role is role


def test_other_spans() -> None:
    assert not Haystack().matches(span({"haystack.component.name": "x"}, name="retrieve"))


def test_its_own_agent() -> None:
    facts = native(
        "haystack.agent.run",
        {
            "haystack.agent.input": text({"messages": DICTS[:1]}),
            "haystack.agent.output": text({"messages": DICTS}),
        },
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == RUN


def test_its_own_request() -> None:
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    reply = {**DICTS[1], "meta": {"model": "gpt-4o-mini", "usage": usage}}
    facts = native(
        "haystack.agent.step.llm",
        {
            "haystack.agent.step.llm.input": text({"messages": DICTS[:1]}),
            "haystack.agent.step.llm.output": text({"replies": [reply]}),
        },
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == RUN[:1]
    assert (facts.model, facts.usage) == ("gpt-4o-mini", TokenUsage(5, 2, 1, None, 0))
    assert facts.hidden == set()


def test_its_own_request_without_content() -> None:
    facts = native("haystack.agent.step.llm")
    assert (facts.inputs, facts.outputs, facts.hidden) == (None, None, {"inputs", "outputs"})


def test_its_own_tool() -> None:
    facts = native(
        "haystack.agent.step.tool",
        {
            "haystack.tool.name": "f",
            "haystack.agent.step.tool.input": text({"a": 1}),
            "haystack.agent.step.tool.output": text({"b": 2}),
        },
    )
    assert (facts.tool_name, facts.arguments, facts.result) == ("f", {"a": 1}, {"b": 2})
    assert not facts.failed


def test_its_own_tool_that_failed_under_status_unset() -> None:
    facts = native(
        "haystack.agent.step.tool",
        {"haystack.tool.name": "f", "haystack.agent.step.tool.output": text({"error": "no such city"})},
    )
    assert (facts.failed, facts.error) == (True, "no such city")


def test_an_agent_as_a_tool_answers_with_its_last_words() -> None:
    told = {"messages": DICTS, "last_message": DICTS[3]}
    facts = native("haystack.agent.step.tool", {"haystack.agent.step.tool.output": text(told)})
    assert facts.result == "Done."


def test_its_own_tool_without_content() -> None:
    facts = native("haystack.agent.step.tool", {"haystack.tool.name": "f"})
    assert (facts.arguments, facts.result, facts.hidden) == (MISSING, MISSING, {"arguments", "result"})
