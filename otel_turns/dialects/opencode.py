"""opencode: its own Effect spans around the AI SDK's.

Comes in: spans and log records of scope `opencode`. Goes out: Facts. One `ai.streamText` there is one step of
the agent and not an agent; the agent is `SessionPrompt.prompt`. It never reads the text that a title or a
summary request came back with as speech: the spans around such requests say so.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.coding_tools import OPENCODE
from otel_turns.dialects.values import (
    as_int,
    as_text,
    is_list,
    is_object,
    json_text,
    json_value,
    read_failure,
)
from otel_turns.dialects.vercel_ai import VercelAILegacy
from otel_turns.model.facts import MISSING, Convention, Decision, Facts, Mark, Question, Role
from otel_turns.model.span import STATUS_ERROR, LogRecord, Span

__all__ = ["Opencode"]

_SIDE = frozenset({"SessionPrompt.ensureTitle", "SessionCompaction.process"})
_REFUSED_BY_HUMAN = frozenset(
    {"PermissionRejectedError", "PermissionCorrectedError", "QuestionRejectedError"}
)
_REFUSED = _REFUSED_BY_HUMAN | {"PermissionDeniedError"}
_TASK_OPENS, _TASK_CLOSES = "<task_result>\n", "\n</task_result>"


class Opencode(VercelAILegacy):
    """opencode.

    | span, record | fact | since |
    |---|---|---|
    | span `SessionPrompt.prompt` | AGENT: one prompt; below a task tool the sub-agent's | 1.0 |
    | span `ai.streamText` | structure: one step of the agent | 1.0 |
    | span `ai.streamText.doStream` | INFERENCE, as the AI SDK's `ai.*` attributes say | 1.0 |
    | span `ai.toolCall` | TOOL; the result is `output`; `metadata.exit` other than 0 is a failure | 1.0 |
    | span `Tool.execute` `tool.name`, `tool.call_id` | TOOL, without content; the same call | 1.0 |
    | tool `task`, argument `subagent_type` | the agent that the call reaches | 1.0 |
    | tool `skill`, argument `name` | skill load | 1.0 |
    | tool `question`, argument `questions` | questions put to the human | 1.0 |
    | span `Permission.ask`, PermissionRejectedError, PermissionCorrectedError | the human refused | 1.0 |
    | the same, PermissionDeniedError | a rule refused | 1.0 |
    | record "asking", inside `Permission.ask` | a question put to the human | 1.0 |
    | span `SessionPrompt.ensureTitle` | requests below it are side requests | 1.0 |
    | span `SessionCompaction.process` | compaction; requests below it are side requests | 1.0 |
    | `session.id` | session id | 1.0 |

    Versions seen: opencode 1.18.

    Cannot tell: the name of a sub-agent but by its call, and what was lost with the last batch of a process
    that ended at once.
    """

    convention = Convention(
        "opencode",
        content_switch='set "experimental": { "openTelemetry": true } in opencode.json',
        runs_have_spans=True,
    )
    scopes: tuple[str, ...] = ("opencode",)

    def matches(self, span: Span) -> bool:
        return span.scope.name == "opencode"

    def read(self, span: Span) -> Facts:
        name = span.name
        if name.startswith("ai."):
            return self._ai(span)
        facts = Facts(self.convention)
        facts.session_id = as_text(span.attributes.get("session.id"))
        if name == "Tool.execute":
            facts.role = Role.TOOL
            facts.tool_name = as_text(span.attributes.get("tool.name"))
            facts.call_id = as_text(span.attributes.get("tool.call_id"))
            facts.failed, facts.error, facts.error_type = read_failure(span)
            facts.hidden.add("arguments")
            if not facts.failed:
                facts.hidden.add("result")
            _own_tool(facts)
            _refusal(facts)
        elif name == "SessionPrompt.prompt":
            facts.role = Role.AGENT
            facts.failed, facts.error, facts.error_type = read_failure(span)
        elif name in _SIDE:
            facts.side = True
            if name == "SessionCompaction.process":
                facts.marks.append(Mark(span.start, "event", {"type": "compaction"}))
        elif name == "Permission.ask":
            _permission(span, facts)
        return facts

    def _ai(self, span: Span) -> Facts:
        facts = super().read(span)
        facts.session_id = as_text(span.attributes.get("session.id")) or facts.session_id
        if facts.role is Role.AGENT:
            return Facts(self.convention, session_id=facts.session_id)
        if facts.role is Role.INFERENCE:
            # Local servers answer with a constant id, and nothing else of opencode tells of the same request.
            facts.response_id = None
        elif facts.role is Role.TOOL:
            _unwrap(facts)
            _own_tool(facts)
            _refusal(facts)
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name == "opencode"

    def read_log(self, record: LogRecord) -> Facts | None:
        body = record.body
        if not is_list(body) or len(body) < 2 or body[0] != "asking" or record.span_id is None:
            return None
        asked = json_text(body[1]) if type(body[1]) is str else body[1]
        if not is_object(asked) or not as_text(asked.get("id")) or "permission" not in asked:
            return None
        facts = Facts(self.convention, supplements="whole")
        facts.questions.append(Question(time=record.time))
        return facts


def _permission(span: Span, facts: Facts) -> None:
    """Whether the call around it may run. A refusal shows that a human was asked; else a record says so."""
    if span.status != STATUS_ERROR:
        facts.decisions.append(Decision(True))
        return
    kind = read_failure(span).error_type
    if kind in _REFUSED:
        if kind in _REFUSED_BY_HUMAN:
            facts.questions.append(Question(answered=True, time=span.start))
        facts.decisions.append(Decision(False))


def _refusal(facts: Facts) -> None:
    if facts.error_type in _REFUSED:
        facts.rejected = True


def _unwrap(facts: Facts) -> None:
    """The result that the model is told is `output`; title and metadata are for the screen."""
    result = facts.result
    if not is_object(result) or "output" not in result:
        return
    output: Any = result["output"]
    metadata = result.get("metadata")
    if is_object(metadata) and (as_int(metadata.get("exit")) or 0) != 0:
        facts.failed = True
    if type(output) is str:
        if facts.tool_name == "task" and _TASK_OPENS in output:
            output = output.partition(_TASK_OPENS)[2].rpartition(_TASK_CLOSES)[0]
        facts.result = json_value(output)
    else:
        facts.result = output


def _own_tool(facts: Facts) -> None:
    """What opencode's own tools mean."""
    name = facts.tool_name
    if name is None:
        return
    facts.tool = OPENCODE.get(name)
    arguments = facts.arguments
    if not is_object(arguments):
        return
    if name == "task":
        facts.delegates_to = as_text(arguments.get("subagent_type"))
    elif name == "skill":
        facts.skill = as_text(arguments.get("name"))
    elif name == "question":
        _questions(arguments.get("questions"), facts)


def _questions(questions: Any, facts: Facts) -> None:
    if not is_list(questions) or not questions or not is_object(questions[0]):
        return
    first = questions[0]
    options = first.get("options")
    labels = (
        [as_text(option.get("label")) for option in options if is_object(option)] if is_list(options) else []
    )
    facts.questions.append(
        Question(
            action=facts.tool_name,
            input=facts.arguments if facts.arguments is not MISSING else MISSING,
            prompt=as_text(first.get("question")),
            options=[{"id": label, "label": label} for label in labels if label] or None,
            call_id=facts.call_id,
            answered=None if facts.result is MISSING and not facts.failed else True,
        )
    )
