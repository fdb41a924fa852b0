"""The Google Gen AI SDK through OpenInference.

Comes in: spans of scope `openinference.instrumentation.google_genai`. Goes out: their facts. With automatic
function calling one span stands for a whole loop of requests; only its raw response tells what happened in
between. It never gives calls an id that the SDK did not give them.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.google_genai import unwrap_responses
from otel_turns.dialects.messages import Notes, read_messages
from otel_turns.dialects.openinference import CONTENT_SWITCH, OpenInference
from otel_turns.dialects.values import is_list, is_object, json_text
from otel_turns.model.facts import Convention, Facts, Message, Part, Text, ToolCall, ToolResult
from otel_turns.model.span import Span

__all__ = ["OpenInferenceGoogleGenAI"]

_HISTORY = "automatic_function_calling_history"
_WRAPPERS = ("result", "output")


class OpenInferenceGoogleGenAI(OpenInference):
    """google-genai, through OpenInference.

    | attribute | fact | since |
    |---|---|---|
    | everything of OpenInference | as there; only `output.value` has the ids of calls | 0.1 |
    | result `{"result": x}`, `{"output": x}`; `{"error": x}` | x; x, failed | 0.1 |
    | `automatic_function_calling_history` in `output.value` | calls, results, texts before the reply | 0.1 |
    | the same, of a stream | each chunk repeats it: only the last counts; the reply has the texts | 1.0 |
    | `message.tool_calls.*` | nothing: calls of that history, without a place | 1.0 |

    Versions seen: openinference-instrumentation-google-genai 1.4 with google-genai 2.34.

    Cannot tell: with automatic function calling the requests but the last and the times of its tools; an
    agent inside a tool stands beside it; the runs of tools otherwise.
    """

    convention: Convention = Convention("openinference.google_genai", CONTENT_SWITCH)
    scopes: tuple[str, ...] = ("openinference.instrumentation.google_genai",)

    def inference(self, span: Span, facts: Facts) -> None:
        super().inference(span, facts)
        facts.ordered_parts = True
        said = span.attributes.get("output.value")
        if type(said) is str and _HISTORY in said:
            history = _last_history(json_text(said), json_text(str(span.attributes.get("input.value"))))
            if history:
                facts.outputs = _whole(history, facts.outputs)
        for messages in (facts.inputs, facts.outputs):
            unwrap_responses(messages, _WRAPPERS, unwrap_errors=True)


def _last_history(response: Any, request: Any) -> list[Message]:
    """What the loop added behind the request's contents: the last copy of the history."""
    listed = response.get(_HISTORY) if is_object(response) else None
    contents = request.get("contents") if is_object(request) else None
    if not is_list(listed) or not is_list(contents) or not contents:
        return []
    size = len(contents)
    start = list(listed[:size])
    at = next((n for n in range(len(listed) - size, 0, -1) if list(listed[n : n + size]) == start), 0)
    return read_messages(list(listed[at + size :]), "user", Notes())


def _whole(history: list[Message], reply: list[Message] | None) -> list[Message]:
    """All that the loop said and did, in order, as one reply."""
    told: list[Part] = [part for message in reply or () for part in message.parts]
    before: list[Part] = [part for message in history for part in message.parts]
    _name_results(before)
    if any(isinstance(part, ToolCall) for part in told):
        results = {id(call): result for call, result in _pairs(before)}
        answers = [results.get(id(part)) for part in before if isinstance(part, ToolCall)]
        return [Message("assistant", _with_results(told, answers))]
    return [Message("assistant", [*before, *told])]


def _pairs(parts: list[Part]) -> list[tuple[ToolCall, ToolResult]]:
    """Calls and their results: those of one request are answered in their order."""
    found: list[tuple[ToolCall, ToolResult]] = []
    waiting: list[ToolCall] = []
    for part in parts:
        if isinstance(part, ToolCall):
            waiting.append(part)
        elif isinstance(part, ToolResult) and waiting:
            call = next((c for c in waiting if c.name == part.name), waiting[0])
            waiting.remove(call)
            found.append((call, part))
    return found


def _name_results(parts: list[Part]) -> None:
    for call, result in _pairs(parts):
        result.id = result.id or call.id


def _with_results(told: list[Part], answers: list[ToolResult | None]) -> list[Part]:
    """The parts of a stream with each result behind the calls among which its call stands."""
    parts: list[Part] = []
    open_results: list[Part] = []
    left = iter(answers)
    for part in told:
        if isinstance(part, ToolCall):
            parts.append(part)
            answer = next(left, None)
            if answer is not None:
                open_results.append(answer)
            continue
        if isinstance(part, Text):
            parts.extend(open_results)
            open_results.clear()
        parts.append(part)
    return [*parts, *open_results]
