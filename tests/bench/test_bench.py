"""The benchmarks run, and their traffic is what it says: new ids, the same structure, whole requests."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import orjson
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.bench import convert_memory, growth, in_process, stages, throughput
from tests.bench.measure import Figure, cpu_seconds
from tests.bench.traffic import fresh_lines, json_requests, recordings, span_count, to_protobuf


def trace_ids(line: bytes) -> set[str]:
    batches: Any = orjson.loads(line)["resourceSpans"]
    return {span["traceId"] for b in batches for scope in b["scopeSpans"] for span in scope["spans"]}


def test_copies_share_no_trace() -> None:
    count = len(recordings())
    lines = list(itertools.islice(fresh_lines(), 2 * count))
    first, second = (set[str]().union(*map(trace_ids, part)) for part in (lines[:count], lines[count:]))
    assert len(first) == len(second)
    assert not first & second


def test_a_request_holds_exactly_so_many_spans_and_is_the_same_in_protobuf() -> None:
    request = to_protobuf(json_requests(1, spans=100)[0])
    assert span_count([request]) == 100
    span = ExportTraceServiceRequest.FromString(request).resource_spans[0].scope_spans[0].spans[0]
    assert len(span.trace_id) == 16
    assert len(span.span_id) == 8


def test_traffic_is_the_same_each_time() -> None:
    assert json_requests(1, spans=100) == json_requests(1, spans=100)


def test_a_missed_target_is_said() -> None:
    assert "MISSED" in str(Figure("cost", 2.0, "x", 1))
    assert "MISSED" not in str(Figure("cost", 1.0, "x", 1))
    assert Figure("cost", 5.0, "x").met


def test_the_round_that_warms_up_does_not_count() -> None:
    times = iter([0.0, 100.0, 100.0, 101.0, 101.0, 103.0, 103.0, 108.0])
    assert cpu_seconds({"job": lambda: None}, 3, clock=lambda: next(times)) == {"job": 2.0}


@pytest.mark.parametrize(
    ("module", "options", "count"),
    [
        (throughput, {"requests": 1, "rounds": 1}, 2),
        (stages, {"requests": 1, "rounds": 1}, 5),
        (in_process, {"requests": 1, "rounds": 1}, 2),
        (growth, {"requests": 1}, 2),
        (convert_memory, {"size": 100_000}, 1),
    ],
)
def test_every_benchmark_runs(module: ModuleType, options: dict[str, int], count: int) -> None:
    found: list[Figure] = module.figures(**options)
    assert len(found) == count
    assert all(figure.what and figure.unit for figure in found)
