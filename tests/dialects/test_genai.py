"""OpenTelemetry GenAI: roles, carriers of content, usage, failures, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.genai import GenAI
from otel_turns.model.facts import (
    MISSING,
    Facts,
    Mark,
    Message,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import KIND_CLIENT, STATUS_ERROR, LogRecord, Span, SpanEvent
from tests.dialects.spans import END, event, exception, record, same, span, text

DETAILS = "gen_ai.client.inference.operation.details"
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "What is the weather in Paris?"}]}]
SAID = [
    {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": "Let me check."},
            {"type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}},
        ],
        "finish_reason": "tool_call",
    }
]
INPUTS = [Message("user", [Text("What is the weather in Paris?")])]
OUTPUTS = [
    Message("assistant", [Text("Let me check."), ToolCall("call_1", "get_weather", {"city": "Paris"})])
]


def read(span: Span) -> Facts:
    dialect = GenAI()
    assert dialect.matches(span)
    return dialect.read(span)


def read_record(record: LogRecord) -> Facts:
    dialect = GenAI()
    assert dialect.matches_log(record)
    facts = dialect.read_log(record)
    assert facts is not None
    return facts


def chat(attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    return read(span({"gen_ai.operation.name": "chat", **(attributes or {})}, **more))


def tool(attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    return read(span({"gen_ai.operation.name": "execute_tool", **(attributes or {})}, **more))


@pytest.mark.parametrize(
    ("operation", "role"),
    [
        ("chat", Role.INFERENCE),
        ("text_completion", Role.INFERENCE),
        ("generate_content", Role.INFERENCE),
        ("Chat", Role.INFERENCE),
        ("execute_tool", Role.TOOL),
        ("invoke_agent", Role.AGENT),
        ("invoke_workflow", Role.WORKFLOW),
        ("create_agent", Role.NOTHING),
        ("embeddings", Role.NOTHING),
        ("retrieval", Role.NOTHING),
        ("search_memory", Role.NOTHING),
        ("plan", Role.STEP),
        ("an_operation_of_tomorrow", Role.STEP),
    ],
)
def test_the_operation_says_the_role(operation: str, role: Role) -> None:
    assert read(span({"gen_ai.operation.name": operation})).role is role


@pytest.mark.parametrize("key", ["gen_ai.tool.name", "gen_ai.tool.call.id"])
def test_a_tools_name_or_call_id_alone_is_a_tool(key: str) -> None:
    assert read(span({key: "x"})).role is Role.TOOL


@pytest.mark.parametrize(
    ("more", "events"),
    [
        ({"gen_ai.usage.input_tokens": 3}, []),
        ({"gen_ai.output.messages": text(SAID)}, []),
        ({}, [event("gen_ai.choice", {"message": "Hello"})]),
    ],
)
def test_a_model_and_a_provider_that_speak_are_a_request(
    more: dict[str, Any], events: list[SpanEvent]
) -> None:
    identity = {"gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o-mini"}
    assert read(span({**identity, **more}, events=events)).role is Role.INFERENCE


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"gen_ai.operation.name": ""},
        {"gen_ai.tool.name": "", "gen_ai.tool.call.id": ""},
        {"gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini"},
        {"gen_ai.request.model": "gpt-4o-mini", "gen_ai.usage.input_tokens": 3},
        {"gen_ai.agent.name": "root", "gen_ai.conversation.id": "c"},
    ],
)
def test_identity_and_empty_values_recognise_nothing(attributes: dict[str, Any]) -> None:
    assert not GenAI().matches(span(attributes))


@pytest.mark.parametrize("structured", [False, True])
def test_messages_as_attributes(structured: bool) -> None:
    facts = chat(
        {
            "gen_ai.input.messages": ASKED if structured else text(ASKED),
            "gen_ai.output.messages": SAID if structured else text(SAID),
            "gen_ai.system_instructions": text([{"type": "text", "content": "Be brief."}]),
        }
    )
    assert facts.inputs == [Message("system", [Text("Be brief.")]), *INPUTS]
    assert facts.outputs == OUTPUTS
    assert facts.hidden == set()


def test_messages_on_a_details_event() -> None:
    events = [
        event(DETAILS, {"gen_ai.system_instructions": text([{"type": "text", "content": "Be brief."}])}, 1),
        event(DETAILS, {"gen_ai.input.messages": ASKED}, 2),
        event(DETAILS, {"gen_ai.output.messages": text(SAID)}, 3),
    ]
    facts = chat(events=events)
    assert facts.inputs is not None
    assert sorted(message.role for message in facts.inputs) == ["system", "user"]
    assert facts.outputs == OUTPUTS


def test_messages_as_a_details_record() -> None:
    facts = read_record(
        record(
            DETAILS,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": ASKED,
                "gen_ai.output.messages": SAID,
                "gen_ai.usage.input_tokens": 120,
                "gen_ai.response.id": "r1",
            },
        )
    )
    assert (facts.role, facts.supplements) == (Role.INFERENCE, "whole")
    assert (facts.inputs, facts.outputs) == (INPUTS, OUTPUTS)
    assert (facts.usage, facts.response_id) == (TokenUsage(input=120), "r1")


def test_a_record_without_a_span_stands_by_itself() -> None:
    assert read_record(record(DETAILS, {"gen_ai.output.messages": SAID}, span_id=None)).supplements is None


LEGACY = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "What is the weather in Paris?"}),
    (
        "gen_ai.assistant.message",
        {"tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    ),
    ("gen_ai.tool.message", {"id": "call_0", "content": "done"}),
    (
        "gen_ai.choice",
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "content": "Let me check.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                    }
                ],
            },
        },
    ),
]
LEGACY_INPUTS = [
    Message("system", [Text("Be brief.")]),
    Message("user", [Text("What is the weather in Paris?")]),
    Message("assistant", [ToolCall("call_0", "f", {})]),
    Message("tool", [ToolResult("call_0", None, "done")]),
]


def test_message_events_of_a_span() -> None:
    events = [event(name, body, time) for time, (name, body) in enumerate(LEGACY)]
    facts = chat(events=events)
    assert facts.inputs == LEGACY_INPUTS
    assert facts.outputs == OUTPUTS


def test_message_events_with_their_body_as_text() -> None:
    events = [event(name, {"gen_ai.event.content": text(body)}) for name, body in LEGACY]
    facts = chat(events=events)
    assert (facts.inputs, facts.outputs) == (LEGACY_INPUTS, OUTPUTS)


@pytest.mark.parametrize("encode", [same, text], ids=["structure", "text"])
def test_message_events_as_records(encode: Any) -> None:
    read = [read_record(record(name, body=encode(body))) for name, body in LEGACY]
    assert {facts.supplements for facts in read} == {"piece"}
    assert [message for facts in read for message in facts.inputs or ()] == LEGACY_INPUTS
    assert [message for facts in read for message in facts.outputs or ()] == OUTPUTS


def test_an_event_may_have_its_name_in_an_attribute() -> None:
    facts = read_record(record("", {"event.name": "gen_ai.user.message"}, body=text({"content": "Hello"})))
    assert facts.inputs == [Message("user", [Text("Hello")])]


def test_records_without_content_still_name_the_call() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather"}}
    facts = read_record(
        record("gen_ai.choice", body={"index": 0, "message": {"role": "assistant", "tool_calls": [call]}})
    )
    assert facts.outputs == [Message("assistant", [ToolCall("call_1", "get_weather", MISSING)])]
    assert "outputs" in facts.hidden


def test_content_events_of_the_first_versions() -> None:
    events = [
        event("gen_ai.content.prompt", {"gen_ai.prompt": text([{"role": "user", "content": "Hello"}])}),
        event(
            "gen_ai.content.completion",
            {"gen_ai.completion": text([{"role": "assistant", "content": "Hi."}])},
        ),
    ]
    facts = chat(events=events)
    assert facts.inputs == [Message("user", [Text("Hello")])]
    assert facts.outputs == [Message("assistant", [Text("Hi.")])]


def test_a_placeholder_is_hidden_content() -> None:
    facts = chat({"gen_ai.input.messages": "[REDACTED]", "gen_ai.output.messages": "<elided>"})
    assert (facts.inputs, facts.outputs) == (None, None)
    assert facts.hidden == {"inputs", "outputs"}


def test_the_reply_of_a_failed_request_is_not_missing() -> None:
    facts = chat(
        {"gen_ai.input.messages": text(ASKED), "error.type": "500"}, status=STATUS_ERROR, message="boom"
    )
    assert (facts.failed, facts.error, facts.error_type) == (True, "boom", "500")
    assert facts.hidden == set()


@pytest.mark.parametrize(
    ("attributes", "usage"),
    [
        ({"gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 3}, TokenUsage(12, 3)),
        ({"gen_ai.usage.prompt_tokens": 12, "gen_ai.usage.completion_tokens": "3"}, TokenUsage(12, 3)),
        ({"gen_ai.usage.input_tokens": 12, "gen_ai.usage.prompt_tokens": 12}, TokenUsage(12)),
        ({"gen_ai.usage.input_tokens": 12, "gen_ai.usage.prompt_tokens": 99}, TokenUsage(12)),
        ({"gen_ai.usage.cache_read.input_tokens": 4}, TokenUsage(cache_read=4)),
        ({"gen_ai.usage.cache_read_input_tokens": 4}, TokenUsage(cache_read=4)),
        ({"gen_ai.usage.details.cache_read_tokens": 4}, TokenUsage(cache_read=4)),
        ({"gen_ai.usage.cache_creation.input_tokens": 5}, TokenUsage(cache_creation=5)),
        ({"gen_ai.usage.cache_write.input_tokens": 5}, TokenUsage(cache_creation=5)),
        ({"gen_ai.usage.reasoning.output_tokens": 6}, TokenUsage(reasoning=6)),
        ({"gen_ai.usage.reasoning_tokens": 6}, TokenUsage(reasoning=6)),
        ({"gen_ai.usage.details.reasoning_tokens": 0}, TokenUsage(reasoning=0)),
        ({"gen_ai.usage.input_tokens": "many"}, None),
        (
            {
                "gen_ai.usage.partial.input_tokens": 7,
                "gen_ai.usage.cost": 0.1,
                "gen_ai.usage.total_tokens": 9,
            },
            None,
        ),
    ],
)
def test_usage_in_every_spelling(attributes: dict[str, Any], usage: TokenUsage | None) -> None:
    assert chat(attributes).usage == usage


@pytest.mark.parametrize("key", ["gen_ai.conversation.id", "session.id", "gen_ai.thread.id"])
def test_the_session(key: str) -> None:
    assert chat({key: "s1"}).session_id == "s1"


JSON_ANSWER = [{"role": "assistant", "parts": [{"type": "text", "content": '{"city": "Paris"}'}]}]


@pytest.mark.parametrize(
    "wish",
    [
        {"gen_ai.output.type": "json"},
        {"gen_ai.request.structured_output_schema": "{}"},
        {"gen_ai.openai.request.response_format": "json_schema"},
        {"gen_ai.request.response_format": '{"type": "json_object"}'},
        {"gen_ai.request.response_format": {"type": "json_schema"}},
    ],
)
def test_an_answer_that_was_asked_for_as_json_is_typed(wish: dict[str, Any]) -> None:
    assert chat({**wish, "gen_ai.output.messages": JSON_ANSWER}).structured
    assert not chat({**wish, "gen_ai.output.messages": SAID}).structured


def test_json_that_nobody_asked_for_is_words() -> None:
    assert not chat({"gen_ai.output.messages": JSON_ANSWER}).structured
    assert not chat({"gen_ai.output.type": "text", "gen_ai.output.messages": JSON_ANSWER}).structured


def test_an_agents_typed_answer_is_data() -> None:
    facts = read(
        span(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.output.type": "json",
                "gen_ai.output.messages": JSON_ANSWER,
            }
        )
    )
    assert facts.data == {"city": "Paris"}


def test_a_tool() -> None:
    facts = tool(
        {
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.tool.call.arguments": '{"city": "Paris"}',
            "gen_ai.tool.call.result": {"temp_c": 18},
        }
    )
    assert (facts.tool_name, facts.call_id) == ("get_weather", "call_1")
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})
    assert (facts.failed, facts.hidden) == (False, set())


def test_a_tools_name_may_stand_in_the_spans() -> None:
    assert tool(name="execute_tool get_weather").tool_name == "get_weather"


def test_a_tool_without_content() -> None:
    facts = tool({"gen_ai.tool.name": "f", "gen_ai.tool.call.arguments": "<REDACTED>"})
    assert (facts.arguments, facts.result, facts.hidden) == (MISSING, MISSING, {"arguments", "result"})


def test_a_failed_tool() -> None:
    facts = tool(
        {"gen_ai.tool.name": "f", "gen_ai.tool.call.result": "{}"},
        status=STATUS_ERROR,
        events=[exception("it broke")],
    )
    assert (facts.failed, facts.error, facts.result) == (True, "it broke", MISSING)


def test_a_tool_whose_exception_was_handled_failed() -> None:
    assert tool({"gen_ai.tool.name": "f"}, events=[exception("it broke")]).error == "it broke"


def test_arguments_that_do_not_parse_stay_text() -> None:
    facts = tool({"gen_ai.tool.call.arguments": "{half"})
    assert (facts.arguments, facts.unparsable) == ("{half", True)


def test_an_agent() -> None:
    facts = read(
        span(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "root",
                "gen_ai.agent.id": "a1",
                "gen_ai.agent.version": "2",
                "gen_ai.input.messages": text(ASKED),
                "gen_ai.output.messages": text(JSON_ANSWER),
            }
        )
    )
    assert (facts.agent_name, facts.agent_id, facts.agent_version) == ("root", "a1", "2")
    assert facts.inputs == INPUTS
    assert facts.outputs == [Message("assistant", [Text('{"city": "Paris"}')])]
    assert facts.data is MISSING
    assert facts.remote_url is None


def test_of_a_whole_run_as_output_only_the_end_is_the_answer() -> None:
    run = [
        *SAID,
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "18"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is 18 degrees."}]},
    ]
    facts = read(
        span(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.input.messages": ASKED,
                "gen_ai.output.messages": run,
            }
        )
    )
    assert facts.outputs == [Message("assistant", [Text("It is 18 degrees.")])]
    assert facts.inputs == [*INPUTS, *OUTPUTS, Message("tool", [ToolResult("call_1", None, 18)])]


@pytest.mark.parametrize(
    ("attributes", "kind", "url"),
    [
        (
            {"server.address": "agents.example.com", "server.port": 8080},
            KIND_CLIENT,
            "agents.example.com:8080",
        ),
        (
            {"server.address": "a.example.com", "url.scheme": "https", "server.port": 443},
            KIND_CLIENT,
            "https://a.example.com",
        ),
        (
            {"url.full": "https://a.example.com/run", "server.address": "x"},
            KIND_CLIENT,
            "https://a.example.com/run",
        ),
        ({"server.address": "agents.example.com"}, 1, None),
        ({}, KIND_CLIENT, None),
    ],
)
def test_only_a_client_invocation_with_an_address_is_remote(
    attributes: dict[str, Any], kind: int, url: str | None
) -> None:
    assert read(span({"gen_ai.operation.name": "invoke_agent", **attributes}, kind=kind)).remote_url == url


def test_a_request_written_onto_the_agents_span_leaves_it_an_agent() -> None:
    assert chat(name="invoke_agent root").role is Role.AGENT


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "compaction"}]}]},
        {"gen_ai.conversation.compacted": True},
        {
            "gen_ai.conversation.compacted": True,
            "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "compaction"}]}],
        },
    ],
)
def test_a_compaction_is_told_once(attributes: dict[str, Any]) -> None:
    assert chat(attributes).marks == [Mark(END, "event", {"type": "compaction"})]


def test_a_compaction_in_the_history_is_old() -> None:
    assert (
        chat({"gen_ai.input.messages": [{"role": "assistant", "parts": [{"type": "compaction"}]}]}).marks
        == []
    )


def test_reasoning_is_not_text() -> None:
    facts = chat(
        {
            "gen_ai.output.messages": [
                {
                    "role": "assistant",
                    "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "reasoning"}],
                }
            ]
        }
    )
    assert facts.outputs == [Message("assistant", [Reasoning("Hm.")])]


def test_an_exception_record_fails_its_request() -> None:
    facts = read_record(
        record("gen_ai.client.operation.exception", {"exception.type": "X", "exception.message": "boom"})
    )
    assert (facts.failed, facts.error, facts.supplements) == (True, "boom", "whole")


def test_other_records_are_not_read() -> None:
    assert not GenAI().matches_log(record("http.server.request", {"gen_ai.input.messages": ASKED}))
    assert GenAI().read_log(record("", body="plain words")) is None


CALLS = [
    {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
    }
]


@pytest.mark.parametrize(
    "body",
    [
        {
            "message": [
                {"text": "Let me check."},
                {"toolUse": {"toolUseId": "call_1", "name": "get_weather", "input": {"city": "Paris"}}},
            ]
        },
        {"message": {"content": "Let me check."}, "tool_calls": CALLS},
        {"message": text({"content": "Let me check.", "tool_calls": CALLS})},
        {"content": "Let me check.", "tool_calls": CALLS},
        {"content": "Let me check.", "tool_calls": text(CALLS)},
    ],
)
def test_a_choice_in_every_shape(body: dict[str, Any]) -> None:
    assert chat(events=[event("gen_ai.choice", body)]).outputs == OUTPUTS


@pytest.mark.parametrize("said", ['[{"a": 1}]', "[1, 2]", "[not json", "Hello"])
def test_a_text_that_is_no_list_of_blocks_stays_text(said: str) -> None:
    assert chat(events=[event("gen_ai.choice", {"message": said})]).outputs == [
        Message("assistant", [Text(said)])
    ]


@pytest.mark.parametrize("body", [None, 3, {"message": ""}, {"message": "[REDACTED]"}])
def test_a_choice_that_says_nothing(body: Any) -> None:
    facts = chat(events=[event("gen_ai.choice", {"gen_ai.event.content": body})])
    assert facts.outputs is None
    assert "outputs" in facts.hidden


def test_events_as_an_attribute() -> None:
    told = [{"event.name": name, **body} for name, body in LEGACY]
    facts = chat({"events": text([*told, {"event.name": "other"}, 3])})
    assert (facts.inputs, facts.outputs) == (LEGACY_INPUTS, OUTPUTS)
    assert chat({"events": "not json"}).outputs is None


def test_a_details_record_of_a_failed_request() -> None:
    facts = read_record(record(DETAILS, {"error.type": "500", "gen_ai.input.messages": ASKED}))
    assert (facts.failed, facts.error, facts.error_type) == (True, "", "500")


def test_a_details_record_with_its_fields_in_the_body() -> None:
    facts = read_record(
        record(DETAILS, body={"gen_ai.output.messages": JSON_ANSWER, "gen_ai.output.type": "json"})
    )
    assert facts.outputs == [Message("assistant", [Text('{"city": "Paris"}')])]
    assert facts.structured


def test_a_pending_span_only_announces_another() -> None:
    assert chat({"logfire.span_type": "pending_span", "gen_ai.output.messages": SAID}).role is Role.NOTHING
