"""A tally counts every call exactly, from any thread, and reading it does not count."""

from __future__ import annotations

import threading

from otel_turns.sources.tally import Tally


def test_counts_calls_and_not_reads() -> None:
    tally = Tally()
    assert tally.value == 0
    for _ in range(3):
        tally.add()
    assert [tally.value, tally.value, tally.value] == [3, 3, 3]
    tally.add()
    assert tally.value == 4


def test_loses_nothing_between_threads() -> None:
    tally = Tally()
    start = threading.Barrier(4)

    def count() -> None:
        start.wait()
        for _ in range(2_000):
            tally.add()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tally.value == 8_000
