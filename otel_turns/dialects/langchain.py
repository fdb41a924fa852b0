"""LangChain's own objects, as every instrumentation of it writes them: messages and results of runs.

Comes in: JSON of a run's inputs or outputs. Goes out: messages, and what one tool message says. A message
shows itself in four forms: a constructor (`{"lc": 1, "id": [..., "AIMessage"], "kwargs": {...}}`), `{"type":
"ai", "data": {...}}`, the bare fields (`{"type": "ai", "content": ...}`), and a provider's own (`{"role":
...}`). It never raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from otel_turns.dialects.messages import Notes, read_message, tool_call
from otel_turns.dialects.parts import append_reasoning, read_parts, tool_result
from otel_turns.dialects.provider_payloads import read_usage
from otel_turns.dialects.values import as_text, is_list, is_object
from otel_turns.model.facts import (
    MISSING,
    Message,
    Part,
    TokenUsage,
    ToolCall,
    ToolResult,
)

__all__ = [
    "Generation",
    "lc_fields",
    "lc_generation",
    "lc_message",
    "lc_messages",
    "lc_tool_message",
    "only_call",
    "structured_answer",
    "tool_messages",
]

_KINDS = {
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "developer": "system",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessage": "tool",
}
_PAIRED = frozenset({"human", "user", "ai", "assistant", "system"})
_DEEPEST = 12
_Kwargs = dict[str, Any]


def lc_fields(value: Any) -> tuple[str, _Kwargs] | None:
    """The role and the fields of a message in one of LangChain's own forms; None for anything else."""
    if not is_object(value):
        return None
    kind: Any = value.get("type")
    if "lc" in value and is_object(value.get("kwargs")):
        fields: _Kwargs = value["kwargs"]
        path = value.get("id")
        name = path[-1] if is_list(path) and path else None
        kind = _KINDS.get(name) if type(name) is str else None
        kind = kind or _KINDS.get(str(fields.get("type")))
        return (kind, fields) if kind else None
    if is_object(value.get("data")) and type(kind) is str and kind in _KINDS:
        return _KINDS[kind], value["data"]
    if type(kind) is str and kind in _KINDS and ("content" in value or "tool_calls" in value):
        return _KINDS[kind], value
    return None


def lc_message(value: Any, notes: Notes) -> Message | None:
    """One message in any of its forms; None where it is none."""
    found = lc_fields(value)
    if found is None:
        if is_object(value) and "role" in value:
            return read_message(value, "user", notes)
        if is_list(value) and len(value) == 2 and type(value[0]) is str and type(value[1]) is str:
            return read_message({"role": value[0], "content": value[1]}, "user", notes)
        return None
    role, fields = found
    if role == "tool":
        result = lc_tool_message(value, notes)
        return Message("tool", [result]) if result is not None else None
    parts: list[Part] = []
    extra: Any = fields.get("additional_kwargs")
    extra = extra if is_object(extra) else {}
    thought = extra.get("reasoning_content") or extra.get("reasoning")
    if thought:
        append_reasoning(thought, parts, notes)
    read_parts(fields.get("content"), parts, notes)
    if role == "assistant":
        _calls(fields, extra, parts, notes)
    return Message(role, parts)


def _calls(fields: _Kwargs, extra: _Kwargs, parts: list[Part], notes: Notes) -> None:
    known = {part.id for part in parts if isinstance(part, ToolCall)}
    told: Any = fields.get("tool_calls")
    if is_list(told):
        for call in told:
            if is_object(call) and (call.get("id") is None or call.get("id") not in known):
                arguments = call.get("args", call.get("arguments", MISSING))
                parts.append(tool_call(call.get("id"), call.get("name"), arguments, notes=notes))
    broken: Any = fields.get("invalid_tool_calls")
    if is_list(broken):
        for call in broken:
            if is_object(call) and (call.get("name") or call.get("id")):
                parts.append(
                    tool_call(call.get("id"), call.get("name"), call.get("args", MISSING), notes=notes)
                )
    if not told and not broken and not known:
        raw: Any = extra.get("tool_calls")
        for call in raw if is_list(raw) else ():
            if is_object(call) and is_object(call.get("function")):
                body: _Kwargs = call["function"]
                arguments = body.get("arguments", MISSING)
                parts.append(tool_call(call.get("id"), body.get("name"), arguments, notes=notes))


