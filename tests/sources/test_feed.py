"""The feed never blocks or raises on the agent's threads, loses nothing silently, and keeps its deadlines."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, TraceFlags

from otel_turns.errors import SinkError
from otel_turns.sources.feed import SpanFeed
from tests.sources.fakes import FakeIntake

RESOURCE = Resource({})
TIMEOUT = 30.0
"""For waits that end at once unless something is broken."""


def context(span_id: int, trace_id: int = 1) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def span(span_id: int, trace_id: int = 1, **fields: Any) -> ReadableSpan:
    return ReadableSpan(f"s{span_id}", context(span_id, trace_id), resource=RESOURCE, **fields)


def trace(trace_id: int) -> bytes:
    return trace_id.to_bytes(16, "big")


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def feed(intake: FakeIntake) -> Any:
    feed = SpanFeed(lambda: intake, gather_s=0.0)
    yield feed
    feed.close(TIMEOUT)


def test_hands_over_what_ended_in_order(feed: SpanFeed, intake: FakeIntake) -> None:
    for n in range(1, 3_001):
        feed.ended(span(n))
    assert feed.flush(TIMEOUT)
    assert intake.names == [f"s{n}" for n in range(1, 3_001)]
    assert intake.flushes == 1


def test_a_span_that_fits_in_one_round_is_not_held(intake: FakeIntake) -> None:
    feed = SpanFeed(lambda: intake, gather_s=TIMEOUT)
    feed.started(context(1))
    feed.started(context(2))
    feed.ended(span(2))
    feed.ended(span(1))
    feed.close(TIMEOUT)
    assert intake.calls == [("accept", ["s2", "s1"])]


def test_open_spans_hold_their_trace_until_they_end(feed: SpanFeed, intake: FakeIntake) -> None:
    feed.started(context(1, 7))
    feed.started(context(2, 7))
    feed.ended(span(2, 7))
    feed.flush(TIMEOUT)
    assert intake.calls == [("hold", trace(7)), ("accept", ["s2"])]
    feed.ended(span(1, 7))
    feed.flush(TIMEOUT)
    assert intake.calls[2:] == [("accept", ["s1"]), ("release", trace(7))]


def test_a_span_whose_start_was_not_seen_releases_nothing(feed: SpanFeed, intake: FakeIntake) -> None:
    feed.started(context(1))
    feed.ended(span(9))
    feed.flush(TIMEOUT)
    assert intake.calls == [("hold", trace(1)), ("accept", ["s9"])]


def test_settles_without_being_asked(feed: SpanFeed, intake: FakeIntake) -> None:
    feed.ended(span(1))
    assert intake.ticked.wait(TIMEOUT)
    assert intake.names == ["s1"]


def test_ticks_again_when_the_pipeline_is_due(feed: SpanFeed, intake: FakeIntake) -> None:
    intake.due = 0.0
    ticks = threading.Semaphore(0)
    intake.on_tick = ticks.release
    feed.ended(span(1))
    for _ in range(3):
        assert ticks.acquire(timeout=TIMEOUT)
    intake.due = None


def test_many_ends_wake_the_thread_once(intake: FakeIntake) -> None:
    feed = SpanFeed(lambda: intake, gather_s=TIMEOUT)
    for n in range(1, 200):
        feed.ended(span(n))
    assert feed.flush(TIMEOUT)  # a flush does not wait for others to come
    assert intake.calls == [("accept", [f"s{n}" for n in range(1, 200)])]
    feed.close(TIMEOUT)


class Door:
    """Makes the worker stand still inside a call, until `open`."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        self.open.wait(TIMEOUT)


@pytest.fixture
def door() -> Any:
    door = Door()
    yield door
    door.open.set()


def test_a_full_queue_drops_and_counts_and_does_not_wait(intake: FakeIntake, door: Door) -> None:
    intake.on_accept = door
    feed = SpanFeed(lambda: intake, max_queue=3, gather_s=0.0)
    feed.ended(span(1))
    assert door.reached.wait(TIMEOUT)
    for n in range(2, 8):
        feed.ended(span(n))
    assert feed.counts().queue_full == 3
    door.open.set()
    assert feed.flush(TIMEOUT)
    assert intake.names == ["s1", "s2", "s3", "s4"]
    assert feed.counts().accepted == 4
    feed.close(TIMEOUT)


def test_a_dropped_span_still_releases_its_trace(intake: FakeIntake, door: Door) -> None:
    feed = SpanFeed(lambda: intake, max_queue=2, gather_s=0.0)
    feed.started(context(5, 5))
    feed.flush(TIMEOUT)
    intake.on_accept = door
    feed.ended(span(1))
    assert door.reached.wait(TIMEOUT)
    for n in (2, 3):
        feed.ended(span(n))
    feed.ended(span(5, 5))
    door.open.set()
    assert feed.flush(TIMEOUT)
    assert ("release", trace(5)) in intake.calls
    assert "s5" not in intake.names
    feed.close(TIMEOUT)


