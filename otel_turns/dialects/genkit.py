"""Genkit's spans (JavaScript, Go, Python).

Comes in: spans with `genkit:type`. Goes out: Facts. `generate` runs a model, its tools and itself again, and
repeats what they say: it is structure, and tells only that a run waits for a human.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.function_values import value_of
from otel_turns.dialects.genai import structured_answer
from otel_turns.dialects.genai_content import text_of
from otel_turns.dialects.parts import Notes, append_reasoning, append_text, tool_call, tool_result
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, read_failure
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Part,
    Question,
    Role,
    Text,
    TokenUsage,
    ToolResult,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["Genkit"]

_TYPE, _SUBTYPE = "genkit:type", "genkit:metadata:subtype"
_ROLES = {
    "model": Role.INFERENCE,
    "background-model": Role.INFERENCE,
    "tool": Role.TOOL,
    "tool.v2": Role.TOOL,
    "agent": Role.AGENT,
    "flow": Role.CHAIN,
    "embedder": Role.NOTHING,
    "retriever": Role.NOTHING,
    "indexer": Role.NOTHING,
    "reranker": Role.NOTHING,
    "evaluator": Role.NOTHING,
}
_SAYS = {"user": "user", "model": "assistant", "tool": "tool", "system": "system"}
_INTERRUPT = "ToolInterruptError"


class Genkit:
    """Genkit.

    | attribute | fact | since |
    |---|---|---|
    | `genkit:metadata:subtype` model | INFERENCE | 0.5 |
    | the same, tool | TOOL, without call id | 0.5 |
    | the same, flow (`genkit:type` flow) | CHAIN | 0.5 |
    | the same, agent | AGENT | 1.30 |
    | the same, embedder, retriever, indexer, reranker, evaluator | nothing | 0.5 |
    | `genkit:type` util (generate), promptTemplate, helper, flowStep | structure | 0.5 |
    | `genkit:name` | tool name, agent name | 0.5 |
    | `genkit:input`, `genkit:output` of a model | request; reply and tokens | 0.5 |
    | `genkit:input`, `genkit:output` of a tool or flow | arguments and result; prompt and answer | 0.5 |
    | `genkit:output` of generate, `finishReason` interrupted | questions; the run waits | 1.0 |
    | `exception` event ToolInterruptError | the tool paused | 1.0 |
    | `genkit:state` error | failed | 0.5 |
    | `genkit:sessionId` | session id | 0.9 |

    Versions seen: none recorded; 0.5 to 1.30 as their source has them.

    Cannot tell: call ids, the name of an agent in a flow, and a human's answer but as the input of the next
    run.
    """

    convention = Convention(
        "genkit",
        content_switch="leave disableLoggingInputAndOutput of the telemetry plugin unset",
    )
    scopes: tuple[str, ...] = ("genkit-tracer",)
    keys: tuple[str, ...] = (_TYPE, _SUBTYPE)

    def matches(self, span: Span) -> bool:
        return _TYPE in span.attributes or _SUBTYPE in span.attributes

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        kind = attributes.get(_SUBTYPE) or attributes.get(_TYPE)
        role = _ROLES.get(kind, Role.STEP) if type(kind) is str else Role.STEP
        facts = Facts(self.convention, role, session_id=as_text(attributes.get("genkit:sessionId")))
        facts.failed, facts.error, facts.error_type = read_failure(span)
        if attributes.get("genkit:state") == "error" and not facts.failed:
            facts.failed, facts.error = True, ""
        if role is Role.INFERENCE:
            _model(span, facts)
        elif role is Role.TOOL:
            _tool(span, facts)
        elif role is Role.AGENT or role is Role.CHAIN:
            _flow(span, facts)
        else:
            _generate(span, facts)
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None


def _model(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    notes = Notes()
    facts.model = as_text(attributes.get("genkit:name"))
    facts.ordered_parts = True
    request = value_of(attributes.get("genkit:input"))
    if is_object(request) and is_list(request.get("messages")):
        facts.inputs = _messages(request["messages"], notes)
        wanted = request.get("output")
        facts.structured = is_object(wanted) and (
            wanted.get("format") == "json" or bool(wanted.get("schema"))
        )
    else:
        facts.hidden.add("inputs")
    response = value_of(attributes.get("genkit:output"))
    if not is_object(response):
        if not facts.failed:
            facts.hidden.add("outputs")
        return
    facts.outputs = _messages([_reply(response)], notes)
    facts.unparsable = notes.unparsable
    if _asks_for_json(request):
        facts.structured = structured_answer(text_of(facts.outputs)) is not MISSING
    counts = response.get("usage")
    if is_object(counts):
        usage = TokenUsage(
            input=as_int(counts.get("inputTokens")),
            output=as_int(counts.get("outputTokens")),
            cache_read=as_int(counts.get("cachedContentTokens")),
            reasoning=as_int(counts.get("thoughtsTokens")),
        )
        facts.usage = usage or None


def _asks_for_json(request: Any) -> bool:
    """By the request itself, or by the words that stand in it for models that cannot be bound to a schema."""
    if not is_object(request):
        return False
    wanted = request.get("output")
    if is_object(wanted) and (wanted.get("format") == "json" or wanted.get("schema")):
        return True
    messages = request.get("messages")
    for message in messages if is_list(messages) else ():
        content = message.get("content") if is_object(message) else None
        for part in content if is_list(content) else ():
            metadata = part.get("metadata") if is_object(part) else None
            if is_object(metadata) and metadata.get("purpose") == "output":
                return True
    return False


def _reply(response: dict[str, Any]) -> Any:
    message = response.get("message")
    if message is None:
        candidates = response.get("candidates")
        first = candidates[0] if is_list(candidates) and candidates else None
        message = first.get("message") if is_object(first) else None
    return message


def _tool(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.tool_name = as_text(attributes.get("genkit:name")) or span.name
    facts.arguments = value_of(attributes.get("genkit:input"))
    facts.result = value_of(attributes.get("genkit:output"))
    if facts.error_type == _INTERRUPT:
        facts.failed, facts.error, facts.error_type = False, None, None
        facts.paused = True
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    if facts.result is MISSING and not facts.failed and not facts.paused:
        facts.hidden.add("result")


def _flow(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.agent_name = as_text(attributes.get("genkit:name")) or span.name
    given, answer = value_of(attributes.get("genkit:input")), value_of(attributes.get("genkit:output"))
    if type(given) is str and given:
        facts.inputs = [Message("user", [Text(given)])]
    if type(answer) is str and answer:
        facts.outputs = [Message("assistant", [Text(answer)])]
    elif is_object(answer) or is_list(answer):
        facts.data = answer


def _generate(span: Span, facts: Facts) -> None:
    response = value_of(span.attributes.get("genkit:output"))
    if not is_object(response) or response.get("finishReason") != "interrupted":
        return
    facts.waiting = True
    message = response.get("message")
    content = message.get("content") if is_object(message) else None
    for part in content if is_list(content) else ():
        if not is_object(part) or not is_object(part.get("toolRequest")):
            continue
        metadata, call = part.get("metadata"), part["toolRequest"]
        if is_object(metadata) and metadata.get("interrupt"):
            call_id = as_text(call.get("ref"))
            facts.questions.append(
                Question(
                    call_id,
                    as_text(call.get("name")),
                    call.get("input", MISSING),
                    call_id=call_id,
                    time=span.end,
                )
            )


def _messages(messages: Any, notes: Notes) -> list[Message]:
    return [_message(message, notes) for message in messages if is_object(message)]


def _message(message: dict[str, Any], notes: Notes) -> Message:
    parts: list[Part] = []
    content = message.get("content")
    for part in content if is_list(content) else ():
        if not is_object(part):
            continue
        call, result = part.get("toolRequest"), part.get("toolResponse")
        if is_object(call):
            parts.append(
                tool_call(call.get("ref"), call.get("name"), call.get("input", MISSING), notes=notes)
            )
        elif is_object(result):
            parts.append(
                tool_result(
                    result.get("ref"), result.get("output", MISSING), name=result.get("name"), notes=notes
                )
            )
        elif "reasoning" in part:
            append_reasoning(part["reasoning"], parts, notes)
        elif "text" in part:
            append_text(part["text"], parts, notes)
    role = _SAYS.get(str(message.get("role")), "user")
    if parts and all(type(part) is ToolResult for part in parts):
        role = "tool"
    return Message(role, parts)
