"""The Turns of a block of code: what stands behind `capture_turns`.

Comes in: spans that start between `Capture.on` and `Capture.end`. Goes out: a list of Turns. It adds one
span processor to a provider, once and for all, since a provider gives none back; outside of captures it
does nothing. It holds the block's spans until the end, and works only when asked, in the asking thread.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import TraceFlags

from otel_turns.model.item import LoadedItem
from otel_turns.model.record import Record
from otel_turns.model.span import Span as TurnSpan
from otel_turns.sinks.base import Sink
from otel_turns.sinks.memory import MemorySink
from otel_turns.sources.intake import Intake
from otel_turns.sources.readable import SpanReader

if TYPE_CHECKING:
    from opentelemetry.context import Context

__all__ = ["Capture", "CapturedTurns"]

_log = logging.getLogger("otel_turns")

# OTLP's span flags: the parent is known to be in another process.
_REMOTE_PARENT: Final = 0x300


class CapturedTurns(list[Record]):
    """The Turns of a block, in the order in which they began."""

    def __init__(self, fill: Callable[[float], bool]) -> None:
        super().__init__()
        self._fill = fill

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Fills in the Turns of what has ended so far. False where `timeout_s` seconds were not enough.

        A Turn that is still going on is told as far as it has come, and as a whole by the next flush after
        its end.
        """
        return self._fill(timeout_s)


class Capture:
    """One block. Only spans that start in it count, whatever else goes on in the process.

    open_with: a pipeline that writes to the given sinks. One is opened for each flush, so that every list
    of Turns is made anew of all spans that have ended.
    """

    def __init__(self, open_with: Callable[[Sequence[Sink]], Intake]) -> None:
        self._open_with = open_with
        self._started: set[int] = set()
        self._ended: deque[ReadableSpan] = deque()
        self._hub: _Hub | None = None
        self.turns = CapturedTurns(self._fill)

    @classmethod
    def on(cls, provider: Any, open_with: Callable[[Sequence[Sink]], Intake]) -> Capture:
        """Begins to capture what starts on `provider` from now on."""
        capture = cls(open_with)
        capture._hub = _Hub.of(provider)
        capture._hub.add(capture)
        return capture

    def end(self, timeout_s: float) -> None:
        """Takes no more spans and fills in the Turns, within `timeout_s` seconds."""
        if self._hub is not None:
            self._hub.remove(self)
        if not self._fill(timeout_s):
            _log.warning("otel_turns: the captured Turns were not ready within %s s", timeout_s)

    def on_start(self, span: Span) -> None:
        """Notes a span that starts in the block."""
        context = span.context
        if context is not None and context.trace_flags & TraceFlags.SAMPLED:
            self._started.add(context.span_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Keeps a span that started in the block."""
        context = span.context
        if context is not None and context.span_id in self._started:
            self._ended.append(span)

    def _fill(self, timeout_s: float) -> bool:
        sink = MemorySink()
        pipeline = self._open_with([sink])
        reader = SpanReader()
        pipeline.accept([self._cut(reader.read(span)) for span in tuple(self._ended)])
        kept = pipeline.close(timeout_s)
        records = sorted(sink.turns, key=_began)
        self.turns[:] = [Record.model_validate(record) for record in records]
        return kept

    def _cut(self, item: LoadedItem) -> LoadedItem:
        """A span whose parent began before the block is a root in it: that parent is elsewhere."""
        span = cast("TurnSpan", item.value)
        if span.parent_id is None or int.from_bytes(span.parent_id, "big") in self._started:
            return item
        return LoadedItem(dataclasses.replace(span, flags=span.flags | _REMOTE_PARENT), item.size)


def _began(record: dict[str, Any]) -> tuple[int, str]:
    return int(record["otel"]["startTimeUnixNano"]), record["otel"]["turnId"]


class _Hub(SpanProcessor):
    """The one processor of a provider; hands on to whatever captures are on."""

    def __init__(self) -> None:
        # Replaced as a whole, never changed, so that spans need no lock.
        self._captures: tuple[Capture, ...] = ()

    @classmethod
    def of(cls, provider: Any) -> _Hub:
        with _lock:
            # Kept on the provider itself, so that it lives and goes with it.
            hub = getattr(provider, _HUB, None)
            if hub is None:
                hub = cls()
                provider.add_span_processor(hub)
                setattr(provider, _HUB, hub)
            return cast("_Hub", hub)

    def add(self, capture: Capture) -> None:
        with _lock:
            self._captures = (*self._captures, capture)

    def remove(self, capture: Capture) -> None:
        with _lock:
            self._captures = tuple(each for each in self._captures if each is not capture)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        for capture in self._captures:
            capture.on_start(span)

    def on_end(self, span: ReadableSpan) -> None:
        for capture in self._captures:
            capture.on_end(span)


_HUB: Final = "_otel_turns_captures"
_lock = threading.Lock()
