"""A queue and a thread of its own for each writer.

Comes in: records, from any thread. Goes out: batches to the writer, in order, from one daemon thread, again
and again until they are delivered or refused for good. `write` never waits for the destination and never
raises; what does not fit is dropped and counted, and `full` says so in time.

A forked child begins with an empty queue: what the parent had not delivered is the parent's to deliver.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from otel_turns.sinks.base import DeliveryError, Entry, Record, SinkCounters, Writer
from otel_turns.sinks.complaint import Complaint
from otel_turns.sinks.delivery import Ending, deliver
from otel_turns.sinks.encoding import Unencodable, encode_record
from otel_turns.sinks.lifetime import watch
from otel_turns.sinks.retry import Backoff
from otel_turns.sinks.suppression import suppressed

__all__ = ["QueuedSink"]

_logger = logging.getLogger(__name__)

_MIB: Final = 1024 * 1024


class QueuedSink:
    """A sink that delivers in the background.

    queue_bytes: how much may wait; beyond it records are dropped (`full`). The `full` property is True from
        three quarters on. A single record larger than the queue is taken when nothing else waits.
    close_timeout_s: how long `close` may take before what is left is dropped (`closed`).
    clock, sleep: seconds, for tests; without `sleep` a wait ends early when the sink is closed.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        queue_bytes: int = 64 * _MIB,
        close_timeout_s: float = 5.0,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self._writer = writer
        self._queue_bytes = queue_bytes
        self._close_timeout_s = close_timeout_s
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._sleep = sleep
        self._begin()
        watch(self)

    def _begin(self) -> None:
        # One lock guards everything below; it is never held while the writer works or a log line is
        # written. Re-entrant, since a signal handler may write while the main thread does.
        self._changed = threading.Condition(threading.RLock())
        self._waiting: deque[Entry] = deque()
        self._bytes = 0  # waiting and in delivery
        self._accepted = self._written = self._failed = 0
        self._dropped: Counter[str] = Counter()
        self._put = self._done = 0  # entries ever queued, and of these delivered or dropped
        self._sync_at = self._synced = 0  # up to which of them `flush` wants, and got, a sync
        self._thread: threading.Thread | None = None
        self._idle = False
        self._closing_at: float | None = None
        self._tried_last = False
        self._closed = False
        self._gone = False
        self._last_error: str | None = None
        self._complaint = Complaint(self._writer.name, self._clock)
        # Held while the writer works: flush and close may have to do the worker's part.
        self._working = threading.Lock()

    # -- what the pipeline sees

    @property
    def name(self) -> str:
        return self._writer.name

    @property
    def full(self) -> bool:
        return self._bytes * 4 >= self._queue_bytes * 3

    @property
    def gone(self) -> bool:
        return self._gone

    @property
    def last_error(self) -> str | None:
        return self._last_error

    @property
    def counters(self) -> SinkCounters:
        with self._changed:
            return SinkCounters(
                accepted=self._accepted,
                written=self._written,
                queued=self._queued,
                queued_bytes=self._bytes,
                failed=self._failed,
                dropped=MappingProxyType(dict(self._dropped)),
            )

    def write(self, record: Record) -> None:
        try:
            entry = encode_record(record, bare=self._writer.bare)
        except Exception as error:  # a record that is no record must not reach the caller as an exception
            with self._changed:
                self._accepted += 1
                self._dropped["unencodable"] += 1
            what = str(error) if isinstance(error, Unencodable) else type(error).__name__
            self._complaint.say(f"a Turn was dropped, it cannot be written as JSON: {what}", self._queued)
            return
        with self._changed:
            self._accepted += 1
            reason = self._refusal(entry)
            if reason is None:
                self._waiting.append(entry)
                self._bytes += entry.size
                self._put += 1
                if self._idle and (len(self._waiting) == 1 or self._batch_is_full()):
                    self._changed.notify_all()
                if self._thread is None:
                    self._start()
                return
            self._dropped[reason] += 1
        if reason == "full":
            self._complaint.say("Turns are dropped, its queue is full", self._queued)

    def wait_for_room(self, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self.full or self._closed, timeout_s)

    def flush(self, timeout_s: float = 5.0) -> bool:
        self._request_sync()
        target = self._sync_at
        if self._thread is None:
            self._work_here(self._clock() + timeout_s)
        with self._changed:
            return self._changed.wait_for(lambda: self._synced >= target or self._closed, timeout_s)

    def begin_close(self) -> None:
        """Takes no more records and lets the time for the rest begin to run; `close` waits for it."""
        with self._changed:
            if self._closing_at is None:
                self._closing_at = self._clock() + self._close_timeout_s
                self._sync_at = self._put
                self._changed.notify_all()

    def close(self) -> None:
        self.begin_close()
        with self._changed:
            if self._closed:
                return
            deadline, thread = self._closing_at or 0.0, self._thread
        if thread is None:
            self._work_here(deadline)
        elif thread is not threading.current_thread():
            thread.join(max(0.0, deadline - self._clock()))
        self._writer.close()  # also ends a delivery that is still under way
        with self._changed:
            self._closed = True
            left = self._queued
            if left:
                self._dropped["closed"] += left
                self._done = self._put
                self._waiting.clear()
                self._bytes = 0
            self._changed.notify_all()
        if left:
            _logger.error("%s: closed with %d Turns not delivered", self.name, left)

    # -- the worker

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=f"otel_turns {self.name}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The interpreter is going down, or there are no threads left: flush and close deliver by
            # themselves.
            return
        self._thread = thread

    def _run(self) -> None:
        changed = self._changed
        with suppressed():
            while changed is self._changed and self._turn(wait=True):
                pass

    def _work_here(self, deadline: float) -> None:
        """Delivers in the calling thread what waits, where there is no worker to do it."""
        with suppressed():
            while self._clock() <= deadline and (self._waiting or self._sync_is_due()):
                if not self._turn(wait=False, deadline=deadline):
                    break

    def _turn(self, *, wait: bool, deadline: float | None = None) -> bool:
        """One piece of work: a batch, a sync, a tick. False when there will be no more."""
        batch = self._take(wait=wait)
        if batch is None:
            return False
        with self._working:
            if batch:
                return self._deliver(batch, deadline)
            if self._sync_is_due():
                done = self._done
                self._attempt(self._writer.sync)
                with self._changed:
                    self._synced = max(self._synced, done)
                    self._changed.notify_all()
            else:
                self._attempt(self._writer.tick)
            return True

    def _take(self, *, wait: bool) -> list[Entry] | None:
        """The next batch; an empty one when it is time to sync or tick; None when all is done and the sink
        closes.
        """
        writer = self._writer
        with self._changed:
            ready_at = self._clock() + writer.linger_s
            while wait and not self._sync_is_due():
                now = self._clock()
                if self._waiting:
                    if self._sync_at > self._done or self._closing_at is not None or now >= ready_at:
                        break
                    if self._batch_is_full():
                        break
                    self._pause_worker(ready_at - now)
                elif self._closing_at is not None:
                    return None
                else:
                    due_in = writer.due_in()
                    if due_in is not None and due_in <= 0:
                        break
                    self._pause_worker(due_in)
                    ready_at = self._clock() + writer.linger_s
            batch: list[Entry] = []
            if self._sync_is_due():  # before what came later, or a busy sink would never get to it
                return batch
            size = 0
            while self._waiting and len(batch) < writer.batch_records:
                size += len(self._waiting[0].data)
                if batch and size > writer.batch_bytes:
                    break
                batch.append(self._waiting.popleft())
            return batch

    def _sync_is_due(self) -> bool:
        return self._synced < self._sync_at <= self._done

    def _batch_is_full(self) -> bool:
        return len(self._waiting) >= self._writer.batch_records or self._bytes >= self._writer.batch_bytes

    def _pause_worker(self, seconds: float | None) -> None:
        self._idle = True
        try:
            self._changed.wait(seconds)
        finally:
            self._idle = False

    def _deliver(self, batch: list[Entry], deadline: float | None) -> bool:
        """Delivers a batch or gives it up; False where time is up before either, and what is left waits
        again.
        """

        def pause(failures: int, asked_s: float | None) -> bool:
            return self._pause(self._backoff.wait_s(failures, asked_s), deadline)

        ending, left = deliver(self._writer, batch, settle=self._settle, note=self._note_failure, pause=pause)
        if ending is Ending.GONE:
            with self._changed:
                self._gone = True
                left += self._waiting
                self._waiting.clear()
            self._settle(left, "gone")
        elif ending is Ending.LATE:
            with self._changed:
                self._waiting.extendleft(reversed(left))
            return False
        return True

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except DeliveryError as error:
            self._note_failure(error)
        except BaseException as error:  # as above
            self._note_failure(DeliveryError("error", detail=type(error).__name__))

    def _pause(self, seconds: float, deadline: float | None) -> bool:
        """Waits before another attempt; False where the sink's time is up before that."""

        def last_try() -> bool:
            return self._closing_at is not None and not self._tried_last

        with self._changed:
            if last_try():  # closing is the last chance: at once, and the next failure faces the deadline
                self._tried_last = True
                return True
            limit = self._closing_at if deadline is None else deadline
            if limit is not None and self._clock() + seconds > limit:
                return False
            if self._sleep is None:
                if self._changed.wait_for(last_try, seconds):
                    self._tried_last = True
                return True
        self._sleep(seconds)
        return True

    def _settle(self, entries: list[Entry], reason: str | None) -> None:
        if not entries:
            return
        with self._changed:
            if self._closed:
                return  # counted as dropped by `close`, which could not wait for this
            if reason is None:
                self._written += len(entries)
            else:
                self._dropped[reason] += len(entries)
            self._done += len(entries)
            self._bytes -= sum(entry.size for entry in entries)
            self._changed.notify_all()
        if reason is None:
            self._complaint.worked()

    @property
    def _queued(self) -> int:
        return self._put - self._done

    def _refusal(self, entry: Entry) -> str | None:
        if self._closing_at is not None:
            return "closed"
        if self._gone:
            return "gone"
        return "full" if self._bytes and self._bytes + entry.size > self._queue_bytes else None

    def _request_sync(self) -> None:
        with self._changed:
            self._sync_at = max(self._sync_at, self._put)
            self._changed.notify_all()

    def _note_failure(self, error: DeliveryError) -> None:
        with self._changed:
            self._failed += 1
        self._last_error = str(error)
        self._complaint.failed(f"{error}; {'tries again' if error.retry else 'gives up'}", self._queued)

    def after_fork(self) -> None:
        """In a forked child: an empty queue, new locks, no thread until the first record."""
        closed = self._closing_at is not None
        self._begin()
        if closed:
            self._closing_at, self._closed = 0.0, True
        self._writer.after_fork()
