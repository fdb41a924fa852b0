"""Every recording, in every encoding and file form, gives the same spans and records."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any, cast

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_turns.sources.files import read_files
from otel_turns.sources.otlp.decode import Decoded, decode_logs, decode_traces
from tests.sources.otlp.encode import plain_spans

CORPUS = Path(__file__).parents[2] / "corpus"
TRACES = sorted(CORPUS.glob("*.traces.jsonl"))
LOGS = sorted(CORPUS.glob("*.logs.jsonl"))


def official(line: bytes, request: Any) -> Any:
    """The request as protobuf's own JSON parser reads it, which wants ids in base64."""

    def rewritten(value: Any) -> Any:
        if isinstance(value, dict):
            entries = cast("dict[str, Any]", value)
            return {k: _base64(v) if k in _IDS else rewritten(v) for k, v in entries.items()}
        if isinstance(value, list):
            entries_ = cast("list[Any]", value)
            return [rewritten(v) for v in entries_]
        return value

    return json_format.ParseDict(rewritten(json.loads(line)), request, ignore_unknown_fields=True)


_IDS = {"traceId", "spanId", "parentSpanId"}


def _base64(value: str) -> str:
    return base64.b64encode(bytes.fromhex(value)).decode()


def loaded(decoded: Decoded) -> list[Any]:
    assert list(decoded.rejections) == []
    return [item.load() for item in decoded.items]


def from_file(path: Path) -> list[Any]:
    found: list[Any] = []
    for batch in read_files([path]):
        assert batch.problems == []
        assert batch.metrics == 0
        found.extend(item.load() for item in batch.items)
    return found


def test_the_corpus_is_there() -> None:
    assert len(TRACES) > 200
    assert len(LOGS) > 30
    assert sum(path.stat().st_size for path in CORPUS.iterdir()) <= 6_000_000


@pytest.mark.parametrize("recording", TRACES, ids=lambda p: p.name.removesuffix(".traces.jsonl"))
def test_traces(recording: Path, tmp_path: Path) -> None:
    lines = recording.read_bytes().splitlines()
    requests = [official(line, ExportTraceServiceRequest()) for line in lines]
    bodies = [request.SerializeToString() for request in requests]
    expected = [span for request in requests for span in plain_spans(request)]
    assert expected

    for line, body in zip(lines, bodies, strict=True):
        as_json = loaded(decode_traces(line, "json"))
        assert as_json == loaded(decode_traces(body, "protobuf"))
        assert as_json == loaded(decode_traces(body, "protobuf", eager=True))
        assert [list(span.attributes) for span in as_json] == [
            list(span.attributes) for span in loaded(decode_traces(body, "protobuf"))
        ], "in the order in which they came"

    assert from_file(recording) == expected
    for content in (
        gzip.compress(recording.read_bytes()),
        b"".join(len(body).to_bytes(4, "big") + body for body in bodies),
        b"".join(bodies),  # messages joined are one merged message
    ):
        path = tmp_path / "recording"
        path.write_bytes(content)
        assert from_file(path) == expected


@pytest.mark.parametrize("recording", LOGS, ids=lambda p: p.name.removesuffix(".logs.jsonl"))
def test_logs(recording: Path, tmp_path: Path) -> None:
    lines = recording.read_bytes().splitlines()
    requests = [official(line, ExportLogsServiceRequest()) for line in lines]
    expected = [record for line in lines for record in loaded(decode_logs(line, "json"))]
    times = [
        record.time_unix_nano or record.observed_time_unix_nano
        for request in requests
        for group in request.resource_logs
        for inner in group.scope_logs
        for record in inner.log_records
    ]
    assert [record.time for record in expected] == times
    assert all(times)

    bodies = [request.SerializeToString() for request in requests]
    assert [record for body in bodies for record in loaded(decode_logs(body, "protobuf"))] == expected
    assert from_file(recording) == expected
    path = tmp_path / "recording"
    path.write_bytes(b"".join(len(body).to_bytes(4, "big") + body for body in bodies))
    assert from_file(path) == expected
