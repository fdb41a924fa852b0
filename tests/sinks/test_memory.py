"""Records kept in a list."""

from __future__ import annotations

import threading

from otel_turns.sinks.base import OpenedSink
from otel_turns.sinks.memory import MemorySink
from tests.sinks.records import record


def test_it_keeps_every_record_and_shows_each_turn_in_its_highest_revision() -> None:
    sink = MemorySink()
    written = [record(1), record(2), record(1, 2), record(1, 1), record(2, 0, text="again")]
    for one in written:
        sink.write(one)
    assert sink.records == written
    assert sink.turns == [record(1, 2), record(2, 0, text="again")]
    assert (sink.counters.accepted, sink.counters.written) == (5, 5)


def test_bare_leaves_out_where_they_came_from_and_still_tells_turns_apart() -> None:
    sink = MemorySink(bare=True)
    sink.write(record(1))
    sink.write(record(1, 1, text="later"))
    assert [set(r) for r in sink.records] == [{"events", "status", "usage"}] * 2
    assert [r["events"][0]["text"] for r in sink.turns] == ["later"]


def test_records_without_an_identity_are_turns_of_their_own() -> None:
    sink = MemorySink()
    sink.write({"events": [], "status": "completed"})
    sink.write({"events": [], "status": "completed"})
    assert len(sink.turns) == 2


def test_closed_it_takes_no_more_and_shows_what_it_has() -> None:
    sink = MemorySink()
    sink.write(record(1))
    sink.close()
    sink.write(record(2))
    assert len(sink.records) == 1
    assert dict(sink.counters.dropped) == {"closed": 1}
    sink.clear()
    assert sink.records == []
    assert sink.counters.written == 1


def test_it_is_always_ready() -> None:
    sink = MemorySink()
    assert (sink.full, sink.gone, sink.last_error, sink.name) == (False, False, None, "memory")
    assert sink.wait_for_room(0.0)
    assert sink.flush()
    assert isinstance(sink, OpenedSink)


def test_threads_may_write_at_once() -> None:
    sink = MemorySink()

    def write_many(first: int) -> None:
        for number in range(first, first + 200):
            sink.write(record(number))

    threads = [threading.Thread(target=write_many, args=(start,)) for start in (0, 200, 400)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {r["otel"]["turnId"] for r in sink.turns} == {f"turn-{n}" for n in range(600)}
