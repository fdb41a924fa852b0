"""The one order of a turn's events.

Comes in: `Event`s with their times and with what must come before them. Goes out: the same events, each once,
in the order in which they happened: time decides, and cause where times are equal or contradict what must be.
The result depends on nothing else.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

__all__ = ["Event", "in_order"]


class Event:
    """One StreamEvent in the making.

    `time`: nanoseconds; `rank` and `index`: order among events of one time (finishes, then speech, then
    starts; then the place within a reply or span); `span_id`: the span it is read from. `after`: events that
    must come before it.
    """

    __slots__ = ("after", "index", "payload", "rank", "span_id", "time")

    def __init__(
        self, payload: dict[str, Any], time: int, span_id: bytes, rank: int = 5, index: int = 0
    ) -> None:
        self.payload = payload
        self.time = time
        self.span_id = span_id
        self.rank = rank
        self.index = index
        self.after: list[Event] = []

    def follows(self, *others: Event | None) -> None:
        """Says that it comes behind each of `others`."""
        self.after.extend(o for o in others if o is not None and o is not self)


FINISH, ANSWERED, THINKING, MESSAGE, START, OTHER = 0, 1, 2, 3, 4, 5


def in_order(events: Iterable[Event]) -> list[Event]:
    """Sorts by time, held back by cause; an event that had to wait takes the time of what it waited for.

    Causes that contradict each other (which only broken telemetry brings about) are settled by time.
    """
    pool = list(events)
    known = {id(e) for e in pool}
    blocked = {id(e): 0 for e in pool}
    frees: dict[int, list[Event]] = {id(e): [] for e in pool}
    for event in pool:
        for cause in {id(c): c for c in event.after if id(c) in known}.values():
            frees[id(cause)].append(event)
            blocked[id(event)] += 1
    ready = [(_key(e), i, e) for i, e in enumerate(pool) if not blocked[id(e)]]
    heapq.heapify(ready)
    out: list[Event] = []
    placed: set[int] = set()
    count = len(pool)
    while len(out) < count:
        if not ready:
            event = min((e for e in pool if id(e) not in placed), key=_key)
        else:
            event = heapq.heappop(ready)[2]
            if id(event) in placed:
                continue
        placed.add(id(event))
        if out and event.time < out[-1].time and any(c.time > event.time for c in event.after):
            event.time = max(c.time for c in event.after if id(c) in placed or id(c) in known)
        out.append(event)
        for later in frees[id(event)]:
            blocked[id(later)] -= 1
            if not blocked[id(later)]:
                if later.time < event.time:
                    later.time = event.time
                count_key = (_key(later), len(out), later)
                heapq.heappush(ready, count_key)
    return out


def _key(event: Event) -> tuple[int, int, int, bytes, str, str]:
    payload = event.payload
    return (
        event.time,
        event.rank,
        event.index,
        event.span_id,
        payload["type"],
        str(payload.get("operationId", "")),
    )
