"""Tool calls and tool results as parts of messages, in every shape that instrumentations write.

Comes in: one part, or raw values. Goes out: `ToolCall` and `ToolResult`, and `Notes` about what could not be
read. It guesses no id, no name and no arguments.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.values import as_text, is_object, json_arguments, result_of, unwrap_result
from otel_turns.model.facts import MISSING, Part, ToolCall, ToolResult

__all__ = [
    "Notes",
    "read_call",
    "read_genai_call",
    "read_genai_result",
    "read_provider_call",
    "read_result",
    "tool_call",
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


def read_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    _append_call(part, into, notes, False)


def read_genai_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
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


def read_genai_result(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    """The GenAI shape of a result: `id` and `response`."""
    call_id = part.get("id")
    if len(part) != 3 or type(call_id) is not str or not call_id or "response" not in part:
        read_result(part, into, notes)
        return
    value = result_of(part["response"])
    if value is MISSING:
        notes.hidden = True
    into.append(ToolResult(call_id, None, value))


def read_provider_call(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
    _append_call(part, into, notes, True)


_PROVIDER_IDS = ("srvtoolu_", "mcptoolu_")
_CALL_IDS = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId")
_NAMES = ("name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "input", "args", "action")
_RESULTS = ("response", "result", "content", "output")
_OWN = frozenset({"type", "id", *_NAMES})
"""What a server tool's payload says of itself beside its arguments."""


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
    else:
        if nested is not body and body is not part and is_object(nested):
            arguments = {k: v for k, v in nested.items() if k not in _OWN} or None
    if not call_id and not name:
        return
    if not by_provider:
        by_provider = part.get("providerExecuted") is True or (
            type(call_id) is str and call_id.startswith(_PROVIDER_IDS)
        )
    into.append(
        tool_call(call_id, name, arguments, notes=notes, other_ids=other, executed_by_provider=by_provider)
    )


def read_result(part: dict[str, Any], into: list[Part], notes: Notes) -> None:
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
