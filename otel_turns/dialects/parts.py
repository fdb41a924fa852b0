"""Parts of messages: text, reasoning, tool calls and results, in every shape that instrumentations write.

Comes in: one part, or the content of a message. Goes out: the parts of `model.facts`, appended to a list,
and `Notes` about what could not be read. A part tells its shape by its `type`, or (Gemini, Bedrock) by its
only key.

It never guesses: a part of unknown type is left out, a placeholder is no text, reasoning without text is no
part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from otel_turns.dialects.tool_parts import (
    Notes,
    read_call,
    read_genai_call,
    read_genai_result,
    read_provider_call,
    read_result,
    tool_call,
    tool_result,
)
from otel_turns.dialects.values import (
    is_list,
    is_object,
    is_placeholder,
)
from otel_turns.model.facts import Part, Reasoning, Text

__all__ = [
    "Notes",
    "append_reasoning",
    "append_text",
    "read_part",
    "read_parts",
    "tool_call",
    "tool_message",
    "tool_result",
]


def read_parts(content: Any, into: list[Part], notes: Notes | None = None) -> None:
    """Reads the content of one message (text, one part, or a list of parts) and appends its parts."""
    if notes is None:
        notes = Notes()
    if type(content) is str:
        append_text(content, into, notes)
    elif is_object(content):
        read_part(content, into, notes)
    elif is_list(content):
        for part in content:
            if is_object(part):
                read_part(part, into, notes)
            elif type(part) is str:
                append_text(part, into, notes)


def append_text(value: Any, into: list[Part], notes: Notes) -> None:
    """Appends text that is neither empty nor a placeholder."""
    if type(value) is str and value:
        if is_placeholder(value):
            notes.hidden = True
        else:
            into.append(Text(value))


def read_part(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """Reads one part of any shape and appends what it says: nothing, one part or several."""
    kind = part.get("type")
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is not None:
        reader(part, into, notes)
    else:
        _untyped(part, into, notes)


def _text_block(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    text = part.get("content")
    if text is None:
        text = part.get("text")
    if type(text) is str:
        if not text:
            return
        if is_placeholder(text):
            notes.hidden = True
        elif "thought" in part and part["thought"] is True:
            into.append(Reasoning(text))
        else:
            into.append(Text(text))
    elif is_object(text):
        # Some write the block's own object under `content`.
        append_text(text.get("text", text.get("value")), into, notes)
    elif text is None and "content" not in part and "text" not in part:
        notes.hidden = True


def _reasoning_part(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    before = len(into)
    for key in ("content", "thinking", "text", "reasoning", "summary", "reasoningText", "reasoningContent"):
        value = part.get(key)
        if value:
            append_reasoning(value, into, notes)
            if len(into) > before:
                return


def append_reasoning(value: Any, into: list[Part], notes: Notes) -> None:
    """Appends reasoning given as text, as a block, or as a list of either."""
    if type(value) is str:
        if not value:
            return
        if is_placeholder(value):
            notes.hidden = True
        else:
            into.append(Reasoning(value))
    elif is_object(value):
        _reasoning_part(value, into, notes)
    elif is_list(value):
        for item in value:
            append_reasoning(item, into, notes)


def tool_message(message: dict[str, Any], content: Any, into: list[Part], notes: Notes) -> None:
    """The content of a message in role "tool": results as parts, or the one result itself."""
    if is_list(content) and any(is_object(part) and _is_result(part) for part in content):
        read_parts(content, into, notes)
        return
    call_id: Any = None
    for key in ("tool_call_id", "toolCallId", "tool_use_id", "call_id", "id"):
        call_id = message.get(key)
        if call_id:
            break
    failed = message.get("is_error") is True or message.get("status") == "error"
    into.append(tool_result(call_id, content, name=message.get("name"), failed=failed, notes=notes))


def _is_result(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    if type(kind) is str:
        return _READERS.get(kind) in (read_result, read_genai_result)
    return any(_KEYED.get(key) is _keyed_result for key in part)


def _untyped(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """Gemini and Bedrock parts, which say what they are by their key. Any other typed part says nothing."""
    if part.get("type") is not None:
        return
    for key in part:
        reader = _KEYED.get(key)
        if reader is not None:
            reader(part, into, notes)
            return
    if "text" in part:
        _text_block(part, into, notes)
    elif "parts" in part:
        read_parts(part["parts"], into, notes)


def _keyed_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    for key in ("functionCall", "function_call", "toolUse"):
        inner = part.get(key)
        if is_object(inner):
            read_call(inner, into, notes)


def _keyed_result(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    for key in ("functionResponse", "function_response", "toolResult"):
        inner = part.get(key)
        if is_object(inner):
            read_result(inner, into, notes)


def _keyed_reasoning(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    append_reasoning(part["reasoningContent"], into, notes)


def _message_item(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    read_parts(part.get("content"), into, notes)


def _refusal(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    append_text(part.get("refusal"), into, notes)


def _compaction(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    content = part.get("content")
    notes.compaction = content if type(content) is str else ""


def _nothing(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """A part that is no speech: media, files, markers."""


_Reader = Callable[[dict[str, Any], list[Part], Notes], None]

_READERS: dict[str, _Reader] = {
    "text": _text_block,
    "content": _text_block,
    "input_text": _text_block,
    "output_text": _text_block,
    "message": _message_item,
    "refusal": _refusal,
    "reasoning": _reasoning_part,
    "thinking": _reasoning_part,
    "reasoningContent": _reasoning_part,
    "reasoning_content": _reasoning_part,
    "reasoning_text": _reasoning_part,
    "summary_text": _reasoning_part,
    "thought": _reasoning_part,
    "redacted_thinking": _nothing,
    "tool_call": read_genai_call,
    "tool_use": read_call,
    "toolUse": read_call,
    "function": read_call,
    "function_call": read_call,
    "custom_tool_call": read_call,
    "tool-call": read_call,
    "dynamic-tool": read_call,
    "server_tool_call": read_provider_call,
    "server_tool_use": read_provider_call,
    "mcp_tool_use": read_provider_call,
    "builtin_tool_call": read_provider_call,
    "tool_call_response": read_genai_result,
    "tool_result": read_result,
    "toolResult": read_result,
    "tool-result": read_result,
    "tool_response": read_result,
    "function_call_output": read_result,
    "custom_tool_call_output": read_result,
    "server_tool_call_response": read_result,
    "compaction": _compaction,
    "anthropic_compaction": _compaction,
    "blob": _nothing,
    "uri": _nothing,
    "file": _nothing,
    "image": _nothing,
    "image_url": _nothing,
}
_KEYED: dict[str, _Reader] = {
    "functionCall": _keyed_call,
    "function_call": _keyed_call,
    "toolUse": _keyed_call,
    "functionResponse": _keyed_result,
    "function_response": _keyed_result,
    "toolResult": _keyed_result,
    "reasoningContent": _keyed_reasoning,
}
