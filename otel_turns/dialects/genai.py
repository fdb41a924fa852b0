"""OpenTelemetry's GenAI semantic convention, all versions (1.26 to today), as any instrumentation speaks it.

Comes in: spans and log records with `gen_ai.*` names. Goes out: `Facts`. It never reads a framework's own
additions: those have dialects of their own, built on this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.genai_content import (
    CHOICE,
    DETAILS,
    MESSAGE_EVENTS,
    final_answer,
    read_content,
    read_event_list,
    read_message_attributes,
    read_message_event,
    text_of,
)
from otel_turns.dialects.genai_usage import read_usage
from otel_turns.dialects.sessions import session_of
from otel_turns.dialects.values import (
    as_flag,
    as_text,
    clean_error,
    is_list,
    is_object,
    is_placeholder,
    json_arguments,
    json_text,
    read_failure,
    unwrap_result,
)
from otel_turns.model.facts import MISSING, Convention, Facts, Mark, Role
from otel_turns.model.span import KIND_CLIENT, LogRecord, Span

__all__ = ["GenAI", "structured_answer"]

_OPERATIONS = {
    "chat": Role.INFERENCE,
    "text_completion": Role.INFERENCE,
    "generate_content": Role.INFERENCE,
    "completion": Role.INFERENCE,
    "fetch_response": Role.INFERENCE,
    "execute_tool": Role.TOOL,
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.WORKFLOW,
    "create_agent": Role.NOTHING,
    "embeddings": Role.NOTHING,
    "retrieval": Role.NOTHING,
    "rerank": Role.NOTHING,
    "image_generation": Role.NOTHING,
    "search_memory": Role.NOTHING,
    "create_memory": Role.NOTHING,
    "update_memory": Role.NOTHING,
    "upsert_memory": Role.NOTHING,
    "delete_memory": Role.NOTHING,
    "create_memory_store": Role.NOTHING,
    "delete_memory_store": Role.NOTHING,
}
_RECORDS = frozenset({DETAILS, CHOICE, *MESSAGE_EVENTS, "gen_ai.client.operation.exception"})
_JSON_FORMATS = frozenset({"json", "json_object", "json_schema"})
_SWITCH = (
    "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_and_event (`true` before 1.0b0), "
    "or the content option of the instrumentation."
)


class GenAI:
    """OpenTelemetry's GenAI convention itself.

    | attribute or event | fact | since |
    |---|---|---|
    | `gen_ai.operation.name` chat, text_completion, generate_content | a request | 1.26 |
    | execute_tool; invoke_agent; invoke_workflow | a tool; an agent; a workflow | 1.31; 1.31; 1.40 |
    | create_agent, embeddings, retrieval, memory operations | nothing | 1.31 |
    | any other operation | structure | 1.26 |
    | `gen_ai.tool.name` or `gen_ai.tool.call.id` without operation | a tool | 1.29 |
    | a model and a provider, with usage or messages, without operation | a request | 1.26 |
    | `gen_ai.tool.name`, `.tool.call.id` | `tool_name`, `call_id` | 1.29 |
    | `gen_ai.tool.call.arguments`, `.tool.call.result` | `arguments`, `result` | 1.38 |
    | messages (see `genai_content`) | `inputs`, `outputs` | every version |
    | `gen_ai.usage.*` (see `genai_usage`) | `usage` | every version |
    | `gen_ai.agent.name`, `.id`, `.version` | `agent_*` | 1.31 |
    | `gen_ai.conversation.id`, `session.id`, `gen_ai.thread.id` (`sessions`) | `session_id` | 1.31 |
    | `gen_ai.response.id`, `gen_ai.request.previous_response.id` | the same | 1.26, 1.41 |
    | `gen_ai.response.model`, `gen_ai.request.model` | `model` | 1.26 |
    | `gen_ai.output.type` json, a schema in the request | `structured` (request), `data` (agent) | 1.31 |
    | `gen_ai.conversation.compacted`, a compaction part in the reply | a compaction | 1.41 |
    | status ERROR, `error.type`, `exception` event | `failed`, `error` | every version |
    | `server.address` of a CLIENT invoke_agent | `remote_url` | 1.31 |
    | `events`, the older message events as JSON text | `inputs`, `outputs` | Logfire |
    | `logfire.span_type` pending_span | nothing: it only announces another span | Logfire |

    Versions seen: versions 1.26 to 1.41; opentelemetry-instrumentation-genai-openai and -anthropic 1.3b0,
    -openai-v2 2.4b0; hand-made spans.

    Cannot tell: the runs of tools and the end of a turn (bare SDKs), sub-agents there, questions to a human
    and refusals (no attribute says them), a failed tool but by a span, and reasoning of chat completions.
    """

    convention: Convention = Convention("gen_ai", content_switch=_SWITCH)
    scopes: tuple[str, ...] = ()
    keys: tuple[str, ...] = (
        "gen_ai.operation.name",
        "gen_ai.tool.name",
        "gen_ai.tool.call.id",
        "gen_ai.provider.name",
        "gen_ai.system",
    )

    def matches(self, span: Span) -> bool:
        return self.role(span) is not None

    def role(self, span: Span) -> Role | None:
        """What the span stands for; None where this convention does not say."""
        attributes = span.attributes
        operation = attributes.get("gen_ai.operation.name")
        if operation:
            if type(operation) is not str:
                return Role.STEP
            role = _OPERATIONS.get(operation)
            if role is None:
                return _OPERATIONS.get(operation.lower(), Role.STEP)
            if role is Role.INFERENCE and span.name.startswith("invoke_agent"):
                # A callback wrote its request onto the agent's span, which was current: the span stays the
                # agent's.
                return Role.AGENT
            return role
        if attributes.get("gen_ai.tool.name") or attributes.get("gen_ai.tool.call.id"):
            return Role.TOOL
        if not (attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system")):
            return None
        if not (attributes.get("gen_ai.request.model") or attributes.get("gen_ai.response.model")):
            return None
        # A model's name alone may be an identity copied from the resource.
        speaks = (
            attributes.get("gen_ai.output.messages")
            or attributes.get("gen_ai.input.messages")
            or read_usage(attributes) is not None
            or any(event.name in _RECORDS for event in span.events)
        )
        return Role.INFERENCE if speaks else None

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        if attributes.get("logfire.span_type") == "pending_span":
            return Facts(self.convention, Role.NOTHING)
        role = self.role(span) or Role.STEP
        facts = Facts(self.convention, role)
        facts.session_id = session_of(attributes)
        if role is Role.INFERENCE:
            self.read_inference(span, facts)
        elif role is Role.TOOL:
            self.read_tool(span, facts)
        elif role is Role.AGENT or role is Role.WORKFLOW:
            self.read_agent(span, facts)
        elif role is Role.STEP:
            self.read_step(span, facts)
        return facts

    def read_inference(self, span: Span, facts: Facts) -> None:
        """One request to a model."""
        self._read_failure(span, facts)
        read_content(span, facts)
        attributes = span.attributes
        if facts.inputs is None and facts.outputs is None and "events" in attributes:
            read_event_list(attributes["events"], facts)
        facts.usage = read_usage(attributes)
        facts.response_id = as_text(attributes.get("gen_ai.response.id"))
        facts.previous_response_id = as_text(attributes.get("gen_ai.request.previous_response.id"))
        facts.model = as_text(
            attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
        )
        facts.agent_name = as_text(attributes.get("gen_ai.agent.name"))
        facts.agent_id = as_text(attributes.get("gen_ai.agent.id"))
        if facts.inputs is None:
            facts.hidden.add("inputs")
        if facts.outputs is None and not facts.failed:
            facts.hidden.add("outputs")
        if self.asks_for_json(span):
            # A reply that is words instead (a call, a question back) is no typed answer, whatever was asked
            # for.
            facts.structured = (
                facts.outputs is None or structured_answer(text_of(facts.outputs)) is not MISSING
            )
        if as_flag(attributes.get("gen_ai.conversation.compacted")) and not facts.marks:
            facts.marks.append(Mark(span.end, "event", {"type": "compaction"}))

    def read_tool(self, span: Span, facts: Facts) -> None:
        """One execution of a tool."""
        failure = read_failure(span, handled_counts=True)
        facts.failed, facts.error, facts.error_type = failure
        attributes = span.attributes
        name = attributes.get("gen_ai.tool.name")
        if not name and span.name.startswith("execute_tool "):
            name = span.name[13:]
        facts.tool_name = as_text(name)
        facts.call_id = as_text(attributes.get("gen_ai.tool.call.id"))
        facts.agent_name = as_text(attributes.get("gen_ai.agent.name"))
        facts.agent_id = as_text(attributes.get("gen_ai.agent.id"))
        self.set_arguments(
            facts, attributes.get("gen_ai.tool.call.arguments", attributes.get("gen_ai.tool.arguments"))
        )
        self.set_result(
            facts, attributes.get("gen_ai.tool.call.result", attributes.get("gen_ai.tool.result"))
        )

    def read_agent(self, span: Span, facts: Facts) -> None:
        """One invocation of an agent, or a workflow around several."""
        self._read_failure(span, facts)
        read_content(span, facts)
        attributes = span.attributes
        name = attributes.get("gen_ai.agent.name")
        if not name and span.name.startswith("invoke_agent "):
            name = span.name[13:]
        facts.agent_name = as_text(name)
        facts.agent_id = as_text(attributes.get("gen_ai.agent.id"))
        facts.agent_version = as_text(attributes.get("gen_ai.agent.version"))
        facts.model = as_text(
            attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
        )
        facts.usage = read_usage(attributes)
        if span.kind == KIND_CLIENT and facts.role is Role.AGENT:
            facts.remote_url = _remote_url(span)
        final_answer(facts)
        if facts.outputs is not None and self.asks_for_json(span):
            facts.data = structured_answer(text_of(facts.outputs))

    def read_step(self, span: Span, facts: Facts) -> None:
        """Structure between the others. It says only how it failed."""
        self._read_failure(span, facts)

    def asks_for_json(self, span: Span) -> bool:
        """Whether the request asks for an answer that is itself a structured object."""
        attributes = span.attributes
        wanted = attributes.get("gen_ai.output.type")
        if wanted is not None:
            return wanted == "json"
        if attributes.get("gen_ai.request.structured_output_schema"):
            return True
        for key in ("gen_ai.request.response_format", "gen_ai.openai.request.response_format"):
            wanted = attributes.get(key)
            if type(wanted) is str:
                if wanted in _JSON_FORMATS:
                    return True
                wanted = json_text(wanted)
            if is_object(wanted) and wanted.get("type") in _JSON_FORMATS:
                return True
        return False

    def set_arguments(self, facts: Facts, value: Any) -> None:
        """Arguments from an attribute; says so where they are hidden, left out or no JSON."""
        facts.arguments, unparsable = json_arguments(value)
        if facts.arguments is MISSING:
            facts.hidden.add("arguments")
        elif unparsable:
            facts.unparsable = True

    def set_result(self, facts: Facts, value: Any) -> None:
        """The result from an attribute; absent where it is a placeholder, or empty and the call failed."""
        facts.result = MISSING if value is None else unwrap_result(value)
        if facts.failed and (facts.result == {} or facts.result == ""):
            facts.result = MISSING
        if facts.result is MISSING and not facts.failed:
            facts.hidden.add("result")

    def _read_failure(self, span: Span, facts: Facts) -> None:
        facts.failed, facts.error, facts.error_type = read_failure(span)

    def matches_log(self, record: LogRecord) -> bool:
        return _event_name(record) in _RECORDS

    def read_log(self, record: LogRecord) -> Facts | None:
        name = _event_name(record)
        if name not in _RECORDS:
            return None
        attributes = record.attributes
        facts = Facts(self.convention, Role.INFERENCE)
        facts.session_id = session_of(attributes)
        if name in MESSAGE_EVENTS or name == CHOICE:
            body = record.body if record.body else attributes.get("gen_ai.event.content", attributes)
            read_message_event(name, body, facts)
            if facts.inputs is None and facts.outputs is None and not facts.hidden:
                return None
            facts.supplements = "piece"
            return facts
        facts.supplements = "whole" if record.span_id is not None else None
        if name != DETAILS:
            facts.failed = True
            facts.error_type = as_text(attributes.get("exception.type"))
            words = as_text(attributes.get("exception.message"))
            facts.error = clean_error(words, facts.error_type) if words else ""
            return facts
        fields: Mapping[str, Any] = record.body if is_object(record.body) and not attributes else attributes
        read_message_attributes(fields, facts, record.time)
        facts.usage = read_usage(fields)
        facts.response_id = as_text(fields.get("gen_ai.response.id"))
        facts.model = as_text(fields.get("gen_ai.response.model") or fields.get("gen_ai.request.model"))
        facts.agent_name = as_text(fields.get("gen_ai.agent.name"))
        facts.error_type = as_text(fields.get("error.type"))
        facts.failed = facts.error_type is not None
        if facts.failed:
            facts.error = ""
        if fields.get("gen_ai.output.type") == "json":
            facts.structured = structured_answer(text_of(facts.outputs)) is not MISSING
        return facts


def structured_answer(text: str) -> Any:
    """The object or array that an answer is; `MISSING` where it is words: a question back, a refusal."""
    if not text or is_placeholder(text):
        return MISSING
    parsed = json_text(text)
    return parsed if is_object(parsed) or is_list(parsed) else MISSING


def _event_name(record: LogRecord) -> str:
    name = record.event_name or record.attributes.get("event.name")
    return name if type(name) is str else ""


def _remote_url(span: Span) -> str | None:
    url = as_text(span.attributes.get("url.full"))
    if url:
        return url
    host = as_text(span.attributes.get("server.address"))
    if not host:
        return None
    port = span.attributes.get("server.port")
    scheme = as_text(span.attributes.get("url.scheme"))
    if "://" not in host and scheme:
        host = f"{scheme}://{host}"
    return f"{host}:{port}" if port and not (scheme == "https" and port == 443) else host
