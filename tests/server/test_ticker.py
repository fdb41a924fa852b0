"""The ticker settles what is due, sleeps when nothing is held, and outlives a bad tick."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from otel_turns.server.ticker import Ticker
from tests.sources.fakes import FakeIntake

TIMEOUT = 30.0


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def ticker(intake: FakeIntake) -> Iterator[Ticker]:
    ticker = Ticker(intake)
    ticker.start()
    yield ticker
    ticker.stop()


def test_sleeps_until_something_is_accepted(ticker: Ticker, intake: FakeIntake) -> None:
    assert not intake.ticked.wait(0.05)
    ticker.wake()
    assert intake.ticked.wait(TIMEOUT)


def test_ticks_on_while_something_is_due(ticker: Ticker, intake: FakeIntake) -> None:
    intake.due = 0.0
    ticks = threading.Semaphore(0)
    intake.on_tick = ticks.release
    ticker.wake()
    for _ in range(3):
        assert ticks.acquire(timeout=TIMEOUT)


def test_a_bad_tick_is_logged_and_the_next_one_comes(
    ticker: Ticker, intake: FakeIntake, caplog: pytest.LogCaptureFixture
) -> None:
    ticks = threading.Semaphore(0)

    def fail() -> None:
        ticks.release()
        raise ValueError("inside")

    intake.on_tick = fail
    with caplog.at_level(logging.ERROR, "otel_turns"):
        ticker.wake()
        for _ in range(2):
            assert ticks.acquire(timeout=TIMEOUT)
        intake.on_tick = ticks.release
        assert ticks.acquire(timeout=TIMEOUT)
    assert "a tick failed" in caplog.text


def test_a_tick_that_hangs_is_left_behind(intake: FakeIntake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otel_turns.server.ticker._STOP_S", 0.01)
    reached, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        reached.set()
        go_on.wait(TIMEOUT)

    intake.on_tick = hang
    ticker = Ticker(intake)
    ticker.start()
    ticker.wake()
    assert reached.wait(TIMEOUT)
    ticker.stop()
    go_on.set()
