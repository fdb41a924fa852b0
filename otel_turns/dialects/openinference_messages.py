"""Messages that OpenInference spreads over indexed attributes (`llm.input_messages.0.message.role`, ...).

Comes in: a span's attributes. Goes out: the messages of request and reply, in one pass over the keys.

| attribute below `llm.{input,output}_messages.N.message.` | becomes |
|---|---|
| `role`, `content`, `contents.M.message_content.{type,text}` | a message with its parts |
| `tool_calls.M.tool_call.{id,function.name,function.arguments}` | a tool call |
| `contents.M.tool_call.*`, type `tool_use` (since 2026) | the same call in its place: it counts once |
| `tool_call_id`, `name` | the message is the result of that call |
| `function_call_name`, `function_call_arguments_json` (before 2024) | a tool call without id |

Text completions: `llm.prompts`, `.N.prompt.text`, `llm.choices.N.completion.text`. It never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.messages import Notes, role_of, tool_call, tool_result
from otel_turns.dialects.parts import append_reasoning, append_text
from otel_turns.dialects.values import is_list
from otel_turns.model.facts import MISSING, Message, Part, Text, ToolCall

__all__ = ["as_one_reply", "read_indexed"]

_INPUT, _OUTPUT = "llm.input_messages.", "llm.output_messages."
_PROMPT, _CHOICE = "llm.prompts.", "llm.choices."
_INPUT_AT, _OUTPUT_AT = len(_INPUT), len(_OUTPUT)
_Fields = dict[str, Any]
_Items = dict[int, _Fields]


def read_indexed(
    attributes: Mapping[str, Any], inputs: Notes, outputs: Notes
) -> tuple[list[Message] | None, list[Message] | None]:
    """The messages of the request and of the reply; None where no attribute tells any."""
    asked: _Items = {}
    said: _Items = {}
    plain = False
    for key, value in attributes.items():
        if not key.startswith("llm."):
            continue
        if key.startswith(_INPUT):
            _sort_in(asked, key, _INPUT_AT, value)
        elif key.startswith(_OUTPUT):
            _sort_in(said, key, _OUTPUT_AT, value)
        elif key.startswith("llm.prompts") or key.startswith(_CHOICE):
            plain = True
    request = [_message(asked[at], "user", inputs) for at in sorted(asked)] if asked else None
    reply = [_message(said[at], "assistant", outputs) for at in sorted(said)] if said else None
    if plain:
        request = request or _completions(attributes, _PROMPT, "user", inputs)
        reply = reply or _completions(attributes, _CHOICE, "assistant", outputs)
    return request, reply


def as_one_reply(messages: list[Message] | None) -> list[Message] | None:
    """Several output messages of one request are one reply (Responses: a message for each item)."""
    if messages is None or len(messages) < 2:
        return messages
    parts = [part for message in messages for part in message.parts]
    return [Message("assistant", parts)]


def _sort_in(items: _Items, key: str, at: int, value: Any) -> None:
    pieces = key[at:].split(".", 2)
    if len(pieces) != 3 or pieces[1] != "message" or not pieces[0].isdigit() or len(pieces[0]) > 6:
        return
    number = int(pieces[0])
    fields = items.get(number)
    if fields is None:
        fields = items[number] = {}
    name = pieces[2]
    if name.startswith("contents.") or name.startswith("tool_calls."):
        group, number_text, leaf = name.split(".", 2) if name.count(".") > 1 else (name, "", "")
        if number_text.isdigit() and len(number_text) <= 6:
            inner: _Items = fields.setdefault(group, {})
            inner.setdefault(int(number_text), {})[leaf] = value
    elif name != "contents" and name != "tool_calls":
        fields[name] = value


def _message(fields: _Fields, default: str, notes: Notes) -> Message:
    role = role_of(fields.get("role"), default)
    parts: list[Part] = []
    contents: _Items = fields.get("contents") or {}
    for at in sorted(contents):
        _content(contents[at], parts, notes)
    placed = [part for part in parts if isinstance(part, ToolCall)]
    content = fields.get("content")
    if role == "tool" or "tool_call_id" in fields:
        return _result(fields, content, parts, notes)
    if content is not None and not any(isinstance(part, Text) for part in parts):
        said: list[Part] = []
        if is_list(content):
            for one in content:
                append_text(one, said, notes)
        else:
            append_text(content, said, notes)
        parts[_behind_reasoning(parts) : 0] = said
    calls: _Items = fields.get("tool_calls") or {}
    for at in sorted(calls):
        call = _call(calls[at], notes)
        if call is not None and not _take_out(call, placed):
            parts.append(call)
    name = fields.get("function_call_name")
    if name:
        arguments = fields.get("function_call_arguments_json", MISSING)
        parts.append(tool_call(None, name, arguments, notes=notes))
    return Message(role, parts)


def _behind_reasoning(parts: list[Part]) -> int:
    """Where text belongs that the contents do not tell: before the first call."""
    return next((at for at, part in enumerate(parts) if isinstance(part, ToolCall)), len(parts))


def _result(fields: _Fields, content: Any, parts: list[Part], notes: Notes) -> Message:
    if content is None:
        texts = [part.text for part in parts if isinstance(part, Text)]
        content = "".join(texts) if texts else MISSING
    result = tool_result(fields.get("tool_call_id"), content, name=fields.get("name"), notes=notes)
    return Message("tool", [result])


def _content(fields: _Fields, parts: list[Part], notes: Notes) -> None:
    kind = fields.get("message_content.type")
    if kind == "tool_use" or (kind is None and "tool_call.function.name" in fields):
        call = _call(fields, notes)
        if call is not None:
            parts.append(call)
    elif kind == "reasoning" or kind == "thinking":
        append_reasoning(fields.get("message_content.text"), parts, notes)
    elif kind == "text" or kind is None or kind == "output_text" or kind == "input_text":
        append_text(fields.get("message_content.text"), parts, notes)


def _call(fields: _Fields, notes: Notes) -> ToolCall | None:
    name = fields.get("tool_call.function.name")
    call_id = fields.get("tool_call.id")
    if not name and not call_id:
        return None
    return tool_call(call_id, name, fields.get("tool_call.function.arguments", MISSING), notes=notes)


def _take_out(call: ToolCall, placed: list[ToolCall]) -> bool:
    """Whether `call` stands among the contents already; each of those is the twin of one call only."""
    for at, other in enumerate(placed):
        if other.id == call.id and other.name == call.name and (call.id or other.arguments == call.arguments):
            del placed[at]
            return True
    return False


def _completions(attributes: Mapping[str, Any], prefix: str, role: str, notes: Notes) -> list[Message] | None:
    parts: list[Part] = []
    listed = attributes.get(prefix[:-1])
    texts = list(listed) if is_list(listed) else []
    leaf = ".prompt.text" if role == "user" else ".completion.text"
    numbered = [
        (int(key[len(prefix) : -len(leaf)]), value)
        for key, value in attributes.items()
        if key.startswith(prefix) and key.endswith(leaf) and key[len(prefix) : -len(leaf)].isdigit()
    ]
    texts.extend(value for _, value in sorted(numbered, key=lambda pair: pair[0]))
    for text in texts:
        append_text(text, parts, notes)
    return [Message(role, parts)] if parts else None
