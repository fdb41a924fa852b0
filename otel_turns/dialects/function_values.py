"""Inputs and outputs of functions as tracers keep them: one JSON value each, whatever was called.

Comes in: the value of an input or output attribute. Goes out: messages, arguments and results. It never takes
an object of unknown keys for a message: such a value says nothing about speech.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.langchain import lc_messages, lc_tool_message
from otel_turns.dialects.messages import Notes
from otel_turns.dialects.provider_payloads import Response, read_request, read_response
from otel_turns.dialects.values import is_list, is_object, is_placeholder, json_text, plain, unwrap_result
from otel_turns.model.facts import MISSING, Message, Text, ToolResult

__all__ = ["call_arguments", "call_result", "reply", "request_messages", "value_of"]

_QUESTIONS = ("message", "query", "question", "prompt", "input", "task", "text", "user_input", "user_message")
_ANSWERS = ("answer", "output", "response", "result", "text", "content", "message")


def value_of(value: Any) -> Any:
    """The value that an attribute says: JSON text parsed, other text as it is; `MISSING` for none."""
    if value is None or is_placeholder(value):
        return MISSING
    if type(value) is not str:
        return plain(value)
    parsed = json_text(value)
    return value if parsed is MISSING else parsed


def call_arguments(value: Any) -> Any:
    """Arguments of a call. Of Python's `{"args": [], "kwargs": {...}}` without positional ones the kwargs."""
    if is_object(value) and set(value) == {"args", "kwargs"} and is_object(value["kwargs"]):
        return value["kwargs"] if not value["args"] else value
    return value


def call_result(value: Any) -> tuple[Any, ToolResult | None]:
    """A call's result, and the tool message that it stands in, if it stands in one."""
    if value is MISSING:
        return MISSING, None
    message = lc_tool_message(value)
    if message is not None:
        return message.result, message
    return unwrap_result(value), None


def request_messages(value: Any, notes: Notes) -> list[Message] | None:
    """The messages of a request, or the one question that a function was given."""
    if value is MISSING:
        return None
    request = read_request(value, notes)
    if request is not None and request.messages:
        return request.messages
    found = lc_messages(value, notes)
    if found:
        return found
    question = _words(call_arguments(value), _QUESTIONS)
    return [Message("user", [Text(question)])] if question else None


def reply(value: Any, notes: Notes) -> Response | None:
    """The reply of a model, or the one answer of a function."""
    if value is MISSING:
        return None
    response = read_response(value, notes)
    if response is not None and response.messages:
        return response
    found = lc_messages(value, notes)
    if found:
        return Response([m for m in found if m.role == "assistant"][-1:])
    answer = _words(value, _ANSWERS)
    return Response([Message("assistant", [Text(answer)])]) if answer else None


def _words(value: Any, keys: tuple[str, ...]) -> str | None:
    """Text, or the only text of an object under a key that names it."""
    if type(value) is str:
        return value or None
    if is_list(value) and len(value) == 1:
        return _words(value[0], keys)
    if not is_object(value):
        return None
    arguments = value.get("args")
    if is_list(arguments) and set(value) == {"args", "kwargs"}:
        return _words(arguments, keys)
    for key in keys:
        text = value.get(key)
        if type(text) is str and text:
            return text
    return None