def test_marks_of_dropped_spans_are_bounded_too(intake: FakeIntake, door: Door) -> None:
    intake.on_accept = door
    feed = SpanFeed(lambda: intake, max_queue=3, gather_s=0.0)
    feed.ended(span(1))
    assert door.reached.wait(TIMEOUT)
    for n in range(2, 100):
        feed.ended(span(n))
        feed.started(context(n + 1_000))
    assert feed.counts().waiting == 6
    door.open.set()
    feed.close(TIMEOUT)


def test_what_the_pipeline_refuses_waits_until_it_has_room(feed: SpanFeed, intake: FakeIntake) -> None:
    intake.refusing = True
    asked = threading.Semaphore(0)
    intake.on_tick = asked.release
    feed.ended(span(1))
    assert asked.acquire(timeout=TIMEOUT)
    assert intake.items == []
    intake.refusing = False
    taken = threading.Event()
    intake.on_accept = taken.set
    assert taken.wait(TIMEOUT)


def test_what_the_pipeline_refuses_too_long_is_handed_over_all_the_same(
    feed: SpanFeed, intake: FakeIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("otel_turns.sources.feed._RETRY_S", 0.001)
    intake.refusing = True
    taken = threading.Event()
    intake.on_accept = taken.set
    feed.ended(span(1))
    assert taken.wait(TIMEOUT)


def test_a_flush_hands_over_what_was_refused(feed: SpanFeed, intake: FakeIntake) -> None:
    intake.refusing = True
    feed.ended(span(1))
    assert feed.flush(TIMEOUT)
    assert intake.names == ["s1"]


def test_a_flush_keeps_its_deadline(feed: SpanFeed, intake: FakeIntake, door: Door) -> None:
    intake.on_flush = door
    feed.ended(span(1))
    begun = time.monotonic()
    assert feed.flush(0.05) is False
    assert time.monotonic() - begun < TIMEOUT / 2


def test_a_flush_that_comes_too_late_to_the_worker_is_not_kept(
    feed: SpanFeed, intake: FakeIntake, door: Door
) -> None:
    intake.on_accept = door
    feed.ended(span(1))
    assert door.reached.wait(TIMEOUT)
    assert feed.flush(0.0) is False
    door.open.set()
    assert feed.flush(TIMEOUT) is True
    assert intake.flushes == 1


def test_a_flush_from_the_worker_itself_does_not_wait_for_itself(feed: SpanFeed, intake: FakeIntake) -> None:
    answers: list[bool] = []
    intake.on_tick = lambda: answers.append(feed.flush(TIMEOUT))
    feed.ended(span(1))
    assert intake.ticked.wait(TIMEOUT)
    assert answers[0] is False


def test_closing_flushes_and_closes_once(intake: FakeIntake) -> None:
    feed = SpanFeed(lambda: intake, gather_s=0.0)
    feed.ended(span(1))
    assert feed.close(TIMEOUT) is True
    assert feed.close(TIMEOUT) is True
    assert feed.flush(TIMEOUT) is True
    assert (intake.names, intake.closes) == (["s1"], 1)
    feed.started(context(2))
    feed.ended(span(2))
    assert intake.names == ["s1"]
    assert {name: n for name, n in asdict(feed.counts()).items() if n} == {"accepted": 1, "closed": 1}


def test_closing_keeps_its_deadline_and_closes_later(intake: FakeIntake, door: Door) -> None:
    feed = SpanFeed(lambda: intake, gather_s=0.0)
    intake.on_accept = door
    feed.ended(span(1))
    assert door.reached.wait(TIMEOUT)
    assert feed.close(0.01) is False
    closed = threading.Event()
    intake.on_flush = closed.set
    door.open.set()
    assert closed.wait(TIMEOUT)
    assert intake.closes == 1


def test_no_thread_is_started_for_a_feed_that_nothing_came_through(intake: FakeIntake) -> None:
    before = threading.active_count()
    feed = SpanFeed(lambda: intake)
    feed.started(context(1))
    assert threading.active_count() == before
    unused = SpanFeed(lambda: intake)
    assert unused.flush(TIMEOUT)
    assert unused.close(TIMEOUT)
    assert threading.active_count() == before
    assert (intake.flushes, intake.closes) == (1, 1)
    feed.close(TIMEOUT)


def test_without_threads_a_flush_does_the_work_itself(
    feed: SpanFeed, intake: FakeIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    feed.ended(span(1))
    assert intake.items == []
    assert feed.flush(TIMEOUT)
    assert intake.names == ["s1"]


def test_a_pipeline_that_does_not_open_is_an_error_at_once() -> None:
    def refuse() -> FakeIntake:
        raise SinkError("/nowhere: no such directory")

    with pytest.raises(SinkError, match="/nowhere"):
        SpanFeed(refuse)


@pytest.mark.parametrize("where", ["on_accept", "on_tick", "on_flush"])
@pytest.mark.parametrize("error", [ValueError("private"), SystemExit("private")], ids=["error", "exit"])
def test_a_pipeline_that_raises_is_told_of_once_and_the_worker_lives(
    feed: SpanFeed, intake: FakeIntake, where: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise error

    setattr(intake, where, fail)
    with caplog.at_level(logging.WARNING, "otel_turns"):
        for n in (1, 2, 3):
            feed.ended(span(n))
            feed.flush(TIMEOUT)
    setattr(intake, where, lambda: None)
    feed.ended(span(4))
    assert feed.flush(TIMEOUT)
    assert intake.names[-1] == "s4"
    assert len(caplog.records) == 1
    assert type(error).__name__ in caplog.text
    assert "private" not in caplog.text
    assert feed.counts().failed == (3 if where == "on_accept" else 0)


def test_spans_that_cannot_be_read_are_counted(
    feed: SpanFeed, intake: FakeIntake, caplog: pytest.LogCaptureFixture
) -> None:
    feed.ended(ReadableSpan("without ids", resource=RESOURCE))
    feed.ended(span(1, events=[None]))
    feed.ended(span(2))
    feed.failed()
    feed.unsampled()
    assert feed.flush(TIMEOUT)
    assert intake.names == ["s2"]
    counts = feed.counts()
    assert (counts.accepted, counts.unreadable, counts.unsampled) == (1, 3, 1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_worker_runs_under_instrumentation_suppression(feed: SpanFeed, intake: FakeIntake) -> None:
    try:
        asked: Any = import_module("opentelemetry.instrumentation.utils")
    except ModuleNotFoundError:
        pytest.skip("not installed: opentelemetry-instrumentation")
    seen: list[bool] = []
    intake.on_flush = lambda: seen.extend(
        [asked.is_instrumentation_enabled(), asked.is_http_instrumentation_enabled()]
    )
    feed.ended(span(1))
    feed.flush(TIMEOUT)
    assert seen == [False, False]
    assert asked.is_instrumentation_enabled()
    assert otel_context.get_current() == otel_context.Context()


def test_ends_from_many_threads_are_all_there(feed: SpanFeed, intake: FakeIntake) -> None:
    start = threading.Barrier(4)

    def agent(first: int) -> None:
        start.wait()
        for n in range(first, first + 500):
            feed.started(context(n))
            feed.ended(span(n))

    threads = [threading.Thread(target=agent, args=(1 + 1_000 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert feed.flush(TIMEOUT)
    assert sorted(intake.names) == sorted(f"s{n + 1_000 * k}" for k in range(4) for n in range(1, 501))
    assert feed.counts().accepted == 2_000


def test_an_end_inside_an_end_does_not_hang(feed: SpanFeed, intake: FakeIntake) -> None:
    """A finalizer may run at any place of the agent's thread, also inside the queue."""
    original: Callable[[Any], None] = feed._queue.put  # pyright: ignore[reportPrivateUsage] (the place to cut in)
    cut_in = iter([True])

    class Reentrant:
        def put(self, entry: Any) -> None:
            original(entry)
            if next(cut_in, False):
                feed.ended(span(2))

        def __getattr__(self, name: str) -> Any:
            return getattr(feed_queue, name)

    feed_queue = feed._queue  # pyright: ignore[reportPrivateUsage] (the place to cut in)
    feed._queue = Reentrant()  # type: ignore[assignment] # the place to cut in
    feed.ended(span(1))
    assert feed.flush(TIMEOUT)
    assert sorted(intake.names) == ["s1", "s2"]


# In a forked child, as the hook of the module leaves it.


def test_a_forked_child_begins_empty_with_a_pipeline_of_its_own() -> None:
    opened: list[FakeIntake] = []

    def open_one() -> FakeIntake:
        opened.append(FakeIntake())
        return opened[-1]

    feed = SpanFeed(open_one, gather_s=0.0)
    feed.started(context(1))
    feed.unsampled()
    feed.forked()
    assert not any(asdict(feed.counts()).values())
    feed.ended(span(2))
    assert feed.flush(TIMEOUT)
    assert [intake.names for intake in opened] == [[], ["s2"]]
    feed.close(TIMEOUT)
    assert [intake.closes for intake in opened] == [0, 1]


def test_a_forked_child_that_ends_no_span_opens_nothing() -> None:
    opened: list[FakeIntake] = []

    def open_one() -> FakeIntake:
        opened.append(FakeIntake())
        return opened[-1]

    feed = SpanFeed(open_one)
    feed.forked()
    assert feed.flush(TIMEOUT)
    assert feed.close(TIMEOUT)
    assert len(opened) == 1
    assert opened[0].closes == 0


def test_a_pipeline_that_does_not_open_in_a_forked_child_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    opened: list[FakeIntake] = []

    def open_once() -> FakeIntake:
        if opened:
            raise SinkError("private")
        opened.append(FakeIntake())
        return opened[-1]

    feed = SpanFeed(open_once, gather_s=0.0)
    feed.forked()
    for n in (1, 2):
        feed.ended(span(n))
        feed.flush(TIMEOUT)
    assert feed.counts().failed == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no Turns from this forked process" in caplog.text
    assert "private" not in caplog.text
    feed.close(TIMEOUT)
