"""A writer that is called in the caller's own thread.

For a program whose only work is to write (a conversion), where a queue would add a thread and take nothing
away: the destination itself is the back-pressure. Comes in: records. Goes out: each to the writer, at once.
It does not try again; what was not delivered is dropped and counted. `write` never raises.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from types import MappingProxyType

from otel_turns.sinks.base import DeliveryError, Record, SinkCounters, Writer
from otel_turns.sinks.encoding import Unencodable, encode_record

__all__ = ["DirectSink"]

_logger = logging.getLogger(__name__)


class DirectSink:
    """A sink without a queue. Never full. Safe in several threads, one of which writes at a time."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lock = threading.RLock()
        self._accepted = self._written = self._failed = 0
        self._dropped: Counter[str] = Counter()
        self._closed = False
        self._gone = False
        self._last_error: str | None = None

    @property
    def name(self) -> str:
        return self._writer.name

    @property
    def full(self) -> bool:
        return False

    @property
    def gone(self) -> bool:
        return self._gone

    @property
    def last_error(self) -> str | None:
        return self._last_error

    @property
    def counters(self) -> SinkCounters:
        with self._lock:
            return SinkCounters(
                accepted=self._accepted,
                written=self._written,
                failed=self._failed,
                dropped=MappingProxyType(dict(self._dropped)),
            )

    def write(self, record: Record) -> None:
        with self._lock:
            self._accepted += 1
            if self._closed or self._gone:
                self._dropped["closed" if self._closed else "gone"] += 1
                return
            try:
                entry = encode_record(record, bare=self._writer.bare)
                self._writer.deliver((entry,))
            except DeliveryError as error:
                self._gone = error.gone
                self._drop("gone" if error.gone else error.reason, str(error))
            except Unencodable as error:
                self._drop("unencodable", f"a Turn cannot be written as JSON: {error}")
            except Exception as error:  # a writer may be anybody's, and the caller is not to blame for it
                self._drop("error", type(error).__name__)
            else:
                self._written += 1

    def wait_for_room(self, timeout_s: float) -> bool:
        return True

    def flush(self, timeout_s: float = 5.0) -> bool:
        with self._lock:
            if self._closed:
                return True
            try:
                self._writer.sync()
            except Exception as error:  # as above
                self._note(str(error) if isinstance(error, DeliveryError) else type(error).__name__)
                return False
            return True

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self.flush()
                self._closed = True
                self._writer.close()

    def _drop(self, reason: str, what: str) -> None:
        self._dropped[reason] += 1
        self._note(what)

    def _note(self, what: str) -> None:
        self._failed += 1
        # Each failure here is a loss, and the first of them says why; more of the same would say it again.
        if self._last_error != what:
            self._last_error = what
            _logger.warning("%s: %s", self.name, what)
