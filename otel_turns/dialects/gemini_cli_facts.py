"""What Gemini CLI's values mean, in its spans and in its log records alike.

Comes in: Gemini contents, errors and the Facts that are being filled. Goes out: neutral messages, and Facts
filled further. It never takes text that was cut for a message: cut contents are no JSON and are left out.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.coding_tools import GEMINI_CLI
from otel_turns.dialects.messages import read_messages
from otel_turns.dialects.parts import Notes
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, json_text, json_value
from otel_turns.model.facts import Decision, Facts, Message, Question, ToolCall, ToolResult

__all__ = [
    "bare_call_id",
    "cancelled",
    "error_words",
    "exit_failed",
    "own_tool",
    "read_contents",
    "refused",
    "unwrap_response",
]

_JOINT = "__"
_REFUSALS = (
    "canceled by the user",
    "cancelled by the user",
    "User did not allow tool call",
    "[Operation Cancelled]",
)


def bare_call_id(call_id: Any, name: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The model's own call id, and the id with the tool's name before it, as the CLI writes it elsewhere."""
    found = as_text(call_id)
    if found is None or name is None or not found.startswith(name + _JOINT) or len(found) == len(name) + 2:
        return found, ()
    return found[len(name) + len(_JOINT) :], (found,)


def read_contents(value: Any, role: str, facts: Facts, member: str) -> list[Message] | None:
    """Gemini contents, with the ids that the model gave."""
    if type(value) is str:
        value = json_text(value)
    if not is_list(value) and not is_object(value):
        facts.hidden.add(member)
        return None
    notes = Notes()
    messages = read_messages(value, role, notes)
    for message in messages:
        for part in message.parts:
            if type(part) is ToolCall or type(part) is ToolResult:
                part.id, part.other_ids = bare_call_id(part.id, part.name)
            if type(part) is ToolResult:
                unwrap_response(part)
    if notes.hidden:
        facts.hidden.add(member)
    return messages


def unwrap_response(part: ToolResult) -> None:
    """A function's response is `{"output": x}`, or `{"error": x}` where it failed."""
    response = part.result
    if is_object(response) and len(response) == 1:
        if "output" in response:
            part.result = json_value(response["output"])
        elif "error" in response:
            part.result = json_value(response["error"])
            part.failed = True
            part.rejected = refused(part.result)


def refused(error: Any) -> bool:
    """Whether an error's words say that a human said no."""
    return type(error) is str and any(words in error for words in _REFUSALS)


def error_words(value: Any) -> str:
    """The provider's own words where the error is its JSON."""
    found = json_text(value) if type(value) is str else value
    while is_object(found) and ("error" in found or "message" in found):
        found = found.get("error", found.get("message"))
        if type(found) is str:
            return found
    return value if type(value) is str else ""


def cancelled(facts: Facts) -> None:
    """A human was asked and said no."""
    facts.rejected = True
    facts.questions.append(Question(call_id=facts.call_id, answered=True))
    facts.decisions.append(Decision(False, facts.call_id))


def own_tool(facts: Facts) -> None:
    """What the CLI's own tools mean."""
    name = facts.tool_name
    if name is None:
        return
    facts.tool = GEMINI_CLI.get(name)
    if not is_object(facts.arguments):
        return
    arguments = facts.arguments
    if name in ("invoke_agent", "delegate_to_agent"):
        facts.delegates_to = as_text(arguments.get("agent_name")) or as_text(arguments.get("agentName"))
    elif name == "activate_skill":
        facts.skill = as_text(arguments.get("name"))
    elif name == "ask_user":
        _questions(arguments, facts)


def _questions(arguments: dict[str, Any], facts: Facts) -> None:
    questions = arguments.get("questions")
    first = questions[0] if is_list(questions) and questions else None
    if not is_object(first):
        return
    given = first.get("options")
    labels = [as_text(option.get("label")) for option in given if is_object(option)] if is_list(given) else []
    facts.questions.append(
        Question(
            action=facts.tool_name,
            input=arguments,
            prompt=as_text(first.get("question")),
            options=[{"id": label, "label": label} for label in labels if label] or None,
            call_id=facts.call_id,
        )
    )


def exit_failed(data: Any) -> bool:
    """Whether a tool's own data say that its command failed, though the tool itself did not."""
    return is_object(data) and (data.get("isError") is True or (as_int(data.get("exitCode")) or 0) != 0)
