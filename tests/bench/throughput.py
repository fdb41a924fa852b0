"""From the bytes of a request to the JSON lines of its Turns, next to protobuf's own parse of the same
bytes.

The traffic is all of tests/corpus, all dialects on, in requests of 512 spans. The same traffic as OTLP/JSON
shows what that costs over protobuf.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_turns.pipeline import Pipeline
from otel_turns.sources.reception import Encoding, Reception
from tests.bench.measure import Figure, cpu_seconds
from tests.bench.traffic import SPANS, json_requests, to_protobuf

__all__ = ["Lines", "figures", "through"]

_REQUESTS: Final = 11
"""About one pass over the corpus."""


class Lines:
    """A sink that makes JSON lines and counts their bytes."""

    full = False

    def __init__(self) -> None:
        self.turns = 0
        self.size = 0

    def write(self, record: dict[str, Any]) -> None:
        self.turns += 1
        self.size += len(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def flush(self, timeout_s: float = 5) -> bool:
        return True

    def close(self) -> None:
        pass


def through(requests: list[bytes], encoding: Encoding = "protobuf") -> Lines:
    """The requests through reception and pipeline to their Turns."""
    lines = Lines()
    pipeline = Pipeline([lines], budget_bytes=1 << 30)
    reception = Reception(pipeline)
    for request in requests:
        answer = reception.export("traces", request, encoding, "identity")
        if answer.code.http != 200 or answer.rejected:
            raise RuntimeError(f"a request was refused: {answer.message}")
    pipeline.close()
    return lines


def figures(requests: int = _REQUESTS, rounds: int = 7) -> list[Figure]:
    """Ratios to the parse, and to protobuf."""
    as_json = json_requests(requests)
    as_protobuf = [to_protobuf(request) for request in as_json]
    lines = through(as_protobuf)
    if through(as_json, "json").size != lines.size:
        raise RuntimeError("JSON and protobuf gave different Turns")
    spent = cpu_seconds(
        {
            "floor": lambda: [ExportTraceServiceRequest.FromString(request) for request in as_protobuf],
            "protobuf": lambda: through(as_protobuf),
            "json": lambda: through(as_json, "json"),
        },
        rounds,
    )
    spans = requests * SPANS
    size = sum(map(len, as_protobuf))
    each = spent["protobuf"] / spans * 1e6
    note = f"{each:.1f} us a span; {spans} spans, {size >> 10} KiB, {lines.turns} Turns"
    return [
        Figure(
            "request bytes to Turn JSON lines / FromString", spent["protobuf"] / spent["floor"], "x", 12, note
        ),
        Figure("the same from OTLP/JSON / from protobuf", spent["json"] / spent["protobuf"], "x", 2),
    ]


if __name__ == "__main__":
    sys.stdout.writelines(f"{figure}\n" for figure in figures())
