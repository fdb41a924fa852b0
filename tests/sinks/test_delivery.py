"""One batch, until it is delivered or given up."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from otel_turns.sinks.base import DeliveryError, Entry
from otel_turns.sinks.delivery import Ending, deliver
from tests.sinks.records import Obedient


class Told:
    """What the caller of `deliver` is told, and for how many attempts it has time."""

    def __init__(self, writer: Obedient, number: int, *, patience: int = 100) -> None:
        self.settled: list[tuple[str, str | None]] = []
        self.failures: list[str] = []
        self.pauses: list[tuple[int, float | None]] = []
        self.patience = patience
        batch = [Entry(str(n), 0, b"{}") for n in range(number)]
        self.ending, left = deliver(writer, batch, settle=self.settle, note=self.note, pause=self.pause)
        self.left = [entry.turn_id for entry in left]

    def settle(self, entries: list[Entry], reason: str | None) -> None:
        self.settled += [(entry.turn_id, reason) for entry in entries]

    def note(self, error: DeliveryError) -> None:
        self.failures.append(str(error))

    def pause(self, failures: int, asked_s: float | None) -> bool:
        self.pauses.append((failures, asked_s))
        return len(self.pauses) <= self.patience


def test_a_batch_that_goes_through_is_settled_at_once() -> None:
    told = Told(Obedient(), 3)
    assert told.settled == [("0", None), ("1", None), ("2", None)]
    assert (told.ending, told.left, told.failures) == (Ending.DONE, [], [])


def test_it_is_tried_again_for_as_long_as_that_may_help() -> None:
    busy = DeliveryError("status 503", retry=True)
    told = Told(Obedient(busy, DeliveryError("status 429", retry=True, after_s=9), busy), 1)
    assert told.pauses == [(1, None), (2, 9), (3, None)]
    assert told.settled == [("0", None)]
    assert told.failures == ["status 503", "status 429", "status 503"]


def test_what_went_through_before_a_failure_is_not_sent_again() -> None:
    writer = Obedient(DeliveryError("write", retry=True, done=2))
    told = Told(writer, 3)
    assert writer.attempts == [["0/0", "1/0", "2/0"], ["2/0"]]
    assert told.settled == [("0", None), ("1", None), ("2", None)]


def test_a_refused_batch_is_given_up_with_the_reason() -> None:
    told = Told(Obedient(DeliveryError("status 401")), 2)
    assert told.settled == [("0", "status 401"), ("1", "status 401")]
    assert told.pauses == []


def test_one_bad_record_is_found_by_halving_and_given_up_alone() -> None:
    class Picky(Obedient):
        def deliver(self, entries: Sequence[Entry]) -> None:
            if any(entry.turn_id == "5" for entry in entries):
                raise DeliveryError("status 400", split=True)

    told = Told(Picky(), 8)
    assert told.settled == [(str(n), "status 400" if n == 5 else None) for n in range(8)]


def test_a_writer_may_give_up_one_entry_and_keep_the_rest() -> None:
    writer = Obedient(DeliveryError("callback", done=1, refused=1))
    told = Told(writer, 4)
    assert writer.attempts == [["0/0", "1/0", "2/0", "3/0"], ["2/0", "3/0"]]
    assert told.settled == [("0", None), ("1", "callback"), ("2", None), ("3", None)]


def test_when_time_is_up_the_rest_comes_back_in_order() -> None:
    busy = DeliveryError("status 503", retry=True, done=1)
    told = Told(Obedient(DeliveryError("status 400", split=True), None, busy), 6, patience=0)
    assert told.settled == [("0", None), ("1", None), ("2", None), ("3", None)]
    assert (told.ending, told.left) == (Ending.LATE, ["4", "5"])


def test_when_the_destination_is_gone_the_rest_comes_back() -> None:
    told = Told(Obedient(DeliveryError("gone", gone=True, done=1)), 3)
    assert told.settled == [("0", None)]
    assert (told.ending, told.left) == (Ending.GONE, ["1", "2"])


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_a_writer_raises_is_its_own_batch_lost_and_no_more(error: BaseException) -> None:
    told = Told(Obedient(error), 2)
    assert told.settled == [("0", "error"), ("1", "error")]
    assert told.failures == [f"error: {type(error).__name__}"]
