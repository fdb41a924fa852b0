"""The queue and the thread between the SDK's callbacks and a pipeline.

Comes in: starts and ends of spans, on the agent's threads. Goes out: items to an `Intake`, which its own
thread also ticks. `started` and `ended` never block and never raise: an append and a check. All else
(reading spans, settling, writing) happens on the worker, under instrumentation suppression. The queue is
bounded; a span that does not fit is dropped and counted with its reason. A forked child starts empty, with
a thread and a pipeline of its own, and only if it ends a span.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Generator
from queue import Empty, SimpleQueue
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from otel_turns.model.item import LoadedItem
from otel_turns.sources.barrier import Barrier
from otel_turns.sources.described import described
from otel_turns.sources.intake import Intake, OpenIntake
from otel_turns.sources.open_spans import OpenSpans
from otel_turns.sources.readable import SpanReader
from otel_turns.sources.suppression import suppressed
from otel_turns.sources.tally import FeedCounts, Tally

__all__ = ["FeedCounts", "SpanFeed"]

_log = logging.getLogger("otel_turns")

_BATCH: Final = 1024
"""Entries taken from the queue at once."""

_RETRY_S, _RETRIES, _RETRY_BYTES = 0.1, 10, 16 << 20
"""What the pipeline would refuse is offered again after so many seconds, so often, and while it is below so
many bytes; then it is handed over all the same, and the pipeline's own rule of what has to go holds."""

_SHORTEST_S: Final = 0.001
"""A pipeline that is always due must not keep the agent's processor busy."""


