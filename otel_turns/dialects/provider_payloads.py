"""Raw requests and responses of model providers, which some instrumentations keep whole.

Comes in: the JSON of a request or a response. Goes out: `Request` and `Response`, or None for other shapes:

| provider API | request | response |
|---|---|---|
| OpenAI chat | `messages`, `response_format` | `choices[].message` |
| OpenAI Responses | `input`, `instructions`, `text.format` | `output` items, `text.format` |
| Anthropic | `messages`, `system`, `output_format`, `output_config` | `content` blocks of a `message` |
| Gemini | `contents`, `system_instruction`, `config`, `generation_config` | `candidates[].content` |
| lists of messages or items, single messages | as they are | as they are |

It never guesses at unknown shapes, and it never raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from otel_turns.dialects.messages import Notes, read_message, read_messages
from otel_turns.dialects.parts import read_parts
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, json_text
from otel_turns.model.facts import MISSING, Message, TokenUsage

__all__ = ["Request", "Response", "asks_for_json", "head_id", "read_request", "read_response", "read_usage"]

_HEAD_ID = re.compile(r'^\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')


@dataclass(slots=True)
class Request:
    """What a request says. `structured`: it asks for an answer by a JSON schema, or for JSON."""

    messages: list[Message] = field(default_factory=list[Message])
    structured: bool = False
    previous_response_id: str | None = None


@dataclass(slots=True)
class Response:
    """What a response says. `structured`: it echoes that the request asked for JSON."""

    messages: list[Message] = field(default_factory=list[Message])
    response_id: str | None = None
    previous_response_id: str | None = None
    structured: bool = False
    usage: TokenUsage | None = None


def read_request(value: Any, notes: Notes) -> Request | None:
    """A request given as JSON text or structure."""
    body = _parsed(value)
    if is_list(body):
        return Request(read_messages(body, "user", notes)) if _are_messages(body) else None
    if not is_object(body):
        return None
    request = Request(
        structured=asks_for_json(body), previous_response_id=as_text(body.get("previous_response_id"))
    )
    system = next((body[key] for key in _SYSTEM if body.get(key)), None)
    if system:
        request.messages.extend(_system(system, notes))
    for key in ("messages", "input", "contents"):
        told = body.get(key)
        if told is None:
            continue
        if type(told) is str:
            if key == "messages":
                return None
            request.messages.extend(_text(told, "user", notes))
        elif is_list(told) and (_are_messages(told) or key == "contents"):
            request.messages.extend(read_messages(told, "user", notes))
        else:
            return None
        return request
    return None


def read_response(value: Any, notes: Notes) -> Response | None:
    """A response given as JSON text or structure. Of several choices only the first is the reply."""
    body = _parsed(value)
    if is_list(body):
        if body and is_object(body[0]) and ("choices" in body[0] or is_list(body[0].get("output"))):
            return _joined([read_response(one, notes) for one in body])
        if not _are_messages(body):
            return None
        return Response(read_messages(body, "assistant", notes))
    if not is_object(body):
        return None
    messages = _said(body, notes)
    if messages is None:
        return None
    return Response(
        messages,
        as_text(body.get("id") or body.get("response_id") or body.get("responseId")),
        as_text(body.get("previous_response_id")),
        asks_for_json(body),
        read_usage(body.get("usage", body.get("usage_metadata"))),
    )


def _joined(responses: list[Response | None]) -> Response | None:
    """A list of whole responses: together they are one reply."""
    whole: Response | None = None
    for response in responses:
        if response is not None:
            if whole is None:
                whole = response
            else:
                whole.messages.extend(response.messages)
    return whole


def _said(body: dict[str, Any], notes: Notes) -> list[Message] | None:
    choices = body.get("choices")
    if is_list(choices):
        for choice in choices:
            if is_object(choice):
                message = choice.get("message", choice.get("delta"))
                if is_object(message):
                    return [read_message({"role": "assistant", **message}, "assistant", notes)]
                text = choice.get("text")
                if type(text) is str:
                    return _text(text, "assistant", notes)
        return None
    output = body.get("output")
    if is_list(output) and _are_messages(output):
        return read_messages(output, "assistant", notes)
    candidates = body.get("candidates")
    if is_list(candidates):
        for candidate in candidates:
            if is_object(candidate) and is_object(candidate.get("content")):
                return [read_message({**candidate["content"], "role": "assistant"}, "assistant", notes)]
        return None
    if body.get("role") == "assistant" and ("content" in body or "tool_calls" in body):
        return [read_message(body, "assistant", notes)]
    return None


def _parsed(value: Any) -> Any:
    if type(value) is str:
        return json_text(value) if value[:1] in "{[ \n" else MISSING
    return value


def _are_messages(items: Any) -> bool:
    """Whether every entry says what it is: a role, or a type of item or block."""
    if not items:
        return False
    for item in items:
        if not is_object(item) or ("role" not in item and "type" not in item and "parts" not in item):
            return False
    return True


def _text(text: str, role: str, notes: Notes) -> list[Message]:
    message = Message(role)
    read_parts(text, message.parts, notes)
    return [message] if message.parts else []


def _system(system: Any, notes: Notes) -> list[Message]:
    message = Message("system")
    read_parts(system, message.parts, notes)
    return [message] if message.parts else []


_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction")
_JSON_KINDS = frozenset({"json_schema", "json_object", "json"})
_FORMATS = (
    "response_format",
    "output_format",
    "output_config",
    "text",
    "config",
    "generation_config",
    "format",
)
_NO_FORMATS = frozenset({"", "text", "auto", "NOT_GIVEN", "NotGiven()"})


def asks_for_json(body: dict[str, Any]) -> bool:
    """Whether a request's parameters (or a response's echo of them) ask for an answer that is JSON."""
    for key in _FORMATS:
        value = body.get(key)
        if value is None:
            continue
        if key == "text":
            value = value.get("format") if is_object(value) else None
        elif key == "output_config" and is_object(value):
            value = value.get("format")
        if is_object(value):
            if value.get("type") in _JSON_KINDS or value.get("response_mime_type") == "application/json":
                return True
            if any(value.get(name) for name in ("response_schema", "response_json_schema", "responseSchema")):
                return True
        elif type(value) is str and key == "response_format" and value not in _NO_FORMATS:
            return True
    return False


def head_id(value: Any) -> str | None:
    """The id with which a response begins that was cut off behind it."""
    found = _HEAD_ID.match(value) if type(value) is str else None
    return found.group(1) if found else None


def read_usage(usage: Any) -> TokenUsage | None:
    """Tokens as a provider counts them; None where it says none."""
    if not is_object(usage):
        return None
    inner = _any(usage, "prompt_tokens_details", "input_tokens_details", "input_token_details")
    outer = _any(usage, "completion_tokens_details", "output_tokens_details", "output_token_details")
    read = _first(usage, "cache_read_input_tokens", "cached_content_token_count", "cachedContentTokenCount")
    made = _first(usage, "cache_creation_input_tokens")
    thought = _first(usage, "thoughts_token_count", "thoughtsTokenCount")
    if is_object(inner):
        read = read if read is not None else _first(inner, "cached_tokens", "cache_read")
        made = made if made is not None else _first(inner, "cache_write_tokens", "cache_creation")
    if is_object(outer) and thought is None:
        thought = _first(outer, "reasoning_tokens", "reasoning")
    found = TokenUsage(
        _first(usage, "prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount"),
        _first(usage, "completion_tokens", "output_tokens", "candidates_token_count", "candidatesTokenCount"),
        read,
        made,
        thought,
    )
    return found if found else None


def _any(counts: dict[str, Any], *names: str) -> Any:
    for name in names:
        if counts.get(name) is not None:
            return counts[name]
    return None


def _first(counts: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = counts.get(name)
        if value is not None:
            return as_int(value)
    return None
