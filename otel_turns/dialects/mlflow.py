"""MLflow's spans, as its tracing SDK writes them and exports them over OTLP.

Comes in: spans with `mlflow.spanType`, `mlflow.spanInputs` or `mlflow.spanOutputs`. Goes out: Facts. Every
value is JSON text, names too. What MLflow exports in GenAI form has none of these names and is read by that
convention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.function_values import (
    call_arguments,
    call_result,
    reply,
    request_messages,
    value_of,
)
from otel_turns.dialects.messages import Notes
from otel_turns.dialects.provider_payloads import asks_for_json
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, read_failure
from otel_turns.model.facts import MISSING, Convention, Facts, Role, TokenUsage
from otel_turns.model.span import LogRecord, Span

__all__ = ["MLflow"]

_TYPE, _INPUTS, _OUTPUTS = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"
_ASIDE = frozenset({"GUARDRAIL", "EVALUATOR", "RETRIEVER", "RERANKER"})
"""Types that may ask a model about the agent's work; what it answers is nobody's speech."""
_ROLES = {
    "LLM": Role.INFERENCE,
    "CHAT_MODEL": Role.INFERENCE,
    "AGENT": Role.AGENT,
    "TOOL": Role.TOOL,
    "CHAIN": Role.CHAIN,
    "WORKFLOW": Role.CHAIN,
    "TASK": Role.CHAIN,
    "UNKNOWN": Role.CHAIN,
    "RETRIEVER": Role.NOTHING,
    "EMBEDDING": Role.NOTHING,
    "RERANKER": Role.NOTHING,
    "MEMORY": Role.NOTHING,
    "GUARDRAIL": Role.NOTHING,
    "EVALUATOR": Role.NOTHING,
}


class MLflow:
    """MLflow tracing.

    | attribute (JSON text) | fact | since |
    |---|---|---|
    | `mlflow.spanType` LLM, CHAT_MODEL; AGENT; TOOL | INFERENCE; AGENT; TOOL | 2.14 |
    | the same, CHAIN, UNKNOWN, WORKFLOW, TASK | CHAIN | 2.14 |
    | the same, RETRIEVER, EMBEDDING, RERANKER, MEMORY, GUARDRAIL, EVALUATOR | nothing | 2.14 |
    | `mlflow.spanInputs`, `mlflow.spanOutputs` | messages, arguments, result | 2.14 |
    | `mlflow.chat.tokenUsage` | tokens | 3.0 |
    | `mlflow.llm.model` | model | 3.4 |
    | `session.id` | session id | 3.6 |

    Versions seen: none recorded; 2.14 to 3.6 as their source has them.

    Cannot tell: call ids, unless inputs and outputs are a provider's own, refusals and questions to a human.
    """

    convention = Convention(
        "mlflow", content_switch="trace with mlflow's autolog or @mlflow.trace, which keep inputs and outputs"
    )
    scopes: tuple[str, ...] = ()
    keys: tuple[str, ...] = (_TYPE, _INPUTS, _OUTPUTS)

    def matches(self, span: Span) -> bool:
        attributes = span.attributes
        return _TYPE in attributes or _INPUTS in attributes or _OUTPUTS in attributes

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        kind = _said(attributes, _TYPE)
        role = _ROLES.get(kind.upper(), Role.STEP) if type(kind) is str else Role.CHAIN
        facts = Facts(self.convention, role, session_id=as_text(attributes.get("session.id")))
        facts.side = type(kind) is str and kind.upper() in _ASIDE
        facts.failed, facts.error, facts.error_type = read_failure(span)
        if role is Role.TOOL:
            _tool(span, facts)
        elif role is Role.INFERENCE:
            _model(span, facts)
        elif role is Role.AGENT or role is Role.CHAIN:
            _function(span, facts)
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None


def _said(attributes: Mapping[str, Any], name: str) -> Any:
    return value_of(attributes.get(name))


def _tool(span: Span, facts: Facts) -> None:
    facts.tool_name = span.name or None
    facts.arguments = call_arguments(_said(span.attributes, _INPUTS))
    facts.result, message = call_result(_said(span.attributes, _OUTPUTS))
    if message is not None:
        facts.call_id = message.id
        facts.failed = facts.failed or message.failed
        facts.rejected = message.rejected
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    if facts.result is MISSING and not facts.failed:
        facts.hidden.add("result")


def _model(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    notes = Notes()
    given = _said(attributes, _INPUTS)
    facts.model = as_text(_said(attributes, "mlflow.llm.model"))
    if facts.model is None and is_object(given):
        facts.model = as_text(given.get("model"))
    facts.inputs = request_messages(given, notes)
    response = reply(_said(attributes, _OUTPUTS), notes)
    if response is not None:
        facts.outputs, facts.response_id, facts.usage = (
            response.messages,
            response.response_id,
            response.usage,
        )
        facts.structured = response.structured or (is_object(given) and asks_for_json(given))
    facts.usage = _usage(_said(attributes, "mlflow.chat.tokenUsage")) or facts.usage
    if facts.inputs is None:
        facts.hidden.add("inputs")
    if facts.outputs is None and not facts.failed:
        facts.hidden.add("outputs")
    facts.unparsable = notes.unparsable


def _function(span: Span, facts: Facts) -> None:
    notes = Notes()
    facts.agent_name = span.name or None
    facts.inputs = request_messages(_said(span.attributes, _INPUTS), notes)
    output = _said(span.attributes, _OUTPUTS)
    response = reply(output, notes)
    if response is not None:
        facts.outputs = response.messages[-1:]
    elif facts.role is Role.AGENT and (is_object(output) or is_list(output)):
        facts.data = output


def _usage(counts: Any) -> TokenUsage | None:
    if not is_object(counts):
        return None
    usage = TokenUsage(
        input=as_int(counts.get("input_tokens")),
        output=as_int(counts.get("output_tokens")),
        cache_read=as_int(counts.get("cache_read_input_tokens")),
        cache_creation=as_int(counts.get("cache_creation_input_tokens")),
    )
    return usage or None
