"""A place in a queue that somebody waits for.

Comes in: a deadline. Goes out: an event that is set when all before it is done, and whether that was in
time.
"""

from __future__ import annotations

import threading
import time

__all__ = ["Barrier"]


class Barrier:
    """A place in the queue: `done` is set when all before it is written, `kept` where that was in time."""

    __slots__ = ("deadline", "done", "kept", "last")

    def __init__(self, timeout_s: float, *, last: bool) -> None:
        self.deadline = time.monotonic() + timeout_s
        self.done = threading.Event()
        self.kept = False
        self.last = last
