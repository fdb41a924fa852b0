"""Where Turns go: each destination behind the same three methods, opened by what the user writes."""

from __future__ import annotations

from otel_turns.sinks.base import OpenedSink, Record, Sink, SinkCounters
from otel_turns.sinks.opening import SinkSpec, open_sink

__all__ = ["OpenedSink", "Record", "Sink", "SinkCounters", "SinkSpec", "open_sink"]
