"""The OpenAI Agents SDK as OpenTelemetry's two instrumentations record it: the present one and its
forerunner "v2".

Comes in: spans of their scopes. Goes out: `Facts`. The SDK gives no call id to a tool's span: assembly joins
it to the reply. What the OpenInference and OpenLLMetry tracers write is read by their own dialects.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.messages import read_message
from otel_turns.dialects.parts import Notes, read_part
from otel_turns.dialects.python_repr import Constructed, python_repr
from otel_turns.dialects.values import as_text, is_list, is_object
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Question, Role, Text
from otel_turns.model.span import KIND_SERVER, Span

__all__ = ["OpenAIAgents", "OpenAIAgentsV2"]

_SWITCH = "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_and_event."


class OpenAIAgents(GenAI):
    """OpenAI Agents SDK, through `opentelemetry-instrumentation-genai-openai-agents` (1.0b0 and later).

    | attribute | fact | since |
    |---|---|---|
    | the GenAI names | as there | 1.0b0 |
    | a tool's span with arguments alone, without error | `paused`, a question: it waits | 1.0b0 |
    | status message: the repr of the SDK's error | `error`: its `data.error`, or `message` | 1.0b0 |

    Versions seen: openai-agents 0.24 with opentelemetry-instrumentation-genai-openai-agents 1.3b0, with and
    without that of the client.

    Cannot tell: the call id of a run (joined by name and arguments), why a run paused, reasoning of chat
    completions, the words of a failed tool that the SDK hides; without the client's instrumentation also
    replies and tokens.
    """

    convention = Convention("openai_agents", content_switch=_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = ("opentelemetry.instrumentation.genai.openai_agents*",)

    def role(self, span: Span) -> Role | None:
        return super().role(span) or Role.STEP

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        if facts.error:
            facts.error = _words(facts.error)
        return facts

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        if facts.arguments is not MISSING and facts.result is MISSING and not facts.failed:
            facts.paused = True
            facts.hidden.discard("result")
            facts.questions.append(Question(None, facts.tool_name, facts.arguments, call_id=facts.call_id))


class OpenAIAgentsV2(OpenAIAgents):
    """OpenAI Agents SDK, through `opentelemetry-instrumentation-openai-agents-v2`.

    | attribute | fact | since |
    |---|---|---|
    | the GenAI names | as there | 0.1 |
    | the root, of kind SERVER with operation invoke_agent | a workflow | 0.1 |
    | status message: the SDK's message, the repr of its data | `error`: the data's, or the message | 0.1 |
    | operation `unknown` (the SDK's tasks and turns), `guardrail` | structure | 0.1 |
    | operation `agent_handoff`, `gen_ai.handoff.from_agent`, `.to_agent` | a handoff | 0.1 |
    | `gen_ai.agent.name` on other spans than an agent's | a default, not read | 0.1 |
    | text parts that are the repr of an output item | the call, reasoning or text that the item is | 0.1 |
    | `server.address` of an agent's span | the model's server, not the agent's | 0.1 |
    | `readacted` | hidden | 0.1 |

    Versions seen: opentelemetry-instrumentation-openai-agents-v2 0.1.0 with openai-agents 0.24.

    Cannot tell: calls beside a text, the call id of a run, results in the next request, reasoning, and tokens
    of cache and reasoning.
    """

    convention = replace(
        OpenAIAgents.convention, content_switch="Leave capture_message_content on, its default."
    )
    scopes = ("opentelemetry.instrumentation.openai_agents",)

    def matches(self, span: Span) -> bool:
        # OpenLLMetry writes no gen_ai.system under this scope name.
        attributes = span.attributes
        return bool(attributes.get("gen_ai.system")) and "gen_ai.operation.name" in attributes

    def role(self, span: Span) -> Role | None:
        role = super().role(span)
        if role is Role.AGENT and span.kind == KIND_SERVER:
            return Role.WORKFLOW
        if span.attributes.get("gen_ai.operation.name") == "agent_handoff":
            return Role.HANDOFF
        return role

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        facts.remote_url = None
        facts.side = span.attributes.get("gen_ai.operation.name") == "guardrail"
        if facts.role is not Role.AGENT:
            facts.agent_name = facts.agent_id = None
        for messages in (facts.inputs, facts.outputs):
            for message in messages or ():
                _read_reprs(message)
        if facts.role is Role.HANDOFF:
            facts.handoff_from = as_text(span.attributes.get("gen_ai.handoff.from_agent"))
            facts.handoff_to = as_text(span.attributes.get("gen_ai.handoff.to_agent"))
            facts.failed, facts.error, facts.error_type = False, None, None
            self.read_step(span, facts)
        return facts


def _words(error: str) -> str:
    """The words of the SDK's error object: the repr of it, or its message, a colon, the repr of its data."""
    if error[:1] == "{":
        made = python_repr(error)
        if not is_object(made):
            return error
        message, data = as_text(made.get("message")), made.get("data")
    else:
        head, colon, rest = error.partition(": ")
        if not colon or (rest[:1] != "{" and rest != "None"):
            return error
        message, data = head, python_repr(rest)
        if data is MISSING:
            return error
    inner = as_text(data.get("error")) if is_object(data) else None
    return inner or message or error


def _read_reprs(message: Message) -> None:
    parts: list[Part] = []
    for part in message.parts:
        item = _item(part.text) if type(part) is Text else None
        if item is None:
            parts.append(part)
        elif "role" in item and "type" not in item:
            parts.extend(read_message(item, "assistant").parts)
        else:
            read_part(item, parts, Notes())
    message.parts = parts


def _item(text: str) -> dict[str, Any] | None:
    """The output item that a text is the repr of; None where it is a text."""
    if not text.startswith(("Response", "{'")) or text[-1] not in ")}":
        return None
    item = _plain(python_repr(text))
    return item if is_object(item) and ("type" in item or "role" in item) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Constructed):
        return {name: _plain(item) for name, item in value.fields.items()}
    if is_object(value):
        return {name: _plain(item) for name, item in value.items()}
    if is_list(value):
        return [_plain(item) for item in value]
    return value
