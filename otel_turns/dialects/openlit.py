"""OpenLIT's instrumentations, which speak GenAI with additions of their own.

Comes in: spans and records of scopes `openlit*`. Goes out: their facts.
"""

from __future__ import annotations

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.messages import Notes, tool_call
from otel_turns.dialects.parts import append_reasoning
from otel_turns.dialects.values import is_list, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Reasoning, Role, ToolCall
from otel_turns.model.span import Span

__all__ = ["OpenLIT"]


class OpenLIT(GenAI):
    """OpenLIT.

    | attribute | fact | since |
    |---|---|---|
    | everything of GenAI | as there; the details event repeats the span | 1.33 |
    | `gen_ai.tool.name`, `.call.id`, `.args` of a chat span, by commas | calls of the reply | 1.35 |
    | `gen_ai.content.reasoning` | reasoning of the reply | 1.35 |
    | `gen_ai.tool.input`, `.args`, `.output` of a tool span | arguments, result | 1.33 |

    Versions seen: openlit 1.45 with openai 3.57.

    Cannot tell: calls in the history, tokens of reasoning, and of the Responses API every call, result and
    system prompt.
    """

    convention: Convention = Convention(
        "openlit", "Content is on by default: openlit.init(capture_message_content=True)."
    )
    scopes: tuple[str, ...] = ("openlit*",)

    def matches(self, span: Span) -> bool:
        return span.scope.name.startswith("openlit") and self.role(span) is not None

    def role(self, span: Span) -> Role | None:
        operation = span.attributes.get("gen_ai.operation.name")
        return Role.STEP if operation == "execute_task" else super().role(span)

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        parts = [p for m in facts.outputs or () for p in m.parts]
        if not any(isinstance(p, ToolCall) for p in parts):
            parts.extend(_joined_calls(span))
        if not any(isinstance(p, Reasoning) for p in parts):
            thoughts: list[Part] = []
            append_reasoning(span.attributes.get("gen_ai.content.reasoning"), thoughts, Notes())
            parts[:0] = thoughts
        if parts:
            facts.outputs = [Message("assistant", parts)]
            facts.hidden.discard("outputs")
        if any(isinstance(p, ToolCall) for p in parts):
            facts.structured = False

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        get = span.attributes.get
        if facts.arguments is MISSING:
            given = get("gen_ai.tool.input", get("gen_ai.tool.args"))
            if given is not None:
                facts.hidden.discard("arguments")
                self.set_arguments(facts, given)
        if facts.result is MISSING and get("gen_ai.tool.output") is not None:
            facts.hidden.discard("result")
            self.set_result(facts, get("gen_ai.tool.output"))


def _joined_calls(span: Span) -> list[ToolCall]:
    """Calls whose names, ids and arguments are joined by commas; none where the counts disagree."""
    get = span.attributes.get
    names, ids, given = get("gen_ai.tool.name"), get("gen_ai.tool.call.id"), get("gen_ai.tool.args")
    if type(names) is not str or not names or type(ids) is not str or not ids:
        return []
    name_list, id_list = names.split(", "), ids.split(", ")
    if len(name_list) != len(id_list):
        return []
    arguments = json_text(f"[{given}]") if type(given) is str and given else MISSING
    if not is_list(arguments) or len(arguments) != len(name_list):
        arguments = [MISSING] * len(name_list)
    return [tool_call(i, n, a) for i, n, a in zip(id_list, name_list, arguments, strict=True)]
