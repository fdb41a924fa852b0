"""Spans and records for tests of dialects: only what a test says, the rest fixed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from otel_turns.model.span import KIND_INTERNAL, STATUS_UNSET, LogRecord, Scope, Span, SpanEvent

TRACE, SPAN, PARENT = b"\x01" * 16, b"\x02" * 8, b"\x03" * 8
START, END = 1_000, 9_000


def span(
    attributes: Mapping[str, Any] | None = None,
    *,
    name: str = "span",
    scope: str = "",
    kind: int = KIND_INTERNAL,
    status: int = STATUS_UNSET,
    message: str = "",
    events: Sequence[SpanEvent] = (),
    root: bool = False,
) -> Span:
    """A span from 1,000 to 9,000 ns."""
    return Span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_id=None if root else PARENT,
        name=name,
        start=START,
        end=END,
        kind=kind,
        status=status,
        status_message=message,
        attributes=dict(attributes or {}),
        events=tuple(events),
        scope=Scope(scope),
    )


def event(name: str, attributes: Mapping[str, Any] | None = None, time: int = 5_000) -> SpanEvent:
    return SpanEvent(time, name, dict(attributes or {}))


def exception(message: str, kind: str = "ValueError", time: int = 5_000) -> SpanEvent:
    return event("exception", {"exception.type": kind, "exception.message": message}, time)


def record(
    name: str,
    attributes: Mapping[str, Any] | None = None,
    *,
    body: Any = None,
    scope: str = "",
    span_id: bytes | None = SPAN,
) -> LogRecord:
    """A log record at 5,000 ns, of the span that `span` makes."""
    return LogRecord(
        5_000,
        name,
        body,
        dict(attributes or {}),
        None if span_id is None else TRACE,
        span_id,
        scope=Scope(scope),
    )


def text(value: Any) -> str:
    """JSON text."""
    return json.dumps(value)


def same(value: Any) -> Any:
    """The value itself: the structured twin of `text`."""
    return value
