"""OpenInference: the convention of Arize's instrumentations, on which the dialects of its frameworks stand.

Comes in: spans with `openinference.span.kind`. Goes out: their facts. Frameworks whose spans need more
knowledge have dialects of their own (LangChain, OpenAI Agents SDK, LlamaIndex, ...) that inherit from it.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.messages import Notes, read_messages
from otel_turns.dialects.openinference_messages import as_one_reply, read_indexed
from otel_turns.dialects.provider_payloads import asks_for_json, head_id, read_request, read_response
from otel_turns.dialects.sessions import session_of
from otel_turns.dialects.values import (
    as_int,
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_text,
    read_failure,
    unwrap_result,
)
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["CONTENT_SWITCH", "KIND", "OpenInference", "last_words", "text_message", "token_counts"]

KIND = "openinference.span.kind"
CONTENT_SWITCH = (
    "Content is on by default: unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS, "
    "or TraceConfig(hide_inputs=..., hide_outputs=...)."
)

_ROLES = {
    "LLM": Role.INFERENCE,
    "TOOL": Role.TOOL,
    "AGENT": Role.AGENT,
    "CHAIN": Role.CHAIN,
    "RETRIEVER": Role.NOTHING,
    "RERANKER": Role.NOTHING,
    "EMBEDDING": Role.NOTHING,
    "GUARDRAIL": Role.NOTHING,
    "EVALUATOR": Role.NOTHING,
    "PROMPT": Role.NOTHING,
}
_ASIDE = frozenset({"GUARDRAIL", "EVALUATOR", "RETRIEVER", "RERANKER"})
"""Kinds that may ask a model about the agent's work; what it answers is nobody's speech."""


def text_message(role: str, text: Any) -> list[Message] | None:
    """One message of plain text; None for anything that is none."""
    if type(text) is not str or not text or is_placeholder(text):
        return None
    return [Message(role, [Text(text)])]


def token_counts(span: Span) -> TokenUsage | None:
    """Tokens as the span counts them; None where it counts none."""
    get = span.attributes.get
    found = TokenUsage(
        as_int(get("llm.token_count.prompt")),
        as_int(get("llm.token_count.completion")),
        as_int(get("llm.token_count.prompt_details.cache_read")),
        as_int(get("llm.token_count.prompt_details.cache_write")),
        as_int(get("llm.token_count.completion_details.reasoning")),
    )
    return found if found else None


class OpenInference:
    """OpenInference, as instrumentations of provider SDKs and hand-made spans write it.

    | attribute | fact | since |
    |---|---|---|
    | `openinference.span.kind` LLM, TOOL, AGENT | inference, tool, agent | 0.1 |
    | the same, CHAIN; any other | an agent by position only; nothing | 0.1 |
    | the same, GUARDRAIL, EVALUATOR, RETRIEVER, RERANKER | requests below are side requests | 0.1 |
    | `llm.input_messages.*`, `llm.output_messages.*` | inputs, outputs (`openinference_messages`) | 0.1 |
    | `input.value`, `output.value` of an LLM (`provider_payloads`) | response id, reasoning, failure | 0.1 |
    | the same | structured answers, a history beyond the limits of attributes | 0.1 |
    | `llm.token_count.prompt`, `.completion` | usage input (cache reads included), output | 0.1 |
    | `llm.token_count.prompt_details.cache_read`, `.cache_write` | tokens of the cache | 2025 |
    | `llm.token_count.completion_details.reasoning` | tokens of reasoning | 2025 |
    | `llm.model_name`, `llm.response.model_name` | model | 0.1, 2026 |
    | `llm.invocation_parameters` | structured (`response_format`), previous response id | 0.1 |
    | `tool.name`, `tool_call.id`, `tool.id` | tool name, call id | 0.1 |
    | `input.value` of a TOOL | arguments where it is an object | 0.1 |
    | the same, a bare value | the one argument that `tool.parameters` names | 0.1 |
    | `output.value` of a TOOL | result | 0.1 |
    | `agent.name`, `graph.node.name` | agent name | 2025 |
    | `session.id` | session | 0.1 |
    | `__REDACTED__` | hidden | 0.1 |

    Versions seen: openinference-instrumentation-openai 0.1.66, -anthropic 3.1, -google-genai 1.4, -mcp 2.0;
    hand-made spans.

    Cannot tell: the runs of tools and the end of a turn (bare SDKs), sub-agents there, questions to a human,
    and a failed tool but in Anthropic's raw requests.
    """

    convention: Convention = Convention("openinference", CONTENT_SWITCH)
    scopes: tuple[str, ...] = ()
    keys: tuple[str, ...] = (KIND,)

    def matches(self, span: Span) -> bool:
        """A dialect with scopes reads these alone."""
        if self.scopes and span.scope.name not in self.scopes:
            return False
        return bool(span.attributes.get(KIND))

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None

    def read(self, span: Span) -> Facts:
        role = self.role(span)
        facts = Facts(self.convention, role)
        if role is Role.NOTHING and span.attributes.get(KIND) in _ASIDE:
            facts.side = True
        facts.failed, facts.error, facts.error_type = read_failure(span, handled_counts=role is Role.TOOL)
        facts.session_id = session_of(span.attributes)
        if role is Role.INFERENCE:
            self.inference(span, facts)
        elif role is Role.TOOL:
            self.tool(span, facts)
        elif role is Role.AGENT or role is Role.CHAIN or role is Role.WORKFLOW:
            self.agent(span, facts)
        elif role is Role.HANDOFF:
            self.handoff(span, facts)
        return facts

    # --- what the dialects of frameworks replace

    def role(self, span: Span) -> Role:
        """What the span stands for."""
        kind = span.attributes.get(KIND)
        return _ROLES.get(kind.upper(), Role.STEP) if type(kind) is str else Role.STEP

    def inference(self, span: Span, facts: Facts) -> None:
        """One request: its messages as the raw request and response tell them, else the indexed ones."""
        attributes = span.attributes
        asked, said = attributes.get("input.value"), attributes.get("output.value")
        input_notes, output_notes = Notes(), Notes()
        request = read_request(asked, input_notes)
        response = read_response(said, output_notes)
        if request is None or not request.messages or response is None or not response.messages:
            inputs, outputs = read_indexed(attributes, input_notes, output_notes)
        else:
            inputs = outputs = None
        if request is not None:
            inputs = request.messages or inputs
            facts.structured = request.structured
            facts.previous_response_id = request.previous_response_id
        if response is not None:
            outputs = response.messages or outputs
            facts.response_id = response.response_id
            facts.previous_response_id = facts.previous_response_id or response.previous_response_id
            facts.structured = facts.structured or response.structured
        else:
            facts.response_id = head_id(said)
        if inputs is None and is_placeholder(asked):
            input_notes.hidden = True
        if outputs is None and is_placeholder(said):
            output_notes.hidden = True
        facts.inputs, facts.outputs = inputs, as_one_reply(outputs)
        self.parameters(span, facts)
        facts.model = as_text(attributes.get("llm.model_name"))
        facts.usage = token_counts(span)
        if facts.usage is None and response is not None:
            facts.usage = response.usage
        facts.input_includes_cache = True
        self.settle(facts, input_notes, output_notes)

    def parameters(self, span: Span, facts: Facts) -> None:
        """What the request's parameters say about the form of the answer."""
        text = span.attributes.get("llm.invocation_parameters")
        if type(text) is not str or ("format" not in text and "previous_response_id" not in text):
            return
        body = json_text(text)
        if is_object(body):
            facts.structured = facts.structured or asks_for_json(body)
            facts.previous_response_id = facts.previous_response_id or as_text(
                body.get("previous_response_id")
            )

    def settle(self, facts: Facts, inputs: Notes, outputs: Notes) -> None:
        """Takes over what was seen beside the messages. A reply that asks for calls is no typed answer."""
        if inputs.hidden:
            facts.hidden.add("inputs")
        if outputs.hidden:
            facts.hidden.add("outputs")
        facts.unparsable = inputs.unparsable or outputs.unparsable
        if facts.structured:
            parts = [part for message in facts.outputs or () for part in message.parts]
            text = "".join(part.text for part in parts if isinstance(part, Text))
            asks = any(isinstance(part, ToolCall) for part in parts)
            facts.structured = not asks and isinstance(json_text(text), (dict, list))

    def tool(self, span: Span, facts: Facts) -> None:
        """One run of a tool."""
        attributes = span.attributes
        facts.tool_name = as_text(attributes.get("tool.name")) or span.name or None
        facts.call_id = as_text(attributes.get("tool_call.id")) or as_text(attributes.get("tool.id"))
        self.arguments(span, facts)
        self.result(span, facts)

    def arguments(self, span: Span, facts: Facts) -> None:
        """Arguments as an object. The name of a bare value is lost, unless the tool's schema has only one."""
        value = span.attributes.get("input.value")
        if is_placeholder(value):
            facts.hidden.add("arguments")
            return
        parsed = json_text(value) if type(value) is str else value
        if is_object(parsed):
            facts.arguments = parsed
            return
        if value is None:
            return
        schema = span.attributes.get("tool.parameters")
        schema = json_text(schema) if type(schema) is str else schema
        if is_object(schema):
            properties = schema.get("properties")
            if is_object(properties) and len(properties) == 1:
                (name, told), *_ = properties.items()
                text = is_object(told) and told.get("type") == "string"
                facts.arguments = {name: value if text or parsed is MISSING else parsed}

    def result(self, span: Span, facts: Facts) -> None:
        """The result as it is, parsed where it is JSON."""
        value = span.attributes.get("output.value")
        if is_placeholder(value):
            facts.hidden.add("result")
        elif value is not None:
            facts.result = unwrap_result(value)

    def agent(self, span: Span, facts: Facts) -> None:
        """One invocation of an agent, or a step that may be one by its position."""
        facts.agent_name = self.agent_name(span)
        facts.usage = token_counts(span)
        self.exchange(span, facts)

    def agent_name(self, span: Span) -> str | None:
        get = span.attributes.get
        return as_text(get("agent.name")) or as_text(get("graph.node.name")) or span.name or None

    def exchange(self, span: Span, facts: Facts) -> None:
        """What went into an agent and what it answered: plain text, or messages."""
        attributes = span.attributes
        asked, said = attributes.get("input.value"), attributes.get("output.value")
        if is_placeholder(asked):
            facts.hidden.add("inputs")
        else:
            facts.inputs = _spoken(asked, "user")
        if is_placeholder(said):
            facts.hidden.add("outputs")
        else:
            facts.outputs = last_words(_spoken(said, "assistant"))

    def handoff(self, span: Span, facts: Facts) -> None:
        """Control passes to another agent; only frameworks say so."""


def _spoken(value: Any, role: str) -> list[Message] | None:
    """Text, or messages in a known shape. Any other JSON is no speech."""
    if type(value) is not str or not value:
        return None
    parsed = json_text(value)
    if is_object(parsed):
        notes = Notes()
        told = read_request(parsed, notes) if role == "user" else read_response(parsed, notes)
        return told.messages or None if told is not None else None
    if is_list(parsed):
        return read_messages(parsed, role) or None if all(map(_has_role, parsed)) else None
    return text_message(role, value)


def _has_role(item: Any) -> bool:
    return is_object(item) and "role" in item


def last_words(messages: list[Message] | None) -> list[Message] | None:
    """The final answer: the last message of the assistant that says something and asks for nothing."""
    for message in reversed(messages or ()):
        if message.role == "assistant":
            said = [part for part in message.parts if isinstance(part, Text | Reasoning)]
            if said and len(said) == len(message.parts):
                return [message]
            return None
    return None
