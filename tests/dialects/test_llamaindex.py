"""LlamaIndex through OpenInference."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.llamaindex import OpenInferenceLlamaIndex
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import PARENT, exception, span, text

KIND = "openinference.span.kind"
SCOPE = "openinference.instrumentation.llama_index"


def run(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = OpenInferenceLlamaIndex()
    made = span({KIND: kind, **(attributes or {})}, scope=SCOPE, **more)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("CHAIN", "FunctionAgent.run", Role.CHAIN),
        ("CHAIN", "AgentWorkflow.run", Role.WORKFLOW),
        ("CHAIN", "AgentWorkflow.run_agent_step", Role.AGENT),
        ("CHAIN", "FunctionAgent.parse_agent_output", Role.STEP),
        ("AGENT", "OpenAIAgent.chat", Role.AGENT),
        ("LLM", "OpenAI.astream_chat", Role.INFERENCE),
        ("LLM", "OpenAI._prepare_chat_with_tools", Role.STEP),
        ("LLM", "OpenAI.astructured_predict", Role.STEP),
        ("LLM", "StructuredLLM.achat", Role.STEP),
        ("TOOL", "FunctionTool.acall", Role.TOOL),
        ("RETRIEVER", "VectorIndexRetriever.retrieve", Role.NOTHING),
    ],
)
def test_what_a_span_stands_for(kind: str, name: str, role: Role) -> None:
    assert run(kind, name=name).role is role


def test_the_steps_of_one_agent_are_one_invocation() -> None:
    steps = [
        run(
            "CHAIN",
            {"input.value": text({"ev": f"AgentSetup(input=[], current_agent_name='{name}')"})},
            name="AgentWorkflow.run_agent_step",
        )
        for name in ("root", "root", "researcher")
    ]
    assert [step.agent_name for step in steps] == ["root", "root", "researcher"]
    assert [step.same_agent for step in steps] == [True, True, True]
    ids = [step.invocation_id for step in steps]
    assert ids[0] == ids[1] == f"agent:{PARENT.hex()}:root"
    assert ids[2] != ids[0]


def test_a_step_that_executes_one_call() -> None:
    event = "ToolCall(tool_name='get_weather', tool_kwargs={'city': 'Paris'}, tool_id='c1')"
    facts = run("CHAIN", {"input.value": text({"ev": event})}, name="FunctionAgent.call_tool")
    assert facts.role is Role.TOOL
    assert (facts.tool_name, facts.call_id, facts.arguments) == ("get_weather", "c1", {"city": "Paris"})


def test_a_call_whose_arguments_are_no_literals() -> None:
    event = "ToolCall(tool_name='f', tool_kwargs={'x': <object at 0x7f>}, tool_id='c1')"
    facts = run("CHAIN", {"input.value": text({"ev": event})}, name="FunctionAgent.call_tool")
    assert (facts.role, facts.tool_name, facts.call_id) == (Role.TOOL, "f", "c1")


@pytest.mark.parametrize("value", ["", "x", text({"ev": "StopEvent()"}), text({"ev": 1}), "__REDACTED__"])
def test_other_steps_stay_structure(value: str) -> None:
    assert run("CHAIN", {"input.value": value}, name="FunctionAgent.call_tool").role is Role.STEP


def test_a_tool() -> None:
    said: dict[str, Any] = {
        "blocks": [{"block_type": "text", "text": "{'temp_c': 18}"}],
        "tool_name": "get_weather",
        "raw_input": {"args": [], "kwargs": {"city": "Paris"}},
        "raw_output": {"temp_c": 18},
        "is_error": False,
    }
    asked: dict[str, Any] = {
        "args": [],
        "kwargs": {"city": "Paris", "ctx": "<llama_index.core.Context object at 0x7f0a>"},
    }
    facts = run(
        "TOOL",
        {"tool.name": "get_weather", "input.value": text(asked), "output.value": text(said)},
        name="FunctionTool.acall",
    )
    assert (facts.tool_name, facts.arguments, facts.result) == (
        "get_weather",
        {"city": "Paris"},
        {"temp_c": 18},
    )
    assert (facts.failed, facts.hands_over) == (False, False)


def test_a_tool_that_says_it_failed() -> None:
    said = {
        "blocks": [{"block_type": "text", "text": "no"}],
        "tool_name": "f",
        "raw_output": None,
        "is_error": True,
    }
    facts = run("TOOL", {"tool.name": "f", "output.value": text(said)})
    assert facts.failed


def test_a_tool_that_waits_for_a_human() -> None:
    facts = run(
        "TOOL",
        {"tool.name": "send_email", "input.value": text({"to": "a"})},
        status=STATUS_ERROR,
        events=[exception("", "workflows.runtime.types.results.WaitingForEvent")],
    )
    assert (facts.failed, facts.error, facts.paused) == (False, None, True)
    assert facts.questions == [Question(action="send_email", input={"to": "a"})]


def test_a_step_around_it_has_not_failed_either() -> None:
    facts = run(
        "CHAIN",
        name="FunctionAgent.parse_agent_output",
        status=STATUS_ERROR,
        events=[exception("", "WaitingForEvent")],
    )
    assert (facts.failed, facts.paused, facts.questions) == (False, False, [])


def test_the_handoff_tool() -> None:
    asked = {"kwargs": {"to_agent": "researcher", "reason": "facts", "ctx": "<x.Context object at 0x7f>"}}
    facts = run("TOOL", {"tool.name": "handoff", "input.value": text(asked)}, name="FunctionTool.acall")
    assert (facts.role, facts.handoff_to) == (Role.HANDOFF, "researcher")


def test_a_call_that_only_hands_over_the_typed_answer() -> None:
    said: dict[str, Any] = {
        "blocks": [{"text": "temp_c=18 sky='clear'"}],
        "tool_name": "Answer",
        "raw_output": {"temp_c": 18, "sky": "clear"},
    }
    asked = {"tool.name": "Answer", "input.value": text({"kwargs": {"temp_c": 18, "sky": "clear"}})}
    facts = run("TOOL", {**asked, "output.value": text(said)})
    assert (facts.hands_over, facts.data) == (True, {"temp_c": 18, "sky": "clear"})
    said["blocks"] = [{"text": "{'temp_c': 18, 'sky': 'clear'}"}]
    facts = run("TOOL", {**asked, "output.value": text(said)})
    assert (facts.hands_over, facts.data) == (False, MISSING)


def test_a_request() -> None:
    out = "llm.output_messages.0.message."
    facts = run(
        "LLM",
        {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Hi",
            out + "role": "assistant",
            out + "tool_calls.0.tool_call.id": "c1",
            out + "tool_calls.0.tool_call.function.name": "f",
            out + "tool_calls.0.tool_call.function.arguments": "{}",
            "llm.token_count.prompt": 5,
            "llm.model_name": "gpt-4o-mini",
        },
        name="OpenAI.achat",
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {})])]
    assert (facts.usage, facts.model) == (TokenUsage(5), "gpt-4o-mini")


def test_the_same_request_again_tells_its_id_and_reasoning() -> None:
    raw = {"id": "chatcmpl-1", "choices": [{"message": {"role": "assistant", "content": "Hello"}}]}
    message = {
        "role": "assistant",
        "blocks": [
            {"block_type": "thinking", "content": "Hm."},
            {"block_type": "text", "text": "Hello"},
        ],
    }
    facts = run("LLM", {"output.value": text({"message": message, "raw": raw})}, name="OpenAI.achat")
    assert facts.response_id == "chatcmpl-1"
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("Hello")])]


def test_redacted_content() -> None:
    facts = run("LLM", {"input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert facts.hidden == {"inputs", "outputs"}
