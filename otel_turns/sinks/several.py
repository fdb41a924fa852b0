"""Several sinks as one.

Comes in: records. Goes out: each record to each sink. Since every sink that waits for anything has its own
queue and thread, one that fails or hangs delays none of the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import MappingProxyType

from otel_turns.sinks.base import OpenedSink, Record, SinkCounters
from otel_turns.sinks.queued import QueuedSink

__all__ = ["SeveralSinks"]


class SeveralSinks:
    """Writes every record to every sink. Counters are sums: a record counts once for each sink."""

    def __init__(self, sinks: Sequence[OpenedSink], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.sinks = tuple(sinks)
        self._clock = clock

    @property
    def name(self) -> str:
        return ", ".join(sink.name for sink in self.sinks)

    @property
    def full(self) -> bool:
        """Whether any of them is: a record must reach all."""
        return any(sink.full for sink in self.sinks)

    @property
    def gone(self) -> bool:
        """Whether none of them takes anything any more."""
        return all(sink.gone for sink in self.sinks)

    @property
    def last_error(self) -> str | None:
        errors = [f"{sink.name}: {sink.last_error}" for sink in self.sinks if sink.last_error]
        return "; ".join(errors) or None

    @property
    def counters(self) -> SinkCounters:
        each = [sink.counters for sink in self.sinks]
        dropped: Counter[str] = Counter()
        for counters in each:
            dropped.update(counters.dropped)
        return SinkCounters(
            accepted=sum(c.accepted for c in each),
            written=sum(c.written for c in each),
            queued=sum(c.queued for c in each),
            queued_bytes=sum(c.queued_bytes for c in each),
            failed=sum(c.failed for c in each),
            dropped=MappingProxyType(dict(dropped)),
        )

    def write(self, record: Record) -> None:
        for sink in self.sinks:
            sink.write(record)

    def wait_for_room(self, timeout_s: float) -> bool:
        deadline = self._clock() + timeout_s
        return all([sink.wait_for_room(max(0.0, deadline - self._clock())) for sink in self.sinks])

    def flush(self, timeout_s: float = 5.0) -> bool:
        deadline = self._clock() + timeout_s
        for sink in self.sinks:
            sink.flush(0.0)  # so that all of them are at it while each is waited for
        return all([sink.flush(max(0.0, deadline - self._clock())) for sink in self.sinks])

    def close(self) -> None:
        for sink in self.sinks:
            if isinstance(sink, QueuedSink):
                sink.begin_close()
        for sink in self.sinks:
            sink.close()
