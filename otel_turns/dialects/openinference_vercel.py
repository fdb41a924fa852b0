"""The Vercel AI SDK behind OpenInference's span processor (`@arizeai/openinference-vercel`).

Comes in: spans of the AI SDK to which the processor added OpenInference attributes. Goes out: their facts, as
the AI SDK's own attributes tell them, which the processor leaves in place and partly garbles in its
own. It never believes a status that the processor set.
"""

from __future__ import annotations

from otel_turns.dialects.openinference import KIND
from otel_turns.dialects.vercel_ai import VercelAILegacy
from otel_turns.dialects.vercel_ai_genai import VercelAI
from otel_turns.model.facts import Convention, Facts
from otel_turns.model.span import Span

__all__ = ["OpenInferenceVercelAI", "OpenInferenceVercelAILegacy"]


def _own_status(span: Span, facts: Facts) -> Facts:
    """Without the failure that was copied from another span: the AI SDK records an exception with its own.

    The processor gives the first error of a trace to the root, and with version 2 of the JavaScript SDK to
    every span that ends later.
    """
    if facts.failed and not span.attributes.get("error.type"):
        own = any(event.name == "exception" for event in span.events)
        if not own:
            facts.failed, facts.error, facts.error_type = False, None, None
    return facts


class OpenInferenceVercelAI(VercelAI):
    """Vercel AI SDK 7 and later, behind OpenInference's span processor.

    | attribute or status | fact | since |
    |---|---|---|
    | `openinference.span.kind` | the mark of the processor; the rest is as the AI SDK says | 3.0 |
    | status ERROR without an `exception` event | nothing: copied from another span | 2.6 |

    Versions seen: @arizeai/openinference-vercel 3 with ai 7.

    Cannot tell: what the AI SDK itself cannot tell; whose failure it was where no exception event says it.
    """

    convention: Convention = Convention("openinference.vercel-ai", VercelAI.convention.content_switch)
    keys: tuple[str, ...] = ()

    def matches(self, span: Span) -> bool:
        return KIND in span.attributes and super().matches(span)

    def read(self, span: Span) -> Facts:
        return _own_status(span, super().read(span))


class OpenInferenceVercelAILegacy(VercelAILegacy):
    """Vercel AI SDK up to version 6, behind OpenInference's span processor.

    | attribute or status | fact | since |
    |---|---|---|
    | `openinference.span.kind` | the mark of the processor; the rest is as the AI SDK says | 0.1 |
    | status ERROR without an `exception` event | nothing: copied from another span | 2.6 |

    Versions seen: @arizeai/openinference-vercel 2 with ai 5 and 6.

    Cannot tell: what the AI SDK itself cannot tell; whose failure it was where no exception event says it.
    """

    convention: Convention = Convention(
        "openinference.vercel-ai-legacy", VercelAILegacy.convention.content_switch
    )
    keys: tuple[str, ...] = ()

    def matches(self, span: Span) -> bool:
        return KIND in span.attributes and super().matches(span)

    def read(self, span: Span) -> Facts:
        return _own_status(span, super().read(span))
