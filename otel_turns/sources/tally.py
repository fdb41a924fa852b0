"""A counter that any thread may raise, also from within a finalizer, without a lock.

Comes in: `add` calls. Goes out: `value`, exact. Never blocks, so that counting can stand in the agent's own
path.
"""

from __future__ import annotations

import itertools
import threading

__all__ = ["Tally"]


class Tally:
    """`add` is one atomic call in C. A lock would not do: a finalizer inside it would wait for itself."""

    __slots__ = ("_count", "_lock", "_reads", "add")

    def __init__(self) -> None:
        self._count = itertools.count()
        self._reads = 0
        self._lock = threading.Lock()
        self.add = self._count.__next__
        """Adds one. What it returns means nothing."""

    @property
    def value(self) -> int:
        """How often `add` was called."""
        with self._lock:
            # A count can only be read by raising it, so the reads are counted and taken off.
            seen = next(self._count) - self._reads
            self._reads += 1
            return seen
