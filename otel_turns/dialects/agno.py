"""Agno through OpenInference: agents, teams, workflows.

Comes in: spans of scope `openinference.instrumentation.agno`. Goes out: their facts.
"""

from __future__ import annotations

from otel_turns.dialects.openinference import CONTENT_SWITCH, OpenInference
from otel_turns.dialects.values import as_text, is_object, is_placeholder, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Role
from otel_turns.model.span import Span

__all__ = ["OpenInferenceAgno"]

_DELEGATIONS = frozenset({"delegate_task_to_member", "transfer_task_to_member"})


class OpenInferenceAgno(OpenInference):
    """Agno, through OpenInference.

    | attribute | fact | since |
    |---|---|---|
    | kind AGENT, `NAME.run`; `agent.name` | agent, team; a member hangs beside its tool | 0.1 |
    | `output.value` of an AGENT | all texts of the run in one: no speech | 0.1 |
    | kind CHAIN: workflows and their steps | workflow, structure | 1.0 |
    | kind TOOL: `tool.name`, `input.value`; `tool.parameters` are the arguments, not hidden | tool | 0.1 |
    | `delegate_task_to_member` with `member_id` | delegates to that member | 1.0 |
    | kind LLM: `output.value` is a list of messages | request | 0.1 |

    Versions seen: openinference-instrumentation-agno 1.0.15 with agno 3.1.

    Cannot tell: call ids, and that a human refused (only the missing span of a call says it).
    """

    convention: Convention = Convention("openinference.agno", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = ("openinference.instrumentation.agno",)

    def role(self, span: Span) -> Role:
        role = super().role(span)
        if role is Role.CHAIN:
            return Role.WORKFLOW if span.name.endswith((".run", ".arun")) else Role.STEP
        return role

    def agent_name(self, span: Span) -> str | None:
        get = span.attributes.get
        told = as_text(get("agent.name")) or as_text(get("graph.node.name")) or as_text(get("agno.agent"))
        if told is None and span.name not in ("Agent.run", "Team.run", "Agent.arun", "Team.arun"):
            told = span.name.removesuffix(".run").removesuffix(".arun") or None
        return told

    def agent(self, span: Span, facts: Facts) -> None:
        super().agent(span, facts)
        facts.loose = facts.role is Role.AGENT

    def exchange(self, span: Span, facts: Facts) -> None:
        for key, word in (("input.value", "inputs"), ("output.value", "outputs")):
            if is_placeholder(span.attributes.get(key)):
                facts.hidden.add(word)

    def tool(self, span: Span, facts: Facts) -> None:
        super().tool(span, facts)
        given = facts.arguments
        if facts.tool_name in _DELEGATIONS and is_object(given):
            facts.delegates_to = as_text(given.get("member_id"))

    def arguments(self, span: Span, facts: Facts) -> None:
        super().arguments(span, facts)
        if facts.arguments is MISSING:
            told = span.attributes.get("tool.parameters")
            told = json_text(told) if type(told) is str else told
            if is_object(told) and "properties" not in told:
                facts.arguments = told
                facts.hidden.discard("arguments")
