"""The Turns of a block of code: what stands behind `capture_turns`.

Comes in: spans that start between `Capture.on` and `Capture.end`. Goes out: a list of Turns. It adds one
span processor to a provider, once and for all, since a provider gives none back; outside of captures it
does nothing.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_turns.model.item import Item, LoadedItem
from otel_turns.model.record import Record
from otel_turns.model.span import Span as TurnSpan
from otel_turns.sinks.base import Sink
from otel_turns.sinks.memory import MemorySink
from otel_turns.sources.intake import Intake
from otel_turns.sources.processor import TurnSpanProcessor

if TYPE_CHECKING:
    from opentelemetry.context import Context

__all__ = ["Capture", "CapturedTurns"]

_log = logging.getLogger("otel_turns")

_SHUTDOWN_MILLIS: Final = 5_000

# OTLP's span flags: the parent is known to be in another process.
_REMOTE_PARENT: Final = 0x300


class CapturedTurns(list[Record]):
    """The Turns of a block, in the order in which they began; each once, in its latest revision."""

    def __init__(self, flush: Callable[[float], bool]) -> None:
        super().__init__()
        self._flush = flush

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Fills in the Turns of what has ended so far. False where `timeout_s` seconds were not enough.

        A Turn whose spans are not all there yet is told with what is known, and again when the rest has
        come.
        """
        return self._flush(timeout_s)


class Capture:
    """One block. Only spans that start in it count, whatever else goes on in the process."""

    def __init__(self, open_with: Callable[[Sequence[Sink]], Intake]) -> None:
        self._sink = MemorySink()
        self._started: set[int] = set()
        self._processor = TurnSpanProcessor(lambda: _Cut(open_with([self._sink]), self._started))
        self._hub: _Hub | None = None
        self.turns = CapturedTurns(self._fill)

    @classmethod
    def on(cls, provider: Any, open_with: Callable[[Sequence[Sink]], Intake]) -> Capture:
        """Begins to capture what starts on `provider` from now on."""
        capture = cls(open_with)
        capture._hub = _Hub.of(provider)
        capture._hub.captures += (capture,)
        return capture

    def end(self, timeout_s: float) -> None:
        """Takes no more spans and fills in the Turns, within `timeout_s` seconds."""
        hub = self._hub
        if hub is not None:
            hub.captures = tuple(each for each in hub.captures if each is not self)
        if not self._fill(timeout_s):
            _log.warning("otel_turns: the captured Turns were not ready within %s s", timeout_s)
        self._processor.shutdown(_SHUTDOWN_MILLIS)

    def on_start(self, span: Span) -> None:
        context = span.context
        if context is not None:
            self._started.add(context.span_id)
            self._processor.on_start(span)

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.span_id in self._started:
            self._processor.on_end(span)

    def _fill(self, timeout_s: float) -> bool:
        kept = self._processor.force_flush(int(timeout_s * 1000))
        records = sorted(
            self._sink.turns, key=lambda r: (int(r["otel"]["startTimeUnixNano"]), r["otel"]["turnId"])
        )
        self.turns[:] = [Record.model_validate(record) for record in records]
        return kept


class _Hub(SpanProcessor):
    """The one processor of a provider; hands on to whatever captures are on. Never raises."""

    captures: tuple[Capture, ...] = ()

    @classmethod
    def of(cls, provider: Any) -> _Hub:
        # On the provider itself, so that it lives and goes with it.
        hub = getattr(provider, _HUB, None)
        if hub is None:
            hub = cls()
            provider.add_span_processor(hub)
            setattr(provider, _HUB, hub)
        return cast("_Hub", hub)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        for capture in self.captures:
            capture.on_start(span)

    def on_end(self, span: ReadableSpan) -> None:
        for capture in self.captures:
            capture.on_end(span)


_HUB: Final = "_otel_turns_captures"


class _Cut:
    """An intake that makes roots of spans whose parent began before the block: for it, that is elsewhere."""

    def __init__(self, intake: Intake, started: set[int]) -> None:
        self._intake = intake
        self._started = started
        self.hold = intake.hold
        self.release = intake.release
        self.would_refuse = intake.would_refuse
        self.tick = intake.tick
        self.flush = intake.flush
        self.close = intake.close

    def accept(self, items: Iterable[Item]) -> None:
        self._intake.accept([self._cut(item) for item in items])

    def _cut(self, item: Item) -> Item:
        span = item.load()
        if not isinstance(span, TurnSpan) or span.parent_id is None:
            return item
        if int.from_bytes(span.parent_id, "big") in self._started:
            return item
        return LoadedItem(dataclasses.replace(span, flags=span.flags | _REMOTE_PARENT), item.size)
