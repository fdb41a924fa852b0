"""An intake that remembers what it was told, and does what a test asks of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import cast

from otel_turns.model.item import Item
from otel_turns.model.span import LogRecord, Span

__all__ = ["FakeIntake"]


class FakeIntake:
    """Remembers calls in order. `refusing`, `due` and `on_tick` are set by tests."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.calls: list[tuple[str, object]] = []
        self.refusing = False
        self.due: float | None = None
        self.on_tick: Callable[[], object] = lambda: None
        self.on_accept: Callable[[], object] = lambda: None
        self.on_flush: Callable[[], object] = lambda: None
        self.ticked = threading.Event()
        self.flushes = 0
        self.closes = 0
        self.turns = 0

    def accept(self, items: Iterable[Item]) -> None:
        self.on_accept()
        batch = list(items)
        self.items.extend(batch)
        self.calls.append(("accept", [self.name(item) for item in batch]))

    def hold(self, trace_id: bytes) -> None:
        self.calls.append(("hold", trace_id))

    def release(self, trace_id: bytes) -> None:
        self.calls.append(("release", trace_id))

    def would_refuse(self, nbytes: int) -> bool:
        return self.refusing

    def tick(self) -> float | None:
        self.on_tick()
        self.ticked.set()
        return self.due

    def flush(self, timeout_s: float) -> bool:
        self.flushes += 1
        self.on_flush()
        return True

    def close(self, timeout_s: float = 5.0) -> bool:
        self.closes += 1
        self.on_flush()
        return True

    @staticmethod
    def name(item: Item) -> str:
        loaded: Span | LogRecord = item.load()
        return loaded.name if isinstance(loaded, Span) else loaded.event_name

    @property
    def spans(self) -> list[Span]:
        return cast("list[Span]", [item.load() for item in self.items if item.span_id is not None])

    @property
    def names(self) -> list[str]:
        return [self.name(item) for item in self.items]