def lc_tool_message(value: Any, notes: Notes | None = None) -> ToolResult | None:
    """What a ToolMessage says; None for anything else.

    `status` "error" is a failure. `additional_kwargs.lc_data.decision` "reject" is the human's refusal, which
    the human-in-the-loop middleware hands to the model.
    """
    found = lc_fields(value)
    if found is None or found[0] != "tool":
        return None
    fields = found[1]
    extra: Any = fields.get("additional_kwargs")
    data: Any = extra.get("lc_data") if is_object(extra) else None
    rejected = is_object(data) and data.get("decision") == "reject"
    failed = fields.get("status") == "error" and not rejected
    content = fields.get("content", MISSING)
    name = fields.get("name")
    return tool_result(
        fields.get("tool_call_id"), content, name=name, failed=failed, rejected=rejected, notes=notes
    )


def lc_messages(value: Any, notes: Notes) -> list[Message] | None:
    """The messages of a run's inputs or outputs; None where it holds none."""
    found = [m for item in _held(value, 0) if (m := lc_message(item, notes)) is not None]
    return found or None


def tool_messages(value: Any) -> list[ToolResult]:
    """The tool messages of a run's outputs."""
    return [m for item in _held(value, 0) if (m := lc_tool_message(item)) is not None]


def _held(value: Any, depth: int) -> Iterator[Any]:
    """What stands where messages stand: below `messages`, `output`, `update`, in lists, commands."""
    if depth > _DEEPEST:
        return
    if is_list(value):
        if len(value) == 2 and type(value[0]) is str and type(value[1]) is str and value[0] in _PAIRED:
            yield value
            return
        for item in value:
            yield from _held(item, depth + 1)
    elif is_object(value):
        if lc_fields(value) is not None or "role" in value:
            yield value
            return
        for key in ("messages", "update", "output", "outputs", "input", "inputs", "kwargs", "args"):
            inner = value.get(key)
            if inner is not None and not isinstance(inner, str):
                yield from _held(inner, depth + 1)
                return


@dataclass(slots=True)
class Generation:
    """The reply in the outputs of a model's run: `message`, and what its metadata tells."""

    message: Message
    response_id: str | None = None
    usage: TokenUsage | None = None


def lc_generation(value: Any, notes: Notes) -> Generation | None:
    """The first reply in the outputs of a model's run (`generations`), or a message by itself."""
    at = value
    for _ in range(4):
        if is_object(at) and "generations" in at:
            at = at["generations"]
        elif is_list(at):
            at = at[0] if at else None
        else:
            break
    if not is_object(at):
        return None
    body: Any = at.get("message", at)
    found = lc_fields(body)
    if found is None:
        text = at.get("text")
        if "message" not in at and type(text) is str and text:
            message = Message("assistant")
            read_parts(text, message.parts, notes)
            return Generation(message)
        return None
    message = lc_message(body, notes)
    if message is None or message.role != "assistant":
        return None
    fields = found[1]
    return Generation(message, _response_id(fields), read_usage(fields.get("usage_metadata")))


def _response_id(fields: _Kwargs) -> str | None:
    metadata: Any = fields.get("response_metadata")
    told = as_text(metadata.get("id")) if is_object(metadata) else None
    own = as_text(fields.get("id"))
    if told is None and own is not None and not own.startswith(("run-", "lc_run-", "run_")):
        told = own
    return told


def only_call(value: Any) -> ToolCall | None:
    """The one call that a tools node runs: a list with one call, or the one below `lg_tool_call`."""
    for key in ("lg_tool_call", "input", "inputs", "__tool_call", "tool_call"):
        if is_object(value) and key in value and "args" not in value:
            value = value[key]
    if is_list(value):
        if len(value) != 1:
            return None
        value = value[0]
    if not is_object(value) or type(value.get("name")) is not str or "args" not in value or "id" not in value:
        return None
    return tool_call(value["id"], value["name"], value["args"])


def structured_answer(value: Any) -> tuple[Any, tuple[str, ...]]:
    """The typed answer in the state that a run gives back, and the ids of calls that only handed it over.

    With the tool strategy the model "calls" the answer's schema; it never runs, and a message answers it.
    """
    for state in _states(value, 0):
        answer = state.get("structured_response")
        if answer is None:
            continue
        asked: dict[str, ToolCall] = {}
        answered: dict[str, ToolResult] = {}
        for item in _held(state.get("messages"), 0):
            message = lc_message(item, Notes())
            for part in message.parts if message is not None else ():
                if isinstance(part, ToolCall) and part.id:
                    asked[part.id] = part
                elif isinstance(part, ToolResult) and part.id:
                    answered[part.id] = part
        ids = [i for i, call in asked.items() if call.arguments == answer and i in answered]
        return answer, tuple(ids[-1:])
    return MISSING, ()


def _states(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        return
    if is_list(value):
        for item in value:
            yield from _states(item, depth + 1)
    elif is_object(value):
        if "structured_response" in value:
            yield value
            return
        for key in ("update", "output", "outputs"):
            if key in value:
                yield from _states(value[key], depth + 1)
