"""A sink without a queue: at once, once, and never an exception."""

from __future__ import annotations

import logging

import pytest

from otel_turns.sinks.base import DeliveryError, OpenedSink
from otel_turns.sinks.direct import DirectSink
from tests.sinks.records import Obedient, record


def test_a_record_is_delivered_when_write_returns() -> None:
    writer = Obedient()
    sink = DirectSink(writer)
    sink.write(record(1))
    assert writer.delivered == ["turn-1/0"]
    assert (sink.counters.accepted, sink.counters.written) == (1, 1)
    assert not sink.full
    assert sink.wait_for_room(0.0)
    assert isinstance(sink, OpenedSink)


def test_failures_are_dropped_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    full = DeliveryError("write", detail="No space left on device", retry=True)
    sink = DirectSink(Obedient(full, full, ZeroDivisionError("private")))
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            sink.write(record(number, text="private"))
        sink.write({"data": {"private"}})
        sink.write(record(4))
    assert dict(sink.counters.dropped) == {"write": 2, "error": 1, "unencodable": 1}
    assert (sink.counters.accepted, sink.counters.written, sink.counters.failed) == (5, 1, 4)
    assert [r.getMessage() for r in caplog.records] == [
        "obedient: write: No space left on device",
        "obedient: ZeroDivisionError",
        "obedient: a Turn cannot be written as JSON: a value of type set",
    ]


def test_a_destination_that_is_gone_gets_nothing_more() -> None:
    writer = Obedient(DeliveryError("gone", gone=True))
    sink = DirectSink(writer)
    sink.write(record(1))
    sink.write(record(2))
    assert sink.gone
    assert len(writer.attempts) == 1
    assert dict(sink.counters.dropped) == {"gone": 2}


def test_flush_syncs_and_tells_whether_it_could() -> None:
    class Failing(Obedient):
        def sync(self) -> None:
            raise DeliveryError("write", detail="disk full", retry=True)

    writer, failing = Obedient(), Failing()
    assert DirectSink(writer).flush()
    assert writer.calls == ["sync"]
    sink = DirectSink(failing)
    assert not sink.flush()
    assert sink.last_error == "write: disk full"


def test_closing_syncs_lets_go_and_takes_no_more() -> None:
    writer = Obedient()
    sink = DirectSink(writer)
    sink.close()
    sink.close()
    assert writer.calls == ["sync", "close"]
    assert sink.flush()
    sink.write(record(1))
    assert dict(sink.counters.dropped) == {"closed": 1}
