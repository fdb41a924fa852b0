"""Microsoft Agent Framework's own spans (Python, 1.0 and later).

Comes in: spans and log records of the scope `agent_framework`. Goes out: `Facts`. A handoff has no span of
its own; the transfer call's result stands in the agent's output.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.values import as_flag, as_text, is_list, is_object, json_arguments, json_value
from otel_turns.model.facts import Convention, Decision, Facts, Question, Role, ToolResult
from otel_turns.model.span import Span

__all__ = ["AgentFramework"]

_REFUSED = "Error: Tool call invocation was rejected by user."
_STRUCTURE = {"workflow.run": Role.WORKFLOW, "workflow.build": Role.NOTHING, "message.send": Role.NOTHING}


class AgentFramework(GenAI):
    """Microsoft Agent Framework.

    | attribute | fact | since |
    |---|---|---|
    | the GenAI names | as there | 1.0 |
    | span `workflow.run` | a workflow; `workflow.build` and `message.send` nothing | 1.0 |
    | part `function_approval_request` in the agent's output | a question, `waiting` | 1.0 |
    | part `function_approval_response` in the agent's input | a decision, `resumes` | 1.0 |
    | result text of a refused call | `rejected` | 1.0 |
    | the agent's `gen_ai.output.messages` | every message of the run: only the end is its answer | 1.0 |

    Versions seen: agent-framework-core 1.23, with the latest conventions and with those of 1.36.

    Cannot tell: a handoff as a span of its own, reasoning of chat completions, a session unless the service
    keeps it, and what the model was told of a failed tool.
    """

    convention = Convention("agent_framework", content_switch="Set ENABLE_SENSITIVE_DATA=true.")
    scopes = ("agent_framework*",)

    def role(self, span: Span) -> Role | None:
        return _STRUCTURE.get(span.name) or super().role(span) or Role.STEP

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        for message in facts.inputs or ():
            for part in message.parts:
                if type(part) is ToolResult and part.result == _REFUSED:
                    part.rejected = True

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        if span.name == "workflow.run":
            return
        attributes = span.attributes
        said = attributes.get("gen_ai.output.messages")
        if type(said) is not str or "function_approval_request" in said:
            for part in _parts(said, "function_approval_request"):
                facts.questions.append(_question(part))
            facts.waiting = bool(facts.questions)
        asked = attributes.get("gen_ai.input.messages")
        if type(asked) is not str or "function_approval_response" in asked:
            for part in _parts(asked, "function_approval_response"):
                approved = as_flag(part.get("approved"))
                if approved is not None:
                    call = _call(part)
                    call_id = as_text(call.get("call_id"))
                    facts.decisions.append(Decision(approved, call_id, as_text(part.get("id"))))
            facts.resumes = bool(facts.decisions)


def _parts(value: Any, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    messages = json_value(value)
    for message in messages if is_list(messages) else ():
        parts = message.get("parts") if is_object(message) else None
        found.extend(p for p in parts if is_object(p) and p.get("type") == kind) if is_list(parts) else None
    return found


def _call(part: dict[str, Any]) -> dict[str, Any]:
    call = part.get("function_call")
    return call if is_object(call) else {}


def _question(part: dict[str, Any]) -> Question:
    call = _call(part)
    arguments, _ = json_arguments(call.get("arguments"))
    return Question(
        as_text(part.get("id")), as_text(call.get("name")), arguments, call_id=as_text(call.get("call_id"))
    )
