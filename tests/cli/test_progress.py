"""A bar only where somebody looks and the work is long."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from otel_turns.cli.progress import progress


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def look(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Somebody looks. Called in the test itself: pytest lays its own standard error over a fixture's."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    return made


def clock(*times: float) -> Callable[[], float]:
    return iter(times).__next__


def test_no_terminal_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress("work") as told:
        assert told is None


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with progress("work", clock=clock(0.0, 0.5, 0.9)) as told:
        assert told is not None
        told(1, 10)
        told(9, 10)
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with progress("work", clock=clock(0.0, 1.5, 1.55, 2.0)) as told:
        assert told is not None
        told(5_000, 10_000)
        told(6_000, 10_000)
        told(7_000, 10_000)
    shown = terminal.getvalue()
    assert "work" in shown
    assert "7.0/10.0 kB" in shown
    assert shown.rstrip().endswith("\x1b[2K")
