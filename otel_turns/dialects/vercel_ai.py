"""The Vercel AI SDK's own spans (`ai.*`): versions 4 to 6, and version 7 with `LegacyOpenTelemetry`.

Comes in: spans with `ai.operationId`, whatever their scope. Goes out: Facts. It never takes the calls of a
whole run, which version 7 puts on the outer span, for that span's last reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.ai_sdk_prompt import read_prompt, read_tool_calls
from otel_turns.dialects.parts import Notes, append_reasoning, append_text
from otel_turns.dialects.values import (
    as_int,
    as_text,
    is_object,
    is_placeholder,
    json_arguments,
    json_text,
    json_value,
    read_failure,
)
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Role, TokenUsage
from otel_turns.model.span import LogRecord, Span

__all__ = ["VercelAILegacy", "ai_sdk_usage"]

_OUTER = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
_METADATA = "ai.telemetry.metadata."
_SESSIONS = (
    "sessionId",
    "session_id",
    "threadId",
    "thread_id",
    "conversationId",
    "conversation_id",
    "chatId",
)


class VercelAILegacy:
    """Vercel AI SDK, versions 4 to 6, and 7 with `LegacyOpenTelemetry`.

    | attribute | fact | since |
    |---|---|---|
    | `ai.operationId` ai.generateText, streamText, generateObject, streamObject | AGENT | 3 |
    | `ai.operationId` *.doGenerate, *.doStream | INFERENCE | 3 |
    | `ai.operationId` ai.toolCall | TOOL | 3 |
    | `ai.telemetry.functionId` | agent name | 3 |
    | `ai.telemetry.metadata.sessionId` (threadId, conversationId, chatId) | session id | 3 |
    | `ai.prompt`, `ai.prompt.messages` | request messages; a human's answers to approval requests | 3; 6 |
    | `ai.response.text`, `.reasoning` | reply: text, reasoning | 4; 6 (streams 5) |
    | `ai.response.toolCalls` | calls that the reply asks for; not read on the outer span | 4 |
    | `ai.response.object` | typed answer | 3 |
    | `ai.response.id`, `.model` | response id, model | 3 |
    | `ai.usage.promptTokens`, `.completionTokens` | tokens | 3, objects to 6 |
    | `ai.usage.inputTokens`, `.outputTokens`, `.cachedInputTokens`, `.reasoningTokens` | tokens | 5 |
    | `ai.usage.inputTokenDetails.*`, `.outputTokenDetails.*` | cache read and write, reasoning tokens | 6 |
    | `ai.response.providerMetadata` | cache and reasoning tokens, where `ai.usage` has no name for them | 4 |
    | `ai.toolCall.id`, `.name`, `.args`, `.result` | call id, name, arguments, result | 3 |

    Versions seen: ai 5.0, 6.0 and 7.0.

    Cannot tell: that a run waits for an approval, tokens of cache of ai 5 without streams, reasoning of ai 5
    without streams.
    """

    convention = Convention(
        "vercel-ai-legacy",
        content_switch=(
            "pass experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }"
        ),
    )
    scopes: tuple[str, ...] = ("ai",)
    keys: tuple[str, ...] = ("ai.operationId",)

    def matches(self, span: Span) -> bool:
        operation = span.attributes.get("ai.operationId")
        return type(operation) is str and operation.startswith("ai.")

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        operation = attributes.get("ai.operationId")
        facts = Facts(self.convention)
        facts.session_id = _session(attributes)
        if type(operation) is not str:
            return facts
        if operation == "ai.toolCall":
            self._tool(span, facts)
        elif operation in _OUTER:
            self._outer(span, facts)
        elif operation.endswith((".doGenerate", ".doStream")):
            self._inference(span, facts, "Object." in operation)
        elif operation.startswith(("ai.embed", "ai.rerank")):
            facts.role = Role.NOTHING
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None

    def _outer(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        facts.role = Role.AGENT
        facts.agent_name = as_text(attributes.get("ai.telemetry.functionId"))
        facts.failed, facts.error, facts.error_type = read_failure(span)
        facts.model = as_text(attributes.get("ai.model.id"))
        facts.usage = ai_sdk_usage(attributes)
        prompt = read_prompt(attributes.get("ai.prompt"))
        if prompt is None:
            facts.hidden.add("inputs")
        else:
            facts.inputs = prompt.messages
            facts.decisions = prompt.decisions
            facts.resumes = prompt.resumes
        answer = attributes.get("ai.response.object")
        if type(answer) is str and not is_placeholder(answer):
            facts.data = json_value(answer)
        parts = _speech(attributes, Notes())
        if parts:
            facts.outputs = [Message("assistant", parts)]

    def _inference(self, span: Span, facts: Facts, structured: bool) -> None:
        attributes = span.attributes
        facts.role = Role.INFERENCE
        facts.failed, facts.error, facts.error_type = read_failure(span)
        facts.response_id = as_text(attributes.get("ai.response.id", attributes.get("gen_ai.response.id")))
        facts.model = as_text(attributes.get("ai.response.model")) or as_text(attributes.get("ai.model.id"))
        facts.usage = ai_sdk_usage(attributes)
        if any(key.startswith("ai.usage.inputTokenDetails.") for key in attributes):
            facts.input_includes_cache = True
        prompt = read_prompt(attributes.get("ai.prompt.messages"))
        if prompt is None:
            facts.hidden.add("inputs")
        else:
            facts.inputs = prompt.messages
            if prompt.notes.unparsable:
                facts.unparsable = True
        notes = Notes()
        parts = _speech(attributes, notes)
        answer = attributes.get("ai.response.object")
        if structured and type(answer) is str:
            append_text(answer, parts, notes)
            facts.structured = bool(parts)
        parts.extend(read_tool_calls(attributes.get("ai.response.toolCalls"), notes))
        if parts:
            facts.outputs = [Message("assistant", parts)]
        if notes.unparsable:
            facts.unparsable = True
        calls_hidden = _asks_for_tools(attributes) and "ai.response.toolCalls" not in attributes
        if notes.hidden or calls_hidden or (not parts and not facts.failed and not _said_nothing(attributes)):
            facts.hidden.add("outputs")

    def _tool(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        facts.role = Role.TOOL
        facts.call_id = as_text(attributes.get("ai.toolCall.id"))
        facts.tool_name = as_text(attributes.get("ai.toolCall.name"))
        facts.failed, facts.error, facts.error_type = read_failure(span, handled_counts=True)
        facts.arguments, facts.unparsable = json_arguments(attributes.get("ai.toolCall.args"))
        if facts.arguments is MISSING:
            facts.hidden.add("arguments")
        result = attributes.get("ai.toolCall.result", MISSING)
        if result is not MISSING and not is_placeholder(result):
            facts.result = json_value(result)
        elif not facts.failed:
            facts.hidden.add("result")


def _session(attributes: Mapping[str, Any]) -> str | None:
    for name in _SESSIONS:
        found = as_text(attributes.get(_METADATA + name))
        if found is not None:
            return found
    return as_text(attributes.get("session.id"))


def _speech(attributes: Mapping[str, Any], notes: Notes) -> list[Part]:
    parts: list[Part] = []
    reasoning = attributes.get("ai.response.reasoning")
    if type(reasoning) is str and reasoning[:1] == "[":
        # Version 4 writes the reasoning's parts as JSON.
        details = json_text(reasoning)
        reasoning = reasoning if details is MISSING else details
    append_reasoning(reasoning, parts, notes)
    append_text(attributes.get("ai.response.text"), parts, notes)
    return parts


def _asks_for_tools(attributes: Mapping[str, Any]) -> bool:
    return attributes.get("ai.response.finishReason") == "tool-calls"


def _said_nothing(attributes: Mapping[str, Any]) -> bool:
    """The reply's content was recorded and is empty; with recording off the attribute is missing."""
    return "ai.response.text" in attributes or "ai.response.toolCalls" in attributes


