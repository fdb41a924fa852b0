"""LiveKit Agents' spans, which speak GenAI from version 1.7 on, with names of their own before and beside it.

Comes in: spans of scope `livekit-agents`. Goes out: Facts. A session is a whole conversation and never a
turn; speech synthesis and recognition are no requests for a reply, whatever operation they name. In names of
content the segment `pii` came later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.parts import Notes, read_parts, tool_call, tool_result
from otel_turns.dialects.values import as_flag, as_text, is_list, is_object, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Role, Text
from otel_turns.model.span import LogRecord, Span

__all__ = ["LiveKit"]

_SCOPE = "livekit-agents"
_ROLES = {
    "agent_turn": Role.AGENT,
    "llm_node": Role.INFERENCE,
    "llm_request": Role.INFERENCE,
    "realtime_inference": Role.INFERENCE,
    "function_tool": Role.TOOL,
}


class LiveKit(GenAI):
    """LiveKit Agents 1.

    | span and attribute (`lk.pii.x` is `lk.x` before 1.7) | fact | since |
    |---|---|---|
    | agent_turn `gen_ai.agent.name`, `lk.agent_label` | AGENT, its name | 1.2 |
    | agent_turn `lk.pii.user_input` | what the user said | 1.2 |
    | agent_turn `lk.speech_id` | turn id | 1.2 |
    | llm_node `lk.pii.chat_ctx` | request | 1.2 |
    | llm_node `lk.pii.response.text`, `lk.pii.response.function_calls` | reply | 1.2 |
    | llm_request (inside llm_node) | the same request, as the GenAI convention says | 1.2 |
    | function_tool `lk.function_tool.id`, `.name`, `.is_error` | TOOL, call id, name, failure | 1.2 |
    | function_tool `lk.pii.function_tool.arguments`, `.output` | arguments, result | 1.2 |
    | `gen_ai.conversation.id`, `lk.room_sid` | session id | 1.7; 1.2 |
    | agent_session and every other span | structure | 1.2 |

    Versions seen: none recorded; livekit-agents 1.2 to 1.7 as their source has them.

    Cannot tell: interrupted speech as such, and who asked for a handoff.
    """

    convention = Convention(
        "livekit", content_switch="leave the recording of traces of the AgentSession on (record=True)"
    )
    scopes: tuple[str, ...] = (_SCOPE,)
    keys: tuple[str, ...] = ()

    def matches(self, span: Span) -> bool:
        return span.scope.name == _SCOPE

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name == _SCOPE and super().matches_log(record)

    def role(self, span: Span) -> Role | None:
        return _ROLES.get(span.name, Role.STEP)

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        facts.session_id = facts.session_id or as_text(span.attributes.get("lk.room_sid"))
        return facts

    def read_step(self, span: Span, facts: Facts) -> None:
        """Structure: attempts and audio; the request or the tool says how it went."""

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        attributes = span.attributes
        facts.agent_name = facts.agent_name or as_text(attributes.get("lk.agent_label"))
        facts.group = facts.invocation_id = as_text(attributes.get("lk.speech_id"))
        said = _content(attributes, "user_input")
        if facts.inputs is None and type(said) is str and said:
            facts.inputs = [Message("user", [Text(said)])]

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        if span.name != "llm_node":
            return
        attributes = span.attributes
        notes = Notes()
        if facts.inputs is None:
            facts.inputs = _context(_content(attributes, "chat_ctx"), notes)
        parts: list[Part] = []
        read_parts(_content(attributes, "response.text") or "", parts, notes)
        for call in _list(_content(attributes, "response.function_calls")):
            parts.append(
                tool_call(call.get("call_id"), call.get("name"), call.get("arguments", MISSING), notes=notes)
            )
        if parts and facts.outputs is None:
            facts.outputs = [Message("assistant", parts)]
        facts.unparsable = facts.unparsable or notes.unparsable
        if facts.inputs is not None:
            facts.hidden.discard("inputs")
        if facts.outputs is not None:
            facts.hidden.discard("outputs")

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        attributes = span.attributes
        facts.agent_name = None
        facts.tool_name = facts.tool_name or as_text(attributes.get("lk.function_tool.name"))
        facts.call_id = facts.call_id or as_text(attributes.get("lk.function_tool.id"))
        if facts.arguments is MISSING:
            facts.hidden.discard("arguments")
            self.set_arguments(facts, _content(attributes, "function_tool.arguments"))
        output = _content(attributes, "function_tool.output")
        if as_flag(attributes.get("lk.function_tool.is_error")):
            facts.failed = True
            facts.error = facts.error or (output if type(output) is str else "")
        if facts.result is MISSING:
            facts.hidden.discard("result")
            self.set_result(facts, output)


def _content(attributes: Mapping[str, Any], name: str) -> Any:
    return attributes.get(f"lk.pii.{name}", attributes.get(f"lk.{name}"))


def _list(value: Any) -> list[dict[str, Any]]:
    items = json_text(value) if type(value) is str else value
    found: list[dict[str, Any]] = []
    for item in items if is_list(items) else ():
        parsed = json_text(item) if type(item) is str else item
        if is_object(parsed):
            found.append(parsed)
    return found


def _context(value: Any, notes: Notes) -> list[Message] | None:
    """A chat context: messages, calls and their outputs in one list."""
    context = json_text(value) if type(value) is str else value
    items = context.get("items") if is_object(context) else context
    if not is_list(items):
        return None
    messages: list[Message] = []
    for item in items:
        if not is_object(item):
            continue
        kind = item.get("type")
        parts: list[Part] = []
        if kind == "function_call":
            parts.append(
                tool_call(item.get("call_id"), item.get("name"), item.get("arguments", MISSING), notes=notes)
            )
            messages.append(Message("assistant", parts))
        elif kind == "function_call_output":
            failed = item.get("is_error") is True
            parts.append(
                tool_result(
                    item.get("call_id"), item.get("output", MISSING), name=item.get("name"), failed=failed
                )
            )
            messages.append(Message("tool", parts))
        elif kind == "message" or kind is None:
            role = as_text(item.get("role")) or "user"
            read_parts(item.get("content"), parts, notes)
            messages.append(Message("system" if role == "developer" else role, parts))
    return messages or None
