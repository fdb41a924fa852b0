"""LangChain and LangGraph through OpenTelemetry's own instrumentation (package -genai-langchain).

Comes in: spans and records of its scope, which speak GenAI. Goes out: their facts, with what is special to
it.
"""

from __future__ import annotations

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.langgraph_interrupts import interrupted, read_interrupts
from otel_turns.dialects.openinference import last_words
from otel_turns.dialects.openinference_langchain import GENERIC_NAMES
from otel_turns.model.facts import Convention, Facts, Role
from otel_turns.model.span import Span

__all__ = ["GenAILangChain"]

_SWITCH = (
    "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (or SPAN_AND_EVENT, with "
    "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT=true)."
)


class GenAILangChain(GenAI):
    """LangChain and LangGraph, through OpenTelemetry's instrumentation.

    | attribute | fact | since |
    |---|---|---|
    | everything of GenAI | as there | 1.0b0 |
    | `error.type` GraphInterrupt: the status message is the interrupt's repr | paused, questions | 1.3b0 |
    | `gen_ai.output.messages` of an agent | the final answer, where its last message is no call | 1.3b0 |
    | an agent with an answer and without input messages | resumes | 1.3b0 |

    The human-in-the-loop middleware leaves no trace: an agent that ends well with an unanswered call may
    wait, or may have used an answer's schema as a tool. It is not said to wait.

    Versions seen: opentelemetry-instrumentation-genai-langchain 1.3b0 with langchain 1.5, langgraph 1.2.

    Cannot tell: that the human-in-the-loop middleware waits or refused, a tool's failure that was handled, a
    typed answer, reasoning of the Responses API, and the nodes of a graph.
    """

    convention: Convention = Convention("gen_ai.langchain", _SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = (
        "opentelemetry.instrumentation.genai.langchain",
        "opentelemetry.instrumentation.langchain_genai",
    )

    def matches(self, span: Span) -> bool:
        return span.scope.name in self.scopes and self.role(span) is not None

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        words = interrupted(span)
        if words is not None:
            facts.failed, facts.error, facts.error_type = False, None, None
            facts.paused = facts.role is Role.TOOL
            facts.questions = read_interrupts(words, span.end)
            for question in facts.questions:
                question.call_id = question.call_id or facts.call_id
        return facts

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        if facts.agent_name in GENERIC_NAMES:
            facts.agent_name = None
        if facts.outputs is not None:
            facts.outputs = last_words(facts.outputs)
            facts.resumes = facts.inputs is None and not facts.hidden
