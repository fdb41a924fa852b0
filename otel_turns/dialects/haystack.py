"""Haystack: its own tracing, and OpenInference's view of its pipelines.

Comes in: spans named `haystack.*`, or of scope `openinference.instrumentation.haystack`. Goes out: their
facts.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference import CONTENT_SWITCH, OpenInference
from otel_turns.dialects.parts import append_reasoning, append_text, tool_call, tool_result
from otel_turns.dialects.python_repr import Constructed, python_repr
from otel_turns.dialects.values import (
    as_int,
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_text,
    read_failure,
)
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Role, Text, TokenUsage
from otel_turns.model.span import LogRecord, Span

__all__ = ["Haystack", "OpenInferenceHaystack", "read_chat_messages"]


def read_chat_messages(value: Any, notes: Notes) -> list[Message] | None:
    """Haystack's chat messages, each as its dictionary or as Python's repr; None where there are none."""
    listed = value if is_list(value) else [value]
    found = [m for one in listed if (m := _chat_message(one, notes)) is not None]
    return found or None


def _chat_message(value: Any, notes: Notes) -> Message | None:
    if type(value) is str:
        value = python_repr(value) if value.startswith("ChatMessage(") else json_text(value)
    if isinstance(value, Constructed):
        value = value.fields
    if not is_object(value):
        return None
    role = value.get("_role", value.get("role"))
    content: Any = value.get("_content", value.get("content"))
    if type(role) is not str or role not in ("user", "assistant", "system", "tool"):
        return None
    parts: list[Part] = []
    if type(content) is str:
        append_text(content, parts, notes)
    for block in content if is_list(content) else ():
        _block(block, parts, notes)
    return Message(role, parts)


def _block(block: Any, parts: list[Part], notes: Notes) -> None:
    if isinstance(block, Constructed):
        _add(block.name, block.fields, parts, notes)
    elif is_object(block):
        for key, name in _BLOCKS.items():
            inner = block.get(key)
            if inner is not None:
                _add(name, inner if is_object(inner) else {"text": inner}, parts, notes)


_BLOCKS = {
    "text": "TextContent",
    "tool_call": "ToolCall",
    "tool_call_result": "ToolCallResult",
    "reasoning": "ReasoningContent",
}


def _add(name: str, fields: dict[str, Any], parts: list[Part], notes: Notes) -> None:
    if name == "TextContent":
        append_text(fields.get("text"), parts, notes)
    elif name == "ReasoningContent":
        append_reasoning(fields.get("reasoning_text", fields.get("text")), parts, notes)
    elif name == "ToolCall":
        arguments = fields.get("arguments", MISSING)
        parts.append(tool_call(fields.get("id"), fields.get("tool_name"), arguments, notes=notes))
    elif name == "ToolCallResult":
        origin = fields.get("origin")
        origin = origin.fields if isinstance(origin, Constructed) else origin
        asked: dict[str, Any] = origin if is_object(origin) else {}
        failed = fields.get("error") is True
        result = fields.get("result", MISSING)
        if type(result) is str and result[:1] == "{":
            parsed = json_text(result)
            answer = _answer(parsed)
            result = result if answer is parsed else answer
        told = tool_result(asked.get("id"), result, name=asked.get("tool_name"), failed=failed, notes=notes)
        parts.append(told)


def _answer(result: Any) -> Any:
    """The words of an agent that ran as a tool:

    its last message, or the message itself; else the result as it is.
    """
    if not is_object(result):
        return result
    last = result.get("last_message", result if "role" in result and "content" in result else None)
    message = _chat_message(last, Notes()) if last is not None else None
    texts = [part.text for part in message.parts if isinstance(part, Text)] if message is not None else []
    return "".join(texts) if texts else result


def _new(messages: list[Message] | None) -> list[Message] | None:
    """What an agent added in its run: everything behind the words of the user."""
    if not messages:
        return None
    at = max((n + 1 for n, m in enumerate(messages) if m.role in ("user", "system")), default=0)
    return messages[at:] or None


class OpenInferenceHaystack(OpenInference):
    """Haystack, through OpenInference.

    | span | fact | since |
    |---|---|---|
    | `Pipeline.run`, `AsyncPipeline.run*` | workflow | 0.1 |
    | `Agent.run` of kind CHAIN or AGENT | agent; `output.value` holds the run's messages as repr | 0.1.20 |
    | kind LLM of a chat generator, TOOL of a ToolInvoker component | request, structure | 0.1 |

    Versions seen: openinference-instrumentation-haystack 0.1.46 with haystack-ai 3.4.

    Cannot tell: requests and tools inside an agent but by its messages, their times, reasoning, the session,
    and an agent that runs outside a pipeline.
    """

    convention: Convention = Convention("openinference.haystack", CONTENT_SWITCH)
    scopes: tuple[str, ...] = ("openinference.instrumentation.haystack",)

    def role(self, span: Span) -> Role:
        role = super().role(span)
        if role is Role.CHAIN or role is Role.AGENT:
            if span.name.startswith(("Agent.", "Agent (")):
                return Role.AGENT
            if span.name.startswith(("Pipeline.", "AsyncPipeline.")):
                return Role.WORKFLOW
            return Role.STEP
        return role

    def agent_name(self, span: Span) -> str | None:
        return as_text(span.attributes.get("agent.name"))

    def exchange(self, span: Span, facts: Facts) -> None:
        if facts.role is Role.WORKFLOW:
            return
        facts.invocation_id = f"agent:{span.span_id.hex()}"
        asked, said = span.attributes.get("input.value"), span.attributes.get("output.value")
        if is_placeholder(asked):
            facts.hidden.add("inputs")
        if is_placeholder(said):
            facts.hidden.add("outputs")
            return
        facts.inputs = read_chat_messages(_messages(asked), Notes())
        facts.outputs = _new(read_chat_messages(_messages(said), Notes()))


def _messages(value: Any) -> Any:
    body = json_text(value) if type(value) is str else value
    return body.get("messages") if is_object(body) else None


class Haystack:
    """Haystack, its own spans.

    | attribute | fact | since |
    |---|---|---|
    | `haystack.agent.run` | agent: `haystack.agent.input`, `.output` hold the messages | 2.12 |
    | `haystack.agent.step` | structure | 3.0 |
    | `haystack.agent.step.llm` | request: `haystack.agent.step.llm.input`, `.output` | 3.0 |
    | `haystack.agent.step.tool` | tool: `.input`, `.output`, `haystack.tool.name`, `.error` | 3.0 |
    | an output that is only `error` | the tool failed, whatever the span's status | 3.0 |
    | `haystack.pipeline.run`, `haystack.async_pipeline.run` | workflow | 2.0 |
    | `haystack.component.run` of a chat generator | request: `haystack.component.input`, `.output` | 2.0 |
    | `haystack.component.run` of type Agent | structure around the agent's own span | 2.12 |

    Versions seen: haystack-ai 3.4 with opentelemetry-haystack 2.0.

    Cannot tell: call ids of runs, agent names, reasoning, the session.
    """

    convention: Convention = Convention(
        "haystack",
        "Set HAYSTACK_CONTENT_TRACING_ENABLED=true, or tracing.tracer.is_content_tracing_enabled = True.",
        runs_have_spans=True,
    )
    scopes: tuple[str, ...] = ("haystack",)
    keys: tuple[str, ...] = ("haystack.*",)

    def matches(self, span: Span) -> bool:
        return span.name.startswith("haystack.")

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None

    def read(self, span: Span) -> Facts:
        name, get = span.name, span.attributes.get
        facts = Facts(self.convention, Role.STEP)
        facts.failed, facts.error, facts.error_type = read_failure(span)
        if name == "haystack.agent.run":
            facts.role = Role.AGENT
            facts.agent_name = as_text(get("haystack.agent.name"))
            facts.invocation_id = f"agent:{span.span_id.hex()}"
            self.agent(span, facts)
        elif name in ("haystack.pipeline.run", "haystack.async_pipeline.run"):
            facts.role = Role.WORKFLOW
        elif name == "haystack.agent.step.llm":
            facts.role = Role.INFERENCE
            self.request(span, facts, "haystack.agent.step.llm")
        elif name == "haystack.agent.step.tool":
            facts.role = Role.TOOL
            self.tool(span, facts)
        elif name == "haystack.component.run":
            kind = as_text(get("haystack.component.type")) or ""
            if kind.endswith("ChatGenerator"):
                facts.role = Role.INFERENCE
                self.request(span, facts, "haystack.component")
        return facts

    def agent(self, span: Span, facts: Facts) -> None:
        asked = _content(span, "haystack.agent.input")
        said = _content(span, "haystack.agent.output")
        asked = asked.get("messages", asked) if is_object(asked) else asked
        said = said.get("messages", said) if is_object(said) else said
        facts.inputs = read_chat_messages(asked, Notes())
        facts.outputs = _new(read_chat_messages(said, Notes()))

    def request(self, span: Span, facts: Facts, prefix: str) -> None:
        asked, said = _content(span, prefix + ".input"), _content(span, prefix + ".output")
        asked = asked.get("messages", asked) if is_object(asked) else asked
        replies: Any = said.get("replies", said.get("messages", said)) if is_object(said) else said
        inputs, outputs = Notes(), Notes()
        facts.inputs = read_chat_messages(asked, inputs)
        facts.outputs = read_chat_messages(replies, outputs)
        first = replies[0] if is_list(replies) and replies else replies
        meta = _meta_of(first)
        facts.model = as_text(meta.get("model")) or as_text(span.attributes.get(prefix + ".model"))
        facts.usage = _usage(meta.get("usage"))
        if facts.inputs is None:
            facts.hidden.add("inputs")
        if facts.outputs is None and not facts.failed:
            facts.hidden.add("outputs")

    def tool(self, span: Span, facts: Facts) -> None:
        get = span.attributes.get
        facts.tool_name = as_text(get("haystack.tool.name"))
        facts.call_id = as_text(get("haystack.tool.call_id") or get("haystack.tool.id"))
        given = _content(span, "haystack.agent.step.tool.input")
        if is_object(given):
            facts.arguments = given
        else:
            facts.hidden.add("arguments")
        told = _content(span, "haystack.agent.step.tool.output")
        error = get("haystack.tool.error")
        facts.failed = facts.failed or error is True or error == "true"
        if is_object(told) and set(told) == {"error"} and type(told["error"]) is str:
            facts.failed = True
            told = told["error"]
            facts.error = told
        if told is None:
            if not facts.failed:
                facts.hidden.add("result")
        else:
            facts.result = _answer(told)


def _content(span: Span, key: str) -> Any:
    """The value of an attribute: JSON, a repr, or text."""
    value = span.attributes.get(key)
    if type(value) is not str:
        return value
    if is_placeholder(value):
        return None
    parsed = json_text(value)
    if parsed is not MISSING:
        return parsed
    if value[:1] in "{[(" or value.startswith("ChatMessage("):
        made = python_repr(value)
        if made is not MISSING:
            return made
    return value


def _meta_of(message: Any) -> dict[str, Any]:
    if type(message) is str:
        message = python_repr(message) if message.startswith("ChatMessage(") else json_text(message)
    if isinstance(message, Constructed):
        message = message.fields
    meta: Any = message.get("_meta", message.get("meta")) if is_object(message) else None
    return meta if is_object(meta) else {}


def _usage(usage: Any) -> TokenUsage | None:
    if not is_object(usage):
        return None
    inner: Any = usage.get("prompt_tokens_details")
    outer: Any = usage.get("completion_tokens_details")
    found = TokenUsage(
        as_int(usage.get("prompt_tokens", usage.get("input_tokens"))),
        as_int(usage.get("completion_tokens", usage.get("output_tokens"))),
        as_int(inner.get("cached_tokens")) if is_object(inner) else None,
        None,
        as_int(outer.get("reasoning_tokens")) if is_object(outer) else None,
    )
    return found if found else None
