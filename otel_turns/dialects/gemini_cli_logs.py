"""Gemini CLI's log records.

Comes in: log records named `gemini_cli.*`. Goes out: Facts. Most records are in no trace: prompt id and time
join them to the spans. A tool's record has no call id; name and arguments join it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from otel_turns.dialects.gemini_cli_facts import (
    cancelled,
    error_words,
    exit_failed,
    own_tool,
    read_contents,
    refused,
)
from otel_turns.dialects.values import (
    as_flag,
    as_int,
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_arguments,
    json_text,
)
from otel_turns.model.facts import MISSING, Convention, Facts, Mark, Message, Role, Text, TokenUsage
from otel_turns.model.span import LogRecord

__all__ = ["read_gemini_cli_log"]

_PREFIX = "gemini_cli."


def read_gemini_cli_log(record: LogRecord, convention: Convention) -> Facts | None:
    """What the record says; None where it says nothing that matters."""
    attributes = record.attributes
    name = attributes.get("event.name") or record.event_name
    reader = _READERS.get(name.removeprefix(_PREFIX)) if type(name) is str else None
    if reader is None:
        return None
    facts = Facts(
        convention,
        session_id=as_text(attributes.get("session.id")),
        group=as_text(attributes.get("prompt_id")),
    )
    return facts if reader(record, attributes, facts) else None


def _user_prompt(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.AGENT
    if record.span_id is None:
        facts.boundary = "start"
    else:
        facts.supplements = "whole"
    prompt = attributes.get("prompt")
    if type(prompt) is str and prompt and not is_placeholder(prompt):
        facts.inputs = [Message("user", [Text(prompt)])]
    else:
        facts.hidden.add("inputs")
    return True


def _lasted(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> None:
    milliseconds = as_int(attributes.get("duration_ms"))
    if milliseconds:
        facts.began = record.time - milliseconds * 1_000_000


def _request_record(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> None:
    facts.role = Role.INFERENCE
    facts.supplements = "nearest"
    facts.model = as_text(attributes.get("model"))
    role = attributes.get("role")
    if type(role) is str and role.startswith("utility"):
        facts.side = True
        if role == "utility_compressor":
            facts.compaction = ""


def _api_request(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request_record(record, attributes, facts)
    facts.requests = 0
    facts.inputs = read_contents(attributes.get("request_text"), "user", facts, "inputs")
    return facts.inputs is not None


def _api_response(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request_record(record, attributes, facts)
    _lasted(record, attributes, facts)
    facts.ordered_parts = True
    facts.usage = TokenUsage(
        input=as_int(attributes.get("input_token_count")),
        output=as_int(attributes.get("output_token_count")),
        cache_read=as_int(attributes.get("cached_content_token_count")),
        reasoning=as_int(attributes.get("thoughts_token_count")),
    )
    facts.input_includes_cache = True
    facts.outputs = read_contents(_reply(attributes.get("response_text")), "assistant", facts, "outputs")
    return True


def _reply(value: Any) -> Any:
    """The contents of a response, or of a list of a stream's chunks."""
    chunks = json_text(value) if type(value) is str else value
    if is_object(chunks):
        chunks = [chunks]
    if not is_list(chunks):
        return value
    contents: list[Any] = []
    for chunk in chunks:
        candidates = chunk.get("candidates") if is_object(chunk) else None
        first = candidates[0] if is_list(candidates) and candidates else None
        if is_object(first) and is_object(first.get("content")):
            contents.append(first["content"])
    return contents


def _api_error(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request_record(record, attributes, facts)
    _lasted(record, attributes, facts)
    facts.failed = True
    facts.error = error_words(attributes.get("error.message", attributes.get("error")))
    facts.error_type = as_text(attributes.get("error.type")) or as_text(attributes.get("error_type"))
    return True


def _tool_record(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.TOOL
    facts.supplements = "nearest"
    _lasted(record, attributes, facts)
    facts.tool_name = as_text(attributes.get("function_name"))
    facts.arguments, facts.unparsable = json_arguments(attributes.get("function_args"))
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    error = attributes.get("error.message", attributes.get("error"))
    if as_flag(attributes.get("success")) is False:
        facts.failed = True
        facts.error = as_text(error) or ""
        facts.error_type = as_text(attributes.get("error_type"))
        if attributes.get("decision") == "reject" or refused(error):
            cancelled(facts)
    else:
        facts.hidden.add("result")
        details = attributes.get("metadata")
        data = json_text(details) if type(details) is str else details
        if exit_failed(data):
            facts.failed = True
    own_tool(facts)
    return facts.tool_name is not None


def _agent_start(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.AGENT
    facts.supplements = "nearest"
    facts.agent_name = as_text(attributes.get("agent_name"))
    facts.agent_id = as_text(attributes.get("agent_id"))
    return record.span_id is not None and facts.agent_name is not None


def _compression(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.marks.append(Mark(record.time, "event", {"type": "compaction"}))
    return True


_READERS: dict[str, Callable[[LogRecord, Mapping[str, Any], Facts], bool]] = {
    "user_prompt": _user_prompt,
    "api_request": _api_request,
    "api_response": _api_response,
    "api_error": _api_error,
    "tool_call": _tool_record,
    "agent.start": _agent_start,
    "chat_compression": _compression,
}
