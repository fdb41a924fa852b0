"""Strands Agents' own spans (1.0 and later), with the older message events or the details events of 1.37.

Comes in: spans of the scope `strands.telemetry.tracer`. Goes out: `Facts`. A refused call is nowhere marked:
assembly tells it by its missing span.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.genai_content import CHOICE, DETAILS, text_of
from otel_turns.dialects.messages import read_messages
from otel_turns.dialects.python_repr import python_repr
from otel_turns.dialects.values import as_text, is_list, is_object
from otel_turns.model.facts import MISSING, Convention, Facts, Question, Role, Text, ToolCall, ToolResult
from otel_turns.model.span import Span

__all__ = ["Strands"]

_TYPED_ANSWER = "IMPORTANT: This StructuredOutputTool"
_INTERRUPT = "v1:"
_STRUCTURE = {
    "invoke_swarm": Role.WORKFLOW,
    "invoke_graph": Role.WORKFLOW,
    "invoke_workflow": Role.WORKFLOW,
    "invoke_multiagent": Role.WORKFLOW,
}


class Strands(GenAI):
    """Strands Agents.

    | attribute or event | fact | since |
    |---|---|---|
    | the GenAI names and events; Bedrock blocks in the older events | as there | 1.0 |
    | `invoke_swarm`, `invoke_graph` | a workflow | 1.0 |
    | `execute_event_loop_cycle` | structure | 1.0 |
    | on execute_tool: event `gen_ai.tool.message` `content` | `arguments`: it is the input here | 1.0 |
    | on execute_tool: event `gen_ai.choice` `message`, or the details event | `result` | 1.0; 1.10 |
    | `gen_ai.tool.status` error | `failed` | 1.0 |
    | `gen_ai.tool.description` of a StructuredOutputTool | `hands_over` | 1.9 |
    | tool `handoff_to_agent` | a handoff to its argument `agent_name` | 1.0 |
    | `finish_reason` interrupt on the agent, its text their repr | questions, `waiting` | 1.13 |
    | the agent's `gen_ai.usage.*` | adds up over the agent's life: not used | 1.0 |

    Versions seen: strands-agents 1.62, with the older events and with `gen_ai_latest_experimental`.

    Cannot tell: that a human refused (only the missing span of a call says it), tokens of reasoning, and any
    session but the one that the program puts into its trace attributes.
    """

    convention = Convention(
        "strands",
        content_switch=(
            "Content is on unless OTEL_SEMCONV_STABILITY_OPT_IN sets gen_ai_unredacted_attributes."
        ),
        runs_have_spans=True,
        usage_accumulates=True,
    )
    scopes = ("strands.telemetry*",)

    def role(self, span: Span) -> Role | None:
        operation = span.attributes.get("gen_ai.operation.name")
        known = _STRUCTURE.get(operation) if type(operation) is str else None
        return known or super().role(span) or Role.STEP

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        if facts.outputs is None:
            return
        if any(_interrupted(event.attributes) for event in span.events):
            questions = _interrupts(text_of(facts.outputs))
            if questions:
                facts.questions, facts.waiting, facts.outputs = questions, True, None
                return
        for message in facts.outputs:
            for part in message.parts:
                if type(part) is Text:
                    # The agent's own text is its blocks, each with a line end behind it.
                    part.text = part.text.removesuffix("\n")

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        for event in span.events:
            if event.name == "gen_ai.tool.message" and facts.arguments is MISSING:
                facts.hidden.discard("arguments")
                self.set_arguments(facts, event.attributes.get("content"))
            elif event.name == CHOICE and facts.result is MISSING:
                facts.hidden.discard("result")
                self.set_result(facts, event.attributes.get("message"))
            elif event.name == DETAILS:
                self._read_details(event.attributes, facts)
        if span.attributes.get("gen_ai.tool.status") == "error":
            facts.failed = True
            facts.error = facts.error or ""
        description = span.attributes.get("gen_ai.tool.description")
        if type(description) is str and description.startswith(_TYPED_ANSWER):
            facts.hands_over = True
        elif facts.tool_name == "handoff_to_agent" and is_object(facts.arguments) and not facts.failed:
            target = as_text(facts.arguments.get("agent_name"))
            if target:
                facts.role, facts.handoff_to = Role.HANDOFF, target

    def _read_details(self, attributes: Any, facts: Facts) -> None:
        """The call as a part of the input, the result as a part of the output."""
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            for message in read_messages(attributes.get(key) or "", "tool"):
                for part in message.parts:
                    if (
                        type(part) is ToolCall
                        and facts.arguments is MISSING
                        and part.arguments is not MISSING
                    ):
                        facts.arguments = part.arguments
                        facts.hidden.discard("arguments")
                    elif type(part) is ToolResult and facts.result is MISSING and part.result is not MISSING:
                        facts.result = part.result
                        facts.hidden.discard("result")


def _interrupted(attributes: Any) -> bool:
    if attributes.get("finish_reason") == "interrupt":
        return True
    said = attributes.get("gen_ai.output.messages")
    return type(said) is str and '"finish_reason": "interrupt"' in said


def _interrupts(text: str) -> list[Question]:
    """The interrupts that an agent's text is the repr of: a list of objects with id, name and reason."""
    parsed = python_repr(text)
    questions: list[Question] = []
    for item in parsed if is_list(parsed) else ():
        if not is_object(item):
            continue
        own = as_text(item.get("id"))
        call_id = None
        if own and own.startswith(_INTERRUPT):
            # v1:<where>:<call id>:<uuid>
            _, _, rest = own[len(_INTERRUPT) :].partition(":")
            call_id = rest.rpartition(":")[0] or None
        reason = item.get("reason")
        questions.append(
            Question(
                own,
                None if call_id else as_text(item.get("name")),
                MISSING if call_id or not is_object(reason) else reason,
                prompt=reason if type(reason) is str and reason else None,
                call_id=call_id,
            )
        )
    return questions
