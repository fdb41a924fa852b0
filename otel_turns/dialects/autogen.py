"""AutoGen's own spans (autogen-core 0.7 and later).

Comes in: spans of the scopes `autogen-core` and `autogen RUNTIME`. Goes out: `Facts`. It has neither content
nor model requests: those come from an instrumentation of the model's client beside it.
"""

from __future__ import annotations

from otel_turns.dialects.genai import GenAI
from otel_turns.model.facts import Convention, Role
from otel_turns.model.span import LogRecord, Span

__all__ = ["AutoGen"]


class AutoGen(GenAI):
    """AutoGen.

    | attribute | fact |
    |---|---|
    | the GenAI names | as there |
    | spans of the runtime (`autogen publish ...`, `autogen process ...`) | structure |
    """

    convention = Convention(
        "autogen", content_switch="AutoGen's spans carry no content: instrument the model's client as well."
    )
    scopes = ("autogen-core", "autogen *")

    def role(self, span: Span) -> Role | None:
        return super().role(span) or Role.STEP

    def matches_log(self, record: LogRecord) -> bool:
        return False