def ai_sdk_usage(attributes: Mapping[str, Any]) -> TokenUsage | None:
    """Tokens as any version spells them; None where a span reports none."""

    def first(*names: str) -> int | None:
        for name in names:
            found = as_int(attributes.get(name))
            if found is not None:
                return found
        return None

    usage = TokenUsage(
        input=first("gen_ai.usage.input_tokens", "ai.usage.inputTokens", "ai.usage.promptTokens"),
        output=first("gen_ai.usage.output_tokens", "ai.usage.outputTokens", "ai.usage.completionTokens"),
        cache_read=first("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
        cache_creation=first("ai.usage.inputTokenDetails.cacheWriteTokens"),
        reasoning=first("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
    )
    if not usage:
        return None
    if usage.cache_read is None and usage.cache_creation is None and usage.reasoning is None:
        _provider_usage(attributes.get("ai.response.providerMetadata"), usage)
    return usage


def _provider_usage(metadata: Any, usage: TokenUsage) -> None:
    """What version 4 leaves to the provider's own metadata."""
    providers = json_text(metadata) if type(metadata) is str else metadata
    if not is_object(providers):
        return
    for provider in providers.values():
        if not is_object(provider):
            continue
        if usage.cache_read is None:
            usage.cache_read = as_int(
                provider.get("cacheReadInputTokens", provider.get("cachedPromptTokens"))
            )
        if usage.cache_creation is None:
            usage.cache_creation = as_int(provider.get("cacheCreationInputTokens"))
        if usage.reasoning is None:
            usage.reasoning = as_int(provider.get("reasoningTokens"))
