"""The exporter works behind the SDK's own span processors, and alone from the environment."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.trace import SpanContext, TraceFlags

from otel_turns.errors import SinkError
from otel_turns.sources.exporter import TurnSpanExporter, default_linger_s
from tests.sources.fakes import FakeIntake

TIMEOUT = 30_000


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def exporter(intake: FakeIntake) -> Any:
    exporter = TurnSpanExporter(lambda: intake)
    yield exporter
    exporter.shutdown(TIMEOUT)


def test_takes_batches_of_the_batch_processor(exporter: TurnSpanExporter, intake: FakeIntake) -> None:
    provider = TracerProvider(resource=Resource({}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    for n in range(3):
        tracer.start_span(f"s{n}").end()
    provider.shutdown()
    assert (intake.names, intake.closes) == (["s0", "s1", "s2"], 1)


def test_takes_spans_of_the_simple_processor(exporter: TurnSpanExporter, intake: FakeIntake) -> None:
    provider = TracerProvider(resource=Resource({}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.get_tracer("agent").start_span("one").end()
    assert exporter.force_flush(TIMEOUT)
    assert intake.names == ["one"]
    assert intake.calls == [("accept", ["one"])]  # nothing is held: an exporter sees no starts


def test_counts_what_it_leaves_out(exporter: TurnSpanExporter, intake: FakeIntake) -> None:
    unsampled = SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(0))
    odd: Any = object()
    batch = [ReadableSpan("unsampled", unsampled, resource=Resource({})), odd]
    assert exporter.export(batch) is SpanExportResult.SUCCESS
    assert exporter.force_flush(TIMEOUT)
    counts = exporter.counts()
    assert counts is not None
    assert (counts.accepted, counts.unsampled, counts.unreadable) == (0, 1, 1)


def test_after_shutdown_exports_fail(exporter: TurnSpanExporter) -> None:
    exporter.shutdown(TIMEOUT)
    assert exporter.export([]) is SpanExportResult.FAILURE


def refuse() -> FakeIntake:
    raise SinkError("turns.jsonl: cannot be written")


def test_a_given_pipeline_that_does_not_open_is_an_error_at_once() -> None:
    with pytest.raises(SinkError, match="cannot be written"):
        TurnSpanExporter(refuse)


def test_from_the_environment_an_error_is_logged_and_the_other_exporters_live(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(import_module("otel_turns.attach"), "opening_of_exporter", lambda: refuse)
    exporter = TurnSpanExporter()
    assert "turns.jsonl: cannot be written" in caplog.text
    assert exporter.export([]) is SpanExportResult.FAILURE
    assert exporter.force_flush() is True
    assert exporter.counts() is None
    exporter.shutdown()


def test_the_entry_point_names_the_exporter() -> None:
    (point,) = entry_points(group="opentelemetry_traces_exporter", name="otel_turns")
    assert point.load() is TurnSpanExporter
    assert issubclass(TurnSpanExporter, SpanExporter)


@pytest.mark.parametrize(
    ("delay", "linger"), [(None, 6.0), ("1000", 2.0), ("0", 1.0), ("soon", 6.0), ("-5", 1.0)]
)
def test_lingers_a_second_longer_than_the_batch_processor_waits(
    delay: str | None, linger: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if delay is not None:
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", delay)
    assert default_linger_s() == linger
