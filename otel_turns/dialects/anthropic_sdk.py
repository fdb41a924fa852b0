"""Spans that the Anthropic Python SDK writes itself, on as soon as a tracer provider is set.

Comes in: spans of the scope `com.anthropic.sdk.python`. Goes out: `Facts`. Beside another instrumentation
each request has a span here too: the response id says which.
"""

from __future__ import annotations

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.values import as_text
from otel_turns.model.facts import MISSING, Convention, Facts, Role
from otel_turns.model.span import Span

__all__ = ["AnthropicSDK"]


class AnthropicSDK(GenAI):
    """Anthropic Python SDK, its own spans.

    | attribute | fact | since |
    |---|---|---|
    | `anthropic.messages.create` and the GenAI names | a request | 2.0 |
    | `anthropic.messages.tool_runner` | an agent without a name | 2.0 |
    | `anthropic.custom_tool_use`, `anthropic.tool_use`, `anthropic.mcp_tool_use` | a tool | 2.0 |
    | `anthropic.tool_result.content` | `result`, a list of blocks | 2.0 |
    | `anthropic.session.id` | `session_id` where no conversation id is set | 2.0 |
    | `gen_ai.usage.input_tokens` | includes what came from the cache and went into it | 2.0 |
    | `anthropic.message.stop_reason` | not read | 2.0 |

    Versions seen: anthropic 2.14.

    Cannot tell: the reply of a raw stream, the words of an error, whether a result in a request was an error,
    and the runs of tools outside the tool runner.
    """

    convention = Convention(
        "anthropic_sdk", content_switch="Set ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content."
    )
    scopes = ("com.anthropic.sdk*",)

    def role(self, span: Span) -> Role | None:
        return super().role(span) or Role.STEP

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        if facts.session_id is None:
            facts.session_id = as_text(span.attributes.get("anthropic.session.id"))
        return facts

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        facts.input_includes_cache = True

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        if facts.result is MISSING:
            facts.hidden.discard("result")
            self.set_result(facts, span.attributes.get("anthropic.tool_result.content"))
