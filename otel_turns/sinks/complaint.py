"""What a failing sink says, and how often.

Comes in: each failure and each success of a sink. Goes out: a log line when it begins to fail, at most one
a minute while it goes on, and one when it works again. Never a record's content.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

__all__ = ["Complaint"]

_logger = logging.getLogger("otel_turns.sinks")

_SILENCE_S: Final = 60.0


class Complaint:
    """Speaks for one sink. clock: monotonic seconds."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._name = name
        self._clock = clock
        self._failing = False
        self._spoke_at: float | None = None

    def say(self, what: str, waiting: int) -> None:
        """Something was lost, or is late; `waiting` Turns are queued."""
        now = self._clock()
        if self._spoke_at is None or now - self._spoke_at >= _SILENCE_S:
            self._spoke_at = now
            _logger.warning("%s: %s (%d Turns wait)", self._name, what, waiting)

    def failed(self, what: str, waiting: int) -> None:
        """A delivery failed."""
        self._failing = True
        self.say(what, waiting)

    def worked(self) -> None:
        """A delivery succeeded."""
        if self._failing:
            self._failing, self._spoke_at = False, None
            _logger.warning("%s: delivers again", self._name)
