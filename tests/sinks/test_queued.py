"""The queue: it never blocks its caller, loses nothing it need not lose, and counts what it does."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from otel_turns.sinks.base import DeliveryError, Entry, OpenedSink
from otel_turns.sinks.encoding import encode_record
from otel_turns.sinks.queued import QueuedSink
from otel_turns.sinks.retry import Backoff
from tests.sinks.records import Obedient, record

LONG = 30.0
"""Seconds that a test would wait before it fails; none does."""

COST = encode_record(record(1)).size


class Gate:
    """Holds a writer inside `deliver` until the test opens it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self.opened.wait(LONG)


def busy(after_s: float | None = None) -> DeliveryError:
    return DeliveryError("status 503", retry=True, after_s=after_s)


def balance(sink: OpenedSink) -> None:
    c = sink.counters
    assert c.accepted == c.written + c.queued + sum(c.dropped.values())


def test_records_are_delivered_in_order_by_a_thread_of_its_own() -> None:
    threads: set[int] = set()
    writer = Obedient(*[lambda: threads.add(threading.get_ident())] * 3)
    sink = QueuedSink(writer)
    for number in (1, 2, 3):
        sink.write(record(number))
    assert sink.flush(LONG)
    assert writer.delivered == ["turn-1/0", "turn-2/0", "turn-3/0"]
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    assert (sink.counters.accepted, sink.counters.written) == (3, 3)
    sink.close()


def test_write_returns_while_the_writer_hangs_and_one_sink_does_not_delay_another() -> None:
    gate = Gate()
    stuck, free = QueuedSink(Obedient(gate)), QueuedSink(Obedient())
    for sink in (stuck, free):
        sink.write(record(1))
    assert gate.entered.wait(LONG)
    for sink in (stuck, free):
        sink.write(record(2))
    assert free.flush(LONG)
    assert not stuck.flush(0.0)
    assert stuck.counters.queued == 2
    gate.opened.set()
    assert stuck.flush(LONG)
    stuck.close()
    free.close()


def test_what_waits_goes_out_in_batches_within_their_bounds() -> None:
    gate = Gate()
    writer = Obedient(gate)
    writer.batch_records, writer.batch_bytes = 3, 10_000
    sink = QueuedSink(writer)
    sink.write(record(0))
    assert gate.entered.wait(LONG)
    for number in range(1, 5):
        sink.write(record(number))
    sink.write(record(5, text="x" * 20_000))
    sink.write(record(6))
    gate.opened.set()
    assert sink.flush(LONG)
    assert [len(batch) for batch in writer.batches] == [1, 3, 1, 1, 1]
    sink.close()


def test_a_batch_may_wait_to_fill_and_goes_out_when_it_is_full() -> None:
    delivered = threading.Event()
    writer = Obedient(delivered.set)
    writer.batch_records, writer.linger_s = 3, 1e6
    sink = QueuedSink(writer)
    sink.write(record(1))
    sink.write(record(2))
    assert writer.attempts == []
    sink.write(record(3))
    assert delivered.wait(LONG)
    assert writer.delivered == ["turn-1/0", "turn-2/0", "turn-3/0"]
    sink.close()


def test_a_flush_does_not_wait_for_a_batch_to_fill() -> None:
    writer = Obedient()
    writer.batch_records, writer.linger_s = 100, 1e6
    sink = QueuedSink(writer)
    sink.write(record(1))
    assert sink.flush(LONG)
    assert writer.delivered == ["turn-1/0"]
    assert writer.calls == ["sync"]
    sink.close()


def test_a_flush_with_nothing_to_do_is_done() -> None:
    sink = QueuedSink(Obedient())
    assert sink.flush(0.0)
    sink.close()
    assert sink.flush(0.0)


def test_failed_deliveries_are_repeated_after_growing_waits_that_honour_what_was_asked() -> None:
    waits: list[float] = []
    writer = Obedient(busy(), busy(after_s=20), busy(), None)
    sink = QueuedSink(writer, backoff=Backoff(first_s=1, jitter=lambda: 0.0), sleep=waits.append)
    sink.write(record(1))
    sink.write(record(2))
    assert sink.flush(LONG)
    assert waits == [0.5, 20, 2]
    assert writer.delivered == ["turn-1/0", "turn-2/0"]
    assert (sink.counters.failed, sink.counters.written, dict(sink.counters.dropped)) == (3, 2, {})
    assert sink.last_error == "status 503"
    sink.close()


def test_a_record_that_is_refused_for_good_is_dropped_with_the_reason_and_the_next_is_delivered() -> None:
    writer = Obedient(DeliveryError("status 422"))
    sink = QueuedSink(writer)
    sink.write(record(1))
    sink.write(record(2))
    assert sink.flush(LONG)
    assert dict(sink.counters.dropped) == {"status 422": 1}
    assert writer.delivered == ["turn-2/0"]
    balance(sink)
    sink.close()


