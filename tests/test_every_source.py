"""One trace through every source gives the same Turn, byte for byte."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import Event as SdkEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from otel_turns.model.span import Span
from otel_turns.pipeline import Pipeline, convert
from otel_turns.sinks.memory import MemorySink
from otel_turns.sources.exporter import TurnSpanExporter
from otel_turns.sources.files import read_files
from otel_turns.sources.processor import TurnSpanProcessor
from otel_turns.sources.reception import Encoding, Reception
from tests.sources.otlp.encode import json_traces, traces_request

NAMES = (
    "semconv-handmade-double--subagent",
    "semconv-handmade-responses--parallel",
    "openai-agents-official-eventonly--subagent",
    "semconv-handmade-responses--subagent",
)
CORPUS = Path(__file__).parent / "corpus"


def spans_of(name: str) -> list[Span]:
    loaded = [i.load() for batch in read_files([str(CORPUS / f"{name}.traces.jsonl")]) for i in batch.items]
    return [span for span in loaded if isinstance(span, Span)]


def told(made: list[Any]) -> bytes:
    """Turns as bytes, by their id: sources differ in when a trace is done. The number of a Turn within its
    session is left out: only who holds the whole session knows it, as files do.
    """
    turns = [orjson.loads(orjson.dumps(turn)) for turn in made]
    for turn in turns:
        turn["otel"].pop("turnNumber", None)
    return orjson.dumps(sorted(turns, key=lambda turn: turn["otel"]["turnId"]))


def readable(span: Span) -> ReadableSpan:
    """The span as the SDK holds it when it ended."""

    def context(span_id: bytes) -> SpanContext:
        return SpanContext(
            int.from_bytes(span.trace_id, "big"),
            int.from_bytes(span_id, "big"),
            is_remote=False,
            trace_flags=TraceFlags(TraceFlags.SAMPLED),
        )

    return ReadableSpan(
        span.name,
        context=context(span.span_id),
        parent=context(span.parent_id) if span.parent_id else None,
        resource=SdkResource(dict(span.resource.attributes)),
        attributes=dict(span.attributes),
        events=[SdkEvent(e.name, dict(e.attributes), e.time) for e in span.events],
        kind=SpanKind(max(span.kind - 1, 0)),
        instrumentation_scope=InstrumentationScope(span.scope.name, span.scope.version),
        status=Status(StatusCode(span.status), span.status_message or None),
        start_time=span.start,
        end_time=span.end,
    )


def by_files(spans: list[Span], path: Path, content: bytes) -> bytes:
    path.write_bytes(content)
    made: list[Any] = []
    assert convert([str(path)], made.append).rejected == []
    return told(made)


def by_reception(body: bytes, encoding: Encoding, packed: str) -> bytes:
    sink = MemorySink()
    pipeline = Pipeline([sink])
    answer = Reception(pipeline).export("traces", body, encoding, packed)
    assert answer.code.http == 200
    pipeline.close()
    return told(list(sink.records))


def in_process(spans: list[Span], feed: Callable[[Pipeline, list[ReadableSpan]], None]) -> bytes:
    sink = MemorySink()
    pipeline = Pipeline([sink], linger_s=0)
    feed(pipeline, [readable(s) for s in spans])
    pipeline.close()
    return told(list(sink.records))


def exported(pipeline: Pipeline, spans: list[ReadableSpan]) -> None:
    exporter = TurnSpanExporter(lambda: pipeline)
    exporter.export(spans)
    assert exporter.force_flush()


def processed(pipeline: Pipeline, spans: list[ReadableSpan]) -> None:
    processor = TurnSpanProcessor(lambda: pipeline)
    for span in spans:
        processor.on_end(span)
    assert processor.force_flush()


@pytest.mark.parametrize("name", NAMES)
def test_one_trace_through_every_source_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    spans = spans_of(name)
    as_json, as_protobuf = json_traces(spans), traces_request(spans).SerializeToString()
    expected = by_files(spans, tmp_path / "whole.json", as_json)
    assert b'"operation.started"' in expected or b'"message"' in expected
    assert by_files(spans, tmp_path / "a.pb", as_protobuf) == expected
    assert by_files(spans, tmp_path / "a.pb.gz", gzip.compress(as_protobuf)) == expected
    lines = b"".join(json_traces([span]) + b"\n" for span in reversed(spans))
    assert by_files(spans, tmp_path / "lines.jsonl", lines) == expected
    assert by_reception(as_protobuf, "protobuf", "identity") == expected
    assert by_reception(gzip.compress(as_json), "json", "gzip") == expected
    assert in_process(spans, exported) == expected
    assert in_process(spans, processed) == expected
