"""Messages as OpenLLMetry writes them: indexed attributes, and its own ways within the GenAI attributes.

Comes in: a span's attributes, or messages read from them. Goes out: messages.

| attribute | becomes | until |
|---|---|---|
| `gen_ai.prompt.N.role`, `.content`, `.tool_call_id` | a message of the request, or a result | 0.50 |
| `gen_ai.prompt.N.tool_calls.M.id`, `.name`, `.arguments` | a call in the history | 0.50 |
| `gen_ai.completion.N.role`, `.content`, `.tool_calls.M.*` | the reply; role `thinking` is reasoning | 0.50 |
| `gen_ai.completion.N.function_call.name`, `.arguments` | a call without id | 0.20 |
| `gen_ai.completion.N.reasoning`, `.reasoning_content` | reasoning | 0.50 |

It never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.messages import Notes, role_of, tool_call, tool_result
from otel_turns.dialects.parts import append_reasoning, append_text, read_parts
from otel_turns.dialects.values import is_list, is_object, json_text
from otel_turns.model.facts import MISSING, Message, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = ["name_history_calls", "read_numbered", "unfold_reasoning"]

_PROMPT, _COMPLETION = "gen_ai.prompt.", "gen_ai.completion."
_PROMPT_AT, _COMPLETION_AT = len(_PROMPT), len(_COMPLETION)
_Fields = dict[str, Any]
_Items = dict[int, _Fields]


def read_numbered(
    attributes: Mapping[str, Any], inputs: Notes, outputs: Notes
) -> tuple[list[Message] | None, list[Message] | None]:
    """The messages of the request and of the reply; None where no numbered attribute tells any."""
    asked: _Items = {}
    said: _Items = {}
    for key, value in attributes.items():
        if not key.startswith("gen_ai."):
            continue
        if key.startswith(_PROMPT):
            _sort_in(asked, key, _PROMPT_AT, value)
        elif key.startswith(_COMPLETION):
            _sort_in(said, key, _COMPLETION_AT, value)
    request = [_message(asked[at], "user", inputs) for at in sorted(asked)] if asked else None
    reply = [_message(said[at], "assistant", outputs) for at in sorted(said)] if said else None
    return request, reply


def _sort_in(items: _Items, key: str, at: int, value: Any) -> None:
    number, _, name = key[at:].partition(".")
    if not number.isdigit() or len(number) > 6 or not name:
        return
    fields = items.setdefault(int(number), {})
    if name.startswith("tool_calls."):
        _, inner, leaf = name.split(".", 2) if name.count(".") > 1 else (name, "", "")
        if inner.isdigit() and len(inner) <= 6:
            calls: _Items = fields.setdefault("tool_calls", {})
            calls.setdefault(int(inner), {})[leaf] = value
    elif name != "tool_calls":
        fields[name] = value


def _message(fields: _Fields, default: str, notes: Notes) -> Message:
    role = fields.get("role")
    content = fields.get("content")
    parts: list[Part] = []
    if role == "thinking" or role == "reasoning":
        append_reasoning(content, parts, notes)
        return Message("assistant", parts)
    known = role_of(role, default)
    for key in ("reasoning", "reasoning_content"):
        _reason(fields.get(key), parts, notes)
    call_id = fields.get("tool_call_id")
    if known == "tool" or call_id:
        value = MISSING if content is None else content
        return Message("tool", [tool_result(call_id, value, name=fields.get("name"), notes=notes)])
    _content(content, parts, notes)
    calls: _Items = fields.get("tool_calls") or {}
    for at in sorted(calls):
        call = calls[at]
        if call.get("name") or call.get("id"):
            parts.append(_call(call, notes))
    name = fields.get("function_call.name")
    if name:
        parts.append(tool_call(None, name, fields.get("function_call.arguments", MISSING), notes=notes))
    if parts and all(isinstance(part, ToolResult) for part in parts):
        known = "tool"
    return Message(known, parts)


def _call(fields: _Fields, notes: Notes) -> ToolCall:
    name = fields.get("name") or fields.get("function.name")
    arguments = fields.get("arguments", fields.get("function.arguments", MISSING))
    return tool_call(fields.get("id"), name, arguments, notes=notes)


def _content(content: Any, parts: list[Part], notes: Notes) -> None:
    """Text, or the JSON text of blocks."""
    if type(content) is str and content[:2] in ("[{", "[ "):
        blocks = json_text(content)
        if is_list(blocks) and blocks and all(is_object(b) and "type" in b for b in blocks):
            read_parts(blocks, parts, notes)
            return
    append_text(content, parts, notes)


def _reason(value: Any, parts: list[Part], notes: Notes) -> None:
    if type(value) is str and value[:1] in "[{":
        parsed = json_text(value)
        value = value if parsed is MISSING else parsed
    append_reasoning(value, parts, notes)


def unfold_reasoning(messages: list[Message] | None) -> None:
    """Reasoning that is the JSON text of summaries becomes their text, and stands before the reply's text."""
    for message in messages or ():
        if not any(isinstance(part, Reasoning) for part in message.parts):
            continue
        thoughts: list[Part] = []
        rest: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Reasoning):
                rest.append(part)
            elif part.text[:1] in "[{":
                before = len(thoughts)
                _reason(part.text, thoughts, Notes())
                if len(thoughts) == before:
                    thoughts.append(part)
            else:
                thoughts.append(part)
        message.parts = [*thoughts, *rest]


def name_history_calls(messages: list[Message] | None) -> None:
    """Calls of the Responses API carry the id of their item (`fc_...`), their results the id of the call.

    Within one history they are paired in their order, batch by batch, where the counts agree. An item's id
    stays as a further id.
    """
    pending: list[ToolCall] = []
    answers: list[ToolResult] = []
    for message in messages or ():
        for part in message.parts:
            if isinstance(part, ToolCall):
                if answers:
                    _pair(pending, answers)
                    pending, answers = [], []
                if part.id is not None and part.id.startswith("fc_"):
                    part.other_ids = (part.id, *part.other_ids)
                    part.id = None
                    pending.append(part)
            elif isinstance(part, ToolResult):
                answers.append(part)
            elif isinstance(part, Text) and message.role == "user" and answers:
                _pair(pending, answers)
                pending, answers = [], []
    _pair(pending, answers)


def _pair(pending: list[ToolCall], answers: list[ToolResult]) -> None:
    if len(pending) == len(answers):
        for call, result in zip(pending, answers, strict=True):
            call.id = result.id
            result.name = result.name or call.name
