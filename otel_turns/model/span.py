"""What any source delivers: spans and log records, as plain data.

Comes in: nothing; this module imports no other part of the package. Goes out: `Span`, `LogRecord` and what
they hold. The in-process path and OTLP give equal objects for the same telemetry. Nothing here interprets an
attribute.

Attribute values are what OTLP's `AnyValue` can say: `str`, `bool`, `int`, `float`, `bytes`, `list`, `dict`,
`None`. Times are integer nanoseconds since the Unix epoch; 0 means "not given".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "KIND_CLIENT",
    "KIND_INTERNAL",
    "KIND_SERVER",
    "STATUS_ERROR",
    "STATUS_OK",
    "STATUS_UNSET",
    "LogRecord",
    "Resource",
    "Scope",
    "Span",
    "SpanEvent",
    "SpanLink",
]

STATUS_UNSET, STATUS_OK, STATUS_ERROR = 0, 1, 2
KIND_INTERNAL, KIND_SERVER, KIND_CLIENT = 1, 2, 3

_EMPTY: Mapping[str, Any] = {}


def _empty() -> Mapping[str, Any]:
    return _EMPTY


@dataclass(frozen=True, slots=True)
class Resource:
    """The entity that produced the telemetry (OTLP `Resource`); shared by all its spans."""

    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def service(self) -> dict[str, str]:
        """`name` and `version` of the service (OpenTelemetry's own resource attributes), those that are
        given.
        """
        given = {name: self.attributes.get(f"service.{name}") for name in ("name", "version")}
        return {name: str(value) for name, value in given.items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class Scope:
    """The instrumentation scope that made the span (OTLP `InstrumentationScope`)."""

    name: str = ""
    version: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """A timed event on a span (OTLP `Span.Event`)."""

    time: int
    name: str
    attributes: Mapping[str, Any] = field(default_factory=_empty)
    dropped_attributes: int = 0


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link to another span (OTLP `Span.Link`)."""

    trace_id: bytes
    span_id: bytes
    attributes: Mapping[str, Any] = field(default_factory=_empty)


@dataclass(frozen=True, slots=True)
class Span:
    """One finished span (OTLP `Span`). Ids are raw bytes: 16 for the trace, 8 for a span; `parent_id` is None
    at a root.

    `end` is 0 for a span that never ended. `kind` and `status` are OTLP's numbers.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    name: str
    start: int
    end: int
    kind: int = KIND_INTERNAL
    status: int = STATUS_UNSET
    status_message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=_empty)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    scope: Scope = Scope()
    resource: Resource = Resource()
    dropped_attributes: int = 0
    dropped_events: int = 0
    dropped_links: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record (OTLP `LogRecord`). `time` is the event's own time, or the observed time where that is
    absent.

    `trace_id` and `span_id` are None where the record belongs to no span. `event_name` is OTLP's
    `event_name`, or "".
    """

    time: int
    event_name: str
    body: Any = None
    attributes: Mapping[str, Any] = field(default_factory=_empty)
    trace_id: bytes | None = None
    span_id: bytes | None = None
    severity: int = 0
    scope: Scope = Scope()
    resource: Resource = Resource()
    dropped_attributes: int = 0
