"""Semantic Kernel's own diagnostics (Python, 1.20 and later): spans, and content as the records of its
loggers.

Comes in: spans and log records of the scopes `semantic_kernel.*`. Goes out: `Facts`. Text beside a call is
in neither.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.python_repr import python_repr
from otel_turns.dialects.values import is_list, is_object
from otel_turns.model.facts import Convention, Facts, Message, Role, ToolResult
from otel_turns.model.span import LogRecord, Span

__all__ = ["SemanticKernel"]


class SemanticKernel(GenAI):
    """Semantic Kernel.

    | attribute or record | fact | since |
    |---|---|---|
    | the GenAI names; a tool's name is `Plugin-function` | as there | 1.20 |
    | `gen_ai.tool.call.arguments`, `.result` | `arguments`, `result` | 1.35 |
    | a result that is the repr of an object or a list | the object or list | 1.35 |
    | records with `event.name` gen_ai.user.message, ...; their body JSON text | one message each | 1.20 |
    | span `AutoFunctionInvocationLoop` | structure | 1.20 |

    Versions seen: semantic-kernel 1.45.

    Cannot tell: text beside a call, a session, structured answers, and anything of a human in the loop.
    """

    convention = Convention(
        "semantic_kernel",
        content_switch="Set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true.",
    )
    scopes = ("semantic_kernel*",)

    def role(self, span: Span) -> Role | None:
        return super().role(span) or Role.STEP

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        _read_results(facts.inputs)

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        facts.result = _structure(facts.result)

    def read_log(self, record: LogRecord) -> Facts | None:
        facts = super().read_log(record)
        if facts is not None:
            _read_results(facts.inputs)
        return facts


def _read_results(messages: list[Message] | None) -> None:
    for message in messages or ():
        for part in message.parts:
            if type(part) is ToolResult:
                part.result = _structure(part.result)


def _structure(value: Any) -> Any:
    """What a function returned: the kernel writes objects and lists as Python prints them."""
    if type(value) is not str or value[:1] not in ("{", "["):
        return value
    made = python_repr(value)
    return made if is_object(made) or is_list(made) else value
