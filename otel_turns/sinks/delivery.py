"""One batch, until it is delivered or given up.

Comes in: a writer and entries. Goes out: a word for each run of entries that is settled, and what is left
when time is up. It owns no queue, thread or clock; waiting is the caller's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum

from otel_turns.sinks.base import DeliveryError, Entry, Writer

__all__ = ["Ending", "deliver"]


class Ending(Enum):
    """How it ended: DONE, each entry was delivered or given up; LATE, time was up; GONE, the destination is
    no more.
    """

    DONE = "done"
    LATE = "late"
    GONE = "gone"


def deliver(
    writer: Writer,
    batch: list[Entry],
    *,
    settle: Callable[[list[Entry], str | None], None],
    note: Callable[[DeliveryError], None],
    pause: Callable[[int, float | None], bool],
) -> tuple[Ending, list[Entry]]:
    """Delivers a batch in order, as often as the writer says that it may.

    settle: is told of entries that are delivered (None) or given up (the reason). note: is told of each
    failure. pause: waits before another attempt, given the failures in a row and the seconds that the other
    side asked for; False where time is up. Returns how it ended, and the entries that are neither delivered
    nor given up.
    """
    parts, failures = deque([batch]), 0
    while parts:
        part = parts.popleft()
        if not part:
            continue
        try:
            writer.deliver(part)
        except DeliveryError as error:
            note(error)
            settle(part[: error.done], None)
            part = part[error.done :]
            if error.gone:
                return Ending.GONE, [entry for rest in (part, *parts) for entry in rest]
            if error.retry:
                failures += 1
                if not pause(failures, error.after_s):
                    return Ending.LATE, [entry for rest in (part, *parts) for entry in rest]
                parts.appendleft(part)
            elif error.split and len(part) > 1:
                half = len(part) // 2
                parts.extendleft((part[half:], part[:half]))
            else:
                refused = len(part) if error.refused is None else error.refused
                settle(part[:refused], error.reason)
                parts.appendleft(part[refused:])
        except BaseException as error:  # a writer may be anybody's, and the thread must live
            note(DeliveryError("error", detail=type(error).__name__))
            settle(part, "error")
        else:
            settle(part, None)
            failures = 0
    return Ending.DONE, []
