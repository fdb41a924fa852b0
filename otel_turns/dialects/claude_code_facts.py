"""What Claude Code's values mean, in its spans and in its log records alike.

Comes in: attribute values and the Facts that are being filled. Goes out: Facts filled further. It never says
that a human was asked where a setting, a rule or a hook decided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.coding_tools import CLAUDE_CODE
from otel_turns.dialects.parts import tool_result
from otel_turns.dialects.values import as_flag, as_text, is_list, is_object, is_placeholder
from otel_turns.model.facts import Decision, Facts, Mark, Message, Question, Text, ToolCall

__all__ = [
    "ask_question",
    "compaction_mark",
    "failure",
    "own_tool",
    "permission",
    "read_user_prompt",
    "request_source",
]

_NOTIFICATION = "<task-notification>"
_NOTIFIED_CALL = re.compile(r"<tool-use-id>([^<]+)</tool-use-id>")
_NOTIFIED_RESULT = re.compile(r"<result>(.*)</result>", re.DOTALL)
_NOTIFIED_STATUS = re.compile(r"<status>([^<]+)</status>")
_FAILED_STATUSES = frozenset({"failed", "killed", "error"})
_SPEAKERS = ("repl_main_thread", "sdk", "main", "agent:", "agent.", "subagent")
_DELEGATING = frozenset({"Agent", "Task"})
_ASKING = "AskUserQuestion"
_ANSWER_TOOL = "StructuredOutput"


def read_user_prompt(prompt: Any, facts: Facts) -> None:
    """The prompt of an interaction. The end of a background call comes as one too, which no human wrote."""
    if type(prompt) is not str or not prompt or is_placeholder(prompt):
        facts.hidden.add("inputs")
        return
    if prompt.startswith(_NOTIFICATION):
        call = _NOTIFIED_CALL.search(prompt)
        if call is not None:
            facts.continues = call.group(1)
            result = _NOTIFIED_RESULT.search(prompt)
            status = _NOTIFIED_STATUS.search(prompt)
            if result is not None:
                failed = status is not None and status.group(1) in _FAILED_STATUSES
                part = tool_result(facts.continues, result.group(1), failed=failed)
                facts.inputs = [Message("tool", [part])]
            return
    facts.inputs = [Message("user", [Text(prompt)])]


def request_source(source: str | None, facts: Facts) -> None:
    """Whose request this is: the conversation's, a sub-agent's, or the program's own (title, summary)."""
    if source is None or source.startswith(_SPEAKERS):
        return
    facts.side = True
    if source == "compact":
        facts.compaction = ""


def permission(decision: Any, source: Any, time: int, facts: Facts, call_id: str | None = None) -> None:
    """How a call came to run or not. `source` user_*: a human was asked; config and hook: a rule decided."""
    if decision not in ("accept", "reject"):
        return
    human = type(source) is str and source.startswith("user")
    if human:
        facts.questions.append(Question(call_id=call_id, answered=True, time=time))
    if human or decision == "reject":
        facts.decisions.append(Decision(decision == "accept", call_id))


def own_tool(facts: Facts) -> None:
    """What Claude Code's own tools mean: canonical name, agent reached, skill loaded, questions put."""
    name = facts.tool_name
    if name is None:
        return
    facts.tool = CLAUDE_CODE.get(name)
    arguments: Any = facts.arguments if is_object(facts.arguments) else {}
    if name in _DELEGATING:
        facts.delegates_to = facts.delegates_to or as_text(arguments.get("subagent_type")) or name
        if arguments.get("run_in_background") is True:
            facts.background = True
    elif name == "Skill":
        facts.skill = facts.skill or as_text(arguments.get("skill")) or as_text(arguments.get("command"))
    elif name == _ANSWER_TOOL:
        facts.hands_over = True
    elif name == _ASKING and "arguments" not in facts.cut:
        _append_question(facts.call_id, arguments, facts)


def ask_question(call: ToolCall, facts: Facts) -> None:
    """The question that a reply's call puts to the human, if it is one."""
    if call.name == _ASKING and is_object(call.arguments):
        _append_question(call.id, call.arguments, facts)


def _append_question(call_id: str | None, arguments: dict[str, Any], facts: Facts) -> None:
    questions = arguments.get("questions")
    if not is_list(questions) or not questions or not is_object(questions[0]):
        return
    first = questions[0]
    options: list[dict[str, str]] = []
    given = first.get("options")
    for option in given if is_list(given) else []:
        label = as_text(option.get("label")) if is_object(option) else as_text(option)
        if label is not None:
            options.append({"id": label, "label": label})
    facts.questions.append(
        Question(
            action=_ASKING,
            input=arguments,
            prompt=as_text(first.get("question")),
            options=options or None,
            call_id=call_id,
        )
    )


def failure(attributes: Mapping[str, Any], facts: Facts) -> bool:
    """Whether `success` is false; then the error's words and kind are filled."""
    if as_flag(attributes.get("success")) is not False:
        return False
    facts.failed = True
    facts.error = as_text(attributes.get("error")) or ""
    for name in ("error_class", "error_type", "error.type"):
        facts.error_type = facts.error_type or as_text(attributes.get(name))
    return True


def compaction_mark(time: int, attributes: Mapping[str, Any]) -> Mark:
    """The context was compacted; `trigger` (auto, manual) is the reason."""
    event: dict[str, Any] = {"type": "compaction"}
    reason = as_text(attributes.get("trigger"))
    if reason is not None:
        event["reason"] = reason
    return Mark(time, "event", event)
