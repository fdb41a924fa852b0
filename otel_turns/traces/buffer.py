"""Holds what came for a trace until the trace settles.

Comes in: `Item`s in any order, from any number of deliveries; and, in process, a word for each local span
that opens or closes. Goes out: `Settled`, all that is known of one trace, once it is time to read it. It
never parses an item, never looks at the content of one, never blocks, never starts a thread, and never drops
half a trace without saying so.

Every operation touches the trace in question and the heads of ordered queues, and no other trace: all
waiting times are constants and the clock never goes back, so a queue in which a trace moves to the end when
it is touched is always sorted by deadline.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, NamedTuple

from otel_turns.model.item import Item

__all__ = ["ITEM_COST", "TOMBSTONE_COST", "TRACE_COST", "BufferCounters", "Reason", "Settled", "TraceBuffer"]

Reason = Literal["ended", "idle", "max_age", "over_limit", "drain"]

_SECOND: Final = 1_000_000_000

# What the buffer itself spends, in bytes, beside the items; a test weighs them against the allocator.
TRACE_COST: Final = 768
ITEM_COST: Final = 96
TOMBSTONE_COST: Final = 448


@dataclass(frozen=True, slots=True)
class Settled:
    """One trace at the moment it settled.

    trace_id: 16 bytes, or None for the group of log records that belong to no trace.
    items: all items held of it, in the order in which they arrived, those of earlier settlements included.
    revision: how often it had settled before; above 0, late items reopened it.
    reason: `ended` (its local root ended and nothing more came for `linger`), `idle`, `max_age`,
        `over_limit` (the byte budget was reached) or `drain`.
    forgotten: items of earlier settlements that are no longer held and so are missing from `items`.
    """

    trace_id: bytes | None
    items: tuple[Item, ...]
    revision: int
    reason: Reason
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class BufferCounters:
    """Items by where they are: `accepted == settled + ready + open + duplicates`, always.

    accepted: handed to `add`. duplicates: had the trace id and span id of an item that is held. open: in a
    trace that waits, and never handed out. ready: in a trace settled early, not yet collected. settled:
    handed out at least once.

    Not part of the sum: `late` items came to a trace that had settled before; `reopened` counts those
    traces; `over_limit` counts traces settled early; `forgotten` counts traces whose settled items were let
    go to stay inside the budget.
    """

    accepted: int = 0
    duplicates: int = 0
    open: int = 0
    ready: int = 0
    settled: int = 0
    late: int = 0
    reopened: int = 0
    over_limit: int = 0
    forgotten: int = 0


class _Tombstone(NamedTuple):
    """What stays of a trace whose items were let go."""

    revision: int
    ended: bool
    forgotten: int


class _Trace:
    __slots__ = (
        "arrivals",
        "ended",
        "forgotten",
        "holds",
        "items",
        "new",
        "opened",
        "queue",
        "revision",
        "settled_at",
        "size",
        "touched",
        "trace_id",
    )

    def __init__(self, trace_id: bytes | None, now: int, past: _Tombstone | None) -> None:
        self.trace_id = trace_id
        # One mapping is both the arrival order and the test for duplicates; a log record's key is a number
        # of its own.
        self.items: dict[bytes | int, Item] = {}
        self.size = TRACE_COST
        self.opened = now
        self.touched = now
        self.settled_at = 0
        self.holds = 0
        self.new = 0
        self.queue: OrderedDict[bytes | None, _Trace] | None = None
        # When each item came; only where items are let go one by one.
        self.arrivals: deque[int] | None = deque() if trace_id is None else None
        self.revision, self.ended, self.forgotten = past or (0, False, 0)


def _head(queue: OrderedDict[bytes | None, _Trace]) -> _Trace:
    return next(iter(queue.values()))


class TraceBuffer:
    """Groups items by trace and hands a trace out when it has settled.

    linger: nanoseconds without a new item after the local root ended (receiver 2 s; 0 in process, where
        `hold` says whether spans of the trace are still open).
    idle: nanoseconds without a new item, where no local root ended and no span is held open.
    max_age: nanoseconds since the trace opened, whatever else.
    reopen_for: nanoseconds for which a settled trace keeps its items, so that a late one finds the rest; 0
        keeps none.
    budget_bytes: bound on the items and on what the buffer spends on them, waiting and settled ones
        together. The items of one `add` may exceed it until that call returns, and what `due` has not
        collected yet counts on top.
    clock: monotonic nanoseconds.

    The group None, log records of no trace, settles by `idle` and `max_age`. It never ends, so what it
    keeps for its next settlement is what arrived within `reopen_for` before the last; its `forgotten` stays
    0.

    Not thread-safe: the owner holds one lock around every call.
    """

    def __init__(
        self,
        *,
        linger: int = 2 * _SECOND,
        idle: int = 60 * _SECOND,
        max_age: int = 600 * _SECOND,
        reopen_for: int = 300 * _SECOND,
        budget_bytes: int = 256 * 1024 * 1024,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        for name, value in (
            ("linger", linger),
            ("idle", idle),
            ("max_age", max_age),
            ("reopen_for", reopen_for),
        ):
            if value < 0:
                raise ValueError(f"{name} must not be negative, and is {value}")
        if budget_bytes <= 0:
            raise ValueError(f"budget_bytes must be above 0, and is {budget_bytes}")
        self._linger, self._idle, self._max_age, self._reopen_for = linger, idle, max_age, reopen_for
        self._budget = budget_bytes
        self._clock = clock
        self._most_stones = max(1, budget_bytes // 16 // TOMBSTONE_COST)
        # Waiting traces, the oldest first; each is also in one of the two queues below, unless a span of it
        # is held open.
        self._open: OrderedDict[bytes | None, _Trace] = OrderedDict()
        self._lingering: OrderedDict[bytes | None, _Trace] = OrderedDict()
        self._idling: OrderedDict[bytes | None, _Trace] = OrderedDict()
        # Settled traces that can be reopened, and what is left of those that were let go; the longest
        # settled first.
        self._kept: OrderedDict[bytes | None, _Trace] = OrderedDict()
        self._stones: OrderedDict[bytes | None, _Tombstone] = OrderedDict()
        self._ready: list[Settled] = []
        self._open_bytes = self._kept_bytes = self._ready_bytes = 0
        self._accepted = self._duplicates = self._open_items = self._ready_items = self._settled = 0
        self._late = self._reopened = self._over_limit = self._forgotten = 0
        self._next_log_key = 0

    # -- in ------------------------------------------------------------------------------------------------

    def add(self, items: Iterable[Item]) -> int:
        """Takes items and returns how many of them were new. An item already held, by trace id and span id,
        is counted and let go; so is one of a settled trace that still has its items, which then stays
        settled.
        """
        now = self._clock()
        taken = fresh = before = 0
        trace: _Trace | None = None
        for item in items:
            taken += 1
            trace_id = item.trace_id
            if trace is None or trace.trace_id != trace_id:
                if trace is not None and trace.new != before:
                    self._place(trace, now)
                trace = self._open.get(trace_id)
                before = 0 if trace is None else trace.new
            key = item.span_id
            if key is None:
                key = self._next_log_key
                self._next_log_key += 1
            if trace is None:
                kept = self._kept.get(trace_id)
                if kept is not None and key in kept.items:
                    continue
                trace = self._begin(trace_id, now)
            elif key in trace.items:
                continue
            trace.items[key] = item
            size = item.size + ITEM_COST
            trace.size += size
            self._open_bytes += size
            trace.new += 1
            fresh += 1
            if trace.revision:
                self._late += 1
                if trace.new == 1:
                    self._reopened += 1
            if trace.arrivals is not None:
                trace.arrivals.append(now)
            elif item.local_root:
                trace.ended = True
        if trace is not None and trace.new != before:
            self._place(trace, now)
        self._accepted += taken
        self._duplicates += taken - fresh
        self._open_items += fresh
        self._shrink()
        return fresh

    def hold(self, trace_id: bytes) -> None:
        """A local span of this trace was started: the trace does not settle by `linger` or `idle` before it
        is released.
        """
        trace = self._open.get(trace_id)
        if trace is None:
            kept = self._kept.get(trace_id)
            if kept is not None:
                kept.holds += 1
                return
            trace = self._begin(trace_id, self._clock())
        trace.holds += 1
        self._place(trace, trace.touched)
        self._shrink()

    def release(self, trace_id: bytes) -> None:
        """A local span of this trace ended; to be called after its item was added. Unknown traces are
        ignored: they were settled and let go meanwhile.
        """
        trace = self._open.get(trace_id) or self._kept.get(trace_id)
        if trace is None or not trace.holds:
            return
        trace.holds -= 1
        if trace.holds or trace_id not in self._open:
            return
        if trace.items:
            self._place(trace, self._clock())
        else:
            self._leave(trace)
            self._bury(trace)

    def would_exceed(self, nbytes: int, items: int = 0) -> bool:
        """Whether items of `nbytes` together would not fit in beside what waits. With the number of items,
        what the buffer spends on them is counted too, as if each began a trace. Settled items that are kept
        for reopening make room, so they do not count.
        """
        return self._open_bytes + self._ready_bytes + nbytes + items * (TRACE_COST + ITEM_COST) > self._budget

    # -- out -----------------------------------------------------------------------------------------------

    def due(self) -> list[Settled]:
        """The traces that settled since the last call, those settled early first."""
        now = self._clock()
        out = self._collect()
        while self._lingering and (trace := _head(self._lingering)).touched + self._linger <= now:
            self._settle(trace, "ended", now, out)
        while self._idling and (trace := _head(self._idling)).touched + self._idle <= now:
            self._settle(trace, "idle", now, out)
        while self._open and (trace := _head(self._open)).opened + self._max_age <= now:
            self._settle(trace, "max_age", now, out)
        while self._kept and (trace := _head(self._kept)).settled_at + self._reopen_for <= now:
            if trace.holds:
                # Spans of it are still running and will come: it stays, and goes only when the budget needs
                # the room.
                trace.settled_at = now
                self._kept.move_to_end(trace.trace_id)
            else:
                self._forget(trace)
        return out

    def drain(self) -> list[Settled]:
        """Every trace that waits, now, the oldest first after those settled early."""
        now = self._clock()
        out = self._collect()
        while self._open:
            self._settle(_head(self._open), "drain", now, out)
        return out

    def next_due(self) -> int | None:
        """The clock's time at which `due` has something to do, if nothing comes before; None where it never
        will.
        """
        if self._ready:
            return self._clock()
        times: list[int] = []
        for queue, wait in ((self._lingering, self._linger), (self._idling, self._idle)):
            if queue:
                times.append(_head(queue).touched + wait)
        if self._open:
            times.append(_head(self._open).opened + self._max_age)
        if self._kept:
            times.append(_head(self._kept).settled_at + self._reopen_for)
        return min(times, default=None)

    # -- what it holds -------------------------------------------------------------------------------------

    @property
    def counters(self) -> BufferCounters:
        """Where all items are; see `BufferCounters` for the sum that always holds."""
        return BufferCounters(
            accepted=self._accepted,
            duplicates=self._duplicates,
            open=self._open_items,
            ready=self._ready_items,
            settled=self._settled,
            late=self._late,
            reopened=self._reopened,
            over_limit=self._over_limit,
            forgotten=self._forgotten,
        )

    @property
    def held_bytes(self) -> int:
        """Bytes of all that is held: waiting, settled early, kept for reopening, and tombstones."""
        return self._inside + self._ready_bytes

    @property
    def waiting_bytes(self) -> int:
        """Bytes that only settling can free: of traces that wait, and of traces settled early."""
        return self._open_bytes + self._ready_bytes

    @property
    def open_traces(self) -> int:
        """Traces that wait, those included of which so far only the start of a span is known."""
        return len(self._open)

    @property
    def kept_traces(self) -> int:
        """Settled traces that still have their items."""
        return len(self._kept)

    @property
    def tombstones(self) -> int:
        """Settled traces of which only the revision is known."""
        return len(self._stones)

    # -- one trace -----------------------------------------------------------------------------------------

    @property
    def _inside(self) -> int:
        return self._open_bytes + self._kept_bytes + len(self._stones) * TOMBSTONE_COST

    def _begin(self, trace_id: bytes | None, now: int) -> _Trace:
        trace = self._kept.pop(trace_id, None)
        if trace is None:
            trace = _Trace(trace_id, now, self._stones.pop(trace_id, None))
        else:
            self._kept_bytes -= trace.size
            trace.opened = now
        self._open[trace_id] = trace
        self._open_bytes += trace.size
        return trace

    def _place(self, trace: _Trace, now: int) -> None:
        trace.touched = now
        queue = None if trace.holds else self._lingering if trace.ended else self._idling
        if trace.queue is queue:
            if queue is not None:
                queue.move_to_end(trace.trace_id)
            return
        if trace.queue is not None:
            del trace.queue[trace.trace_id]
        if queue is not None:
            queue[trace.trace_id] = trace
        trace.queue = queue

    def _leave(self, trace: _Trace) -> None:
        del self._open[trace.trace_id]
        self._open_bytes -= trace.size
        if trace.queue is not None:
            del trace.queue[trace.trace_id]
            trace.queue = None

    def _settle(self, trace: _Trace, reason: Reason, now: int, out: list[Settled]) -> None:
        self._leave(trace)
        if not trace.new:  # only the start of a span was ever known: there is nothing to hand out
            self._bury(trace)
            return
        out.append(
            Settled(trace.trace_id, tuple(trace.items.values()), trace.revision, reason, trace.forgotten)
        )
        trace.revision += 1
        self._open_items -= trace.new
        if reason == "over_limit":
            self._over_limit += 1
            self._ready_items += trace.new
            self._ready_bytes += trace.size
        else:
            self._settled += trace.new
        trace.new = 0
        trace.settled_at = now
        if trace.arrivals is not None:
            self._thin(trace, now)
        if reason == "over_limit" or not self._reopen_for or not trace.items:
            self._bury(trace)
        else:
            self._kept[trace.trace_id] = trace
            self._kept_bytes += trace.size

    def _thin(self, trace: _Trace, now: int) -> None:
        arrivals, gone = trace.arrivals, 0
        while arrivals and arrivals[0] + self._reopen_for <= now:
            arrivals.popleft()
            gone += 1
        trace.size -= sum(item.size + ITEM_COST for item in islice(trace.items.values(), gone))
        trace.items = dict(islice(trace.items.items(), gone, None))

    def _forget(self, trace: _Trace) -> None:
        del self._kept[trace.trace_id]
        self._kept_bytes -= trace.size
        self._bury(trace)

    def _bury(self, trace: _Trace) -> None:
        if not trace.revision:
            return
        forgotten = 0 if trace.trace_id is None else trace.forgotten + len(trace.items)
        self._stones[trace.trace_id] = _Tombstone(trace.revision, trace.ended, forgotten)
        if len(self._stones) > self._most_stones:
            self._stones.popitem(last=False)

    def _collect(self) -> list[Settled]:
        out, self._ready = self._ready, []
        self._settled += self._ready_items
        self._ready_items = self._ready_bytes = 0
        return out

    def _shrink(self) -> None:
        while self._inside > self._budget:
            if self._kept:
                self._forgotten += 1
                self._forget(_head(self._kept))
            elif self._open:
                self._settle(_head(self._open), "over_limit", self._clock(), self._ready)
            else:
                self._stones.popitem(last=False)
