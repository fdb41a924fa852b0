"""The OpenAI Agents SDK through OpenInference (Python and JavaScript) and through OpenLLMetry.

Comes in: spans of the tracers that translate the SDK's own trace. Goes out: their facts. None of these
tracers puts a call's id on the span that runs it. A span with arguments, without result and without error is
a call that waits for approval.
"""

from __future__ import annotations

import re
from typing import Any

from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference import CONTENT_SWITCH, KIND, OpenInference
from otel_turns.dialects.openinference_messages import read_indexed
from otel_turns.dialects.python_repr import python_repr
from otel_turns.dialects.traceloop import CONTENT_SWITCH as TRACELOOP_SWITCH
from otel_turns.dialects.traceloop import Traceloop
from otel_turns.dialects.values import as_text, is_object, is_placeholder, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Question, Role, ToolCall, ToolResult
from otel_turns.model.span import STATUS_ERROR, Span

__all__ = ["OpenInferenceOpenAIAgents", "TraceloopOpenAIAgents"]

_REDACTED = "Tool execution failed. Error details are redacted."
_REQUESTS = ("openai.response", "openai.realtime")
_FAKE_ID = "__fake_id__"
_REJECTED = re.compile(r"Tool execution for (\S+) was manually rejected by user")


def _clean(message: str) -> str:
    """The words of an SDK error:

    text before a repr or JSON of `error`, or the repr of `message` and `data`.
    """
    at = message.find("{")
    if at >= 0:
        body: Any = json_text(message[at:])
        if not is_object(body):
            body = python_repr(message[at:])
        if is_object(body):
            data: Any = body.get("data", body)
            words = as_text(data.get("error")) if is_object(data) else None
            words = words or as_text(body.get("message"))
            if words:
                return "" if words == _REDACTED else words
    return "" if _REDACTED in message else message


def _settle(span: Span, facts: Facts) -> None:
    """Failures in the SDK's words; a human's no, and a call that still waits for one."""
    if span.status == STATUS_ERROR:
        message = span.status_message or facts.error or ""
        refused = _REJECTED.search(message) or _REJECTED.search(facts.error or "")
        if refused is not None and facts.role is Role.TOOL:
            facts.rejected, facts.failed, facts.error = True, False, None
            facts.call_id = facts.call_id or refused.group(1)
            if facts.result is MISSING:
                head, _, _ = message.partition(": {")
                facts.result = head if head and head != message else MISSING
            return
        facts.error = _clean(message)


def _forget_ids(messages: list[Message] | None, which: str | None = None) -> None:
    """Takes away further ids that join nothing: all, or one that stands in for every id."""
    for message in messages or ():
        for part in message.parts:
            if isinstance(part, ToolCall | ToolResult) and part.other_ids:
                kept = () if which is None else tuple(i for i in part.other_ids if i != which)
                part.other_ids = kept


def _await(facts: Facts) -> None:
    """Arguments, no result, no error: the call waits for a human."""
    if (
        facts.role is Role.TOOL
        and not facts.failed
        and not facts.rejected
        and facts.result is MISSING
        and facts.arguments is not MISSING
        and "result" not in facts.hidden
    ):
        facts.paused = True
        facts.questions = [Question(action=facts.tool_name, input=facts.arguments)]