class SpanFeed:
    """Feeds a pipeline from the SDK's callbacks.

    open_pipeline: called at once (so that a sink that cannot be written is an error now), and again in a
    forked child that ends a span. max_queue: spans, and marks of their starts, in the queue at most.
    gather_s: how long a first span waits for others, in seconds, so that the worker wakes once for many.
    exit_s: how long the interpreter's exit waits for the last Turns, in seconds.

    Raises what `open_pipeline` raises.
    """

    def __init__(
        self,
        open_pipeline: OpenIntake,
        *,
        max_queue: int = 65_536,
        gather_s: float = 0.02,
        exit_s: float = 5.0,
    ) -> None:
        self._open_pipeline = open_pipeline
        self._max_queue = max_queue
        self._gather_s = gather_s
        self._exit_s = exit_s
        self._closed = False
        self._inherited: list[Intake | None] = []
        self._reset()
        self._pipeline = open_pipeline()
        _feeds.add(self)
        atexit.register(self._exit)

    def _reset(self) -> None:
        """Everything that a forked child must not share with its parent: locks, thread, queue, counts."""
        # SimpleQueue, because its put is reentrant: a finalizer that ends a span may run inside another put.
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._hurry = threading.Event()
        self._starting = threading.Lock()
        self._working = threading.Lock()
        self._thread: threading.Thread | None = None
        self._worker: int | None = None
        self._pipeline: Intake | None = None
        self._reader = SpanReader()
        self._open = OpenSpans()
        self._items: list[LoadedItem] = []
        self._refusals = 0
        self._accepted = 0
        self._failed = 0
        self._unreadable = Tally()
        self._unsampled = Tally()
        self._queue_full = Tally()
        self._late = Tally()
        self._told: set[str] = set()

    # On the agent's threads.

    def started(self, context: SpanContext) -> None:
        """A sampled span started: its trace does not settle before it ended."""
        queue = self._queue
        if queue.qsize() < self._max_queue and not self._closed:
            queue.put(context)

    def ended(self, span: ReadableSpan) -> None:
        """A sampled span ended."""
        queue = self._queue
        if self._closed or queue.qsize() >= self._max_queue:
            self._refuse(span)
        else:
            queue.put(span)
        if self._thread is None:
            self._start()

    def unsampled(self) -> None:
        """A span ended that the sampler left out."""
        self._unsampled.add()

    def failed(self) -> None:
        """A span ended that could not even be looked at."""
        self._unreadable.add()

    def _refuse(self, span: ReadableSpan) -> None:
        if self._closed:
            self._late.add()
            return
        self._queue_full.add()
        context = span.context
        # Its trace must not wait for it: these few bytes may go over the bound, but not without end.
        if context is not None and self._queue.qsize() < 2 * self._max_queue:
            self._queue.put(context.span_id)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def counts(self) -> FeedCounts:
        """What became of the ended spans."""
        return FeedCounts(
            accepted=self._accepted,
            waiting=self._queue.qsize() + len(self._items),
            unsampled=self._unsampled.value,
            queue_full=self._queue_full.value,
            unreadable=self._unreadable.value,
            failed=self._failed,
            closed=self._late.value,
        )

    def flush(self, timeout_s: float) -> bool:
        """Writes everything that ended before. False where `timeout_s` seconds were not enough."""
        return self._closed or self._wait(Barrier(timeout_s, last=False))

    def close(self, timeout_s: float) -> bool:
        """Flushes, closes the pipeline, takes nothing more. A second call does nothing."""
        if self._closed:
            return True
        self._closed = True
        atexit.unregister(self._exit)
        return self._wait(Barrier(timeout_s, last=True))

    def _wait(self, barrier: Barrier) -> bool:
        if self._worker == threading.get_ident():
            return False  # a sink that flushes the feed it is fed by would wait for itself
        untouched = self._thread is None and self._queue.empty()
        self._queue.put(barrier)
        self._hurry.set()
        if self._thread is None and (untouched or not self._start()):
            self._work_off()
        barrier.done.wait(max(0.0, barrier.deadline - time.monotonic()))
        return barrier.kept

    # On the worker.

    def _start(self) -> bool:
        """Starts the worker. False where no thread can start any more: the interpreter is ending."""
        if self._closed or not self._starting.acquire(blocking=False):
            return not self._closed
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="otel_turns", daemon=True)
                thread.start()
                self._thread = thread
            return True
        except RuntimeError:
            return False
        finally:
            self._starting.release()

    def _run(self) -> None:
        self._worker = threading.get_ident()
        with suppressed():
            wait: float | None = None
            while True:
                try:
                    first = self._queue.get(timeout=wait)
                except Empty:
                    first = None
                if first is not None and not isinstance(first, Barrier) and self._queue.qsize() < _BATCH:
                    self._hurry.wait(self._gather_s)
                with self._working, self._telling("work", "spans were lost"):
                    if self._round(first):
                        return
                    wait = self._tick()

    def _work_off(self) -> None:
        """What the worker does, once and here: no thread is needed, or none can start any more."""
        with suppressed(), self._working, contextlib.suppress(Empty):
            while not self._round(self._queue.get_nowait()):
                pass

    def _round(self, entry: Any) -> bool:
        """Takes `entry` and what else is there, up to a barrier. True after the last barrier."""
        entries: list[Any] = []
        while entry is not None:
            if isinstance(entry, Barrier):
                self._take(entries)
                self._pass(entry)
                return entry.last
            entries.append(entry)
            try:
                entry = self._queue.get_nowait() if len(entries) < _BATCH else None
            except Empty:
                break
        self._take(entries)
        return False

    def _take(self, entries: list[Any]) -> None:
        if not entries:
            return
        items, spans, read = self._items, self._open, self._reader.read
        for entry in entries:
            if isinstance(entry, SpanContext):
                spans.started(entry)
                continue
            if isinstance(entry, int):
                spans.ended(entry)
                continue
            context = entry.context
            if context is None:
                self._unreadable.add()
                continue
            spans.ended(context.span_id)
            try:
                item = read(entry)
            except Exception as error:
                self._unreadable.add()
                self._tell("read", f"a span could not be read: {described(error)}")
            else:
                items.append(item)
        holds, releases = spans.changes()
        pipeline = self._opened()
        if pipeline is None:
            self._failed += len(self._items)
            self._items = []
            return
        with self._telling("hold", "the pipeline failed to hold a trace"):
            for trace_id in holds:
                pipeline.hold(trace_id)
        self._offer(pipeline)
        with self._telling("hold", "the pipeline failed to release a trace"):
            for trace_id in releases:
                pipeline.release(trace_id)

    def _offer(self, pipeline: Intake, *, insist: bool = False) -> None:
        """Hands over what was read; waits a while where the pipeline would refuse it, unless `insist`."""
        items = self._items
        if not items:
            return
        with self._telling("accept", "the pipeline failed to take spans"):
            size = sum(item.size for item in items)
            if not insist and pipeline.would_refuse(size):
                pipeline.tick()  # settling may make room
                self._refusals += 1
                if self._refusals <= _RETRIES and size < _RETRY_BYTES and pipeline.would_refuse(size):
                    return
            self._items = []
            self._refusals = 0
            try:
                pipeline.accept(items)
            except BaseException:
                self._failed += len(items)
                raise
            self._accepted += len(items)

    def _tick(self) -> float | None:
        pipeline = self._pipeline
        if pipeline is None:
            return None
        if self._queue_full.value:
            self._tell("queue_full", "spans end faster than they can be read: some were dropped")
        due = None
        with self._telling("tick", "a Turn could not be made"):
            due = pipeline.tick()
            if self._items:
                self._offer(pipeline)
                due = pipeline.tick()
        if due is None:
            return _RETRY_S if self._items else None
        return max(_SHORTEST_S, min(due, _RETRY_S) if self._items else due)

    def _pass(self, barrier: Barrier) -> None:
        pipeline = self._pipeline
        self._hurry.clear()
        try:
            left = barrier.deadline - time.monotonic()
            if pipeline is None:
                barrier.kept = True  # a forked child that ended no span
            elif barrier.last:
                # Also when the time is up: the sinks are closed in any case.
                self._offer(pipeline, insist=True)
                barrier.kept = pipeline.close(max(0.0, left)) and left > 0
            elif left > 0:
                self._offer(pipeline, insist=True)
                barrier.kept = pipeline.flush(left)
        except BaseException as error:  # as in `_telling`
            self._tell("flush", f"Turns could not be written: {described(error)}")
        finally:
            barrier.done.set()

    def _opened(self) -> Intake | None:
        """The pipeline. In a forked child it is opened here, on first use, and tried once."""
        if self._pipeline is None and "open" not in self._told:
            with self._telling("open", "no Turns from this forked process: its pipeline does not open"):
                self._pipeline = self._open_pipeline()
        return self._pipeline

    @contextlib.contextmanager
    def _telling(self, what: str, message: str) -> Generator[None]:
        try:
            yield
        except BaseException as error:  # also SystemExit, out of a callback of the host: the worker lives on
            self._tell(what, f"{message}: {described(error)}")

    def _tell(self, what: str, message: str) -> None:
        """Logs once a kind: what stays broken must not flood the agent's log."""
        if what not in self._told:
            self._told.add(what)
            _log.warning("otel_turns: %s (said once)", message)

    # At the edges of the process.

    def forked(self) -> None:
        """Starts anew in a forked child. Called once, by the hook of this module."""
        # The parent's pipeline is kept, unused: finalizing it here could close connections and flush files
        # that the parent still writes.
        self._inherited.append(self._pipeline)
        self._reset()

    def _exit(self) -> None:
        if not self.flush(self._exit_s):
            _log.warning("otel_turns: the last Turns were not written within %s s", self._exit_s)


_feeds: weakref.WeakSet[SpanFeed] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for feed in _feeds:
        feed.forked()


# One hook for all feeds, since a hook cannot be taken back.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
