"""Records kept in a list, for tests and for programs that read their own Turns.

Comes in: records. Goes out: the same objects, and a view with each Turn once. Nothing is bounded: what is
written stays until `clear`.
"""

from __future__ import annotations

import threading

from otel_turns.sinks.base import Record, SinkCounters

__all__ = ["MemorySink"]


class MemorySink:
    """A sink that remembers. Safe in several threads. With `bare`, records come out without their `otel`
    member.
    """

    def __init__(self, *, bare: bool = False) -> None:
        self._bare = bare
        self._lock = threading.Lock()
        self._records: list[Record] = []
        self._accepted = self._written = 0
        self._closed = False

    @property
    def name(self) -> str:
        return "memory"

    @property
    def full(self) -> bool:
        return False

    @property
    def gone(self) -> bool:
        return False

    @property
    def last_error(self) -> str | None:
        return None

    @property
    def records(self) -> list[Record]:
        """Every record, in the order in which it was written, earlier revisions included."""
        with self._lock:
            return [self._shown(record) for record in self._records]

    @property
    def turns(self) -> list[Record]:
        """Each Turn once, in its highest revision, in the order in which the Turns were first written."""
        newest: dict[object, Record] = {}
        with self._lock:
            for number, record in enumerate(self._records):
                key = record.get("otel", {}).get("turnId", number)
                known = newest.get(key)
                if known is None or record["otel"]["revision"] >= known["otel"]["revision"]:
                    newest[key] = record
        return [self._shown(record) for record in newest.values()]

    @property
    def counters(self) -> SinkCounters:
        with self._lock:
            dropped = self._accepted - self._written
            return SinkCounters(self._accepted, self._written, dropped={"closed": dropped} if dropped else {})

    def write(self, record: Record) -> None:
        with self._lock:
            self._accepted += 1
            if not self._closed:
                self._records.append(record)
                self._written += 1

    def clear(self) -> None:
        """Forgets all records; the counters stay."""
        with self._lock:
            self._records.clear()

    def wait_for_room(self, timeout_s: float) -> bool:
        return True

    def flush(self, timeout_s: float = 5.0) -> bool:
        return True

    def close(self) -> None:
        """Takes no more records; those it has stay readable."""
        with self._lock:
            self._closed = True

    def _shown(self, record: Record) -> Record:
        return {name: value for name, value in record.items() if name != "otel"} if self._bare else record
