"""Export requests for tests of the servers: good ones, one with a bad span in it, and bad bytes."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["BAD", "logs", "traces", "traces_json"]

TRACE_ID = bytes(range(1, 17))

BAD = b"\x0a\xff\xff\xff\xff"
"""The first field claims more bytes than there are."""


def traces(*names: str, bad: int = 0, attribute: str = "") -> bytes:
    """A request with a span of each name, and `bad` spans whose trace id is too short."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for number, name in enumerate([*names, *["bad"] * bad]):
        span = spans.add(
            trace_id=TRACE_ID if name != "bad" else b"short",
            span_id=(number + 1).to_bytes(8, "big"),
            name=name,
            start_time_unix_nano=1_000,
            end_time_unix_nano=2_000,
        )
        if attribute:
            span.attributes.add(key="a").value.string_value = attribute
    return request.SerializeToString()


def traces_json(*names: str, bad: int = 0) -> bytes:
    """The same as OTLP/JSON."""
    spans: list[dict[str, Any]] = [
        {
            "traceId": TRACE_ID.hex() if name != "bad" else "short",
            "spanId": f"{number + 1:016x}",
            "name": name,
            "startTimeUnixNano": "1000",
            "endTimeUnixNano": "2000",
        }
        for number, name in enumerate([*names, *["bad"] * bad])
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def logs(*names: str) -> bytes:
    """A request with a log record of each event name."""
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    for name in names:
        records.add(event_name=name, time_unix_nano=1_000).body.string_value = "text"
    return request.SerializeToString()
