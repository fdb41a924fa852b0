"""Counting what became of spans, on any thread, also from within a finalizer, without a lock.

Comes in: `add` calls. Goes out: `value`, exact. Never blocks, so that counting can stand in the agent's own
path.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass

__all__ = ["FeedCounts", "Tally"]


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


@dataclass(frozen=True, slots=True)
class FeedCounts:
    """Ended spans since the start (in a forked child: since the fork), each counted once.

    accepted: handed to the pipeline. waiting: still in the queue, with marks of starts. unsampled: skipped,
    as the sampler said. The rest are drops, by reason. queue_full: the queue held its most. unreadable:
    without ids, or reading failed. failed: the pipeline raised, or does not open in this forked child.
    closed: ended after `close`.
    """

    accepted: int
    waiting: int
    unsampled: int
    queue_full: int
    unreadable: int
    failed: int
    closed: int