def test_a_full_queue_says_so_before_it_drops_and_drops_only_what_does_not_fit() -> None:
    gate = Gate()
    sink = QueuedSink(Obedient(gate), queue_bytes=4 * COST)
    sink.write(record(1))
    assert gate.entered.wait(LONG)
    sink.write(record(2))
    assert not sink.full
    sink.write(record(3))
    assert sink.full
    assert not sink.wait_for_room(0.0)
    sink.write(record(4))
    assert dict(sink.counters.dropped) == {}
    sink.write(record(5))
    assert dict(sink.counters.dropped) == {"full": 1}
    assert sink.counters.queued_bytes == 4 * COST
    balance(sink)
    gate.opened.set()
    assert sink.wait_for_room(LONG)
    assert sink.flush(LONG)
    assert not sink.full
    assert sink.counters.written == 4
    sink.close()


def test_a_record_larger_than_the_queue_is_taken_when_nothing_else_waits() -> None:
    sink = QueuedSink(Obedient(), queue_bytes=100)
    sink.write(record(1))
    assert sink.flush(LONG)
    assert sink.counters.written == 1
    sink.close()


def test_what_cannot_be_json_is_dropped_and_counted_and_nothing_is_raised() -> None:
    sink = QueuedSink(Obedient())
    sink.write({"data": {1, 2}})
    not_a_record: Any = 5
    sink.write(not_a_record)
    assert dict(sink.counters.dropped) == {"unencodable": 2}
    balance(sink)
    sink.close()


def test_closing_delivers_what_waits_then_lets_go_and_takes_no_more() -> None:
    writer = Obedient()
    writer.batch_records, writer.linger_s = 100, 1e6
    sink = QueuedSink(writer)
    sink.write(record(1))
    sink.close()
    sink.close()
    assert writer.delivered == ["turn-1/0"]
    assert writer.calls[-1] == "close"
    assert writer.calls.count("close") == 1
    sink.write(record(2))
    assert dict(sink.counters.dropped) == {"closed": 1}
    balance(sink)


def test_closing_ends_a_wait_for_another_attempt_and_tries_once_more() -> None:
    failed = threading.Event()

    def fail() -> None:
        failed.set()
        raise busy(after_s=500)

    writer = Obedient(fail)
    sink = QueuedSink(writer, close_timeout_s=LONG)
    sink.write(record(1))
    assert failed.wait(LONG)
    sink.close()
    assert writer.delivered == ["turn-1/0"]


def test_a_dead_destination_does_not_hold_up_closing_and_the_loss_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer = Obedient(*[busy(after_s=500)] * 10)
    sink = QueuedSink(writer, close_timeout_s=1)
    sink.write(record(1))
    sink.write(record(2))
    with caplog.at_level(logging.WARNING):
        sink.close()
    assert dict(sink.counters.dropped) == {"closed": 2}
    assert sink.counters.queued == 0
    assert "closed with 2 Turns not delivered" in caplog.text
    balance(sink)


def test_closing_while_the_writer_hangs_closes_the_writer_too() -> None:
    writer = Obedient()
    entered = threading.Event()

    def hang() -> None:
        entered.set()
        assert writer.closed.wait(LONG)
        raise busy()

    writer.plan.append(hang)
    sink = QueuedSink(writer, close_timeout_s=0.01)
    sink.write(record(1))
    assert entered.wait(LONG)
    sink.close()
    assert dict(sink.counters.dropped) == {"closed": 1}
    balance(sink)


def test_a_destination_that_is_gone_gets_nothing_more() -> None:
    gate = Gate()
    writer = Obedient(gate, DeliveryError("gone", gone=True))
    sink = QueuedSink(writer)
    for number in (1, 2, 3):
        sink.write(record(number))
    gate.opened.set()
    assert sink.flush(LONG)
    assert sink.gone
    sink.write(record(4))
    assert dict(sink.counters.dropped) == {"gone": 3}
    assert not sink.full
    balance(sink)
    sink.close()


def test_one_failing_sink_speaks_when_it_begins_once_a_minute_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0

    def wait(seconds: float) -> None:
        nonlocal now
        now += 25

    sink = QueuedSink(Obedient(*[busy()] * 4), clock=lambda: now, sleep=wait)
    with caplog.at_level(logging.WARNING):
        sink.write(record(1, text="private"))
        assert sink.flush(LONG)
    said = [entry.getMessage() for entry in caplog.records]
    assert said == [
        "obedient: status 503; tries again (1 Turns wait)",  # at 0 s, and the next at 75 s
        "obedient: status 503; tries again (1 Turns wait)",
        "obedient: delivers again",
    ]
    assert "private" not in caplog.text
    sink.close()


