"""The OpenAI Agents SDK under OpenTelemetry's present and earlier instrumentation."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.openai_agents import OpenAIAgents, OpenAIAgentsV2
from otel_turns.model.facts import MISSING, Facts, Message, Question, Reasoning, Role, Text, ToolCall
from otel_turns.model.span import KIND_CLIENT, KIND_SERVER, STATUS_ERROR, STATUS_OK, Span
from tests.dialects.spans import span, text

SCOPE = "opentelemetry.instrumentation.genai.openai_agents"
V2_SCOPE = "opentelemetry.instrumentation.openai_agents"


def read(source: Span) -> Facts:
    dialect = OpenAIAgents()
    assert dialect.matches(source)
    return dialect.read(source)


def read_v2(attributes: dict[str, Any], **more: Any) -> Facts:
    source = span(
        {"gen_ai.provider.name": "openai", "gen_ai.system": "openai", **attributes}, scope=V2_SCOPE, **more
    )
    dialect = OpenAIAgentsV2()
    assert dialect.matches(source)
    return dialect.read(source)


def tool(attributes: dict[str, Any], **more: Any) -> Facts:
    own = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delete_file"}
    return read(span({**own, **attributes}, scope=SCOPE, **more))


def test_a_call_without_result_and_error_waits_for_approval() -> None:
    facts = tool({"gen_ai.tool.call.arguments": '{"path":"/tmp/x"}'})
    assert facts.paused
    assert facts.questions == [Question(None, "delete_file", {"path": "/tmp/x"})]


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "done"}, STATUS_OK),
        ({"gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": ""}, STATUS_OK),
        ({"gen_ai.tool.call.arguments": "{}", "error.type": "_OTHER"}, STATUS_ERROR),
        ({}, STATUS_OK),
    ],
    ids=["result", "empty result", "error", "content hidden"],
)
def test_any_other_call_does_not(attributes: dict[str, Any], status: int) -> None:
    facts = tool(attributes, status=status)
    assert (facts.paused, facts.questions) == (False, [])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "{'message': 'Error in agent run', 'data': {'error': 'Error running tool f: no such file'}}",
            "Error running tool f: no such file",
        ),
        ("{'message': 'Max turns exceeded', 'data': {'max_turns': 10}}", "Max turns exceeded"),
        ("{'message': 'Tool choice error', 'data': None}", "Tool choice error"),
        ("Error running tool: {'tool_name': 'f', 'error': 'no such file'}", "no such file"),
        ("Max turns exceeded: {'max_turns': 10}", "Max turns exceeded"),
        ("Tool choice error: None", "Tool choice error"),
        ("It broke: {badly}", "It broke: {badly}"),
        ("plain words: more", "plain words: more"),
        ("{broken", "{broken"),
    ],
)
def test_the_sdks_error_object_says_its_words(message: str, words: str) -> None:
    assert tool({"error.type": "_OTHER"}, status=STATUS_ERROR, message=message).error == words


def test_the_levels_of_the_present_one() -> None:
    assert read(span({"gen_ai.operation.name": "invoke_workflow"}, scope=SCOPE)).role is Role.WORKFLOW
    assert (
        read(
            span({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, scope=SCOPE)
        ).agent_name
        == "a"
    )


def test_v2_is_told_from_openllmetry_by_its_marks() -> None:
    theirs = span({"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}, scope=V2_SCOPE)
    assert not OpenAIAgentsV2().matches(theirs)


def test_v2_the_root_is_a_workflow() -> None:
    facts = read_v2(
        {"gen_ai.operation.name": "invoke_agent"}, name="Agent workflow", kind=KIND_SERVER, root=True
    )
    assert (facts.role, facts.agent_name) == (Role.WORKFLOW, None)


def test_v2_a_parentless_agent_of_a_resumed_run_is_an_agent() -> None:
    facts = read_v2(
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "assistant",
            "server.address": "api.openai.com",
        },
        name="invoke_agent assistant",
        kind=KIND_CLIENT,
        root=True,
    )
    assert (facts.role, facts.agent_name, facts.remote_url) == (Role.AGENT, "assistant", None)


def test_v2_tasks_and_turns_are_structure() -> None:
    assert (
        read_v2(
            {"gen_ai.operation.name": "unknown", "gen_ai.agent.name": "OpenAI Agent"}, name="unknown"
        ).role
        is Role.STEP
    )


def test_v2_the_default_agent_name_names_nobody() -> None:
    assert (
        read_v2({"gen_ai.operation.name": "execute_tool", "gen_ai.agent.name": "OpenAI Agent"}).agent_name
        is None
    )


def test_v2_a_handoff() -> None:
    facts = read_v2(
        {
            "gen_ai.operation.name": "agent_handoff",
            "gen_ai.handoff.from_agent": "a",
            "gen_ai.handoff.to_agent": "b",
        }
    )
    assert (facts.role, facts.handoff_from, facts.handoff_to) == (Role.HANDOFF, "a", "b")


REPRS = [
    (
        "ResponseFunctionToolCall(arguments='{\"city\": \"Paris\"}', call_id='call_1', name='get_weather', "
        "type='function_call', id='fc_1', status='completed')",
        ToolCall("call_1", "get_weather", {"city": "Paris"}, ("fc_1",)),
    ),
    (
        "ResponseReasoningItem(id='rs_1', summary=[Summary(text='Hm.', type='summary_text')], "
        "type='reasoning', status=None)",
        Reasoning("Hm."),
    ),
    (
        "{'annotations': [], 'text': 'Let me check.', 'type': 'output_text', 'logprobs': []}",
        Text("Let me check."),
    ),
    (
        "{'content': None, 'role': 'assistant', 'tool_calls': [{'id': 'call_1', 'type': 'function', "
        "'function': {'name': 'get_weather', 'arguments': '{}'}}]}",
        ToolCall("call_1", "get_weather", {}),
    ),
    ("Response (see above)", Text("Response (see above)")),
    ("{'a': 1}", Text("{'a': 1}")),
    ("Responses vary.", Text("Responses vary.")),
]


@pytest.mark.parametrize(("said", "part"), REPRS)
def test_v2_the_repr_of_an_item_is_the_item(said: str, part: Any) -> None:
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]
    facts = read_v2({"gen_ai.operation.name": "chat", "gen_ai.output.messages": text(messages)})
    assert facts.outputs == [Message("assistant", [part])]


def test_v2_redaction() -> None:
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": "readacted"}]}]
    facts = read_v2({"gen_ai.operation.name": "chat", "gen_ai.output.messages": text(messages)})
    assert facts.outputs == [Message("assistant", [])]
    assert "outputs" in facts.hidden


def test_v2_a_pending_call() -> None:
    own = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.arguments": "{}",
    }
    facts = read_v2(own)
    assert (facts.paused, facts.result) == (True, MISSING)
