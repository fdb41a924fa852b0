"""Where the cost of a Turn goes: each stage alone, on the traffic of `throughput`, as multiples of the same
floor.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_turns.assembly.memory import Memory
from otel_turns.assembly.story import assemble
from otel_turns.dialects.registry import Registry
from otel_turns.model.item import Item
from otel_turns.model.span import Span
from otel_turns.pipeline import AssemblyOptions, read_items
from otel_turns.sources.reception import Reception
from tests.bench.measure import Figure, cpu_seconds
from tests.bench.traffic import SPANS, protobuf_requests

__all__ = ["figures"]

_REQUESTS: Final = 11


class _Kept:
    """An intake that keeps items as they come."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def accept(self, items: Iterable[Item]) -> None:
        self.items += items

    def hold(self, trace_id: bytes) -> None:
        pass

    def release(self, trace_id: bytes) -> None:
        pass

    def would_refuse(self, nbytes: int) -> bool:
        return False

    def tick(self) -> float | None:
        return None

    def flush(self, timeout_s: float) -> bool:
        return True

    def close(self, timeout_s: float = 5.0) -> bool:
        return True


def _received(requests: list[bytes]) -> list[Item]:
    kept = _Kept()
    reception = Reception(kept)
    for request in requests:
        reception.export("traces", request, "protobuf", "identity")
    return kept.items


def figures(requests: int = _REQUESTS, rounds: int = 5) -> list[Figure]:
    """Each stage over the floor; their sum leaves out buffering and the waiting for other traces."""
    traffic = protobuf_requests(requests)
    items = _received(traffic)
    registry = Registry()
    spans = [span for item in items if isinstance(span := item.load(), Span)]
    traces: defaultdict[bytes | None, list[Item]] = defaultdict(list)
    for item in items:
        traces[item.trace_id].append(item)
    # Assembly may change what it reads: each round has its own.
    read = [[read_items(trace, registry)[0] for trace in traces.values()] for _ in range(rounds + 1)]
    told = [
        one
        for trace in traces.values()
        for one in assemble(read_items(trace, registry)[0], _OPTIONS, Memory())
    ]
    spent = cpu_seconds(
        {
            "floor": lambda: [ExportTraceServiceRequest.FromString(request) for request in traffic],
            "outer walk": lambda: _received(traffic),
            "parse of spans": lambda: [item.load() for item in items],
            "dialects": lambda: [registry.read(span) for span in spans],
            "assembly": lambda: [assemble(trace, _OPTIONS, Memory()) for trace in read.pop()],
            "JSON lines": lambda: [orjson.dumps(one.record) for one in told],
        },
        rounds,
    )
    floor = spent.pop("floor")
    count = requests * SPANS
    return [
        Figure(f"  of which {name}", time / floor, "x", note=f"{time / count * 1e6:.1f} us a span")
        for name, time in spent.items()
    ]


_OPTIONS: Final = AssemblyOptions()

if __name__ == "__main__":
    sys.stdout.writelines(f"{figure}\n" for figure in figures())
