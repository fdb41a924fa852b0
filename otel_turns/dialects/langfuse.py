"""Spans of the Langfuse SDKs (Python 3 and later, JavaScript 4 and later).

Comes in: spans with `langfuse.observation.type`. Goes out: Facts. It never takes a span for an agent by its
name: functions are agents by their place.
"""

from __future__ import annotations

from otel_turns.dialects.function_values import (
    call_arguments,
    call_result,
    reply,
    request_messages,
    value_of,
)
from otel_turns.dialects.messages import Notes
from otel_turns.dialects.provider_payloads import read_usage
from otel_turns.dialects.sessions import session_of
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, read_failure
from otel_turns.model.facts import MISSING, Convention, Facts, Role, TokenUsage
from otel_turns.model.span import LogRecord, Span

__all__ = ["Langfuse"]

_TYPE = "langfuse.observation.type"
_INPUT, _OUTPUT = "langfuse.observation.input", "langfuse.observation.output"
_ROLES = {
    "generation": Role.INFERENCE,
    "agent": Role.AGENT,
    "tool": Role.TOOL,
    "chain": Role.CHAIN,
    "span": Role.CHAIN,
    "embedding": Role.NOTHING,
    "retriever": Role.NOTHING,
    "evaluator": Role.NOTHING,
    "guardrail": Role.NOTHING,
    "event": Role.NOTHING,
}
_ASIDE = frozenset({"guardrail", "evaluator", "retriever"})
"""Types that may ask a model about the agent's work; what it answers is nobody's speech."""
_COUNTS = {
    "input": ("input", "input_tokens", "prompt_tokens", "promptTokens"),
    "output": ("output", "output_tokens", "completion_tokens", "completionTokens"),
    "cache_read": ("input_cached_tokens", "cache_read_input_tokens", "input_cache_read"),
    "cache_creation": ("cache_creation_input_tokens", "input_cache_creation"),
    "reasoning": ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens"),
}


class Langfuse:
    """Langfuse SDK 3 and later.

    | attribute | fact | since |
    |---|---|---|
    | `langfuse.observation.type` generation, agent, tool | INFERENCE, AGENT, TOOL | 3.3 |
    | the same, span, chain | CHAIN | 3.0 |
    | the same, embedding, retriever, evaluator, guardrail, event | nothing; requests below are aside | 3.3 |
    | `langfuse.observation.input`, `langfuse.observation.output` | messages, arguments, result | 3.0 |
    | `langfuse.observation.usage_details` | tokens | 3.0 |
    | `langfuse.observation.model.name` | model | 3.0 |
    | `langfuse.observation.level` ERROR, `langfuse.observation.status_message` | failure | 3.0 |
    | `session.id` | session id | 3.0 |

    Versions seen: none recorded; versions 3 and 4 as their source has them.

    Cannot tell: call ids, unless inputs and outputs are a provider's own, refusals and questions to a human.
    """

    convention = Convention(
        "langfuse",
        content_switch="leave LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED unset, or set it to true",
    )
    scopes: tuple[str, ...] = ()
    keys: tuple[str, ...] = (_TYPE,)

    def matches(self, span: Span) -> bool:
        return type(span.attributes.get(_TYPE)) is str

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        role = _ROLES.get(str(attributes.get(_TYPE)).lower(), Role.STEP)
        facts = Facts(self.convention, role, session_id=session_of(attributes))
        facts.side = str(attributes.get(_TYPE)).lower() in _ASIDE
        facts.failed, facts.error, facts.error_type = read_failure(span)
        if attributes.get("langfuse.observation.level") == "ERROR":
            facts.failed = True
            facts.error = facts.error or as_text(attributes.get("langfuse.observation.status_message")) or ""
        if role is Role.TOOL:
            _tool(span, facts)
        elif role is Role.INFERENCE:
            _generation(span, facts)
        elif role is Role.AGENT or role is Role.CHAIN:
            _function(span, facts)
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None


def _tool(span: Span, facts: Facts) -> None:
    facts.tool_name = span.name or None
    facts.arguments = call_arguments(value_of(span.attributes.get(_INPUT)))
    facts.result, message = call_result(value_of(span.attributes.get(_OUTPUT)))
    if message is not None:
        facts.call_id = message.id
        facts.failed = facts.failed or message.failed
        facts.rejected = message.rejected
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    if facts.result is MISSING and not facts.failed:
        facts.hidden.add("result")


def _generation(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    notes = Notes()
    facts.model = as_text(attributes.get("langfuse.observation.model.name"))
    facts.usage = _usage(value_of(attributes.get("langfuse.observation.usage_details")))
    facts.inputs = request_messages(value_of(attributes.get(_INPUT)), notes)
    response = reply(value_of(attributes.get(_OUTPUT)), notes)
    if response is not None:
        facts.outputs, facts.response_id = response.messages, response.response_id
        facts.structured = response.structured
    if facts.inputs is None:
        facts.hidden.add("inputs")
    if facts.outputs is None and not facts.failed:
        facts.hidden.add("outputs")
    facts.unparsable = notes.unparsable


def _function(span: Span, facts: Facts) -> None:
    notes = Notes()
    facts.agent_name = span.name or None
    facts.inputs = request_messages(value_of(span.attributes.get(_INPUT)), notes)
    output = value_of(span.attributes.get(_OUTPUT))
    response = reply(output, notes)
    if response is not None:
        facts.outputs = response.messages[-1:]
    elif facts.role is Role.AGENT and (is_object(output) or is_list(output)):
        facts.data = output


def _usage(counts: object) -> TokenUsage | None:
    if not is_object(counts):
        return None
    usage = read_usage(counts) or TokenUsage()
    for name, keys in _COUNTS.items():
        if getattr(usage, name) is None:
            found = next((as_int(counts[key]) for key in keys if key in counts), None)
            setattr(usage, name, found)
    return usage or None
