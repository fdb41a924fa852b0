"""MCP spans of client and server."""

from __future__ import annotations

import pytest

from otel_turns.dialects.mcp import MCP
from otel_turns.model.facts import Facts, Question, Role
from otel_turns.model.span import KIND_CLIENT, KIND_SERVER, STATUS_ERROR, Span
from tests.dialects.spans import START, record, span


def read(span: Span) -> Facts:
    dialect = MCP()
    assert dialect.matches(span)
    return dialect.read(span)


def test_a_clients_call_is_named_by_its_span() -> None:
    facts = read(
        span({"mcp.method.name": "tools/call"}, name="MCP send tools/call get_weather", kind=KIND_CLIENT)
    )
    assert (facts.role, facts.tool_name, facts.call_id) == (Role.TOOL, "get_weather", None)


def test_a_servers_call_is_named_by_its_attribute() -> None:
    call = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.operation.name": "execute_tool",
    }
    facts = read(span(call, name="tools/call get_weather", kind=KIND_SERVER))
    assert (facts.role, facts.tool_name, facts.remote_url) == (Role.TOOL, "get_weather", None)


def test_arguments_and_result_where_they_are_recorded() -> None:
    call = {"gen_ai.tool.call.arguments": '{"city": "Paris"}', "gen_ai.tool.call.result": '{"temp_c": 18}'}
    facts = read(span({"mcp.method.name": "tools/call", **call}))
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})


def test_a_tool_error_without_words() -> None:
    facts = read(span({"mcp.method.name": "tools/call", "error.type": "tool_error"}, status=STATUS_ERROR))
    assert (facts.failed, facts.error) == (True, "")


def test_an_elicitation_is_a_question_about_the_call_around_it() -> None:
    facts = read(span({"mcp.method.name": "elicitation/create"}))
    assert facts.role is Role.NOTHING
    assert facts.questions == [Question(time=START)]


@pytest.mark.parametrize(
    "method", ["initialize", "tools/list", "server/discover", "prompts/get", "notifications/initialized"]
)
def test_other_methods_are_nothing(method: str) -> None:
    facts = read(span({"mcp.method.name": method}))
    assert (facts.role, facts.questions) == (Role.NOTHING, [])


def test_the_connections_session_is_no_conversation() -> None:
    assert read(span({"mcp.method.name": "tools/call", "mcp.session.id": "s"})).session_id is None


def test_other_spans_and_records_are_not_its() -> None:
    assert not MCP().matches(span({"gen_ai.operation.name": "execute_tool"}))
    assert not MCP().matches_log(record("gen_ai.choice"))
