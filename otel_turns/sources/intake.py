"""What a live source needs from the pipeline behind it.

Comes in: nothing. Goes out: `Intake`, the protocol that sources are written against, and `OpenIntake`, how
one is opened. Sources never import the pipeline: whoever starts them hands one in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from otel_turns.model.item import Item

__all__ = ["Intake", "OpenIntake"]


class Intake(Protocol):
    """The receiving side of a pipeline. Every method may be called from any thread."""

    def accept(self, items: Iterable[Item]) -> None:
        """Buffers items. Quick: it neither assembles nor writes."""
        ...

    def hold(self, trace_id: bytes) -> None:
        """One more local span of the trace is open: the trace does not settle before its `release`."""
        ...

    def release(self, trace_id: bytes) -> None:
        """Takes one `hold` of the trace back."""
        ...

    def would_refuse(self, nbytes: int) -> bool:
        """Whether `nbytes` more would go over the budget, or the sinks are full."""
        ...

    def tick(self) -> float | None:
        """Settles what is due, hands its Turns to the sinks. Gives seconds until more is due, or None."""
        ...

    def flush(self, timeout_s: float) -> bool:
        """Settles and writes everything now. False where `timeout_s` seconds were not enough."""
        ...

    def close(self, timeout_s: float = 5.0) -> bool:
        """Flushes, closes the sinks, takes nothing more. False where `timeout_s` seconds were not enough."""
        ...


OpenIntake = Callable[[], Intake]
"""Opens a pipeline. Called once at start and once more in each forked child that ends a span."""
