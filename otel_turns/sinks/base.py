"""What a sink is, to those who write one and to those who hand it records.

Comes in: records, plain JSON-able dicts: a Turn's own members, and `otel` with where it came from. Goes
out: nothing by itself; the modules beside this one deliver. Nothing here interprets a Turn, and no text
here shows a record's content.

Two roles are kept apart. A `Sink` is what the pipeline sees: quick, never raising. A `Writer` is one
destination: it delivers or says why not, and knows nothing of queues, retries and threads; `QueuedSink` and
`DirectSink` make a sink of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

__all__ = ["ENTRY_COST", "DeliveryError", "Entry", "OpenedSink", "Record", "Sink", "SinkCounters", "Writer"]

Record = dict[str, Any]
"""A Turn's members at the top level, and `otel`; JSON-able."""

# What a queue spends on an entry beside its bytes.
ENTRY_COST: Final = 250


@runtime_checkable
class Sink(Protocol):
    """Where records go. The least that a sink of one's own must have."""

    def write(self, record: Record) -> None:
        """Takes a record. Quick; never waits for a network; never raises; keeps no reference that it
        changes.
        """
        ...

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Waits until every record written so far is delivered or given up; False when `timeout_s` was too
        short.
        """
        ...

    def close(self) -> None:
        """Flushes, within a bounded time, and lets go of files, threads and connections. More calls do
        nothing.
        """
        ...


@dataclass(frozen=True, slots=True)
class SinkCounters:
    """Records by where they are: `accepted == written + queued + sum(dropped.values())`, always.

    failed: attempts that failed, whether the records were delivered later or not. queued_bytes: of the
        queued records.
    dropped: by reason: `full`, `closed`, `gone`, `unencodable`, or what the writer said.
    """

    accepted: int = 0
    written: int = 0
    queued: int = 0
    queued_bytes: int = 0
    failed: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])


@runtime_checkable
class OpenedSink(Sink, Protocol):
    """A sink as `open_sink` gives it: one that also says how it stands."""

    @property
    def name(self) -> str:
        """Which sink it is, fit to be logged: no credentials, no query."""
        ...

    @property
    def full(self) -> bool:
        """Whether it is time to refuse new telemetry and to settle no trace, so that nothing is lost. True
        well before the first record would be dropped.
        """
        ...

    @property
    def gone(self) -> bool:
        """Whether it will never take a record again (the reader of a pipe went away)."""
        ...

    @property
    def counters(self) -> SinkCounters:
        """What became of the records so far."""
        ...

    @property
    def last_error(self) -> str | None:
        """The last failure, in words fit for a log, or None."""
        ...

    def wait_for_room(self, timeout_s: float) -> bool:
        """Waits until the sink is not full, for those who may wait; False when `timeout_s` was too short."""
        ...


@dataclass(slots=True)
class Entry:
    """One record on its way: what identifies it, and its JSON without a line break.

    odd: the record itself, only where its JSON is not read back as it was by every parser: an integer
        beyond 64 bits, nesting beyond what parsers take, or text that had to be repaired.
    """

    turn_id: str
    revision: int
    data: bytes
    odd: Record | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Its cost in bytes while queued."""
        return (len(self.data) if self.odd is None else 4 * len(self.data)) + ENTRY_COST


class DeliveryError(Exception):
    """A writer's word that entries were not delivered. `reason` is short, fit for logs and metrics, without
    content.

    retry: the same entries may be delivered later; `after_s`: not before so many seconds.
    done: how many of the entries, from the first, were delivered all the same.
    refused: how many after those are given up, where the rest is still to be delivered; None gives up all
        of them.
    split: entries may be to blame; half of them may succeed.
    gone: the destination will never take anything again.
    """

    def __init__(
        self,
        reason: str,
        *,
        detail: str = "",
        retry: bool = False,
        after_s: float | None = None,
        done: int = 0,
        refused: int | None = None,
        split: bool = False,
        gone: bool = False,
    ) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.retry = retry
        self.after_s = after_s
        self.done = done
        self.refused = refused
        self.split = split
        self.gone = gone


class Writer(ABC):
    """One destination. Its constructor raises `SinkError` where the destination cannot work.

    Calls come from one thread at a time, except `close`, which may come while `deliver` still runs when
    time is up.

    name: which destination, fit to be logged. bare: entries come without the `otel` member.
    batch_records, batch_bytes: the most that `deliver` is given at once; a single larger entry comes alone.
    linger_s: how long a batch may wait to fill.
    """

    name: str
    bare: bool = False
    batch_records: int = 1
    batch_bytes: int = 1024 * 1024
    linger_s: float = 0.0

    @abstractmethod
    def deliver(self, entries: Sequence[Entry]) -> None:
        """Delivers all entries, in order, or raises `DeliveryError`."""

    def sync(self) -> None:
        """Makes durable what was delivered, as far as the destination can. May raise `DeliveryError`."""
        return

    def due_in(self) -> float | None:
        """Seconds until `tick` wants to be called, or None."""
        return None

    def tick(self) -> None:
        """Work that falls due by time alone. May raise `DeliveryError`."""
        return

    def after_fork(self) -> None:
        """Runs in a forked child: lets go of what must not be shared with the parent."""
        return

    def close(self) -> None:
        """Lets go of everything. Never raises."""
        return
