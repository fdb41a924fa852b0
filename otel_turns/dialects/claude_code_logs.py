"""Claude Code's log events.

Comes in: log records named `claude_code.*`. Goes out: Facts. With tracing on, a record carries the ids of the
span around it and not of the one it is about; without, records are all there is, joined by `prompt.id`.
Requests are met by their request id or their time, calls by their id. It never takes a shortened tool input
for a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from otel_turns.dialects.claude_code_facts import (
    ask_question,
    compaction_mark,
    failure,
    own_tool,
    permission,
    read_user_prompt,
    request_source,
)
from otel_turns.dialects.messages import read_message, read_messages
from otel_turns.dialects.parts import Notes
from otel_turns.dialects.values import (
    as_flag,
    as_int,
    as_text,
    is_object,
    is_placeholder,
    json_arguments,
    json_text,
)
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Mark,
    Message,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import LogRecord

__all__ = ["read_claude_code_log"]

_PREFIX = "claude_code."
_CUT_MARKS = ("<nested>", "…[", "…[truncated]")


def read_claude_code_log(record: LogRecord, convention: Convention) -> Facts | None:
    """What the record says; None where it says nothing that matters."""
    attributes = record.attributes
    reader = _READERS.get(_event_name(record))
    if reader is None:
        return None
    facts = Facts(
        convention,
        session_id=as_text(attributes.get("session.id")),
        group=as_text(attributes.get("prompt.id")),
        sequence=as_int(attributes.get("event.sequence")) or 0,
    )
    facts.agent_id = as_text(attributes.get("agent_id"))
    return facts if reader(record, attributes, facts) else None


def _event_name(record: LogRecord) -> str:
    name = record.attributes.get("event.name") or record.event_name or record.body
    return name.removeprefix(_PREFIX) if type(name) is str else ""


def _user_prompt(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.AGENT
    if record.span_id is None:
        facts.boundary = "start"
    else:
        facts.supplements = "whole"
    read_user_prompt(attributes.get("prompt"), facts)
    return True


def _lasted(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> None:
    milliseconds = as_int(attributes.get("duration_ms"))
    if milliseconds:
        facts.began = record.time - milliseconds * 1_000_000


def _request(attributes: Mapping[str, Any], facts: Facts) -> None:
    facts.role = Role.INFERENCE
    facts.supplements = "nearest"
    facts.model = as_text(attributes.get("model"))
    facts.response_id = as_text(attributes.get("request_id")) or as_text(attributes.get("client_request_id"))
    source = as_text(attributes.get("query_source"))
    request_source(source, facts)
    facts.agent_name = as_text(attributes.get("agent.name"))
    if facts.agent_id is None and source is not None and source.startswith("agent:"):
        # Before 2.1.300 records of a sub-agent have no id of it.
        facts.agent_id = source


def _api_request(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request(attributes, facts)
    _lasted(record, attributes, facts)
    usage = TokenUsage(
        input=as_int(attributes.get("input_tokens")),
        output=as_int(attributes.get("output_tokens")),
        cache_read=as_int(attributes.get("cache_read_tokens")),
        cache_creation=as_int(attributes.get("cache_creation_tokens")),
    )
    if usage:
        facts.usage = usage
        facts.input_includes_cache = False
    return True


def _api_error(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request(attributes, facts)
    _lasted(record, attributes, facts)
    facts.requests = as_int(attributes.get("attempt"))
    facts.failed = True
    facts.error = as_text(attributes.get("error")) or ""
    return True


def _assistant_response(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request(attributes, facts)
    facts.requests = 0
    text = attributes.get("response")
    if type(text) is str and text and not is_placeholder(text):
        facts.outputs = [Message("assistant", [Text(text)])]
    else:
        facts.hidden.add("outputs")
    return True


def _body(attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON object of a raw body; None where it was cut, for a cut body is no JSON."""
    body = attributes.get("body")
    if type(body) is not str or as_flag(attributes.get("body_truncated")):
        return None
    parsed = json_text(body)
    return parsed if is_object(parsed) else None


def _response_body(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    body = _body(attributes)
    if body is None or "content" not in body:
        return False
    _request(attributes, facts)
    facts.requests = 0
    notes = Notes()
    message = read_message(body, "assistant", notes)
    if message.parts:
        facts.outputs = [message]
    if notes.hidden:
        facts.hidden.add("outputs")
    for part in message.parts:
        if type(part) is ToolCall:
            ask_question(part, facts)
    return True


def _request_body(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    body = _body(attributes)
    if body is None:
        return False
    messages = read_messages(body.get("messages"))
    if not messages:
        return False
    _request(attributes, facts)
    facts.requests = 0
    facts.inputs = messages
    return True


def _call(attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.TOOL
    facts.supplements = "nearest"
    facts.call_id = as_text(attributes.get("tool_use_id"))
    facts.tool_name = as_text(attributes.get("tool_name"))
    parameters = attributes.get("tool_parameters")
    details = json_text(parameters) if type(parameters) is str else parameters
    if is_object(details):
        facts.delegates_to = as_text(details.get("subagent_type"))
        facts.skill = as_text(details.get("skill_name"))
        if facts.tool_name == "mcp_tool":
            server, tool = as_text(details.get("mcp_server_name")), as_text(details.get("mcp_tool_name"))
            facts.tool_name = f"mcp__{server}__{tool}" if server and tool else None
    elif facts.tool_name == "mcp_tool":
        facts.tool_name = None
    return facts.call_id is not None


def _tool_decision(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    known = _call(attributes, facts)
    permission(attributes.get("decision"), attributes.get("source"), record.time, facts, facts.call_id)
    facts.rejected = attributes.get("decision") == "reject"
    facts.requests = 0
    facts.hidden.add("arguments")
    own_tool(facts)
    return known


def _tool_result(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    known = _call(attributes, facts)
    _lasted(record, attributes, facts)
    given = attributes.get("tool_input")
    if type(given) is str and not is_placeholder(given):
        facts.arguments, facts.unparsable = json_arguments(given)
        if any(mark in given for mark in _CUT_MARKS):
            facts.cut.add("arguments")
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    failure(attributes, facts)
    if attributes.get("decision_type") == "reject":
        facts.rejected = True
    if not facts.failed:
        facts.hidden.add("result")
    own_tool(facts)
    return known


def _skill(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    """A skill that a tool call loaded is told by that call too; one that the user named, here alone."""
    name = as_text(attributes.get("skill.name"))
    if name is None:
        return False
    if attributes.get("invocation_trigger") != "claude-proactive":
        facts.marks.append(Mark(record.time, "event", {"type": "skill.loaded", "skill": name}))
        return True
    facts.role = Role.TOOL
    facts.skill = name
    facts.supplements = "whole"
    return record.span_id is not None


def _subagent(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.TOOL
    facts.agent_id = None
    facts.delegates_to = as_text(attributes.get("agent_type"))
    facts.background = as_flag(attributes.get("is_async")) is True
    facts.supplements = "whole"
    return record.span_id is not None


def _compaction(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    if as_flag(attributes.get("success")) is False:
        return False
    facts.marks.append(compaction_mark(record.time, attributes))
    return True


_READERS: dict[str, Callable[[LogRecord, Mapping[str, Any], Facts], bool]] = {
    "user_prompt": _user_prompt,
    "api_request": _api_request,
    "api_error": _api_error,
    "assistant_response": _assistant_response,
    "api_response_body": _response_body,
    "api_request_body": _request_body,
    "tool_decision": _tool_decision,
    "tool_result": _tool_result,
    "skill_activated": _skill,
    "subagent_completed": _subagent,
    "compaction": _compaction,
}
