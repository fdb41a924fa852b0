"""The span exporter: behind any span processor of the SDK, and under `opentelemetry-instrument`.

Comes in: batches of ended spans. Goes out: to a pipeline, on a thread of its own. It never raises into the
SDK and never blocks it. An exporter does not see spans start, so it cannot know which are open: a trace
waits for its linger after the last batch instead (`default_linger_s`).
"""

from __future__ import annotations

import logging
import os
import pkgutil
from collections.abc import Sequence
from typing import Final

from opentelemetry.sdk.environment_variables import OTEL_BSP_SCHEDULE_DELAY
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import TraceFlags

from otel_turns.sources.feed import SpanFeed
from otel_turns.sources.intake import OpenIntake
from otel_turns.sources.processor import SHUTDOWN_MILLIS
from otel_turns.sources.tally import FeedCounts

__all__ = ["TurnSpanExporter", "default_linger_s"]

_log = logging.getLogger("otel_turns")

# By name, because a source knows no pipeline; only who calls without one gets this one.
_DEFAULT: Final = "otel_turns.attach:opening_of_exporter"

_SCHEDULE_DELAY_MS: Final = 5_000
"""The SDK's default for `OTEL_BSP_SCHEDULE_DELAY`."""


def default_linger_s() -> float:
    """How long a trace waits behind a batch processor after its local root came, in seconds.

    Its schedule delay (`OTEL_BSP_SCHEDULE_DELAY`, 5 s by default) and one second more: spans that outlive
    the root and end soon after it come with the next batch.
    """
    try:
        delay = float(os.environ.get(OTEL_BSP_SCHEDULE_DELAY, ""))
    except ValueError:
        delay = _SCHEDULE_DELAY_MS
    return max(0.0, delay) / 1000 + 1.0


class TurnSpanExporter(SpanExporter):
    """Gives every span of a batch to a pipeline (OpenTelemetry specification, trace SDK, "Span exporter").

    open_pipeline: opens the pipeline; called at once, and again in each forked child that exports. None
    takes the settings of the environment (`OTEL_TURNS_SINK` and the others), and is what the entry point
    `opentelemetry_traces_exporter` = `otel_turns` uses. A pipeline that does not open is then an error in
    the log and an exporter that fails, since raising would switch off the process's other exporters as
    well. max_queue: spans that may wait for the thread; more are dropped and counted.

    Raises `SinkError` or `ConfigError` where a given `open_pipeline` fails; nothing later.
    """

    def __init__(self, open_pipeline: OpenIntake | None = None, *, max_queue: int = 65_536) -> None:
        self._feed: SpanFeed | None = None
        try:
            self._feed = SpanFeed(open_pipeline or pkgutil.resolve_name(_DEFAULT)(), max_queue=max_queue)
        except Exception as error:
            if open_pipeline is not None:
                raise
            _log.error("otel_turns: no Turns from this process: %s", error)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Puts the spans into the queue. FAILURE where the pipeline never opened or is closed."""
        feed = self._feed
        if feed is None or feed.closed:
            return SpanExportResult.FAILURE
        for span in spans:
            try:
                context = span.context
                if context is not None and context.trace_flags & TraceFlags.SAMPLED:
                    feed.ended(span)
                else:
                    feed.unsampled()
            except Exception:
                feed.failed()
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Settles and writes what was exported. False where `timeout_millis` were not enough."""
        return self._feed is None or self._feed.flush(timeout_millis / 1000)

    def shutdown(self, timeout_millis: int = SHUTDOWN_MILLIS) -> None:
        """Flushes and closes the sinks, within `timeout_millis`. A second call does nothing."""
        if self._feed is not None:
            self._feed.close(timeout_millis / 1000)

    def counts(self) -> FeedCounts | None:
        """What became of the exported spans: accepted, skipped or dropped; None where no pipeline opened."""
        return None if self._feed is None else self._feed.counts()
