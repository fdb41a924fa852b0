"""Messages of every shape that instrumentations write, read into `model.facts.Message`.

Comes in: the value of a message attribute, event or body, as JSON text or structure. Goes out: messages with
their parts, and `Notes` about what could not be read. Each message and each part tells its own shape, since
one attribute holds different shapes in different frameworks:

| shape | marks |
|---|---|
| GenAI 1.37+ | `parts`: text, reasoning, tool_call, tool_call_response, server_tool_call, blob |
| OpenAI chat | `content`, `tool_calls[].function`, `tool_call_id`, `reasoning_content`, `refusal` |
| OpenAI Responses | items: message, function_call, function_call_output, custom_tool_call, reasoning |
| Anthropic | `content` blocks: text, thinking, tool_use, tool_result (`is_error`), server_tool_use |
| Gemini | `parts` with `text`, `thought`, functionCall, functionResponse (or in snake case) |
| Bedrock | parts with `text`, `toolUse`, `toolResult`, `reasoningContent` |
| AI SDK | parts tool-call, tool-result, reasoning |

It never guesses; what it does not know is left out.
"""

from __future__ import annotations

from typing import Any, cast

from otel_turns.dialects.parts import (
    Notes,
    append_reasoning,
    append_text,
    read_part,
    read_parts,
    tool_call,
    tool_message,
    tool_result,
)
from otel_turns.dialects.values import LONGEST_PLACEHOLDER, is_list, is_object, json_text, plain
from otel_turns.model.facts import MISSING, Message, Part, Text, ToolResult

__all__ = ["Notes", "read_message", "read_messages", "read_parts", "role_of", "tool_call", "tool_result"]

_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "model": "assistant",
    "human": "user",
    "ai": "assistant",
    "developer": "system",
    "function": "tool",
    "toolResult": "tool",
    "tool_result": "tool",
    "agent": "assistant",
}


def role_of(role: Any, default: str = "user") -> str:
    """The neutral role for a convention's word; unknown words give `default`."""
    if type(role) is not str:
        return default
    known = _ROLES.get(role)
    return known if known is not None else _ROLES.get(role.lower(), default)


def read_messages(value: Any, role: str = "user", notes: Notes | None = None) -> list[Message]:
    """Messages of any shape, in the order given. `role` is what a message without a role counts as.

    Text that is no JSON is one message with that text. An object is one message, or the list under its
    `messages`, `contents` or `input`. Parts without a message around them: consecutive texts are one
    message of `role`, calls and reasoning the assistant's, results the tool's.
    """
    if notes is None:
        notes = Notes()
    if type(value) is str:
        parsed = json_text(value)
        if type(parsed) is not list and type(parsed) is not dict:
            parts: list[Part] = []
            append_text(value, parts, notes)
            return [Message(role, parts)] if parts else []
        value = cast(Any, parsed)
    else:
        value = plain(value)
    if is_object(value):
        if "role" not in value and "type" not in value:
            for key in ("messages", "contents", "input"):
                inner = value.get(key)
                if is_list(inner):
                    return read_messages(inner, role, notes)
        value = [value]
    found: list[Message] = []
    if not is_list(value):
        return found
    loose: list[Part] | None = None
    for item in value:
        if is_object(item):
            if "role" in item or "parts" in item or ("content" in item and "type" not in item):
                loose = None
                found.append(read_message(item, role, notes))
                continue
            wrapped = item.get("message")
            if is_object(wrapped):
                loose = None
                found.append(read_message(wrapped, role, notes))
                continue
            parts = []
            read_part(item, parts, notes)
            loose = _loose_parts(parts, role, loose, found)
        elif type(item) is str:
            loose = None
            if item.startswith("{"):
                inner = json_text(item)
                if is_object(inner) and "role" in inner:
                    # a message that was serialized by itself, and once more within its list
                    found.append(read_message(inner, role, notes))
                    continue
            parts = []
            append_text(item, parts, notes)
            if parts:
                found.append(Message(role, parts))
        elif is_list(item):
            loose = None
            found.extend(read_messages(item, role, notes))
    return found


def _loose_parts(
    parts: list[Part], role: str, loose: list[Part] | None, found: list[Message]
) -> list[Part] | None:
    """Adds parts that have no message around them; gives the parts that further text belongs to."""
    if not parts:
        return loose
    kind = type(parts[0])
    if kind is ToolResult:
        found.append(Message("tool", parts))
    elif kind is not Text:
        found.append(Message("assistant", parts))
    elif loose is not None:
        loose.extend(parts)
        return loose
    else:
        found.append(Message(role, parts))
        return parts
    return None


def read_message(message: dict[str, Any], role: str = "user", notes: Notes | None = None) -> Message:
    """One message object of any shape. A message that carries only tool results counts as role "tool"."""
    if notes is None:
        notes = Notes()
    name: Any = message.get("role")
    known = _ROLES.get(name) if type(name) is str else None
    if known is None:
        known = role_of(name, role)
    parts: list[Part] = []
    inner = message.get("parts")
    if type(inner) is list:
        for part in cast("list[Any]", inner):
            if not is_object(part):
                append_text(part, parts, notes)
                continue
            if part.get("type") == "text":
                # The most frequent part by far; a short one may be a placeholder.
                text = part.get("content")
                if type(text) is str and len(text) > LONGEST_PLACEHOLDER and "thought" not in part:
                    parts.append(Text(text))
                    continue
            read_part(part, parts, notes)
        if "tool_calls" not in message and "tool_call_id" not in message and "content" not in message:
            if known != "tool" and parts and type(parts[0]) is ToolResult:
                known = _role_of_results(known, parts)
            return Message(known, parts)
    return _other_message(message, known, parts, notes)


def _other_message(message: dict[str, Any], known: str, parts: list[Part], notes: Notes) -> Message:
    """A message whose content stands beside its parts, or that has none."""
    if known == "tool" and "tool_call_id" in message and parts and all(type(part) is Text for part in parts):
        # The result stands as text in the parts, its id on the message.
        text = "".join(part.text for part in parts if type(part) is Text)
        parts.clear()
        tool_message(message, text, parts, notes)
        return Message(known, parts)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning:
        append_reasoning(reasoning, parts, notes)
    content = message.get("content")
    if content is not None:
        if known == "tool" or "tool_call_id" in message:
            tool_message(message, content, parts, notes)
        else:
            read_parts(content, parts, notes)
    elif "parts" not in message and known == "tool":
        tool_message(message, MISSING, parts, notes)
    refusal = message.get("refusal")
    if type(refusal) is str:
        append_text(refusal, parts, notes)
    for key in ("tool_calls", "function_call"):
        calls = message.get(key)
        if calls:
            for call in calls if is_list(calls) else (calls,):
                if is_object(call):
                    read_part(call if "type" in call else {**call, "type": "function"}, parts, notes)
    return Message(_role_of_results(known, parts), parts)


def _role_of_results(role: str, parts: list[Part]) -> str:
    """A message that carries only tool results counts as "tool", whatever role the convention gives it."""
    if role == "tool" or not parts:
        return role
    for part in parts:
        if type(part) is not ToolResult:
            return role
    return "tool"
