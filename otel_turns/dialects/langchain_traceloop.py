"""LangChain and LangGraph through OpenLLMetry.

Comes in: spans and log events of scope `opentelemetry.instrumentation.langchain`. Goes out: their facts.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.langchain import (
    lc_generation,
    lc_messages,
    lc_tool_message,
    only_call,
    structured_answer,
    tool_messages,
)
from otel_turns.dialects.langgraph_interrupts import (
    assign_calls,
    interrupted,
    read_decisions,
    read_interrupts,
    resume_of,
)
from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference import last_words
from otel_turns.dialects.openinference_langchain import GENERIC_NAMES, middleware_decisions
from otel_turns.dialects.traceloop import CONTENT_SWITCH, Traceloop
from otel_turns.dialects.values import as_text, is_list, is_object, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Reasoning, Role, ToolCall
from otel_turns.model.span import Span

__all__ = ["TraceloopLangChain"]

_ASSOCIATED = "traceloop.association.properties."


class TraceloopLangChain(Traceloop):
    """LangChain and LangGraph, through OpenLLMetry.

    | span | fact | since |
    |---|---|---|
    | `create_agent NAME` | nothing: it builds an agent, in a trace of its own | 0.54 |
    | `invoke_agent NAME` without `traceloop.span.kind` | structure around the span of the run itself | 0.54 |
    | `NAME.workflow` | the agent's run | 0.1 |
    | `execute_task NAME` of a graph's node | structure; `tools` with one call executes it | 0.54 |
    | `execute_task NAME` otherwise | an agent by position (a run below a tool) | 0.54 |
    | `execute_task` of a model node with reasoning | that request: the chat span lacks it | 0.54 |
    | `execute_tool NAME`: `{input_str, inputs}`, `{output: {kwargs}}` | tool, call id, status | 0.1 |
    | `NAME.chat` | request | 0.1 |
    | exception or status `GraphInterrupt` | paused, questions | 0.1 |
    | `traceloop.entity.input` with `resume` | resumes, decisions | 0.1 |
    | `structured_response` in `traceloop.entity.output` | data | 0.1 |
    | log events `gen_ai.*.message`, `gen_ai.choice` | messages (`use_attributes=False`) | 0.40 |

    Versions seen: opentelemetry-instrumentation-langchain 0.62 with langchain 1.5, langgraph 1.2, in
    attributes and in events.

    Cannot tell: a call's id where a tool raised or content is off, tokens of reasoning, and the answer to a
    question but as the input of the next run.
    """

    convention: Convention = Convention("traceloop.langchain", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = ("opentelemetry.instrumentation.langchain",)

    def matches(self, span: Span) -> bool:
        return span.scope.name in self.scopes and self.role(span) is not None

    def role(self, span: Span) -> Role | None:
        kind = span.attributes.get("traceloop.span.kind")
        if kind == "workflow":
            return Role.AGENT
        if kind is None and span.attributes.get("gen_ai.operation.name") == "invoke_agent":
            return Role.STEP
        if kind is None and span.name.startswith("execute_task "):
            return Role.STEP
        return super().role(span)

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        words = interrupted(span)
        if words is not None:
            facts.failed, facts.error, facts.error_type = False, None, None
            facts.paused = facts.role is Role.TOOL
            if facts.role is not Role.TOOL or facts.call_id is None:
                time = next((e.time for e in span.events if e.name == "exception"), 0)
                facts.questions = read_interrupts(words, time)
                if facts.role is not Role.TOOL and any(q.action for q in facts.questions):
                    calls = _calls_in(_inner(span, "traceloop.entity.input", "inputs"))
                    assign_calls(facts.questions, calls[::-1] if len(facts.questions) == 1 else calls)
        return facts

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        asked = _inner(span, "traceloop.entity.input", "inputs")
        facts.arguments = asked if is_object(asked) else MISSING
        whole = _parsed(span.attributes.get("traceloop.entity.output"))
        said = whole.get("output", MISSING) if is_object(whole) else MISSING
        told = lc_tool_message(said) or next(iter(tool_messages(said)), None)
        if told is None:
            facts.result = MISSING if said is MISSING else said
            return
        facts.call_id = facts.call_id or told.id
        facts.result, facts.rejected = told.result, told.rejected
        facts.failed = facts.failed or told.failed

    def read_agent(self, span: Span, facts: Facts) -> None:
        get = span.attributes.get
        name = as_text(get("traceloop.entity.name")) or as_text(get("gen_ai.agent.name"))
        if facts.role is Role.CHAIN:
            facts.failed, facts.error, facts.error_type = self._failure(span)
            agent = get(_ASSOCIATED + "lc_agent_name")
            if name == get(_ASSOCIATED + "langgraph_node") and name != agent:
                facts.role = Role.STEP
                self.read_node(span, facts, name or "")
                return
            name = name or as_text(agent)
        else:
            super().read_agent(span, facts)
        facts.agent_name = None if name in GENERIC_NAMES else name
        asked = _inner(span, "traceloop.entity.input", "inputs")
        said = _inner(span, "traceloop.entity.output", "outputs")
        resume = resume_of(asked)
        if resume is not MISSING:
            facts.resumes = True
            facts.decisions = read_decisions(resume)
        else:
            facts.inputs = lc_messages(asked, Notes())
        facts.outputs = last_words(lc_messages(said, Notes()))
        facts.data, facts.handed_over = structured_answer(said)

    def _failure(self, span: Span) -> tuple[bool, str | None, str | None]:
        facts = Facts(self.convention)
        self.read_step(span, facts)
        return facts.failed, facts.error, facts.error_type

    def read_node(self, span: Span, facts: Facts, name: str) -> None:
        """A node of a graph: structure, unless it runs one call or alone tells a request's reasoning."""
        if name == "tools":
            call = only_call(_inner(span, "traceloop.entity.input", "inputs"))
            if call is not None:
                facts.role = Role.TOOL
                facts.tool_name, facts.call_id, facts.arguments = call.name, call.id, call.arguments
                results = tool_messages(_inner(span, "traceloop.entity.output", "outputs"))
                if results and results[0].id in (None, call.id):
                    facts.result, facts.rejected = results[0].result, results[0].rejected
                    facts.failed = facts.failed or results[0].failed
        elif "HumanInTheLoop" in name:
            results = tool_messages(_inner(span, "traceloop.entity.output", "outputs"))
            facts.decisions = middleware_decisions(results)
        elif name == "model" or name == "agent":
            self.read_model_node(span, facts)

    def read_model_node(self, span: Span, facts: Facts) -> None:
        said = _inner(span, "traceloop.entity.output", "outputs")
        messages = lc_messages(said, Notes())
        if messages is None or len(messages) != 1:
            return
        if not any(isinstance(part, Reasoning) for part in messages[0].parts):
            return
        at: Any = said
        while is_list(at) and len(at) == 1:
            at = at[0]
        if is_object(at):
            at = at.get("update", at)
        found = lc_generation(at["messages"], Notes()) if is_object(at) and "messages" in at else None
        facts.role = Role.INFERENCE
        facts.outputs = messages
        facts.response_id = found.response_id if found is not None else None


def _calls_in(value: Any) -> list[ToolCall]:
    messages = lc_messages(value, Notes())
    return [part for m in messages or () for part in m.parts if isinstance(part, ToolCall)]


def _inner(span: Span, key: str, member: str) -> Any:
    body = _parsed(span.attributes.get(key))
    return body.get(member, MISSING) if is_object(body) else MISSING


def _parsed(value: Any) -> Any:
    if type(value) is str:
        return json_text(value) if value[:1] in "{[" else MISSING
    return value
