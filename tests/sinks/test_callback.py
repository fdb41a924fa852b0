"""Records handed to somebody's function, whose mistakes stay there."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.errors import SinkError
from otel_turns.sinks.base import Record
from otel_turns.sinks.callback import CallbackWriter, SinkWriter
from otel_turns.sinks.direct import DirectSink
from otel_turns.sinks.queued import QueuedSink
from tests.sinks.records import record

LONG = 30.0


def test_the_function_is_called_with_each_record() -> None:
    seen: list[Record] = []
    sink = QueuedSink(CallbackWriter(seen.append))
    sink.write(record(1))
    sink.write(record(2, text="é"))
    assert sink.flush(LONG)
    assert seen == [record(1), record(2, text="é")]
    assert sink.name.startswith("callback ")
    sink.close()


def test_what_the_function_does_to_its_copy_changes_nothing() -> None:
    given_record = record(1)
    DirectSink(CallbackWriter(lambda r: r.clear())).write(given_record)
    assert given_record == record(1)


def test_integers_beyond_64_bits_arrive_as_they_were() -> None:
    seen: list[Record] = []
    DirectSink(CallbackWriter(seen.append, bare=True)).write({**record(1), "data": 2**80})
    assert seen[0]["data"] == 2**80
    assert "otel" not in seen[0]


@pytest.mark.parametrize("error", [ValueError("private"), SystemExit(3)])
def test_an_exception_costs_its_own_record_only_and_is_not_provoked_again(error: BaseException) -> None:
    calls: list[str] = []

    def function(one: Record) -> None:
        calls.append(one["otel"]["turnId"])
        if one["otel"]["turnId"] == "turn-2":
            raise error

    writer = CallbackWriter(function)
    writer.linger_s = 1e6  # so that all three are one batch
    sink = QueuedSink(writer)
    for number in (1, 2, 3):
        sink.write(record(number))
    assert sink.flush(LONG)
    assert calls == ["turn-1", "turn-2", "turn-3"]
    assert (sink.counters.written, dict(sink.counters.dropped), sink.counters.failed) == (
        2,
        {"callback": 1},
        1,
    )
    assert type(error).__name__ in str(sink.last_error)
    assert "private" not in str(sink.last_error)
    sink.close()


def test_a_coroutine_function_is_refused_at_once() -> None:
    async def function(_: Record) -> None: ...

    class Callable:
        async def __call__(self, _: Record) -> None: ...

    for one in (function, Callable()):
        with pytest.raises(SinkError, match="coroutine"):
            CallbackWriter(one)


class Own:
    """A sink with the three methods and nothing else."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.flushes = True

    def write(self, record: Record) -> None:
        self.seen.append(record["otel"]["turnId"])

    def flush(self, timeout_s: float = 5.0) -> bool:
        self.seen.append("flush")
        return self.flushes

    def close(self) -> None:
        self.seen.append("close")
        raise RuntimeError("cannot close")


def test_a_sink_of_ones_own_is_written_flushed_and_closed_behind_the_queue() -> None:
    own = Own()
    sink = QueuedSink(SinkWriter(own))
    sink.write(record(1))
    assert sink.flush(LONG)
    sink.close()
    assert own.seen == ["turn-1", "flush", "close"]
    assert sink.name == "sink Own"


def test_a_sink_of_ones_own_that_does_not_flush_is_noted() -> None:
    own = Own()
    own.flushes = False
    sink = DirectSink(SinkWriter(own))
    assert not sink.flush()
    assert "did not flush" in str(sink.last_error)