class OpenInferenceOpenAIAgents(OpenInference):
    """OpenAI Agents SDK, through OpenInference.

    | span | fact | since |
    |---|---|---|
    | kind AGENT without `agent.name` and `graph.node.id`: the trace | workflow | 0.1 |
    | kind AGENT | agent: `agent.name` (Python, 1.4), `graph.node.id` | 0.1 |
    | kind CHAIN: tasks, turns, custom spans, MCP tool lists | structure | 0.1 |
    | kind TOOL, `handoff to X`: `input.value` from, `output.value` to | handoff | 0.1 |
    | kind TOOL: `tool.name`, `input.value`, `output.value` | tool; without result it waits | 0.1 |
    | kind LLM | request; every output item is a message of its own: one reply | 0.1 |
    | status message `text: {'error': ...}` | error | 0.1 |
    | "manually rejected by user" in the status message (JavaScript) | rejected, call id | 0.1 |

    Versions seen: openinference-instrumentation-openai-agents 2.6 (Python, openai-agents 0.24), its
    JavaScript twin with @openai/agents 0.20.

    Cannot tell: the call id of a run (joined by name and arguments), the session, a run resumed in the same
    process (no span at all), in JavaScript also that a run waits.
    """

    convention: Convention = Convention("openinference.openai_agents", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = (
        "openinference.instrumentation.openai_agents",
        "@arizeai/openinference-instrumentation-openai-agents",
    )

    def role(self, span: Span) -> Role:
        attributes = span.attributes
        kind = attributes.get(KIND)
        if kind == "CHAIN":
            return Role.STEP
        if kind == "AGENT":
            named = attributes.get("agent.name") or attributes.get("graph.node.id")
            return Role.AGENT if named else Role.WORKFLOW
        if kind == "TOOL":
            if span.name.startswith("handoff"):
                name = attributes.get("tool.name")
                if not name or (type(name) is str and name.startswith("handoff_to_")):
                    return Role.HANDOFF
            return Role.TOOL if attributes.get("tool.name") else Role.NOTHING
        return super().role(span)

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        _settle(span, facts)
        _await(facts)
        return facts

    def inference(self, span: Span, facts: Facts) -> None:
        asked = span.attributes.get("input.value")
        if type(asked) is str and '"callId"' in asked:
            # The items of the JavaScript SDK itself, which only its indexed attributes tell as messages.
            super().inference(span, facts)
            inputs, _ = read_indexed(span.attributes, Notes(), Notes())
            facts.inputs = inputs or facts.inputs
        else:
            super().inference(span, facts)
        if facts.response_id == _FAKE_ID:
            facts.response_id = None
        _forget_ids(facts.inputs, _FAKE_ID)
        _forget_ids(facts.outputs, _FAKE_ID)

    def agent_name(self, span: Span) -> str | None:
        get = span.attributes.get
        return as_text(get("agent.name")) or as_text(get("graph.node.id"))

    def exchange(self, span: Span, facts: Facts) -> None:
        """Agents repeat what their requests say; the JavaScript SDK lifts it onto them."""
        facts.handoff_from = as_text(span.attributes.get("graph.node.parent_id"))

    def handoff(self, span: Span, facts: Facts) -> None:
        get = span.attributes.get
        facts.handoff_from = _party(get("input.value"), "from_agent")
        facts.handoff_to = _party(get("output.value"), "to_agent")
        if facts.handoff_to is None and span.name.startswith("handoff to "):
            facts.handoff_to = span.name[11:] or None


def _party(value: Any, key: str) -> str | None:
    body: Any = json_text(value) if type(value) is str and value[:1] == "{" else value
    return as_text(body.get(key)) if is_object(body) else as_text(body)


class TraceloopOpenAIAgents(Traceloop):
    """OpenAI Agents SDK, through OpenLLMetry.

    | span | fact | since |
    |---|---|---|
    | `Agent Workflow`, kind workflow | workflow; its name is always this | 0.44 |
    | `NAME.agent`, kind agent | agent; a sub-agent hangs beside the tool that called it (`loose`) | 0.44 |
    | `NAME.tool`, kind tool | tool without call id; without result it waits | 0.44 |
    | `A → B.handoff`, kind handoff | handoff; B is mostly unknown when the span is named | 0.44 |
    | `openai.response` | request, also of chat completions (then without reply and usage) | 0.44 |
    | status message: the SDK's error as Python's repr | error | 0.44 |

    Versions seen: opentelemetry-instrumentation-openai-agents 0.62 with openai-agents 0.24.

    Cannot tell: the call id of a run, which agent a handoff reaches, the tool that called a sub-agent (only
    time tells it), reasoning, and of chat completions the reply and the tokens, unless the client is
    instrumented as well.
    """

    convention: Convention = Convention("traceloop.openai_agents", TRACELOOP_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = ("opentelemetry.instrumentation.openai_agents",)

    def matches(self, span: Span) -> bool:
        """The package `-openai-agents-v2` uses the same scope name and none of these marks."""
        if span.scope.name not in self.scopes:
            return False
        return bool(span.attributes.get("traceloop.span.kind")) or span.name.startswith(_REQUESTS)

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        _settle(span, facts)
        _await(facts)
        facts.loose = facts.role is Role.AGENT
        return facts

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        # The ids of items are known for calls of the history only: they join nothing.
        _forget_ids(facts.inputs)

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        if is_placeholder(span.attributes.get("gen_ai.tool.call.result")):
            facts.hidden.add("result")
        elif facts.result is MISSING and facts.arguments is not MISSING:
            facts.hidden.discard("result")
