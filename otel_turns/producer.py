"""Writes NormalizedEvents on a span, so that this package (and whoever else reads them) finds them there.

Comes in: a span of the OpenTelemetry API and events. Goes out: span events named as on the wire
(`message.delta`) with the fields as attributes. `record` writes each event as it is; a `Recorder` joins
deltas first, since an SDK keeps 128 events a span by default (`OTEL_SPAN_EVENT_COUNT_LIMIT`) and drops the
oldest. A span that does not record costs one check. Never raises for what the span refuses, never changes
the text of a delta.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeAlias

from opentelemetry.trace import Span

from otel_turns.model.normalized import to_fields, wire_name
from otel_turns.model.variants import (
    MessageDelta,
    NormalizedEvent,
    ReasoningDelta,
    SandboxOutput,
    ThinkingDelta,
    ToolCallComplete,
    ToolCallDelta,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Recorder", "RecorderCounts", "record"]

_INT_MAX: Final = 2**63 - 1

_Delta: TypeAlias = MessageDelta | ThinkingDelta | ReasoningDelta | ToolCallDelta | SandboxOutput
_DELTAS: Final = (MessageDelta, ThinkingDelta, ReasoningDelta, ToolCallDelta, SandboxOutput)


def record(span: Span, event: NormalizedEvent, *, time_unix_nano: int | None = None) -> None:
    """Writes one event on the span, at `time_unix_nano` (nanoseconds since the epoch; None is now)."""
    if not span.is_recording():
        return
    fields = {
        # An attribute's integer has 64 bits with sign; readers take a text of digits for a number.
        name: str(value) if type(value) is int and value > _INT_MAX else value
        for name, value in to_fields(event).items()
    }
    span.add_event(wire_name(event), fields, time_unix_nano)


@dataclass(frozen=True, slots=True)
class RecorderCounts:
    """recorded: events given to the recorder. written: span events made of them. superseded: deltas of tool
    calls that were not written, because the whole call followed.
    """

    recorded: int
    written: int
    superseded: int


class _Joined:
    """Deltas of one stream that wait to be written as one; `time` is the first one's."""

    __slots__ = ("event", "pieces", "size", "taken", "time")

    def __init__(self, event: _Delta, now: int) -> None:
        self.event = event
        self.time = now
        self.pieces: list[str] = []
        self.size = 0
        self.taken = 0

    def takes(self, event: _Delta) -> bool:
        """Whether `event` goes on with the same stream, and not with a new call of the same index."""
        ours = self.event
        if isinstance(ours, ToolCallDelta) and isinstance(event, ToolCallDelta):
            return _agree(ours.id, event.id) and _agree(ours.name, event.name)
        if isinstance(ours, SandboxOutput) and isinstance(event, SandboxOutput):
            return ours.stream == event.stream
        return True

    def take(self, event: _Delta) -> None:
        """Adds a piece."""
        piece = _piece(event)
        if piece is not None:
            self.pieces.append(piece)
            self.size += len(piece)
        if isinstance(self.event, ToolCallDelta) and isinstance(event, ToolCallDelta):
            self.event = replace(self.event, id=self.event.id or event.id, name=self.event.name or event.name)
        self.taken += 1

    def whole(self) -> NormalizedEvent:
        """All pieces as one event."""
        text = "".join(self.pieces)
        if isinstance(self.event, ToolCallDelta):
            return replace(self.event, arguments_delta=text if self.pieces else None)
        if isinstance(self.event, SandboxOutput):
            return replace(self.event, data=text)
        return replace(self.event, text=text)


class Recorder:
    """Joins deltas and writes them on one span: a context manager, or `flush` at the end.

    A joined delta is written when an event of another kind comes, when it holds `max_chars` characters, and
    at the end, always at the time of its first piece. Deltas of parallel tool calls are joined call by
    call; where the whole call (ToolCallComplete) follows, it stands for its deltas. For one stream, so for
    one thread at a time. Leave it before the span ends: an ended span takes no events.

        with tracer.start_as_current_span("chat") as span, Recorder(span) as recorder:
            for piece in stream:
                recorder.record(MessageDelta(piece))
    """

    def __init__(
        self, span: Span, *, max_chars: int = 65_536, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._span = span
        self._max_chars = max_chars
        self._clock = clock
        self._joined: dict[int, _Joined] = {}  # by call index; what is not a tool call has index 0
        self._recorded = 0
        self._written = 0
        self._superseded = 0

    def record(self, event: NormalizedEvent) -> None:
        """Takes one event, at the time of the call."""
        if not self._span.is_recording():
            return
        self._recorded += 1
        if isinstance(event, _DELTAS):
            self._join(event)
            return
        if isinstance(event, ToolCallComplete):
            self._supersede(event)
        self.flush()
        self._write(event, self._clock())

    def flush(self) -> None:
        """Writes what is joined so far."""
        joined, self._joined = self._joined, {}
        for each in joined.values():
            self._write(each.whole(), each.time)

    @property
    def counts(self) -> RecorderCounts:
        """What came and what was written."""
        return RecorderCounts(self._recorded, self._written, self._superseded)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.flush()

    def _join(self, event: _Delta) -> None:
        key = event.call_index if isinstance(event, ToolCallDelta) else 0
        if any(type(joined.event) is not type(event) for joined in self._joined.values()):
            self.flush()
        joined = self._joined.get(key)
        if joined is not None and not joined.takes(event):
            self._write(joined.whole(), joined.time)
            joined = None
        if joined is None:
            # Popped first, so that what is written last also stands last.
            self._joined.pop(key, None)
            joined = self._joined[key] = _Joined(event, self._clock())
        joined.take(event)
        if joined.size >= self._max_chars:
            del self._joined[key]
            self._write(joined.whole(), joined.time)

    def _supersede(self, event: ToolCallComplete) -> None:
        joined = self._joined.get(event.call_index)
        if (
            joined is not None
            and isinstance(joined.event, ToolCallDelta)
            and _agree(joined.event.id, event.id)
        ):
            del self._joined[event.call_index]
            self._superseded += joined.taken

    def _write(self, event: NormalizedEvent, now: int) -> None:
        self._written += 1
        record(self._span, event, time_unix_nano=now)


def _agree(one: str | None, other: str | None) -> bool:
    return not one or not other or one == other


def _piece(event: _Delta) -> str | None:
    if isinstance(event, ToolCallDelta):
        return event.arguments_delta
    return event.data if isinstance(event, SandboxOutput) else event.text
