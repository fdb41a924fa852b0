"""LangGraph's pauses for a human: interrupts, and the decisions with which a run is resumed.

Comes in: the text of an exception (`GraphInterrupt`), or the input of a resumed run. Goes out: questions and
decisions.

| shape | becomes |
|---|---|
| `(Interrupt(value=..., id='...'),)`, Python's repr, alone or within `GraphInterrupt(...)` and before a traceback | one question an interrupt |
| `[{"id": ..., "value": ...}]`, JavaScript's JSON, before a stack | the same |
| `value` with `action_requests` and `review_configs` (human-in-the-loop middleware; camelCase in JavaScript) | one question an action |
| `value` with `action_request` and `config` (agent inbox, before LangChain 1.0) | one question |
| any other object | prompt, action and options by the names that people give them; what is left is the input |
| `{"resume": {"decisions": [...]}}`, `{"resume": "no"}` | decisions, where they say yes or no |
"""  # noqa: E501 # one table row cannot be wrapped

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from otel_turns.dialects.python_repr import Constructed, python_repr
from otel_turns.dialects.values import as_text, is_list, is_object
from otel_turns.model.facts import MISSING, Decision, Question, ToolCall
from otel_turns.model.span import Span

__all__ = ["assign_calls", "interrupted", "read_decisions", "read_interrupts", "resume_of"]

_MARK = "Interrupt"
_TRACEBACK = "Traceback (most recent call last)"
_ID = re.compile(r"\bid='([^']{1,100})'")
_ENDINGS = ("GraphInterrupt", "NodeInterrupt", "WaitingForEvent")
_BEGINNINGS = ("GraphInterrupt(", "(Interrupt(", "NodeInterrupt(")
_PROMPTS = ("question", "prompt", "message", "description", "query", "text")
_ACTIONS = ("action", "tool", "name", "tool_name", "toolName")
_INPUTS = ("args", "input", "arguments", "tool_input", "parameters")
_OPTIONS = ("options", "choices", "allowed_decisions", "allowedDecisions")
_NO = frozenset({"no", "n", "reject", "rejected", "deny", "denied", "refuse", "refused", "decline", "cancel"})
_YES = frozenset({"yes", "y", "approve", "approved", "accept", "accepted", "allow", "ok", "confirm"})


def interrupted(span: Span) -> str | None:
    """The words of the interrupt with which a span ended; None where it ended otherwise."""
    for event in span.events:
        if event.name == "exception":
            kind = event.attributes.get("exception.type")
            text = event.attributes.get("exception.message")
            if type(text) is not str:
                continue
            if (type(kind) is str and kind.endswith(_ENDINGS)) or _is_interrupt(text):
                return text
    kind = span.attributes.get("error.type")
    if (type(kind) is str and kind.endswith(_ENDINGS)) or _is_interrupt(span.status_message):
        return span.status_message
    return None


def _is_interrupt(text: str) -> bool:
    return _MARK in text and (text.startswith(_BEGINNINGS) or "\nGraphInterrupt: [" in text)


def read_interrupts(text: str, time: int = 0) -> list[Question]:
    """The questions of an interrupt; `time` is when they were put. One empty one where it is unreadable."""
    found: list[Question] = []
    for identity, value in _pairs(text):
        found.extend(_questions(identity, value, time))
    return found or [Question(time=time)]


def _pairs(text: str) -> list[tuple[str | None, Any]]:
    stripped = text.strip()
    if stripped.startswith("["):
        try:
            listed, _ = json.JSONDecoder().raw_decode(stripped)
        except (ValueError, RecursionError):
            listed = None
        if is_list(listed):
            return [
                (as_text(i.get("id", i.get("interrupt_id"))), i.get("value", MISSING))
                for i in listed
                if is_object(i)
            ]
    told = stripped.partition(_TRACEBACK)[0].rstrip().rstrip("\n")
    made: list[Constructed] = []
    _collect(python_repr(told), made, 0)
    if made:
        return [
            (as_text(i.fields.get("id", i.fields.get("interrupt_id"))), i.fields.get("value", MISSING))
            for i in made
        ]
    return [(identity, MISSING) for identity in _ID.findall(told)]


def _collect(value: Any, made: list[Constructed], depth: int) -> None:
    if depth > 8:
        return
    if isinstance(value, Constructed):
        if value.name.rpartition(".")[2] == _MARK:
            made.append(value)
        else:
            for item in value.args:
                _collect(item, made, depth + 1)
    elif is_list(value):
        for item in value:
            _collect(item, made, depth + 1)


def _questions(identity: str | None, value: Any, time: int) -> list[Question]:
    if is_object(value):
        actions = value.get("action_requests", value.get("actionRequests"))
        if is_list(actions):
            configs = value.get("review_configs", value.get("reviewConfigs"))
            return [_action(identity, a, configs, time) for a in actions if is_object(a)]
        if is_object(value.get("action_request")):
            return [_inbox(identity, value, time)]
        return [_free(identity, value, time)]
    if is_list(value) and value and all(is_object(v) and "action_request" in v for v in value):
        return [_inbox(identity, v, time) for v in value]
    if type(value) is str:
        return [Question(identity, prompt=value, time=time)]
    return [Question(identity, input=value, time=time)]


