"""Qwen Code's log records.

Comes in: log records named `qwen-code.*`. Goes out: Facts. Some versions send no spans at all: prompt id and
time then join the records. It never takes the texts of the program's own requests (suggestions, summaries)
for speech.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from otel_turns.dialects.gemini_cli_facts import read_contents, refused
from otel_turns.dialects.qwen_code_facts import human_refused, own_tool, own_words, prompt_of, rule_refused
from otel_turns.dialects.values import as_flag, as_int, as_text, is_placeholder, json_arguments
from otel_turns.model.facts import MISSING, Convention, Facts, Mark, Message, Role, Text, TokenUsage
from otel_turns.model.span import LogRecord

__all__ = ["read_qwen_code_log"]

_PREFIX = "qwen-code."
_CUT = "...[truncated]"


def read_qwen_code_log(record: LogRecord, convention: Convention) -> Facts | None:
    """What the record says; None where it says nothing that matters."""
    attributes = record.attributes
    name = attributes.get("event.name") or record.event_name
    reader = _READERS.get(name.removeprefix(_PREFIX)) if type(name) is str else None
    if reader is None:
        return None
    facts = Facts(convention, session_id=as_text(attributes.get("session.id")))
    prompt_of(attributes.get("prompt_id"), attributes.get("subagent_name"), facts)
    return facts if reader(record, attributes, facts) else None


def _user_prompt(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.AGENT
    if record.span_id is None:
        facts.boundary = "start"
    else:
        facts.supplements = "nearest"
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


def _request_record(attributes: Mapping[str, Any], facts: Facts) -> None:
    facts.role = Role.INFERENCE
    facts.supplements = "nearest"
    facts.model = as_text(attributes.get("model"))


def _api_request(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request_record(attributes, facts)
    facts.requests = 0
    facts.inputs = read_contents(attributes.get("request_text"), "user", facts, "inputs")
    return facts.inputs is not None


def _api_response(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request_record(attributes, facts)
    _lasted(record, attributes, facts)
    facts.response_id = as_text(attributes.get("response_id"))
    facts.usage = TokenUsage(
        input=as_int(attributes.get("input_token_count")),
        output=as_int(attributes.get("output_token_count")),
        cache_read=as_int(attributes.get("cached_content_token_count")),
        reasoning=as_int(attributes.get("thoughts_token_count")),
    )
    facts.input_includes_cache = True
    # The text holds no calls, so the reply is never whole.
    facts.hidden.add("outputs")
    text = attributes.get("response_text")
    if type(text) is str and text and not is_placeholder(text):
        if text.endswith(_CUT):
            facts.cut.add("outputs")
        facts.outputs = [Message("assistant", [Text(text)])]
    return True


def _api_error(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _request_record(attributes, facts)
    _lasted(record, attributes, facts)
    facts.failed = True
    facts.error = own_words(attributes.get("error_message", attributes.get("error.message")))
    facts.error_type = as_text(attributes.get("error_type", attributes.get("error.type")))
    return True


def _tool_record(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.TOOL
    facts.supplements = "nearest"
    _lasted(record, attributes, facts)
    facts.tool_name = as_text(attributes.get("function_name"))
    facts.call_id = as_text(attributes.get("call_id"))
    facts.arguments, facts.unparsable = json_arguments(attributes.get("function_args"))
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    status = attributes.get("status")
    if status == "success" or as_flag(attributes.get("success")) is True:
        facts.hidden.add("result")
    else:
        facts.failed = True
        error = attributes.get("error", attributes.get("error.message"))
        facts.error = own_words(error)
        facts.error_type = as_text(attributes.get("error_type"))
        # A call that was cancelled once it ran was not refused.
        waited = attributes.get("execution_status") in (None, "not_started")
        if attributes.get("decision") == "reject" or refused(error) or (status == "cancelled" and waited):
            human_refused(facts)
        elif facts.error_type == "execution_denied":
            rule_refused(facts)
    own_tool(facts)
    return facts.tool_name is not None


def _compression(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.marks.append(Mark(record.time, "event", {"type": "compaction"}))
    return True


_READERS: dict[str, Callable[[LogRecord, Mapping[str, Any], Facts], bool]] = {
    "user_prompt": _user_prompt,
    "api_request": _api_request,
    "api_response": _api_response,
    "api_error": _api_error,
    "tool_call": _tool_record,
    "chat_compression": _compression,
}
