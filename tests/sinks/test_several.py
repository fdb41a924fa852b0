"""Several sinks as one: each gets everything, and none waits for another."""

from __future__ import annotations

import threading

from otel_turns.sinks.base import DeliveryError, OpenedSink
from otel_turns.sinks.direct import DirectSink
from otel_turns.sinks.memory import MemorySink
from otel_turns.sinks.queued import QueuedSink
from otel_turns.sinks.several import SeveralSinks
from tests.sinks.records import Obedient, record

LONG = 30.0
"""Seconds that a test would wait before it fails; none does."""


def test_every_record_reaches_every_sink() -> None:
    first, second = MemorySink(), Obedient()
    sink = SeveralSinks([first, QueuedSink(second)])
    sink.write(record(1))
    sink.write(record(2))
    assert sink.flush(LONG)
    assert [r["otel"]["turnId"] for r in first.records] == ["turn-1", "turn-2"]
    assert second.delivered == ["turn-1/0", "turn-2/0"]
    assert sink.name == "memory, obedient"
    assert isinstance(sink, OpenedSink)
    sink.close()
    assert "close" in second.calls


def test_a_sink_that_hangs_delays_no_other_and_makes_the_whole_full() -> None:
    opened = threading.Event()
    stuck = QueuedSink(Obedient(lambda: opened.wait(LONG)), queue_bytes=1)
    good = Obedient()
    sink = SeveralSinks([stuck, QueuedSink(good)])
    sink.write(record(1))
    assert not sink.flush(0.05)
    assert good.delivered == ["turn-1/0"]
    assert sink.full
    assert not sink.wait_for_room(0.0)
    opened.set()
    assert sink.wait_for_room(LONG)
    assert sink.flush(LONG)
    sink.close()


def test_it_is_gone_only_when_all_are_gone() -> None:
    dead = DirectSink(Obedient(DeliveryError("gone", gone=True)))
    alive = DirectSink(Obedient(None, DeliveryError("gone", gone=True)))
    sink = SeveralSinks([dead, alive])
    sink.write(record(1))
    assert not sink.gone
    sink.write(record(2))
    assert sink.gone
    counters = sink.counters
    assert (counters.accepted, counters.written, dict(counters.dropped)) == (4, 1, {"gone": 3})
    assert sink.last_error == "obedient: gone; obedient: gone"


def test_the_time_for_closing_runs_for_all_of_them_at_once() -> None:
    """The first can deliver only after the second has, and that one does when it begins to close."""
    second_delivered = threading.Event()
    first, second = Obedient(lambda: second_delivered.wait(LONG)), Obedient(second_delivered.set)
    second.batch_records, second.linger_s = 100, 1e6
    sink = SeveralSinks([QueuedSink(first, close_timeout_s=LONG), QueuedSink(second, close_timeout_s=LONG)])
    sink.write(record(1))
    sink.close()
    assert second_delivered.is_set()
    assert (sink.counters.written, dict(sink.counters.dropped)) == (2, {})
