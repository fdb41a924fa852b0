"""Records, and a writer that does as it is told, for the tests of sinks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from otel_turns.sinks.base import DeliveryError, Entry, Record, Writer


def record(number: int = 1, revision: int = 0, text: str = "hello", **otel: Any) -> Record:
    """A small Turn and where it came from."""
    return {
        "events": [{"type": "message", "role": "assistant", "text": text}],
        "status": "completed",
        "usage": {"inputTokens": 12, "outputTokens": 3},
        "otel": {
            "turnId": f"turn-{number}",
            "revision": revision,
            "traceId": f"{number:032x}",
            "rootSpanId": f"{number:016x}",
            "startTimeUnixNano": "1700000000000000001",
            "endTimeUnixNano": "1700000000123456789",
            "eventTimes": ["1700000000100000000"],
            "eventSpans": [f"{number:016x}"],
            "conventions": ["genai"],
            "evidence": {"complete": True, "issues": []},
            **otel,
        },
    }


class Obedient(Writer):
    """Remembers what it delivered; before that it does what `plan` says: an error to raise, or something to
    call.
    """

    name = "obedient"
    batch_records = 1

    def __init__(self, *plan: DeliveryError | Callable[[], object] | BaseException | None) -> None:
        self.plan = list(plan)
        self.batches: list[list[str]] = []
        self.attempts: list[list[str]] = []
        self.calls: list[str] = []
        self.closed = threading.Event()

    def deliver(self, entries: Sequence[Entry]) -> None:
        names = [f"{entry.turn_id}/{entry.revision}" for entry in entries]
        self.attempts.append(names)
        step = self.plan.pop(0) if self.plan else None
        if isinstance(step, BaseException):
            self.batches.append(names[: step.done] if isinstance(step, DeliveryError) else [])
            raise step
        if step is not None:
            step()
        self.batches.append(names)

    @property
    def delivered(self) -> list[str]:
        return [name for batch in self.batches for name in batch]

    def sync(self) -> None:
        self.calls.append("sync")

    def after_fork(self) -> None:
        self.calls.append("after_fork")

    def close(self) -> None:
        self.calls.append("close")
        self.closed.set()
