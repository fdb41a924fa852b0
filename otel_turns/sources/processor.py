"""The span processor: attaches to the SDK in the agent's own process.

Comes in: spans as the SDK starts and ends them. Goes out: to a pipeline, on a thread of its own. It knows
which spans are open, so a trace settles at once when its local root has ended and none of its spans is
open. It never raises into the agent and never blocks it; spans that the sampler left out are skipped and
counted.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import TraceFlags

from otel_turns.sources.feed import SpanFeed
from otel_turns.sources.intake import OpenIntake
from otel_turns.sources.tally import FeedCounts

if TYPE_CHECKING:
    from opentelemetry.context import Context

__all__ = ["SHUTDOWN_MILLIS", "TurnSpanProcessor"]

SHUTDOWN_MILLIS: Final = 5_000
"""How long a shutdown waits for the last Turns, in milliseconds."""

_SAMPLED: Final = TraceFlags.SAMPLED

# By name, because a source knows no pipeline; only who calls without one gets this one.
_DEFAULT: Final = "otel_turns.attach:opening_of_processor"


class TurnSpanProcessor(SpanProcessor):
    """Gives every ended, sampled span to a pipeline (OpenTelemetry specification, trace SDK, "Span
    processor").

    open_pipeline: opens the pipeline; called at once, and again in each forked child that ends a span. None
    takes the settings of the environment (`OTEL_TURNS_SINK` and the others). max_queue: spans that may wait
    for the thread; more are dropped and counted.

    Raises `SinkError` or `ConfigError` where the pipeline does not open; nothing later.
    """

    def __init__(self, open_pipeline: OpenIntake | None = None, *, max_queue: int = 65_536) -> None:
        self._feed = SpanFeed(open_pipeline or pkgutil.resolve_name(_DEFAULT)(), max_queue=max_queue)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Notes that the span is open. Never raises, never blocks."""
        try:
            context = span.context
            if context is not None and context.trace_flags & _SAMPLED:
                self._feed.started(context)
        except Exception:
            return  # its end will tell

    def on_end(self, span: ReadableSpan) -> None:
        """Puts the span into the queue. Never raises, never blocks."""
        try:
            context = span.context
            if context is not None and context.trace_flags & _SAMPLED:
                self._feed.ended(span)
            else:
                self._feed.unsampled()
        except Exception:
            self._feed.failed()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Settles and writes what has ended. False where `timeout_millis` were not enough."""
        return self._feed.flush(timeout_millis / 1000)

    def shutdown(self, timeout_millis: int = SHUTDOWN_MILLIS) -> None:
        """Flushes and closes the sinks, within `timeout_millis`. A second call does nothing."""
        self._feed.close(timeout_millis / 1000)

    def counts(self) -> FeedCounts:
        """What became of the ended spans: accepted, skipped or dropped, and why."""
        return self._feed.counts()