def test_instrumentation_is_suppressed_while_the_writer_works() -> None:
    from opentelemetry.context import get_value

    seen: list[object] = []
    sink = QueuedSink(Obedient(lambda: seen.append(get_value("suppress_instrumentation"))))
    sink.write(record(1))
    assert sink.flush(LONG)
    assert seen == [True]
    sink.close()


def test_time_alone_can_be_work_for_the_writer() -> None:
    ticked = threading.Event()

    class Ticking(Obedient):
        def due_in(self) -> float | None:
            return None if ticked.is_set() else 0.0

        def tick(self) -> None:
            ticked.set()
            raise DeliveryError("write", detail="disk full", retry=True)

    sink = QueuedSink(Ticking())
    sink.write(record(1))
    assert ticked.wait(LONG)
    assert sink.flush(LONG)
    assert sink.last_error == "write: disk full"
    sink.close()


def test_a_sync_that_fails_in_any_way_is_noted_and_the_thread_lives_on() -> None:
    class Failing(Obedient):
        def sync(self) -> None:
            raise ZeroDivisionError("private")

    sink = QueuedSink(Failing())
    for number in (1, 2):
        sink.write(record(number))
        assert sink.flush(LONG)
    assert (sink.counters.written, sink.last_error) == (2, "error: ZeroDivisionError")
    sink.close()


def test_a_flush_gets_through_while_records_keep_coming() -> None:
    sink: QueuedSink

    class Endless(Obedient):
        def deliver(self, entries: Sequence[Entry]) -> None:
            if not self.closed.is_set():
                sink.write(record(2))  # whatever is delivered, one more waits

    writer = Endless()
    sink = QueuedSink(writer)
    sink.write(record(1))
    assert sink.flush(LONG)
    assert writer.calls == ["sync"]
    writer.closed.set()
    sink.close()


def test_without_a_thread_flush_and_close_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_threads(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", no_threads)
    writer = Obedient()
    sink = QueuedSink(writer)
    sink.write(record(1))
    assert writer.attempts == []
    assert sink.flush(LONG)
    assert writer.delivered == ["turn-1/0"]
    writer.plan.append(busy(after_s=500))
    sink.write(record(2))
    assert not sink.flush(0.01)
    assert sink.counters.queued == 1  # not lost, it waits again
    sink.close()
    assert writer.delivered == ["turn-1/0", "turn-2/0"]


def _in_child(work: Callable[[], bytes]) -> bytes:
    """What `work` returns in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if (
        child == 0
    ):  # pragma: no cover # the child's lines are counted in the child, which leaves without a word
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_child_begins_with_an_empty_queue_and_a_thread_of_its_own() -> None:
    gate = Gate()
    writer = Obedient(gate)
    sink = QueuedSink(writer)
    for number in (1, 2):
        sink.write(record(number))
    assert gate.entered.wait(LONG)

    def child() -> bytes:
        before = sink.counters
        sink.write(record(3))
        assert sink.flush(LONG)
        return f"{before.accepted} {before.queued} {writer.delivered} {writer.calls}".encode()

    assert _in_child(child) == b"0 0 ['turn-3/0'] ['after_fork', 'sync']"
    gate.opened.set()
    assert sink.flush(LONG)
    assert writer.delivered == ["turn-1/0", "turn-2/0"]
    sink.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_closed_sink_stays_closed_in_a_forked_child() -> None:
    sink = QueuedSink(Obedient())
    sink.close()

    def child() -> bytes:
        sink.write(record(1))
        sink.close()
        return repr(dict(sink.counters.dropped)).encode()

    assert _in_child(child) == b"{'closed': 1}"


@pytest.mark.parametrize("moment", ["while it runs", "while it exits"])
def test_what_was_written_is_delivered_when_the_interpreter_exits(tmp_path: Path, moment: str) -> None:
    target = tmp_path / "turns.jsonl"
    program = f"""
import atexit
from otel_turns.sinks.file import FileWriter
from otel_turns.sinks.queued import QueuedSink
sink = None
def last():
    sink.write({{"events": [], "status": "completed"}})
    sink.close()
if {moment == "while it exits"}:
    # Registered before the sinks are there, as a provider made early is: so it is called after them.
    atexit.register(last)
sink = QueuedSink(FileWriter({str(target)!r}))
if {moment == "while it runs"}:
    sink.write({{"events": [], "status": "completed"}})
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert target.read_bytes() == b'{"events":[],"status":"completed"}\n'
