"""Which local spans are open, so that their traces are held until they have ended.

Comes in: starts and ends, round by round. Goes out: the traces to hold and to release after a round. A span
that starts and ends within a round needs no hold; one whose start was not seen releases nothing. Bounded:
of spans that never end, the oldest are let go.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from opentelemetry.trace import SpanContext

__all__ = ["OPEN_SPANS", "OpenSpans"]

OPEN_SPANS: Final = 100_000
"""Open spans remembered at most: an agent that never ends its spans must not cost memory for ever."""


class OpenSpans:
    """For one thread at a time."""

    __slots__ = ("_most", "_new", "_open", "_over")

    def __init__(self, most: int = OPEN_SPANS) -> None:
        self._most = most
        self._open: OrderedDict[int, bytes] = OrderedDict()
        self._new: dict[int, bytes] = {}
        self._over: list[bytes] = []

    def started(self, context: SpanContext) -> None:
        """A span started."""
        self._new[context.span_id] = context.trace_id.to_bytes(16, "big")

    def ended(self, span_id: int) -> None:
        """A span ended, or will never be heard of again."""
        if self._new.pop(span_id, None) is None:
            trace_id = self._open.pop(span_id, None)
            if trace_id is not None:
                self._over.append(trace_id)

    def changes(self) -> tuple[list[bytes], list[bytes]]:
        """The traces to hold and to release since the last call, once for each span."""
        holds, releases = list(self._new.values()), self._over
        self._open.update(self._new)
        self._new, self._over = {}, []
        while len(self._open) > self._most:
            releases.append(self._open.popitem(last=False)[1])
        return holds, releases
