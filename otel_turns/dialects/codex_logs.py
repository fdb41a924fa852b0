"""Codex CLI's log records, which tell most of the story.

Comes in: log records named `codex.*`. Goes out: Facts. Some records are in a trace, those of a stream's end
are in none: the conversation and the time join them. It never counts a response twice that is logged twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from otel_turns.dialects.coding_tools import CODEX
from otel_turns.dialects.values import (
    as_flag,
    as_int,
    as_text,
    is_object,
    is_placeholder,
    json_arguments,
    json_text,
    json_value,
)
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Decision,
    Facts,
    Message,
    Question,
    Role,
    Text,
    TokenUsage,
)
from otel_turns.model.span import LogRecord

__all__ = ["own_tool", "read_codex_log"]

_PREFIX = "codex."
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)
_SHELLS = frozenset(name for name, canonical in CODEX.items() if canonical == "shell")
_APPROVED = "approved"
_REFUSED = frozenset({"denied", "abort", "aborted", "timed_out"})
_RECORD_ERRORS = ("error.message", "error")


def read_codex_log(record: LogRecord, convention: Convention) -> Facts | None:
    """What the record says; None where it says nothing that matters."""
    attributes = record.attributes
    name = attributes.get("event.name")
    reader = _READERS.get(name.removeprefix(_PREFIX)) if type(name) is str else None
    if reader is None:
        return None
    facts = Facts(convention, session_id=as_text(attributes.get("conversation.id")))
    facts.group = as_text(attributes.get("root.turn.id")) or as_text(attributes.get("turn.id"))
    return facts if reader(record, attributes, facts) else None


def own_tool(facts: Facts) -> None:
    """What Codex's own tools mean: the canonical name, and a call that goes on behind its result."""
    if facts.tool_name is None:
        return
    facts.tool = CODEX.get(facts.tool_name)
    if facts.tool_name == "spawn_agent":
        # The call returns at once; its agent goes on, and another call waits for it.
        facts.background = True
        facts.result = MISSING


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


def _response(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    """The end of a response, which is logged twice; only one of the two counts tokens."""
    facts.role = Role.INFERENCE
    facts.supplements = "nearest"
    facts.model = as_text(attributes.get("model"))
    kind = attributes.get("event.kind")
    if kind == "response.completed":
        usage = TokenUsage(
            input=as_int(attributes.get("input_token_count")),
            output=as_int(attributes.get("output_token_count")),
            cache_read=as_int(attributes.get("cached_token_count")),
            cache_creation=as_int(attributes.get("cache_write_token_count")),
            reasoning=as_int(attributes.get("reasoning_token_count")),
        )
        if usage.input is None and usage.output is None:
            return False
        facts.usage = usage
        facts.input_includes_cache = True
        return True
    words = _error(attributes)
    if kind == "response.failed" or words is not None:
        facts.failed = True
        facts.error = words or ""
        return True
    return False


def _error(attributes: Mapping[str, Any]) -> str | None:
    for name in _RECORD_ERRORS:
        words = as_text(attributes.get(name))
        if words is not None:
            return words
    return None


def _api_request(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    """A request that failed. One that went well ends as a response.completed of its own."""
    status = as_int(attributes.get("http.response.status_code"))
    words = _error(attributes)
    if words is None and (status is None or status < 400):
        return False
    facts.role = Role.INFERENCE
    facts.supplements = "nearest"
    facts.model = as_text(attributes.get("model"))
    facts.failed = True
    facts.error = words or f"HTTP status {status}"
    _lasted(record, attributes, facts)
    return True


def _agent_response(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    facts.role = Role.INFERENCE
    facts.supplements = "nearest"
    facts.requests = 0
    facts.model = as_text(attributes.get("model"))
    if attributes.get("agent.type") == "subagent":
        facts.agent_id = facts.session_id
    text = attributes.get("response")
    if type(text) is str and text and not is_placeholder(text):
        facts.outputs = [Message("assistant", [Text(text)])]
        if as_flag(attributes.get("response_truncated")):
            facts.cut.add("outputs")
    else:
        facts.hidden.add("outputs")
    return True


def _call(attributes: Mapping[str, Any], facts: Facts) -> None:
    facts.role = Role.TOOL
    facts.supplements = "nearest"
    facts.call_id = as_text(attributes.get("call_id"))
    facts.tool_name = as_text(attributes.get("tool_name"))
    agent = as_text(attributes.get("agent_name"))
    if agent is not None and agent != "/root":
        facts.agent_name = agent
        facts.agent_id = facts.session_id
    own_tool(facts)


def _decision(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _call(attributes, facts)
    facts.requests = 0
    facts.hidden.update(("arguments", "result"))
    decision = attributes.get("decision")
    if type(decision) is not str:
        return False
    approved = decision.lower().startswith(_APPROVED)
    refused = decision.lower() in _REFUSED
    if not approved and not refused:
        return False
    human = str(attributes.get("source")).lower() == "user"
    if human:
        facts.questions.append(Question(call_id=facts.call_id, answered=True, time=record.time))
    if human or refused:
        facts.decisions.append(Decision(approved, facts.call_id))
    facts.rejected = refused
    return facts.call_id is not None


def _tool_result(record: LogRecord, attributes: Mapping[str, Any], facts: Facts) -> bool:
    _call(attributes, facts)
    _lasted(record, attributes, facts)
    facts.arguments, unparsable = json_arguments(attributes.get("arguments"))
    # A patch is no JSON and need not be.
    facts.unparsable = unparsable and facts.tool_name != "apply_patch"
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    elif is_object(facts.arguments):
        facts.prompt = as_text(facts.arguments.get("justification"))
    output = attributes.get("output")
    if type(output) is str and output and not is_placeholder(output):
        _output(output, attributes, facts)
    else:
        facts.hidden.add("result")
    return facts.call_id is not None


def _output(output: str, attributes: Mapping[str, Any], facts: Facts) -> None:
    if facts.tool_name == "spawn_agent":
        spawned = json_text(output)
        if is_object(spawned):
            facts.delegates_to = as_text(spawned.get("nickname")) or as_text(spawned.get("agent_id"))
            facts.delegates_session = as_text(spawned.get("agent_id"))
            return
        facts.background = False
    facts.result = json_value(output)
    if as_flag(attributes.get("output_truncated")):
        facts.cut.add("result")
    if as_flag(attributes.get("success")) is False:
        facts.failed = True
        facts.error = output
        facts.rejected = "Rejected(" in output
    elif facts.tool_name in _SHELLS:
        code = _EXIT.search(output)
        facts.failed = code is not None and code.group(1) != "0"


_READERS: dict[str, Callable[[LogRecord, Mapping[str, Any], Facts], bool]] = {
    "user_prompt": _user_prompt,
    "sse_event": _response,
    "websocket_event": _response,
    "api_request": _api_request,
    "agent_response": _agent_response,
    "tool_decision": _decision,
    "tool_result": _tool_result,
}
