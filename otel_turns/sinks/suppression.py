"""Deliveries that instrumentation does not see.

A sink that posts a Turn through an instrumented client would make a span, that span a trace, and that trace
work for the
sink. Comes in: nothing. Goes out: a context in which OpenTelemetry instrumentation keeps quiet.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["suppressed"]

# The API has no public name for these; instrumentations and exporters of all versions read them.
_KEYS = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")


@contextmanager
def suppressed() -> Generator[None, None, None]:
    """Instrumentation is suppressed inside, in this thread or task."""
    from opentelemetry import context

    current = context.get_current()
    for name in _KEYS:
        key: Any = getattr(context, name, None)
        if key is not None:
            current = context.set_value(key, True, current)
    current = context.set_value("suppress_instrumentation", True, current)
    token = context.attach(current)
    try:
        yield
    finally:
        context.detach(token)
