"""What a trace buffer holds: a span or log record that need not have been parsed yet.

A source makes items; the buffer reads only what stands here; `load` parses once, when the trace settles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from otel_turns.model.span import LogRecord, Span

__all__ = ["Item", "LoadedItem"]


class Item(Protocol):
    """A span or log record on its way. `size` is its cost in bytes while held.

    `trace_id` is None for a log record outside any trace. `span_id` is None for a log record. `local_root`: a
    span that has no parent, or whose parent is in another process.
    """

    @property
    def trace_id(self) -> bytes | None: ...
    @property
    def span_id(self) -> bytes | None: ...
    @property
    def size(self) -> int: ...
    @property
    def local_root(self) -> bool: ...
    def load(self) -> Span | LogRecord:
        """The parsed span or record. Raises `errors.MalformedTelemetry` where its bytes are bad."""
        ...


_REMOTE_KNOWN, _REMOTE = 0x100, 0x200


@dataclass(frozen=True, slots=True)
class LoadedItem:
    """An item that is parsed already: the in-process path and OTLP/JSON."""

    value: Span | LogRecord
    size: int

    @property
    def trace_id(self) -> bytes | None:
        return self.value.trace_id

    @property
    def span_id(self) -> bytes | None:
        return self.value.span_id if isinstance(self.value, Span) else None

    @property
    def local_root(self) -> bool:
        span = self.value
        if not isinstance(span, Span):
            return False
        return span.parent_id is None or bool(span.flags & _REMOTE_KNOWN and span.flags & _REMOTE)

    def load(self) -> Span | LogRecord:
        return self.value
