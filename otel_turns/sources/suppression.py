"""A context in which instrumentations make no spans: what a sink sends must not come back as telemetry.

Comes in: nothing. Goes out: `suppressed`, for the thread that ticks a pipeline.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from opentelemetry import context as otel_context

__all__ = ["suppressed"]

# The keys that instrumentations ask for before they make a span, of HTTP clients and of all others. The API
# keeps them under private names and uses them across its packages; older instrumentations ask for the text.
_KEYS: Final = (
    *(
        key
        for name in ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")
        if (key := getattr(otel_context, name, None)) is not None
    ),
    "suppress_instrumentation",
)


@contextmanager
def suppressed() -> Generator[None]:
    """Within, in this thread or task, instrumentations keep quiet."""
    context = otel_context.get_current()
    for key in _KEYS:
        context = otel_context.set_value(key, True, context)
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)
