"""OpenLLMetry (Traceloop): the convention of its instrumentations and of its SDK's decorators.

Comes in: spans with `traceloop.*` names, numbered `gen_ai.prompt.N.*` attributes, or GenAI attributes from
one of its scopes. Goes out: their facts. LangChain and the OpenAI Agents SDK seen through it have their own
dialects.
"""

from __future__ import annotations

from typing import Any, ClassVar

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference import last_words, text_message
from otel_turns.dialects.openinference_messages import as_one_reply
from otel_turns.dialects.traceloop_messages import name_history_calls, read_numbered, unfold_reasoning
from otel_turns.dialects.values import (
    as_int,
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_text,
    unwrap_result,
)
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Decision,
    Facts,
    Question,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["CONTENT_SWITCH", "Traceloop", "entity_arguments"]

CONTENT_SWITCH = "Content is on by default: unset TRACELOOP_TRACE_CONTENT, or set it to true."
_KINDS = {
    "workflow": Role.WORKFLOW,
    "agent": Role.AGENT,
    "task": Role.CHAIN,
    "tool": Role.TOOL,
    "handoff": Role.HANDOFF,
}
_REQUESTS = {
    "chat": Role.INFERENCE,
    "completion": Role.INFERENCE,
    "embedding": Role.NOTHING,
    "rerank": Role.NOTHING,
}


def entity_arguments(value: Any) -> Any:
    """Arguments out of what a decorator or the MCP instrumentation wrote; MISSING where their names are lost.

    `{"args": [...], "kwargs": {...}}` (SDK decorators), `{"tool_name": ..., "arguments": {...}}` (MCP), an
    object.
    """
    if not is_object(value):
        return MISSING
    if "tool_name" in value and "arguments" in value:
        return MISSING if value["arguments"] is None else value["arguments"]
    args, kwargs = value.get("args"), value.get("kwargs")
    if "kwargs" in value or "args" in value:
        if is_object(kwargs) and kwargs and not args:
            return kwargs
        if is_list(args) and len(args) == 1 and is_object(args[0]) and not kwargs:
            return args[0]
        return {} if not args and not kwargs and is_object(kwargs) else MISSING
    return value


