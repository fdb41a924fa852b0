"""OTLP over HTTP as the specification asks (opentelemetry-proto, docs/specification.md, "OTLP/HTTP")."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_turns.sources.http import http_app
from otel_turns.sources.reception import Limits, Reception
from tests.sources.fakes import FakeIntake
from tests.sources.requests import BAD, logs, traces, traces_json

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


def reception_of(intake: FakeIntake, **options: Any) -> Reception:
    return Reception(intake, **options)


def ask(
    intake: FakeIntake,
    method: str = "POST",
    path: str = "/v1/traces",
    *,
    content: Any = b"",
    headers: dict[str, str] | None = None,
    reception: Reception | None = None,
    timeout_s: float = 30.0,
) -> httpx.Response:
    async def send() -> httpx.Response:
        app: Any = http_app(reception or reception_of(intake), body_timeout_s=timeout_s)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as client:
            return await client.request(method, path, content=content, headers=headers or {})

    return asyncio.run(send())


def status_of(response: httpx.Response) -> Status:
    """The google.rpc.Status of a refusal, in protobuf."""
    assert response.headers["content-type"] == "application/x-protobuf"
    return Status.FromString(response.content)


def test_protobuf_is_taken(intake: FakeIntake) -> None:
    response = ask(intake, content=traces("a", "b"), headers=PROTOBUF)
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == "application/x-protobuf"
    assert intake.names == ["a", "b"]


def test_json_is_taken_on_the_same_path(intake: FakeIntake) -> None:
    response = ask(intake, content=traces_json("a"), headers=JSON)
    assert (response.status_code, response.json()) == (200, {})
    assert response.headers["content-type"] == "application/json"
    assert intake.names == ["a"]


def test_logs_are_taken(intake: FakeIntake) -> None:
    response = ask(intake, path="/v1/logs", content=logs("e"), headers=PROTOBUF)
    assert (response.status_code, response.content) == (200, b"")
    assert intake.names == ["e"]


def test_metrics_are_taken_politely_and_ignored(intake: FakeIntake) -> None:
    response = ask(intake, path="/v1/metrics", content=b"whatever", headers=PROTOBUF)
    assert (response.status_code, response.content) == (200, b"")
    assert intake.calls == []


@pytest.mark.parametrize(
    "media_type",
    ["application/x-protobuf; charset=utf-8", "Application/X-Protobuf", "application/x-protobuf ;q=1"],
)
def test_media_types_may_have_parameters_and_any_case(intake: FakeIntake, media_type: str) -> None:
    assert ask(intake, content=traces("a"), headers={"content-type": media_type}).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}, {"content-type": "application/xml"}])
def test_other_media_types_are_415(intake: FakeIntake, headers: dict[str, str]) -> None:
    response = ask(intake, content=traces("a"), headers=headers)
    assert response.status_code == 415
    assert response.json()["message"] == (
        "the media type must be one of application/x-protobuf and application/json"
    )
    assert intake.calls == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_405(intake: FakeIntake, method: str) -> None:
    response = ask(intake, method, headers=PROTOBUF)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    if method != "HEAD":
        assert status_of(response).message == "only POST is taken here"


def test_other_paths_are_404(intake: FakeIntake) -> None:
    response = ask(intake, path="/v1/spans", headers=JSON)
    assert response.status_code == 404
    assert response.json()["code"] == 5


@pytest.mark.parametrize("headers", [PROTOBUF, JSON], ids=["protobuf", "json"])
def test_an_empty_request_succeeds(intake: FakeIntake, headers: dict[str, str]) -> None:
    response = ask(intake, content=b"" if headers is PROTOBUF else b"{}", headers=headers)
    assert response.status_code == 200
    assert intake.calls == []


PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("name", sorted(PACK))
def test_compressed_bodies_are_taken(intake: FakeIntake, name: str) -> None:
    body = PACK[name](traces("a"))
    assert ask(intake, content=body, headers={**PROTOBUF, "content-encoding": name}).status_code == 200
    assert intake.names == ["a"]


def test_zstd_is_taken_where_its_package_is_there(intake: FakeIntake) -> None:
    zstandard = pytest.importorskip("zstandard")
    body = zstandard.ZstdCompressor().compress(traces_json("a"))
    assert ask(intake, content=body, headers={**JSON, "content-encoding": "zstd"}).status_code == 200
    assert intake.names == ["a"]


def test_other_content_encodings_are_415_and_the_known_ones_are_named(intake: FakeIntake) -> None:
    response = ask(intake, content=b"x", headers={**PROTOBUF, "content-encoding": "br"})
    assert response.status_code == 415
    assert response.headers["accept-encoding"].startswith("gzip, deflate")
    assert "'br'" in status_of(response).message


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (BAD, ""),
        (b"\x1f\x8bnot gzip", "gzip"),
        (gzip.compress(traces("a"), mtime=0)[:-9], "gzip"),
        (gzip.compress(BAD, mtime=0), "gzip"),
    ],
)
def test_bad_data_is_400_with_a_status_in_protobuf(intake: FakeIntake, content: bytes, encoding: str) -> None:
    response = ask(intake, content=content, headers={**PROTOBUF, "content-encoding": encoding})
    assert response.status_code == 400
    status = status_of(response)
    assert status.code == 3
    assert status.message.startswith("the request could not be read: ")
    assert intake.calls == []


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'"text"', b"[" * 100_000])
def test_bad_json_is_400_with_a_status_in_json(intake: FakeIntake, content: bytes) -> None:
    response = ask(intake, content=content, headers=JSON)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json"
    assert response.json()["code"] == 3
    assert intake.calls == []


def test_a_bad_span_is_rejected_alone(intake: FakeIntake) -> None:
    response = ask(intake, content=traces("a", bad=2), headers=PROTOBUF)
    assert response.status_code == 200
    partial = ExportTraceServiceResponse.FromString(response.content).partial_success
    assert partial.rejected_spans == 2
    assert partial.error_message
    assert intake.names == ["a"]


def test_a_bad_span_in_json_is_rejected_alone(intake: FakeIntake) -> None:
    response = ask(intake, content=traces_json("a", bad=1), headers=JSON)
    assert response.status_code == 200
    partial = response.json()["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert partial["errorMessage"]
    assert intake.names == ["a"]


def test_full_success_leaves_partial_success_unset(intake: FakeIntake) -> None:
    for path, response_type in (
        ("/v1/traces", ExportTraceServiceResponse),
        ("/v1/logs", ExportLogsServiceResponse),
    ):
        response = ask(intake, path=path, headers=PROTOBUF)
        assert not response_type.FromString(response.content).HasField("partial_success")


def test_back_pressure_is_503_with_retry_after(intake: FakeIntake) -> None:
    intake.refusing = True
    reception = reception_of(intake)
    waits: list[int] = []
    for _ in range(4):
        response = ask(intake, content=traces("a"), headers=PROTOBUF, reception=reception)
        assert response.status_code == 503
        status = status_of(response)
        assert status.code == 14
        info = RetryInfo()
        assert status.details[0].Unpack(info)
        assert response.headers["retry-after"] == str(info.retry_delay.seconds)
        waits.append(info.retry_delay.seconds)
    assert sorted(waits) == [1, 1, 2, 3]
    assert intake.calls == []
    assert reception.counts().refused == {"UNAVAILABLE": 4}


def test_back_pressure_in_json(intake: FakeIntake) -> None:
    intake.refusing = True
    response = ask(intake, content=traces_json("a"), headers=JSON)
    assert response.status_code == 503
    assert response.json()["details"] == [
        {
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": response.headers["retry-after"] + "s",
        }
    ]


LIMITS = Limits(request=500, decompressed=2_000)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (traces("a", attribute="x" * 500), ""),
        (gzip.compress(traces("a", attribute="x" * 2_000), mtime=0), "gzip"),
        (traces("a", attribute="x" * 5_000), ""),
    ],
    ids=["as sent", "once decompressed", "far too large"],
)
def test_too_large_is_413(intake: FakeIntake, content: bytes, encoding: str) -> None:
    response = ask(
        intake,
        content=content,
        headers={**PROTOBUF, "content-encoding": encoding},
        reception=reception_of(intake, limits=LIMITS),
    )
    assert response.status_code == 413
    assert status_of(response).code == 8
    assert intake.calls == []


@pytest.mark.parametrize("size", [600, 5_000])
def test_too_large_without_an_announced_length_is_413(intake: FakeIntake, size: int) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(0, size, 100):
            yield b"x" * 100

    response = ask(intake, content=chunks(), headers=PROTOBUF, reception=reception_of(intake, limits=LIMITS))
    assert response.status_code == 413


def test_exactly_the_limit_is_taken(intake: FakeIntake) -> None:
    body = traces("a", attribute="x" * 100)
    for room, status in ((0, 200), (-1, 413)):
        reception = reception_of(intake, limits=Limits(request=len(body) + room))
        assert ask(intake, content=body, headers=PROTOBUF, reception=reception).status_code == status


def test_a_body_that_does_not_come_is_408(intake: FakeIntake) -> None:
    async def stuck() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()

    response = ask(intake, content=stuck(), headers=PROTOBUF, timeout_s=0.01)
    assert response.status_code == 408
    assert response.headers["connection"] == "close"
    assert status_of(response).code == 4


def test_a_client_that_goes_away_disturbs_nothing(intake: FakeIntake) -> None:
    reception = reception_of(intake)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/v1/traces", "root_path": ""}
    scope.update(headers=[], query_string=b"")
    app: Any = http_app(reception)
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert intake.calls == []


def test_large_bodies_are_decoded_as_well(intake: FakeIntake) -> None:
    body = traces("large", attribute="x" * 300_000)
    for content, encoding in ((body, ""), (gzip.compress(body, 0), "gzip")):
        headers = {**PROTOBUF, "content-encoding": encoding}
        assert ask(intake, content=content, headers=headers).status_code == 200
    assert intake.names == ["large", "large"]


@pytest.mark.parametrize(
    ("header", "status"),
    [("Bearer secret", 200), ("Bearer Secret", 401), ("secret", 401), ("Bearer sécret", 401), (None, 401)],
)
def test_the_bearer_token_is_asked_for(intake: FakeIntake, header: str | None, status: int) -> None:
    headers = PROTOBUF if header is None else {**PROTOBUF, "authorization": header}
    encoded: Any = {name: value.encode() for name, value in headers.items()}
    response = ask(
        intake, content=traces("a"), headers=encoded, reception=reception_of(intake, token="secret")
    )
    assert response.status_code == status
    if status == 401:
        assert response.headers["www-authenticate"] == "Bearer"
        assert status_of(response).code == 16
        assert intake.calls == []


def test_an_error_of_ours_is_500_and_says_nothing_of_the_inside(
    intake: FakeIntake, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise ValueError("inside")

    intake.on_accept = fail
    response = ask(intake, content=traces("a"), headers=PROTOBUF)
    assert response.status_code == 500
    assert status_of(response).message == "the request could not be taken"
    assert "a request could not be taken: ValueError at test_http.py:" in caplog.text
    assert "inside" not in caplog.text


def test_whatever_the_decoder_stumbles_over_is_bad_data(
    intake: FakeIntake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(body: bytes, encoding: str) -> None:
        raise KeyError("private")

    monkeypatch.setattr("otel_turns.sources.reception._DECODERS", {"traces": stumble})
    response = ask(intake, content=traces("a"), headers=PROTOBUF)
    assert response.status_code == 400
    assert status_of(response).message == "the request could not be read: it cannot be decoded"
    assert "KeyError" in caplog.text
    assert "private" not in caplog.text


def test_counts_what_came(intake: FakeIntake) -> None:
    reception = reception_of(intake, limits=Limits(request=1_000))
    for content in (traces("a", "b", bad=1), BAD, b"x" * 1_001, traces("c")):
        ask(intake, content=content, headers=PROTOBUF, reception=reception)
    ask(intake, "GET", reception=reception)
    counts = reception.counts()
    assert (counts.accepted, counts.rejected) == (3, 1)
    assert counts.refused == {"INVALID_ARGUMENT": 1, "TOO_LARGE": 1, "METHOD_NOT_ALLOWED": 1}


def test_no_answer_shows_an_attributes_value(intake: FakeIntake) -> None:
    body = json.loads(traces_json("bad"))
    body["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"] = [
        {"key": "k", "value": {"stringValue": "private"}}
    ]
    response = ask(intake, content=json.dumps(body).encode(), headers=JSON)
    assert "private" not in response.text
