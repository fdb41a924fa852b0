"""The Google Gen AI SDK as OpenTelemetry's instrumentation records it.

Comes in: spans and log records of the scope `opentelemetry.instrumentation.google_genai`. Goes out: `Facts`.
With automatic function calling one span stands for a whole loop of requests: it reports the last one's usage
alone.
"""

from __future__ import annotations

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.values import is_object, unwrap_result
from otel_turns.model.facts import Convention, Facts, Message, ToolCall, ToolResult
from otel_turns.model.span import LogRecord, Span

__all__ = ["GoogleGenAI", "unwrap_responses"]


class GoogleGenAI(GenAI):
    """google-genai, through OpenTelemetry's instrumentation.

    | attribute | fact | since |
    |---|---|---|
    | the GenAI names | as there | 0.2b0 |
    | `gen_ai.output.messages` | in the order in which it came: a stream joins the replies of a loop | 0.4b0 |
    | result `{"result": x}`, `{"output": x}` | x | 0.4b0 |
    | result `{"error": x}` | x, `failed` | 0.4b0 |
    | result id `NAME_N` that no call has | the call of that name in the message before | 1.0b0 |

    Versions seen: opentelemetry-instrumentation-google-genai 1.3b0 with google-genai 2.34.

    Cannot tell: with automatic function calling the requests but the last (their text, tokens and ids, and
    those of an agent inside a tool) and the ids of calls; without it the runs of tools; anything of a human
    in the loop.
    """

    convention = Convention(
        "gen_ai",
        content_switch=(
            "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only (or span_and_event)."
        ),
    )
    scopes = ("opentelemetry.instrumentation.google_genai*", "opentelemetry.instrumentation.genai.google*")

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        facts.ordered_parts = True
        facts.input_includes_cache = True
        unwrap_responses(facts.inputs, ("result", "output"), unwrap_errors=True)
        _name_results(facts.inputs)

    def read_log(self, record: LogRecord) -> Facts | None:
        facts = super().read_log(record)
        if facts is not None:
            facts.ordered_parts = True
            unwrap_responses(facts.inputs, ("result", "output"), unwrap_errors=True)
            _name_results(facts.inputs)
        return facts


def unwrap_responses(messages: list[Message] | None, keys: tuple[str, ...], *, unwrap_errors: bool) -> None:
    """Takes results out of the object that Gemini wants around them, and marks its errors as failures."""
    for message in messages or ():
        for part in message.parts:
            if type(part) is ToolResult and is_object(part.result) and len(part.result) == 1:
                key = next(iter(part.result))
                if key in keys:
                    part.result = unwrap_result(part.result[key])
                elif key == "error":
                    part.failed = True
                    if unwrap_errors:
                        part.result = unwrap_result(part.result[key])


def _name_results(messages: list[Message] | None) -> None:
    """Gives results without an id, which are numbered by name, the id of the call before them."""
    calls: list[ToolCall] = []
    for message in messages or ():
        asked = [part for part in message.parts if type(part) is ToolCall]
        if asked:
            calls = asked
            continue
        open_calls = list(calls)
        known = {call.id for call in calls}
        for part in message.parts:
            if type(part) is not ToolResult:
                continue
            if part.id in known:
                open_calls = [call for call in open_calls if call.id != part.id]
                continue
            name, underscore, number = (part.id or "").rpartition("_")
            call = next((c for c in open_calls if c.name == name), None)
            if call is not None and underscore and number.isdigit():
                part.name = part.name or name
                part.id = call.id
                open_calls.remove(call)