def _action(identity: str | None, action: dict[str, Any], configs: Any, time: int) -> Question:
    name = as_text(action.get("name", action.get("action")))
    options: list[dict[str, str]] | None = None
    for config in configs if is_list(configs) else ():
        if is_object(config) and config.get("action_name", config.get("actionName")) == name:
            options = _options(config.get("allowed_decisions", config.get("allowedDecisions")))
    return Question(
        identity,
        name,
        action.get("args", action.get("arguments", MISSING)),
        as_text(action.get("description")),
        options,
        time=time,
    )


def _inbox(identity: str | None, value: dict[str, Any], time: int) -> Question:
    request: Any = value.get("action_request")
    config: Any = value.get("config")
    allowed = [
        {"id": key.removeprefix("allow_")}
        for key, on in (config.items() if is_object(config) else ())
        if key.startswith("allow_") and on is True
    ]
    name = as_text(request.get("action")) if is_object(request) else None
    told = request.get("args", MISSING) if is_object(request) else MISSING
    return Question(identity, name, told, as_text(value.get("description")), allowed or None, time=time)


def _free(identity: str | None, value: dict[str, Any], time: int) -> Question:
    left = dict(value)
    question = Question(identity, time=time)
    question.prompt = _take_text(left, _PROMPTS)
    question.action = _take_text(left, _ACTIONS)
    for key in _OPTIONS:
        if is_list(left.get(key)):
            question.options = _options(left.pop(key))
            break
    for key in _INPUTS:
        if key in left:
            question.input = left.pop(key)
            return question
    left.pop("type", None)
    if left:
        question.input = left
    return question


def _take_text(left: dict[str, Any], names: Sequence[str]) -> str | None:
    for name in names:
        if type(left.get(name)) is str and left[name]:
            return str(left.pop(name))
    return None


def _options(value: Any) -> list[dict[str, str]] | None:
    found: list[dict[str, str]] = []
    for item in value if is_list(value) else ():
        if is_object(item):
            name = as_text(item.get("id", item.get("value", item.get("name"))))
            label = as_text(item.get("label", item.get("title")))
            if name:
                found.append({"id": name, "label": label} if label else {"id": name})
        elif type(item) is str:
            found.append({"id": item})
    return found or None


def assign_calls(questions: Sequence[Question], calls: Sequence[ToolCall]) -> None:
    """Says for which call each question was put: the one of its action and input, each call once."""
    left = list(calls)
    for question in questions:
        if question.call_id is not None or question.action is None:
            continue
        named = [c for c in left if c.name == question.action]
        same = [c for c in named if question.input is MISSING or c.arguments == question.input]
        if same or len(named) == 1:
            call = (same or named)[0]
            question.call_id = call.id
            left.remove(call)


def resume_of(value: Any) -> Any:
    """The value with which a run was resumed (`Command(resume=...)`); MISSING where it is no resumption."""
    if is_object(value):
        if "resume" in value and ("update" in value or "goto" in value or "graph" in value):
            return MISSING if value["resume"] is None else value["resume"]
        for key in ("input", "inputs"):
            inner = value.get(key)
            if is_object(inner):
                return resume_of(inner)
    return MISSING


def read_decisions(resume: Any) -> list[Decision]:
    """The decisions that a resume value says: yes, no, or the middleware's decisions, in their order."""
    if is_object(resume):
        told = resume.get("decisions")
        if is_list(told):
            return [made for one in told if (made := _decision(one)) is not None]
        made = _decision(resume)
        if made is not None:
            return [made]
        by_id = [(key, _decision(one)) for key, one in resume.items() if len(key) >= 32]
        return [
            Decision(made.approved, made.call_id, key, made.reason) for key, made in by_id if made is not None
        ]
    if is_list(resume):
        return [made for one in resume if (made := _decision(one)) is not None]
    made = _decision(resume)
    return [made] if made is not None else []


def _decision(value: Any) -> Decision | None:
    if type(value) is bool:
        return Decision(value)
    if type(value) is str:
        word = value.strip().lower().rstrip(".!")
        return Decision(True) if word in _YES else Decision(False) if word in _NO else None
    if is_object(value):
        for key in ("type", "decision", "approved", "action"):
            told = value.get(key)
            if told == "edit" or told == "respond" or told == "response":
                return Decision(True)
            made = _decision(told) if type(told) is str or type(told) is bool else None
            if made is not None:
                reason = as_text(value.get("message", value.get("reason", value.get("feedback"))))
                return Decision(made.approved, as_text(value.get("tool_call_id")), None, reason)
    return None
