"""Makes a `Span` in a third of the time that its own constructor takes.

A frozen dataclass sets each of its members through `object.__setattr__`, which for 18 members costs more than
parsing the span did. A draft is a plain class with the same slots; once filled, it becomes a `Span`. What
comes out is an ordinary `Span` in every way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from otel_turns.model.span import Resource, Scope, Span, SpanEvent, SpanLink

__all__ = ["make_span"]


class _Draft:
    # Python lets an object change to a class of the same base and the same slots.
    __slots__ = tuple(field.name for field in fields(Span))

    def __init__(
        self,
        trace_id: bytes,
        span_id: bytes,
        parent_id: bytes | None,
        name: str,
        start: int,
        end: int,
        kind: int,
        status: int,
        status_message: str,
        attributes: Mapping[str, Any],
        events: tuple[SpanEvent, ...],
        links: tuple[SpanLink, ...],
        scope: Scope,
        resource: Resource,
        dropped_attributes: int,
        dropped_events: int,
        dropped_links: int,
        flags: int,
    ) -> None:
        self.trace_id = trace_id
        self.span_id = span_id
        self.parent_id = parent_id
        self.name = name
        self.start = start
        self.end = end
        self.kind = kind
        self.status = status
        self.status_message = status_message
        self.attributes = attributes
        self.events = events
        self.links = links
        self.scope = scope
        self.resource = resource
        self.dropped_attributes = dropped_attributes
        self.dropped_events = dropped_events
        self.dropped_links = dropped_links
        self.flags = flags
        self.__class__ = Span  # pyright: ignore[reportAttributeAccessIssue] # the layouts are the same


def _maker() -> Callable[..., Span]:
    """`_Draft` where the interpreter allows the change, else `Span` itself."""
    probe = Span(b"", b"", None, "", 0, 0)
    members = [getattr(probe, field.name) for field in fields(Span)]
    draft: Any = _Draft
    try:
        return draft if draft(*members) == probe else Span
    except TypeError:
        return Span


make_span = _maker()
"""`Span`, all 18 members by position."""
