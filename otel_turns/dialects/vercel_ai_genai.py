"""The Vercel AI SDK from version 7 on, which speaks GenAI (`@ai-sdk/otel`, scope `gen_ai`).

Comes in: spans of scope `gen_ai`. Goes out: the GenAI convention's Facts with the AI SDK's own additions. It
never takes a span's name for an agent's, since it holds the model, nor the calls of a whole run for its last
reply.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, json_text
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Part,
    Reasoning,
    Text,
    TokenUsage,
    ToolResult,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["VercelAI"]

_SCOPE = "gen_ai"
_CONTEXT = "ai.settings.context."
_SESSIONS = (
    "sessionId",
    "session_id",
    "threadId",
    "thread_id",
    "conversationId",
    "conversation_id",
    "chatId",
)
_REASONING = "ai.usage.outputTokenDetails.reasoningTokens"


class VercelAI(GenAI):
    """Vercel AI SDK 7 and later (`@ai-sdk/otel`).

    | attribute | fact | since |
    |---|---|---|
    | `gen_ai.operation.name` agent_step | structure: one step | 7 |
    | `gen_ai.agent.name` of invoke_agent | agent name (the call's functionId) | 7 |
    | `gen_ai.output.messages` of invoke_agent | text and reasoning of the last reply | 7 |
    | part tool-approval-response at the end of `gen_ai.input.messages` | the call resumes a paused run | 7 |
    | result `{"denied": true, "reason": ...}` | a human refused the call | 7 |
    | `ai.usage.outputTokenDetails.reasoningTokens` (option `usage`) | reasoning tokens | 7 |
    | `ai.settings.context.sessionId` and the like (option `runtimeContext`) | session id | 7 |
    | everything else | as the GenAI convention says | 7 |

    Versions seen: ai 7.0 with @ai-sdk/otel 1.0.

    Cannot tell: that a run waits for an approval (it looks like a call for the client to run), the session
    and tokens of reasoning unless `runtimeContext` and `usage` are on, and the answer of a human but by its
    result.
    """

    convention = Convention(
        "vercel-ai",
        content_switch="leave telemetry: { recordInputs, recordOutputs } of the AI SDK call at true",
    )
    scopes: tuple[str, ...] = (_SCOPE,)
    keys: tuple[str, ...] = ()

    def matches(self, span: Span) -> bool:
        return span.scope.name == _SCOPE and super().matches(span)

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name == _SCOPE and super().matches_log(record)

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        if facts.session_id is None:
            facts.session_id = self._session(span)
        return facts

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        _denials(facts)
        reasoning = as_int(span.attributes.get(_REASONING))
        if reasoning is not None:
            facts.usage = facts.usage or TokenUsage()
            if facts.usage.reasoning is None:
                facts.usage.reasoning = reasoning

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        facts.agent_name = as_text(span.attributes.get("gen_ai.agent.name"))
        facts.resumes = _answers_approval(span.attributes.get("gen_ai.input.messages"))
        _denials(facts)
        if facts.outputs is not None:
            said: list[Part] = [
                part
                for message in facts.outputs
                for part in message.parts
                if type(part) is Text or type(part) is Reasoning
            ]
            facts.outputs = [Message("assistant", said)] if said else None

    def _session(self, span: Span) -> str | None:
        for name in _SESSIONS:
            found = as_text(span.attributes.get(_CONTEXT + name))
            if found is not None:
                return found
        return None


def _denials(facts: Facts) -> None:
    """A refused call's result stands in for its output."""
    for message in facts.inputs or ():
        for part in message.parts:
            if type(part) is not ToolResult or not is_object(part.result):
                continue
            answer = part.result
            if answer.get("denied") is True and set(answer) <= {"denied", "reason"}:
                part.rejected = True
                part.result = answer.get("reason", MISSING)


def _answers_approval(value: Any) -> bool:
    """Whether the last message brings a human's answer. The decision itself is not told."""
    messages = json_text(value) if type(value) is str else value
    if not is_list(messages) or not messages or not is_object(messages[-1]):
        return False
    parts = messages[-1].get("parts")
    return is_list(parts) and any(
        is_object(part) and part.get("type") == "tool-approval-response" for part in parts
    )