class Traceloop(GenAI):
    """OpenLLMetry (Traceloop): provider SDKs, decorators, MCP.

    | attribute | fact | since |
    |---|---|---|
    | `traceloop.span.kind` | workflow, agent, tool, handoff; task an agent by position only | 0.1 |
    | `llm.request.type` | chat and completion are requests; embedding and rerank nothing | 0.1 to 0.50 |
    | `gen_ai.prompt.N.*`, `gen_ai.completion.N.*` | inputs, outputs (`traceloop_messages`) | 0.1 to 0.50 |
    | `gen_ai.input.messages`, `.output.messages` | inputs, outputs; reasoning may be JSON text | 0.50 |
    | a call's id `fc_...` | the id of a Responses item: joins, and names no operation | 0.40 |
    | `gen_ai.request.structured_output_schema` | structured | 0.45 |
    | `gen_ai.usage.*`, `.reasoning_tokens` | usage | every version |
    | `traceloop.entity.name` | name of the tool, agent or workflow | 0.1 |
    | `traceloop.entity.input`, `.output` | arguments, result, words of an agent or workflow | 0.1 |
    | `traceloop.association.properties.session_id`, `.thread_id`, `.conversation_id` | session | 0.1 |
    | spans `NAME.mcp`, `ResponseStreamWriter` | structure; `elicitation/create.mcp` a question | mcp 0.40 |

    Versions seen: 0.62 (Python: openai, anthropic, mcp), 0.27 (Node, openai).

    Cannot tell: the runs of tools and the end of a turn (bare SDKs), call ids of the Responses API (the
    item's id stands there), a failed tool, the text of reasoning of chat completions; in Node failed requests
    (no span).
    """

    convention: Convention = Convention("traceloop", CONTENT_SWITCH)
    scopes: tuple[str, ...] = (
        "opentelemetry.instrumentation.openai.v0",
        "opentelemetry.instrumentation.openai.v1",
        "opentelemetry.instrumentation.anthropic",
        "opentelemetry.instrumentation.bedrock",
        "opentelemetry.instrumentation.cohere",
        "opentelemetry.instrumentation.google_generativeai",
        "opentelemetry.instrumentation.groq",
        "opentelemetry.instrumentation.haystack",
        "opentelemetry.instrumentation.llamaindex",
        "opentelemetry.instrumentation.mcp*",
        "opentelemetry.instrumentation.mistralai",
        "opentelemetry.instrumentation.ollama",
        "opentelemetry.instrumentation.together",
        "opentelemetry.instrumentation.vertexai",
        "opentelemetry.instrumentation.watsonx",
        "opentelemetry.instrumentation.writer",
        "@traceloop/*",
        "traceloop.*",
    )
    keys: tuple[str, ...] = (
        "traceloop.span.kind",
        "llm.request.type",
        "gen_ai.prompt.0.role",
        "gen_ai.prompt.0.content",
        "gen_ai.completion.0.role",
        "gen_ai.completion.0.content",
    )

    def matches(self, span: Span) -> bool:
        return self.role(span) is not None

    def matches_log(self, record: LogRecord) -> bool:
        """Its records look like GenAI's: only the scope tells them apart."""
        scope = record.scope.name
        own = any(scope.startswith(s[:-1]) if s.endswith("*") else scope == s for s in self.scopes)
        return own and super().matches_log(record)

    def role(self, span: Span) -> Role | None:
        get = span.attributes.get
        kind = get("traceloop.span.kind")
        if type(kind) is str and kind in _KINDS:
            return _KINDS[kind]
        kind = get("llm.request.type")
        if type(kind) is str and kind in _REQUESTS:
            return _REQUESTS[kind]
        role = super().role(span)
        if role is not None:
            return role
        if any(get(key) for key in self.keys[2:]):
            return Role.INFERENCE
        if span.name == "ResponseStreamWriter" or span.name.endswith(".mcp") or get("traceloop.entity.name"):
            return Role.STEP
        return None

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        role = facts.role
        if role is Role.CHAIN:
            self.read_agent(span, facts)
        elif role is Role.HANDOFF:
            self.read_handoff(span, facts)
        elif role is Role.STEP and span.name == "elicitation/create.mcp":
            _read_elicitation(span, facts)
        facts.session_id = facts.session_id or self.session(span)
        return facts

    def session(self, span: Span) -> str | None:
        """The session that the application associated with the span."""
        get = span.attributes.get
        for key in ("session_id", "thread_id", "conversation_id", "chat_id"):
            found = as_text(get("traceloop.association.properties." + key))
            if found:
                return found
        return None

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        _drop_cut_json(span, facts)
        if facts.inputs is None or facts.outputs is None:
            inputs, outputs = Notes(), Notes()
            request, reply = read_numbered(span.attributes, inputs, outputs)
            if facts.inputs is None and request is not None:
                facts.inputs = request
                facts.hidden.discard("inputs")
            if facts.outputs is None and reply is not None:
                facts.outputs = reply
                facts.hidden.discard("outputs")
            facts.unparsable = facts.unparsable or outputs.unparsable
            if inputs.hidden:
                facts.hidden.add("inputs")
            if outputs.hidden:
                facts.hidden.add("outputs")
        facts.outputs = as_one_reply(facts.outputs)
        unfold_reasoning(facts.outputs)
        name_history_calls(facts.inputs)
        name_history_calls(facts.outputs)
        if facts.usage is None:
            facts.usage = _old_usage(span)
        facts.structured = facts.structured and not _asks(facts)

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        get = span.attributes.get
        facts.tool_name = (
            facts.tool_name or as_text(get("traceloop.entity.name")) or _stem(span.name, ".tool")
        )
        if facts.arguments is MISSING:
            asked = get("traceloop.entity.input")
            facts.arguments = entity_arguments(json_text(asked) if type(asked) is str else asked)
            if facts.arguments is not MISSING:
                facts.hidden.discard("arguments")
        if facts.result is MISSING:
            self.entity_result(get("traceloop.entity.output"), facts)

    def entity_result(self, said: Any, facts: Facts) -> None:
        """The result as the entity's output tells it. MCP wraps it in `result`."""
        if said is None or is_placeholder(said):
            return
        parsed = json_text(said) if type(said) is str else said
        if is_object(parsed) and len(parsed) == 1 and "result" in parsed and self.wraps_results:
            parsed = parsed["result"]
        if is_object(parsed) and is_list(parsed.get("content")) and "isError" in parsed:
            facts.failed = facts.failed or parsed["isError"] is True
            parsed = parsed["content"]
        facts.result = said if parsed is MISSING else unwrap_result(parsed)
        facts.hidden.discard("result")

    wraps_results: ClassVar[bool] = True

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        get = span.attributes.get
        facts.agent_name = facts.agent_name or as_text(get("traceloop.entity.name"))
        if facts.inputs is None:
            facts.inputs = self.entity_words(get("traceloop.entity.input"), "user")
        if facts.outputs is None:
            facts.outputs = self.entity_words(get("traceloop.entity.output"), "assistant")
        else:
            facts.outputs = last_words(facts.outputs) or facts.outputs

    def entity_words(self, value: Any, role: str) -> Any:
        """Plain text that went in or came out; objects are no speech."""
        if type(value) is not str or is_placeholder(value):
            return None
        parsed = json_text(value)
        if role == "user" and is_object(parsed):
            args = parsed.get("args")
            if is_list(args) and len(args) == 1 and not parsed.get("kwargs"):
                return text_message(role, args[0])
            return None
        return text_message(role, value if parsed is MISSING else parsed)

    def read_handoff(self, span: Span, facts: Facts) -> None:
        """Control passes on; the instrumentation reads the target before the framework knows it."""
        get = span.attributes.get
        facts.handoff_from = as_text(get("gen_ai.handoff.from_agent"))
        facts.handoff_to = as_text(get("gen_ai.handoff.to_agent"))


