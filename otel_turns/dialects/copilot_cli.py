"""GitHub Copilot CLI's spans, which speak GenAI with its own additions.

Comes in: spans of scope `github.copilot`, or with `github.copilot.*` attributes, since the scope's name can
be set. Goes out: the GenAI convention's Facts with the CLI's additions. It never takes the
host that the model runs on for an agent's address, nor a call that nobody could be asked about for one that
a human refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.coding_tools import COPILOT_CLI
from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.values import as_flag, as_int, as_text, clean_error, is_list, is_object
from otel_turns.model.facts import Convention, Decision, Facts, Mark, Question, Role
from otel_turns.model.span import LogRecord, Span, SpanEvent

__all__ = ["CopilotCLI"]

_SCOPE = "github.copilot"
_OWN = "github.copilot."
_RESULT = "github.copilot.permission.result"
_FAILED = "gen_ai.client.operation.exception"
_COMPACTED = "github.copilot.session.compaction_complete"
_SKILL = "github.copilot.skill.invoked"
_ASKED = "permission"
_BY_HUMAN, _LEFT = "denied-interactively-by-user", "cancelled"
_ASKING = ("ask_user", "ask_question")


class CopilotCLI(GenAI):
    """GitHub Copilot CLI.

    | attribute or event | fact | since |
    |---|---|---|
    | invoke_agent, chat, execute_tool | as the GenAI convention says | 1.0 |
    | chat below an agent that waits for its sub-agent | the sub-agent's | 1.0 |
    | span `permission`, `github.copilot.permission.result` | a rule's or human's answer for the tool | 1.0 |
    | `approved...`, `denied-interactively-by-user` there | a human was asked, and what he said | 1.0 |
    | `cancelled` there | a human was asked and did not say | 1.0 |
    | event `gen_ai.client.operation.exception`, code | the tool failed, or was refused (denied) | 1.0 |
    | `process.exit.code` | the command failed, where it is not 0 | 1.0 |
    | tool `task`, argument `agent_type` | agent that the call reaches | 1.0 |
    | tool `skill`, argument `skill` | skill load | 1.0 |
    | event `github.copilot.skill.invoked`, a human's | skill load | 1.0 |
    | event `github.copilot.session.compaction_complete`, `github.copilot.success` | compaction | 1.0 |
    | `github.copilot.interaction_id` | turn id | 1.0 |

    Versions seen: 1.0.102.

    Cannot tell: whether a human was asked where only the outcome is told, the result of a failed tool, and
    its editor mode (it sends nothing).
    """

    convention = Convention(
        "copilot-cli",
        content_switch="set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
    )
    scopes: tuple[str, ...] = (_SCOPE,)
    keys: tuple[str, ...] = ("github.copilot.*",)

    def matches(self, span: Span) -> bool:
        return span.scope.name == _SCOPE or any(key.startswith(_OWN) for key in span.attributes)

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name == _SCOPE and super().matches_log(record)

    def role(self, span: Span) -> Role | None:
        return super().role(span) or Role.STEP

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        for event in span.events:
            if event.name == _COMPACTED and as_flag(_own(event.attributes, "success")) is not False:
                facts.marks.append(Mark(event.time, "event", {"type": "compaction"}))
            elif event.name == _SKILL:
                _skill(event, facts)
        return facts

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        facts.group = as_text(span.attributes.get("github.copilot.interaction_id"))
        facts.loose = True

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        facts.remote_url = None
        for event in span.events:
            if event.name == _FAILED and facts.failed:
                facts.error = as_text(_own(event.attributes, "message")) or facts.error

    def read_step(self, span: Span, facts: Facts) -> None:
        """Structure; a permission span answers for the tool above it."""
        _permission(span, facts)

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        _failure(span, facts)
        _permission(span, facts)
        _own_tool(facts)


def _skill(event: SpanEvent, facts: Facts) -> None:
    """A skill that a human called up; the agent's own choice is a tool call."""
    attributes = event.attributes
    trigger = as_text(attributes.get("github.copilot.skill.invocation_trigger"))
    name = as_text(attributes.get("gen_ai.skill.name", attributes.get("github.copilot.skill.name")))
    if name is not None and trigger is not None and not trigger.startswith("agent"):
        facts.marks.append(Mark(event.time, "event", {"type": "skill.loaded", "skill": name}))


def _own(attributes: Mapping[str, Any], name: str) -> Any:
    """The CLI writes its names in events with and without prefix."""
    return attributes.get(_OWN + name, attributes.get(name))


def _permission(span: Span, facts: Facts) -> None:
    """A permission span is there only where no rule had allowed the call, so an approval is a human's."""
    outcome = span.attributes.get(_RESULT)
    if type(outcome) is not str:
        return
    approved = outcome.startswith("approved")
    if approved and span.name != _ASKED:
        return
    if approved or outcome in (_BY_HUMAN, _LEFT):
        answered = None if outcome == _LEFT else True
        facts.questions.append(Question(call_id=facts.call_id, answered=answered, time=span.start))
    if approved or outcome.startswith("denied"):
        facts.decisions.append(Decision(approved, facts.call_id))


def _failure(span: Span, facts: Facts) -> None:
    for event in span.events:
        if event.name != _FAILED:
            continue
        facts.failed = True
        facts.error_type = facts.error_type or as_text(event.attributes.get("exception.type"))
        words = as_text(event.attributes.get("exception.message"))
        if words is not None:
            facts.error = clean_error(words, facts.error_type)
        codes = [value for key, value in event.attributes.items() if key.endswith("error_code")]
        if "denied" in codes or facts.error_type == "denied":
            facts.rejected = True
    code = as_int(span.attributes.get("process.exit.code"))
    if code:
        facts.failed = True
    if facts.failed:
        facts.error = facts.error or ""
        facts.hidden.discard("result")


def _own_tool(facts: Facts) -> None:
    name = facts.tool_name
    if name is None:
        return
    facts.tool = COPILOT_CLI.get(name)
    arguments: Any = facts.arguments if is_object(facts.arguments) else {}
    if name == "task":
        facts.delegates_to = as_text(arguments.get("agent_type")) or name
        facts.background = arguments.get("mode") == "background"
    elif name == "skill":
        facts.skill = as_text(arguments.get("skill")) or as_text(arguments.get("name"))
    elif name in _ASKING and arguments:
        choices = arguments.get("choices")
        labels = [as_text(choice) for choice in choices] if is_list(choices) else []
        facts.questions.append(
            Question(
                action=name,
                input=arguments,
                prompt=as_text(arguments.get("question")),
                options=[{"id": label, "label": label} for label in labels if label] or None,
                call_id=facts.call_id,
            )
        )
