"""Where GenAI telemetry carries messages: attributes, span events and log records of every version.

Comes in: attributes, events and bodies, and the `Facts` to fill. Goes out: `inputs`, `outputs`, `hidden`
and the compaction mark of those facts. It never looks at a span's role.

| carrier | since | holds |
|---|---|---|
| `gen_ai.input.messages`, `.output.messages`, `.system_instructions` | 1.37 | JSON text or structure |
| `gen_ai.client.inference.operation.details`, span event or record | 1.37 | the same, often apart |
| events `gen_ai.{system,user,assistant,tool}.message` | 1.28 to 1.36 | one input message each |
| event `gen_ai.choice` | 1.28 to 1.36 | a reply: the only new thing among them |
| events `gen_ai.content.prompt`, `.completion` | to 1.27 | JSON text in one attribute |

The older events repeat the whole conversation with each request: only `gen_ai.choice` is speech.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from otel_turns.dialects.messages import Notes, read_message, read_messages
from otel_turns.dialects.parts import read_parts
from otel_turns.dialects.values import is_list, is_object, is_placeholder, json_text
from otel_turns.model.facts import Facts, Mark, Message, Part, Text
from otel_turns.model.span import Span

__all__ = [
    "CHOICE",
    "DETAILS",
    "MESSAGE_EVENTS",
    "read_content",
    "read_message_attributes",
    "read_message_event",
]

DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CONTENT_EVENTS = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}


def read_content(span: Span, facts: Facts) -> None:
    """Fills the messages from the span's attributes; what those do not tell from its events."""
    read_message_attributes(span.attributes, facts, span.end)
    if span.events:
        inputs = facts.inputs if "inputs" not in facts.hidden else None
        outputs = facts.outputs if "outputs" not in facts.hidden else None
        _read_events(span, facts)
        if inputs is not None:
            facts.inputs = inputs
            facts.hidden.discard("inputs")
        if outputs is not None:
            facts.outputs = outputs
            facts.hidden.discard("outputs")


def _read_events(span: Span, facts: Facts) -> None:
    for event in span.events:
        name = event.name
        if name == DETAILS:
            read_message_attributes(event.attributes, facts, event.time)
        elif name == CHOICE or name in MESSAGE_EVENTS:
            body = event.attributes.get("gen_ai.event.content", event.attributes)
            read_message_event(name, body, facts)
        elif name in _CONTENT_EVENTS:
            _read_content_event(event.attributes.get(_CONTENT_EVENTS[name]), name, facts)


def read_message_attributes(attributes: Mapping[str, Any], facts: Facts, time: int) -> None:
    """Reads the three message attributes of 1.37, wherever they stand. `time` is a compaction's."""
    value = attributes.get("gen_ai.input.messages")
    if value:
        notes = Notes()
        messages = () if is_placeholder(value) else read_messages(value, "user", notes)
        if _is_cut(value, messages):
            messages, facts.truncated = (), True
        if messages:
            facts.inputs = [*facts.inputs, *messages] if facts.inputs else list(messages)
        if notes.hidden or not messages:
            facts.hidden.add("inputs")
    value = attributes.get("gen_ai.system_instructions")
    if value and not is_placeholder(value):
        system = read_messages(value, "system")
        if system:
            facts.inputs = [*system, *facts.inputs] if facts.inputs else system
    value = attributes.get("gen_ai.output.messages")
    if value:
        notes = Notes()
        messages = () if is_placeholder(value) else read_messages(value, "assistant", notes)
        if _is_cut(value, messages):
            messages, facts.truncated = (), True
        _add_outputs(messages, notes, facts)
        if notes.compaction is not None:
            facts.marks.append(Mark(time, "event", {"type": "compaction"}))


def _is_cut(value: Any, messages: Sequence[Message]) -> bool:
    """Whether an attribute that holds messages as JSON is broken JSON: it was read as text, and is none."""
    if type(value) is not str or value[:2] not in ("[{", '{"') or len(messages) != 1:
        return False
    parts = messages[0].parts
    return len(parts) == 1 and type(parts[0]) is Text and parts[0].text == value


