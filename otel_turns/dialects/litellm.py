"""LiteLLM's own OpenTelemetry callback.

Comes in: spans and records of scope `litellm`. Goes out: their facts. Under a parent span the callback
writes its attributes onto that parent instead of making a span: such spans belong to other dialects.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.messages import Notes, read_messages, tool_result
from otel_turns.dialects.openinference_messages import as_one_reply
from otel_turns.dialects.traceloop_messages import read_numbered
from otel_turns.dialects.values import is_list, is_object, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Role, ToolCall
from otel_turns.model.span import Span

__all__ = ["LiteLLM"]

_REQUESTS = frozenset(
    {
        "chat",
        "completion",
        "acompletion",
        "text_completion",
        "atext_completion",
        "responses",
        "aresponses",
        "anthropic_messages",
        "generate_content",
        "agenerate_content",
    }
)


class LiteLLM(GenAI):
    """LiteLLM, its own OpenTelemetry callback.

    | attribute | fact | since |
    |---|---|---|
    | `gen_ai.operation.name` chat, or the call's type (`acompletion`, ...) | request | 1.40 |
    | `gen_ai.input.messages`: `tool_calls`, `tool_call_id` beside the parts | calls, results | 1.79 |
    | `gen_ai.output.messages` | the reply's text; a call leaves it empty | 1.79 |
    | `gen_ai.completion.N.function_call.name`, `.arguments` | the reply's N-th call, without id | 1.40 |
    | `gen_ai.prompt.N.*`, `gen_ai.completion.N.*` | messages | 1.40 to 1.79 |
    | `raw_gen_ai_request`, `Received Proxy Server Request` | structure | 1.40 |

    Versions seen: litellm 1.110.

    Cannot tell: the ids of calls in a reply, reasoning and tokens of cache and reasoning, the runs of tools;
    below another span it makes none of its own and writes over that one (`USE_OTEL_LITELLM_REQUEST_SPAN=true`
    mends it).
    """

    convention: Convention = Convention(
        "litellm", "Content is on by default: leave litellm.turn_off_message_logging unset."
    )
    scopes: tuple[str, ...] = ("litellm",)

    def matches(self, span: Span) -> bool:
        return span.scope.name in self.scopes

    def role(self, span: Span) -> Role | None:
        if span.name == "raw_gen_ai_request" or span.name.startswith("Received Proxy Server Request"):
            return Role.STEP
        operation = span.attributes.get("gen_ai.operation.name") or span.attributes.get("llm.request.type")
        if type(operation) is str and operation in _REQUESTS:
            return Role.INFERENCE
        return super().role(span) or Role.STEP

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        inputs, outputs = Notes(), Notes()
        asked = span.attributes.get("gen_ai.input.messages")
        parsed = json_text(asked) if type(asked) is str else asked
        if is_list(parsed):
            facts.inputs = [_message(m, inputs) for m in parsed if is_object(m)] or facts.inputs
        request, reply = read_numbered(span.attributes, inputs, outputs)
        facts.inputs = facts.inputs or request
        calls = [p for m in reply or () for p in m.parts if isinstance(p, ToolCall)]
        told: list[Part] = [p for m in facts.outputs or () for p in m.parts]
        if reply is not None and not told:
            told = [p for m in reply for p in m.parts if not isinstance(p, ToolCall)]
        if calls and not any(isinstance(p, ToolCall) for p in told):
            told.extend(calls)
        if told:
            facts.outputs = as_one_reply([Message("assistant", told)])
            facts.hidden.discard("outputs")
        if facts.inputs is not None:
            facts.hidden.discard("inputs")
        if calls:
            facts.structured = False


def _message(message: dict[str, Any], notes: Notes) -> Message:
    call_id = message.get("tool_call_id")
    if message.get("role") != "tool" and not call_id:
        read = read_messages([message], "user", notes)
        return read[0] if read else Message("user")
    parts: Any = message.get("parts", message.get("content"))
    content: Any = parts
    if is_list(parts):
        texts = [p.get("content", p.get("text")) for p in parts if is_object(p)]
        content = "".join(t for t in texts if type(t) is str) if texts else MISSING
    return Message("tool", [tool_result(call_id, content, name=message.get("name"), notes=notes)])
