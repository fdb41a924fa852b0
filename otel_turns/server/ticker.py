"""Keeps a pipeline going beside a server: settles what is due, on a thread of its own.

Comes in: `wake`, after something was accepted. Goes out: `tick` calls. Never raises; what goes wrong is
logged.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from otel_turns.sources.described import described
from otel_turns.sources.intake import Intake

__all__ = ["Ticker"]

_log = logging.getLogger("otel_turns")

_SHORTEST_S, _LONGEST_S = 0.005, 0.25
"""Between two ticks, in seconds: a batch of requests is one tick's work, and what came waits no longer."""

_STOP_S: Final = 1.0


class Ticker:
    """Ticks `intake` until `stop`. The thread is a daemon: a sink that hangs cannot keep the process."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otel_turns ticker", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Something was accepted."""
        self._woken.set()

    def stop(self) -> None:
        """Ends the thread; one that is still in a tick is left behind after a second."""
        self._stopped.set()
        self._woken.set()
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        due: float | None = None
        while not self._stopped.is_set():
            if due is None:
                self._woken.wait()  # nothing is held: nothing to do until something comes
            else:
                self._stopped.wait(min(max(due, _SHORTEST_S), _LONGEST_S))
            self._woken.clear()
            try:
                due = self._intake.tick()
            except Exception as error:
                _log.error("otel_turns: a tick failed: %s", described(error))
                due = _LONGEST_S
