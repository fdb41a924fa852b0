"""The prompt of an AI SDK call: its model messages, and what a human answered in them.

Comes in: the JSON text of `ai.prompt`, `ai.prompt.messages` or `ai.response.toolCalls`, in the forms of
versions 4 to 7. Goes out: neutral messages, and the answers to approval requests that the call brings. Parts:

| part (`type`) | read as |
|---|---|
| text, reasoning | text, reasoning |
| tool-call | call: `toolCallId`, `toolName`, `input` (5 and later) or `args` (4), `providerExecuted` |
| tool-result | result: `result` and `isError` (4); `output` of several types (5 and later) |
| tool-result, `output` of type execution-denied | a refused call, with the reason (6 and later) |
| tool-approval-request | ties `approvalId` to `toolCallId` (6 and later) |
| tool-approval-response | a human's answer: `approvalId`, `approved`, `reason` (6 and later) |

It never reads an answer that belongs to an earlier run: only those behind the last reply count.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.parts import Notes, append_text, read_part, read_parts, tool_call, tool_result
from otel_turns.dialects.values import as_flag, as_text, is_list, is_object, json_text
from otel_turns.model.facts import MISSING, Decision, Message, Part, ToolCall, ToolResult

__all__ = ["Prompt", "read_prompt", "read_tool_calls"]

_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


class Prompt:
    """What a prompt says.

    messages: in the order given. decisions: the human's answers that this call brings. resumes: the call
    continues a run that waited for them.
    """

    __slots__ = ("decisions", "messages", "notes", "resumes")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.decisions: list[Decision] = []
        self.resumes = False
        self.notes = Notes()


def read_prompt(value: Any) -> Prompt | None:
    """The prompt of a call; None where it was not captured or is no prompt at all."""
    prompt = Prompt()
    if type(value) is str:
        parsed = json_text(value)
        if parsed is MISSING:
            parts: list[Part] = []
            append_text(value, parts, prompt.notes)
            if not parts:
                return None
            prompt.messages.append(Message("user", parts))
            return prompt
        value = parsed
    if is_object(value):
        _read_call(value, prompt)
    elif is_list(value):
        _read_messages(value, prompt)
    else:
        return None
    return prompt


def _read_call(call: dict[str, Any], prompt: Prompt) -> None:
    """`{"system"?, "prompt"? | "messages"?}`, as the outer span of a call has it."""
    for system in _listed(call.get("system")):
        _add_message("system", system.get("content") if is_object(system) else system, prompt)
    for key in ("prompt", "messages"):
        given = call.get(key)
        if type(given) is str:
            _add_message("user", given, prompt)
        elif is_list(given):
            _read_messages(given, prompt)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if is_list(value) else [value]


def _add_message(role: str, content: Any, prompt: Prompt) -> None:
    parts: list[Part] = []
    read_parts(content, parts, prompt.notes)
    if parts:
        prompt.messages.append(Message(role, parts))


def _read_messages(messages: list[Any], prompt: Prompt) -> None:
    calls_of_approvals: dict[str, str] = {}
    answers: list[dict[str, Any]] = []
    results: dict[str, ToolResult] = {}
    for message in messages:
        if not is_object(message):
            continue
        role = _ROLES.get(str(message.get("role")), "user")
        content = message.get("content")
        if not is_list(content):
            _add_message(role, content, prompt)
            if role == "assistant":
                answers.clear()
            continue
        parts: list[Part] = []
        for part in content:
            if not is_object(part):
                continue
            kind = part.get("type")
            if kind == "tool-result":
                result = _read_result(part, prompt.notes)
                parts.append(result)
                if result.id is not None:
                    results[result.id] = result
            elif kind == "tool-approval-request":
                approval, call = as_text(part.get("approvalId")), as_text(part.get("toolCallId"))
                if approval and call:
                    calls_of_approvals[approval] = call
            elif kind == "tool-approval-response":
                answers.append(part)
            else:
                read_part(part, parts, prompt.notes)
        if role == "assistant":
            # A reply behind an answer says that the answer was an earlier run's.
            answers.clear()
        if parts:
            only_results = all(type(part) is ToolResult for part in parts)
            prompt.messages.append(Message("tool" if only_results else role, parts))
    for answer in answers:
        approval = as_text(answer.get("approvalId"))
        approved = as_flag(answer.get("approved"))
        prompt.resumes = True
        if approved is None:
            continue
        call = calls_of_approvals.get(approval) if approval else None
        reason = as_text(answer.get("reason"))
        prompt.decisions.append(Decision(approved, call, approval, reason))
        if not approved and call in results and results[call].result is MISSING and reason is not None:
            results[call].result = reason


def _read_result(part: dict[str, Any], notes: Notes) -> ToolResult:
    call_id, name = part.get("toolCallId"), part.get("toolName")
    output = part.get("output", MISSING)
    if is_object(output) and type(output.get("type")) is str:
        kind: str = output["type"]
        if kind == "execution-denied":
            reason = as_text(output.get("reason"))
            return tool_result(call_id, MISSING if reason is None else reason, name=name, rejected=True)
        value = output.get("value", MISSING)
        return tool_result(call_id, value, name=name, failed=kind.startswith("error"), notes=notes)
    value = part.get("result", output)
    return tool_result(call_id, value, name=name, failed=part.get("isError") is True, notes=notes)


def read_tool_calls(value: Any, notes: Notes) -> list[ToolCall]:
    """The calls that a reply asks for: a list of objects, or its JSON text; nothing where it is neither."""
    if type(value) is str:
        value = json_text(value)
    calls: list[ToolCall] = []
    if not is_list(value):
        return calls
    for call in value:
        if is_object(call) and (call.get("toolCallId") or call.get("toolName")):
            arguments = call.get("input", call.get("args"))
            by_provider = call.get("providerExecuted") is True
            calls.append(
                tool_call(
                    call.get("toolCallId"),
                    call.get("toolName"),
                    arguments,
                    notes=notes,
                    executed_by_provider=by_provider,
                )
            )
    return calls