def read_message_event(name: str, body: Any, facts: Facts) -> None:
    """Reads one of the older message events, of a span or as a record; `body` is an object, or JSON text."""
    if type(body) is str:
        parsed = json_text(body)
        body = parsed if is_object(parsed) else {"content": body}
    if not isinstance(body, Mapping):
        return
    fields = cast("Mapping[str, Any]", body)
    notes = Notes()
    if name == CHOICE:
        message = _choice(fields, notes)
        if message is not None:
            _add_outputs((message,), notes, facts)
        elif is_placeholder(fields.get("message")) or notes.hidden:
            facts.hidden.add("outputs")
        return
    role = MESSAGE_EVENTS[name]
    message = read_message(_with_blocks(fields, "content"), role, notes)
    if notes.hidden:
        facts.hidden.add("inputs")
    if message.parts:
        message.role = role if role != "user" else message.role
        facts.inputs = [*facts.inputs, message] if facts.inputs else [message]


def read_event_list(value: Any, facts: Facts) -> None:
    """Reads the older message events where an instrumentation writes them as JSON in one attribute."""
    events = json_text(value) if type(value) is str else value
    if not is_list(events):
        return
    for event in events:
        if is_object(event):
            name = event.get("event.name")
            if name == CHOICE or name in MESSAGE_EVENTS:
                read_message_event(str(name), event, facts)


def _choice(fields: Mapping[str, Any], notes: Notes) -> Message | None:
    inner = fields.get("message")
    if type(inner) is str:
        parsed = json_text(inner)
        inner = parsed if is_object(parsed) else _with_blocks({"content": inner}, "content")
    if is_object(inner):
        if "tool_calls" in fields and "tool_calls" not in inner:
            inner = {**inner, "tool_calls": fields["tool_calls"]}
        message = read_message(_with_blocks(inner, "content"), "assistant", notes)
    elif is_list(inner):
        parts: list[Part] = []
        read_parts(inner, parts, notes)
        message = Message("assistant", parts)
    else:
        message = read_message(_with_blocks(fields, "content"), "assistant", notes)
    return message if message.parts else None


def _with_blocks(fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The fields, with content that is JSON text of blocks, and calls that are JSON text, as structure."""
    read = dict(fields)
    content = read.get(key)
    if type(content) is str and content[:1] == "[":
        parsed = json_text(content)
        if is_list(parsed):
            parts: list[Part] = []
            read_parts(parsed, parts)
            if parts:
                read[key] = parsed
    calls = read.get("tool_calls")
    if type(calls) is str:
        parsed = json_text(calls)
        if is_list(parsed):
            read["tool_calls"] = parsed
    return read


def _read_content_event(value: Any, name: str, facts: Facts) -> None:
    if not value:
        return
    notes = Notes()
    if name == "gen_ai.content.completion":
        messages = () if is_placeholder(value) else read_messages(value, "assistant", notes)
        _add_outputs(messages, notes, facts)
        return
    messages = () if is_placeholder(value) else read_messages(value, "user", notes)
    if messages:
        facts.inputs = [*facts.inputs, *messages] if facts.inputs else list(messages)


def _add_outputs(messages: tuple[Message, ...] | list[Message], notes: Notes, facts: Facts) -> None:
    if messages:
        facts.outputs = [*facts.outputs, *messages] if facts.outputs else list(messages)
    if notes.hidden or not messages:
        facts.hidden.add("outputs")
    if notes.unparsable:
        facts.unparsable = True


def text_of(messages: list[Message] | None) -> str:
    """The text of messages, joined."""
    if not messages:
        return ""
    return "".join(part.text for message in messages for part in message.parts if type(part) is Text)


def final_answer(facts: Facts) -> None:
    """Leaves in an agent's `outputs` what stands behind its last tool result; the rest is part of what it
    saw.

    Some agents write down every message of their run as their output: history, of which only the end is the
    answer.
    """
    outputs = facts.outputs
    if outputs is None:
        return
    for index in range(len(outputs) - 1, -1, -1):
        if outputs[index].role == "tool":
            seen = outputs[: index + 1]
            facts.inputs = [*facts.inputs, *seen] if facts.inputs else seen
            facts.outputs = outputs[index + 1 :] or None
            return
