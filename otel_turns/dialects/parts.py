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

from otel_turns.dialects.values import (
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_arguments,
    result_of,
    unwrap_result,
)
from otel_turns.model.facts import MISSING, Part, Reasoning, Text, ToolCall, ToolResult

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


class Notes:
    """What was seen beside the parts.

    hidden: some content was a placeholder or left out. unparsable: arguments that are no JSON.
    compaction: the text of a compaction part ("" where it has none), None where there is no such part.
    """

    __slots__ = ("compaction", "hidden", "unparsable")

    def __init__(self) -> None:
        self.hidden = False
        self.unparsable = False
        self.compaction: str | None = None


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


def tool_call(
    call_id: Any,
    name: Any,
    arguments: Any = MISSING,
    *,
    notes: Notes | None = None,
    other_ids: tuple[str, ...] = (),
    executed_by_provider: bool = False,
) -> ToolCall:
    """A tool call from raw values: ids and names cleaned; arguments parsed, or left as the text they are."""
    if arguments is MISSING or arguments is None:
        parsed, bad = MISSING, False
    else:
        parsed, bad = json_arguments(arguments)
    if notes is not None:
        if bad:
            notes.unparsable = True
        if parsed is MISSING:
            notes.hidden = True
    return ToolCall(as_text(call_id), as_text(name), parsed, other_ids, executed_by_provider)


def tool_result(
    call_id: Any,
    result: Any = MISSING,
    *,
    name: Any = None,
    failed: bool = False,
    rejected: bool = False,
    pending: bool = False,
    notes: Notes | None = None,
    other_ids: tuple[str, ...] = (),
) -> ToolResult:
    """A tool result from raw values: out of its content block and parsed; `MISSING` for a placeholder."""
    value = MISSING if result is MISSING else unwrap_result(result)
    if value is MISSING and notes is not None:
        notes.hidden = True
    return ToolResult(as_text(call_id), as_text(name), value, failed, rejected, pending, other_ids)


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


def _call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    _append_call(part, into, notes, False)


def _genai_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """The GenAI shape, by far the most frequent one: `id`, `name` and `arguments` side by side."""
    call_id, name, arguments = part.get("id"), part.get("name"), part.get("arguments")
    if (
        type(call_id) is not str
        or type(name) is not str
        or not name
        or "call_id" in part
        or arguments is None
    ):
        _append_call(part, into, notes, False)
        return
    if type(arguments) is str:
        arguments, bad = json_arguments(arguments)
        if bad:
            notes.unparsable = True
        elif arguments is MISSING:
            notes.hidden = True
    into.append(ToolCall(call_id or None, name, arguments, (), call_id.startswith(_PROVIDER_IDS)))


def _genai_result(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """The GenAI shape of a result: `id` and `response`."""
    call_id = part.get("id")
    if len(part) != 3 or type(call_id) is not str or not call_id or "response" not in part:
        _result(part, into, notes)
        return
    value = result_of(part["response"])
    if value is MISSING:
        notes.hidden = True
    into.append(ToolResult(call_id, None, value))


def _provider_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    _append_call(part, into, notes, True)


_PROVIDER_IDS = ("srvtoolu_", "mcptoolu_")
_CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId")
_NAMES = ("name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "input", "args", "action")
_RESULTS = ("response", "result", "content", "output")


def _append_call(part: dict[str, Any], into: list[Part], notes: Notes, by_provider: bool) -> None:
    own = part.get("id")
    call_id: Any = None
    for key in _CALL_IDS:
        call_id = part.get(key)
        if call_id:
            break
    other: tuple[str, ...] = ()
    if not call_id:
        call_id = own
    elif own and own != call_id and type(own) is str:
        other = (own,)
    body = part
    nested = part.get("function")
    if is_object(nested):
        body = nested
    else:
        nested = part.get("server_tool_call")
        if is_object(nested):
            body = {**nested, **{k: v for k, v in part.items() if k != "type"}}
    name: Any = None
    for key in _NAMES:
        name = body.get(key)
        if name:
            break
    arguments: Any = None
    for key in _ARGUMENTS:
        arguments = body.get(key)
        if arguments is not None:
            break
    if not call_id and not name:
        return
    if not by_provider:
        by_provider = part.get("providerExecuted") is True or (
            type(call_id) is str and call_id.startswith(_PROVIDER_IDS)
        )
    into.append(
        tool_call(call_id, name, arguments, notes=notes, other_ids=other, executed_by_provider=by_provider)
    )


def _result(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    call_id: Any = part.get("id")
    other: tuple[str, ...] = ()
    for key in _CALL_IDS:
        found = part.get(key)
        if found:
            if type(call_id) is str and call_id and call_id != found:
                other = (call_id,)
            call_id = found
            break
    failed = part.get("is_error") is True or part.get("isError") is True or part.get("status") == "error"
    value: Any = MISSING
    for key in _RESULTS:
        if key in part:
            value = part[key]
            break
    else:
        nested = part.get("server_tool_call_response")
        if nested is not None:
            value = nested
    if is_object(value) and part.get("type") == "tool-result" and "value" in value:
        failed = failed or str(value.get("type", "")).startswith("error")
        value = value["value"]
    name: Any = None
    for key in _NAMES:
        name = part.get(key)
        if name:
            break
    into.append(tool_result(call_id, value, name=name, failed=failed, notes=notes, other_ids=other))


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
        return _READERS.get(kind) in (_result, _genai_result)
    return any(_KEYED.get(key) is _keyed_result for key in part)


def _untyped(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """Gemini and Bedrock parts, which say what they are by their key."""
    for key in part:
        reader = _KEYED.get(key)
        if reader is not None:
            reader(part, into, notes)
            return
    if part.get("type") is not None:
        return
    if "text" in part:
        _text_block(part, into, notes)
    elif "parts" in part:
        read_parts(part["parts"], into, notes)


def _keyed_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    for key in ("functionCall", "function_call", "toolUse"):
        inner = part.get(key)
        if is_object(inner):
            _call(inner, into, notes)


def _keyed_result(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    for key in ("functionResponse", "function_response", "toolResult"):
        inner = part.get(key)
        if is_object(inner):
            _result(inner, into, notes)


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
    "tool_call": _genai_call,
    "tool_use": _call,
    "toolUse": _call,
    "function": _call,
    "function_call": _call,
    "custom_tool_call": _call,
    "tool-call": _call,
    "dynamic-tool": _call,
    "server_tool_call": _provider_call,
    "server_tool_use": _provider_call,
    "mcp_tool_use": _provider_call,
    "builtin_tool_call": _provider_call,
    "tool_call_response": _genai_result,
    "tool_result": _result,
    "toolResult": _result,
    "tool-result": _result,
    "tool_response": _result,
    "function_call_output": _result,
    "custom_tool_call_output": _result,
    "server_tool_call_response": _result,
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
