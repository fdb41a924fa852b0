"""Traffic for the benchmarks: the recordings of tests/corpus, again and again, each time as new traces.

Comes in: recordings as OTLP/JSON lines. Goes out: the same with fresh ids and times, as JSON lines or as
protobuf requests of a given number of spans. A copy shares no trace, span, call, response or session id
with another, so that nothing joins two copies. Unrelated HTTP spans are mixed in, as a service has them.
"""

from __future__ import annotations

import base64
import itertools
import random
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import orjson
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = [
    "CORPUS",
    "SPANS",
    "fresh_lines",
    "json_requests",
    "protobuf_requests",
    "recordings",
    "span_count",
    "to_protobuf",
]

CORPUS: Final = Path(__file__).parents[1] / "corpus"
SPANS: Final = 512
"""Spans of one request: what the SDK's batch processor sends at once."""

_HTTP_SHARE: Final = 27
"""Unrelated spans in a hundred."""

_HEX: Final = rb"(?<=\")(?:[0-9a-f]{32}|[0-9a-f]{16})(?=\")"
_UUID: Final = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CALL: Final = rb"\b(?:call|toolu|fc|msg|resp|ses|conv|thread|run|req|chatcmpl|rs)[_-][A-Za-z0-9_-]+"
_TIME: Final = rb"\b1[5-9][0-9]{17}\b"
_FRESH: Final = re.compile(rb"(%b|%b|%b|%b)" % (_UUID, _HEX, _CALL, _TIME))
_HOUR: Final = 3_600_000_000_000


@lru_cache(maxsize=1)
def recordings() -> tuple[bytes, ...]:
    """Each recording's spans as one OTLP/JSON document, in order of name."""
    documents: list[bytes] = []
    for path in sorted(CORPUS.glob("*.traces.jsonl")):
        batches: list[Any] = []
        for line in path.read_bytes().splitlines():
            if line.strip():
                batches += orjson.loads(line).get("resourceSpans", [])
        documents.append(orjson.dumps({"resourceSpans": batches}))
    return tuple(documents)


def fresh_lines() -> Iterator[bytes]:
    """OTLP/JSON lines without end, one recording each in a mixed order, with HTTP spans among them."""
    forms = [_Form(_with_http(document)) for document in recordings()]
    random.Random(1).shuffle(forms)
    for copy in itertools.count():
        for form in forms:
            yield form.filled(copy)


def json_requests(count: int, spans: int = SPANS) -> list[bytes]:
    """`count` OTLP/JSON requests of exactly `spans` spans; a trace may be split between two."""
    stream = _span_stream()
    return [_request(list(itertools.islice(stream, spans))) for _ in range(count)]


def protobuf_requests(count: int, spans: int = SPANS) -> list[bytes]:
    """The same requests as `json_requests`, in protobuf."""
    return [to_protobuf(request) for request in json_requests(count, spans)]


def to_protobuf(request: bytes) -> bytes:
    """An OTLP/JSON request in protobuf: protobuf's own JSON has ids in base64, OTLP's in hex."""
    document: Any = orjson.loads(request)
    for batch in document["resourceSpans"]:
        for scope in batch["scopeSpans"]:
            for span in scope["spans"]:
                for owner in (span, *span.get("links", [])):
                    for name in ("traceId", "spanId", "parentSpanId"):
                        if name in owner:
                            owner[name] = base64.b64encode(bytes.fromhex(owner[name])).decode()
    parsed = ParseDict(document, ExportTraceServiceRequest(), ignore_unknown_fields=True)
    return parsed.SerializeToString()


def span_count(requests: list[bytes]) -> int:
    """How many spans protobuf requests hold."""
    return sum(
        len(scope.spans)
        for request in requests
        for batch in ExportTraceServiceRequest.FromString(request).resource_spans
        for scope in batch.scope_spans
    )


class _Form:
    """A document as what stays and what is new in each copy; equal ids stay equal within a copy."""

    def __init__(self, document: bytes) -> None:
        self._pieces = _FRESH.split(document)
        self._distinct = sorted(set(self._pieces[1::2]))

    def filled(self, copy: int) -> bytes:
        """The document with every id and time replaced; the same for the same `copy`."""
        salt = copy.to_bytes(4, "little")
        fresh = {old: _replacement(old, copy, salt) for old in self._distinct}
        pieces = self._pieces.copy()
        pieces[1::2] = [fresh[old] for old in pieces[1::2]]
        return b"".join(pieces)


def _replacement(old: bytes, copy: int, salt: bytes) -> bytes:
    if re.fullmatch(_UUID, old):
        return b"%08x" % copy + old[8:]
    if re.fullmatch(rb"[0-9]{19}", old):
        return b"%d" % (int(old) + copy * _HOUR)
    if re.fullmatch(rb"[0-9a-f]{16}|[0-9a-f]{32}", old):
        return blake2b(old, digest_size=len(old) // 2, salt=salt).hexdigest().encode()
    return old + b"_%x" % copy


def _span_stream() -> Iterator[tuple[Any, Any, Any]]:
    """Resource, scope and span, one after another without end."""
    for line in fresh_lines():
        for batch in orjson.loads(line)["resourceSpans"]:
            for scope in batch["scopeSpans"]:
                for span in scope["spans"]:
                    yield batch.get("resource", {}), scope.get("scope", {}), span


def _request(stream: list[tuple[Any, Any, Any]]) -> bytes:
    batches: list[Any] = []
    for resource, of_resource in itertools.groupby(stream, key=lambda each: id(each[0])):
        del resource
        spans = list(of_resource)
        scopes = [
            {"scope": group[0][1], "spans": [span for _, _, span in group]}
            for _, same in itertools.groupby(spans, key=lambda each: id(each[1]))
            if (group := list(same))
        ]
        batches.append({"resource": spans[0][0], "scopeSpans": scopes})
    return orjson.dumps({"resourceSpans": batches})


def _with_http(document: bytes) -> bytes:
    """The document with HTTP client spans below its own spans: ids are made from those of the parents."""
    content: Any = orjson.loads(document)
    made: list[Any] = []
    spans = [s for b in content["resourceSpans"] for scope in b["scopeSpans"] for s in scope["spans"]]
    for number, parent in enumerate(spans):
        if number * _HTTP_SHARE // (100 - _HTTP_SHARE) == (number + 1) * _HTTP_SHARE // (100 - _HTTP_SHARE):
            continue
        made.append(_http_span(parent))
    if made:
        scope = {"scope": {"name": "opentelemetry.instrumentation.httpx", "version": "0.60b0"}, "spans": made}
        content["resourceSpans"].append({"resource": {"attributes": []}, "scopeSpans": [scope]})
    return orjson.dumps(content)


def _http_span(parent: Any) -> Any:
    attributes = {
        "http.request.method": "POST",
        "url.full": "https://backend.example/v1/items/search?limit=20",
        "server.address": "backend.example",
        "network.protocol.version": "1.1",
    }
    listed: list[Any] = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
    listed += [
        {"key": "server.port", "value": {"intValue": "443"}},
        {"key": "http.response.status_code", "value": {"intValue": "200"}},
    ]
    return {
        "traceId": parent["traceId"],
        "spanId": blake2b(parent["spanId"].encode(), digest_size=8).hexdigest(),
        "parentSpanId": parent["spanId"],
        "name": "POST",
        "kind": 3,
        "startTimeUnixNano": parent["startTimeUnixNano"],
        "endTimeUnixNano": parent["endTimeUnixNano"],
        "attributes": listed,
        "status": {},
    }