def _drop_cut_json(span: Span, facts: Facts) -> None:
    """A length limit of the SDK cuts the JSON text of messages: what is left is no JSON, and no speech."""
    for name, side in (("gen_ai.input.messages", "inputs"), ("gen_ai.output.messages", "outputs")):
        value = span.attributes.get(name)
        if type(value) is not str or not value.startswith('[{"'):
            continue
        messages = facts.inputs if side == "inputs" else facts.outputs
        kept = [m for m in messages or () if m.parts != [Text(value)]]
        if len(kept) == len(messages or ()):
            continue
        if side == "inputs":
            facts.inputs = kept or None
        else:
            facts.outputs = kept or None
        facts.hidden.add(side)
        facts.truncated = True


def _asks(facts: Facts) -> bool:
    return any(isinstance(part, ToolCall) for m in facts.outputs or () for part in m.parts)


def _stem(name: str, ending: str) -> str | None:
    return (name[: -len(ending)] if name.endswith(ending) else name) or None


def _old_usage(span: Span) -> TokenUsage | None:
    get = span.attributes.get
    found = TokenUsage(
        as_int(get("llm.usage.prompt_tokens")),
        as_int(get("llm.usage.completion_tokens")),
        as_int(get("llm.usage.cache_read_input_tokens")),
        as_int(get("llm.usage.cache_creation_input_tokens")),
        as_int(get("llm.usage.reasoning_tokens")),
    )
    return found if found else None


def _read_elicitation(span: Span, facts: Facts) -> None:
    """A server's tool asks its user: the request holds the message, the answer its action."""
    asked: Any = span.attributes.get("traceloop.entity.input")
    said: Any = span.attributes.get("traceloop.entity.output")
    body: Any = json_text(asked) if type(asked) is str else asked
    answer: Any = json_text(said) if type(said) is str else said
    params: Any = body.get("params") if is_object(body) else None
    prompt = as_text(params.get("message")) if is_object(params) else None
    action = as_text(answer.get("action")) if is_object(answer) else None
    options = [{"id": "accept"}, {"id": "decline"}, {"id": "cancel"}]
    answered = True if action is not None else None
    facts.questions = [Question(prompt=prompt, options=options, answered=answered, time=span.start)]
    if action is not None:
        facts.decisions = [Decision(action == "accept")]
