"""Whether the cost grows with the traffic and no faster, and whether memory stays where it is.

A pipeline is fed as a receiver feeds it, with a clock that moves on with each request, so that traces
settle behind the traffic.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import Final

from otel_turns.pipeline import Pipeline
from otel_turns.sources.reception import Reception
from tests.bench.measure import Figure, peak_resident
from tests.bench.throughput import Lines
from tests.bench.traffic import protobuf_requests

__all__ = ["figures"]

_SECOND: Final = 1_000_000_000


def figures(requests: int = 40) -> list[Figure]:
    """CPU of ten times the traffic over that of one tenth, and how much resident memory grew meanwhile."""
    traffic = protobuf_requests(requests * 11)
    _fed(traffic[:requests])  # what is loaded and cached once
    small, _ = _fed(traffic[:requests])
    large, grown = _fed(traffic[requests:])
    return [
        Figure("CPU of 10 times the spans", large / small, "x", 10.5),
        Figure("resident memory gained over the second half of them", grown / (1 << 20), "MiB", 16),
    ]


def _fed(requests: list[bytes]) -> tuple[float, int]:
    """CPU seconds, and bytes of resident memory gained over the second half."""
    now = 0
    pipeline = Pipeline([Lines()], linger_s=2.0, clock=lambda: now)
    reception = Reception(pipeline)
    gc.collect()
    half = 0
    began = time.process_time()
    for number, request in enumerate(requests):
        if number == len(requests) // 2:
            half = peak_resident("VmRSS")
        reception.export("traces", request, "protobuf", "identity")
        now += _SECOND
        pipeline.tick()
    spent = time.process_time() - began
    grown = peak_resident("VmRSS") - half
    pipeline.close()
    return spent, grown


if __name__ == "__main__":
    sys.stdout.writelines(f"{figure}\n" for figure in figures())
