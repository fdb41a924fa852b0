"""Records handed to a function, or to a sink of somebody's own.

Comes in: entries. Goes out: a call for each record, with a copy that the function may keep and change. An
exception in it
stops here: it is counted, its type is logged, and the record is not given to it again, since the function
may have done half of its work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress

from otel_turns.errors import SinkError
from otel_turns.sinks.base import DeliveryError, Entry, Record, Sink, Writer
from otel_turns.sinks.encoding import decode_record

__all__ = ["CallbackWriter", "SinkWriter"]


class CallbackWriter(Writer):
    """Calls `function(record)` for each record."""

    batch_records = 64

    def __init__(self, function: Callable[[Record], object], *, bare: bool = False) -> None:
        called = getattr(function, "__call__", None)  # noqa: B004 # to look into objects that are callable
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
            raise SinkError(
                "a sink function must not be a coroutine function: there is no event loop to await it; "
                "give a plain function that hands the record over"
            )
        self._function = function
        self.bare = bare
        self.name = f"callback {getattr(function, '__qualname__', type(function).__name__)}"

    def deliver(self, entries: Sequence[Entry]) -> None:
        for number, entry in enumerate(entries):
            try:
                self._function(decode_record(entry))
            except BaseException as error:  # the function is anybody's, and only its own record is lost
                detail = f"{type(error).__name__} in {self.name}"
                raise DeliveryError("callback", detail=detail, done=number, refused=1) from None


class SinkWriter(CallbackWriter):
    """Writes to a sink that has only `write`, `flush` and `close`."""

    def __init__(self, sink: Sink, *, bare: bool = False) -> None:
        super().__init__(sink.write, bare=bare)
        self._sink = sink
        self.name = f"sink {type(sink).__name__}"

    def sync(self) -> None:
        if not self._sink.flush():
            raise DeliveryError("flush", detail=f"{self.name} did not flush in time")

    def close(self) -> None:
        with suppress(Exception):  # as for `write`; there is nobody left to whom it matters
            self._sink.close()
