"""A receiver for tests, on a thread of its own with its own event loop; it ends with its context."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractContextManager
from typing import Any

from otel_turns.pipeline import Pipeline
from otel_turns.server.receiver import Receiver
from otel_turns.sinks.memory import MemorySink
from otel_turns.sources.reception import ReceptionCounts

__all__ = ["Receiving"]


class Receiving(AbstractContextManager["Receiving"]):
    """Listens on free ports of 127.0.0.1. Traces settle at `stop`: what was sent decides, no clock."""

    def __init__(self, **options: Any) -> None:
        self._sink = MemorySink()
        self._pipeline = Pipeline([self._sink], linger_s=3_600, idle_s=3_600, max_age_s=3_600, stitch_s=3_600)
        self._options = options
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.grpc = ""
        """`127.0.0.1:PORT`"""
        self.http = ""
        """`http://127.0.0.1:PORT`"""
        self.counts: ReceptionCounts | None = None
        self.kept: bool | None = None

    async def _run(self) -> None:
        self._loop, self._asked = asyncio.get_running_loop(), asyncio.Event()
        receiver = Receiver(self._pipeline, grpc_port=0, http_port=0, **self._options)
        await receiver.start()
        self.grpc = f"127.0.0.1:{receiver.grpc_port}"
        self.http = f"http://127.0.0.1:{receiver.http_port}"
        self._ready.set()
        await self._asked.wait()
        self.kept = await receiver.stop()
        self.counts = receiver.counts()

    def stop(self) -> list[dict[str, Any]]:
        """Drains, ends, and gives the records of the Turns."""
        if self._loop is not None and self._asked is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._asked.set)
            self._thread.join()
        return self._sink.turns

    def __enter__(self) -> Receiving:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
