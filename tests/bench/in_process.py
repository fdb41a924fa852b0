"""What the span processor costs an agent, next to the SDK's batch processor with the OTLP exporter's
encoder.

`on_end` is measured on the thread that calls it; the whole cost is that of all threads until everything is
written.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import orjson
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from otel_turns.pipeline import Pipeline
from otel_turns.sources.processor import TurnSpanProcessor
from tests.bench.measure import Figure, cpu_seconds
from tests.bench.throughput import Lines
from tests.bench.traffic import json_requests

__all__ = ["figures", "readable_spans"]

_QUEUE: Final = 1 << 20


class _Encoder(SpanExporter):
    """The OTLP exporter without its network."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        encode_spans(spans).SerializePartialToString()
        return SpanExportResult.SUCCESS


def _turns() -> SpanProcessor:
    return TurnSpanProcessor(lambda: Pipeline([Lines()], linger_s=0.0), max_queue=_QUEUE)


def _batch() -> SpanProcessor:
    return BatchSpanProcessor(_Encoder(), max_queue_size=_QUEUE)


def _whole(processor: SpanProcessor, spans: list[ReadableSpan]) -> None:
    for span in spans:
        processor.on_start(span)  # type: ignore[arg-type] # both look at the context alone
        processor.on_end(span)
    processor.force_flush()
    processor.shutdown()


def figures(requests: int = 11, rounds: int = 7) -> list[Figure]:
    """Ratios to the batch processor."""
    spans = readable_spans(requests)
    whole = cpu_seconds(
        {"turns": lambda: _whole(_turns(), spans), "batch": lambda: _whole(_batch(), spans)}, rounds
    )
    ends = _on_end(spans, rounds * 5)
    each = len(spans) / 1e6
    return [
        Figure(
            "on_end / BatchSpanProcessor's",
            ends["turns"] / ends["batch"],
            "x",
            1,
            f"{ends['turns'] * 1e6:.2f} us, theirs {ends['batch'] * 1e6:.2f} us",
        ),
        Figure(
            "whole cost in process / BatchSpanProcessor + OTLP encoder",
            whole["turns"] / whole["batch"],
            "x",
            1 / 3,
            f"{whole['turns'] / each:.1f} us a span, theirs {whole['batch'] / each:.1f} us",
        ),
    ]


def _on_end(spans: list[ReadableSpan], rounds: int) -> dict[str, float]:
    """Seconds a call on the calling thread: fewer spans than make the batch processor's thread wake."""
    few = spans[:400]
    processors = {"turns": _turns(), "batch": _batch()}
    taken: dict[str, list[float]] = {name: [] for name in processors}
    try:
        for number in range(rounds + 1):
            for name, processor in processors.items():
                on_end = processor.on_end
                began = time.thread_time()
                for span in few:
                    on_end(span)
                spent = time.thread_time() - began
                processor.force_flush()
                if number:  # the first starts the thread
                    taken[name].append(spent / len(few))
    finally:
        for processor in processors.values():
            processor.shutdown()
    return {name: statistics.median(times) for name, times in taken.items()}


def readable_spans(requests: int) -> list[ReadableSpan]:
    """The corpus traffic as the SDK's own spans."""
    made: list[ReadableSpan] = []
    for request in json_requests(requests):
        for batch in orjson.loads(request)["resourceSpans"]:
            resource = Resource(_attributes(batch["resource"].get("attributes", [])))
            for scope in batch["scopeSpans"]:
                named = scope["scope"]
                library = InstrumentationScope(named.get("name", ""), named.get("version"))
                made += [_readable(span, resource, library) for span in scope["spans"]]
    return made


def _readable(span: Any, resource: Resource, library: InstrumentationScope) -> ReadableSpan:
    status = span.get("status", {})
    code = StatusCode(status.get("code", 0))
    return ReadableSpan(
        name=span["name"],
        context=_context(span["traceId"], span["spanId"]),
        parent=_context(span["traceId"], span["parentSpanId"]) if span.get("parentSpanId") else None,
        resource=resource,
        attributes=_attributes(span.get("attributes", [])),
        events=[
            Event(event["name"], _attributes(event.get("attributes", [])), int(event["timeUnixNano"]))
            for event in span.get("events", [])
        ],
        kind=SpanKind(max(0, int(span.get("kind", 1)) - 1)),
        instrumentation_scope=library,
        status=Status(code, status.get("message") if code is StatusCode.ERROR else None),
        start_time=int(span["startTimeUnixNano"]),
        end_time=int(span["endTimeUnixNano"]),
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), False, TraceFlags(TraceFlags.SAMPLED))


def _attributes(listed: list[Any]) -> dict[str, Any]:
    return {entry["key"]: _value(entry.get("value", {})) for entry in listed}


def _value(value: dict[str, Any]) -> Any:
    for kind, held in value.items():
        if kind == "intValue":
            return int(held)
        if kind == "arrayValue":
            return tuple(_value(each) for each in held.get("values", []))
        if kind == "kvlistValue":
            return _attributes(held.get("values", []))
        return held
    return ""


if __name__ == "__main__":
    sys.stdout.writelines(f"{figure}\n" for figure in figures())
