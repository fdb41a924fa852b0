"""Records posted over real connections to a server in this process, without a real wait."""

from __future__ import annotations

import hashlib
import logging
import threading
from pathlib import Path

import pytest

from otel_turns.errors import SinkError
from otel_turns.sinks.base import DeliveryError, Record
from otel_turns.sinks.credentials import Credentials
from otel_turns.sinks.encoding import encode_record
from otel_turns.sinks.http import HttpWriter
from otel_turns.sinks.queued import QueuedSink
from otel_turns.sinks.retry import Backoff
from tests.sinks.records import record
from tests.sinks.server import TLS, Answer, Request, loopback

LONG = 30.0
# 2023-11-30 12:00:00 UTC
NOON = 1_701_345_600.0


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] # autouse
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


class Sent:
    """A queued HTTP sink that has written some records and flushed; and how long it would have waited."""

    def __init__(self, writer: HttpWriter, *numbers: int, text: str = "hello") -> None:
        self.waits: list[float] = []
        sink = QueuedSink(writer, backoff=Backoff(first_s=1, jitter=lambda: 0.0), sleep=self.waits.append)
        for number in numbers:
            sink.write(record(number, text=text))
        assert sink.flush(LONG)
        sink.close()
        self.counters = sink.counters
        self.last_error = sink.last_error


def test_each_record_is_a_post_of_its_own() -> None:
    with loopback() as server:
        sent = Sent(HttpWriter(server.url + "?tenant=3"), 1, 2)
    assert [request.records for request in server.requests] == [[record(1)], [record(2)]]
    first = server.requests[0]
    assert first.path == "/ingest?tenant=3"
    assert first.headers["content-type"] == "application/json"
    assert first.headers["user-agent"].startswith("otel_turns/")
    assert "content-encoding" not in first.headers
    assert (sent.counters.written, sent.waits) == (2, [])


def test_lines_carry_what_waits_within_their_bounds() -> None:
    writer = HttpWriter("http://127.0.0.1:1/", format="ndjson")
    assert (writer.batch_records, writer.batch_bytes, writer.linger_s) == (256, 1024 * 1024, 0.2)
    with loopback() as server:
        sent = Sent(HttpWriter(server.url, format="ndjson", batch_records=2, linger_s=1e6), 1, 2, 3)
    assert [request.records for request in server.requests] == [[record(1), record(2)], [record(3)]]
    assert server.requests[0].headers["content-type"] == "application/x-ndjson"
    assert server.requests[0].body.endswith(b"\n")
    assert sent.counters.written == 3


def test_bodies_may_be_compressed() -> None:
    with loopback() as server:
        Sent(HttpWriter(server.url, compress=True), 1, text="x" * 10_000)
    assert server.requests[0].headers["content-encoding"] == "gzip"
    assert len(server.requests[0].body) < 2_000
    assert server.requests[0].records == [record(1, text="x" * 10_000)]


def test_bare_posts_the_turn_alone() -> None:
    with loopback() as server:
        Sent(HttpWriter(server.url, bare=True), 1)
    assert set(server.requests[0].records[0]) == {"events", "status", "usage"}
    assert server.requests[0].headers["idempotency-key"] == "turn-1-0"


# -- what makes a repetition recognisable


def test_the_idempotency_key_is_the_turn_and_its_revision_and_stays_when_it_is_sent_again() -> None:
    with loopback(Answer(503), Answer(hang_up=True)) as server:
        writer = HttpWriter(server.url)
        sink = QueuedSink(writer, sleep=lambda _: None)
        sink.write(record(1, revision=2))
        assert sink.flush(LONG)
        sink.close()
    assert [r.headers["idempotency-key"] for r in server.requests] == ["turn-1-2"] * 3


def test_the_key_of_a_batch_is_a_hash_of_all_of_theirs() -> None:
    with loopback() as server:
        Sent(HttpWriter(server.url, format="ndjson", linger_s=1e6), 1, 2)
    assert server.requests[0].headers["idempotency-key"] == hashlib.sha256(b"turn-1-0\nturn-2-0").hexdigest()


def test_keys_of_odd_or_unknown_turns_are_safe_and_differ() -> None:
    odd: list[Record] = [record(1), record(2), {"status": "failed"}, {"status": "completed"}]
    odd[0]["otel"]["turnId"] = "a\r\nb"
    odd[1]["otel"]["turnId"] = "ü\ud800"
    with loopback() as server:
        writer = HttpWriter(server.url)
        for one in odd:
            writer.deliver([encode_record(one)])
        writer.close()
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert len(set(keys)) == 4
    assert all(key.isalnum() for key in keys)


# -- answers


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_answers_that_may_change_are_asked_for_again(status: int) -> None:
    with loopback(Answer(status), Answer(status)) as server:
        sent = Sent(HttpWriter(server.url), 1)
    assert len(server.requests) == 3
    assert sent.waits == [0.5, 1]
    assert (sent.counters.written, sent.counters.failed) == (1, 2)


@pytest.mark.parametrize("status", [301, 302, 303, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422])
def test_answers_that_are_final_are_not(status: int) -> None:
    with loopback(Answer(status, {"retry-after": "1"})) as server:
        sent = Sent(HttpWriter(server.url), 1, 2)
    assert len(server.requests) == 2
    assert sent.waits == []
    assert (sent.counters.written, dict(sent.counters.dropped)) == (1, {f"status {status}": 1})


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_answer_of_success_is_one(status: int) -> None:
    with loopback(Answer(status, body=b"" if status == 204 else b"ok")) as server:
        assert Sent(HttpWriter(server.url), 1).counters.written == 1


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("Thu, 30 Nov 2023 12:00:30 GMT", 30), ("nonsense", 0.5), ("0", 0.5)]
)
def test_the_wait_is_no_shorter_than_was_asked_for(header: str, seconds: float) -> None:
    with loopback(Answer(429, {"retry-after": header})) as server:
        assert Sent(HttpWriter(server.url, now=lambda: NOON), 1).waits == [seconds]


def test_one_bad_record_in_a_batch_is_refused_alone() -> None:
    with loopback(otherwise=lambda r: Answer(422 if b"turn-3" in r.body else 200)) as server:
        sent = Sent(HttpWriter(server.url, format="ndjson", linger_s=1e6), 1, 2, 3, 4)
    assert (sent.counters.written, dict(sent.counters.dropped)) == (3, {"status 422": 1})


def test_an_answer_is_read_up_to_a_bound_and_its_status_counts() -> None:
    endless = Answer(200, {"content-length": str(10**12)}, body=b"x" * 200_000)
    with loopback(endless) as server:
        assert Sent(HttpWriter(server.url), 1, 2).counters.written == 2


# -- connections


def test_a_connection_that_breaks_is_made_again() -> None:
    with loopback(Answer(hang_up=True)) as server:
        sent = Sent(HttpWriter(server.url), 1)
    assert len(server.requests) == 2
    assert (sent.counters.written, sent.counters.failed) == (1, 1)
    assert str(sent.last_error).startswith("connection: ")


def test_a_server_that_is_not_there_yet_is_waited_for() -> None:
    with loopback() as server:
        address = server.url
    writer = HttpWriter(address)
    with pytest.raises(DeliveryError, match="ConnectError") as caught:
        writer.deliver([encode_record(record(1))])
    assert caught.value.retry
    writer.close()


def test_closing_ends_a_request_that_is_under_way() -> None:
    arrived, released = threading.Event(), threading.Event()

    def stall(_: Request) -> Answer:
        arrived.set()
        assert released.wait(LONG)
        return Answer()

    with loopback(otherwise=stall) as server:
        sink = QueuedSink(HttpWriter(server.url), close_timeout_s=0.01)
        sink.write(record(1))
        assert arrived.wait(LONG)
        sink.close()
        assert dict(sink.counters.dropped) == {"closed": 1}
        released.set()


def test_a_forked_child_makes_connections_of_its_own() -> None:
    with loopback() as server:
        writer = HttpWriter(server.url)
        writer.deliver([encode_record(record(1))])
        parents = writer._client  # pyright: ignore[reportPrivateUsage] # what must not be shared
        writer.after_fork()
        writer.deliver([encode_record(record(2))])
        assert writer._client is not parents  # pyright: ignore[reportPrivateUsage] # as above
        assert parents is not None
        assert not parents.is_closed
        parents.close()
        writer.close()
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [307, 308])
def test_redirects_lead_to_the_same_host_and_nowhere_else(status: int) -> None:
    with loopback(Answer(status, {"location": "/v2?x=1"})) as server:
        assert Sent(HttpWriter(server.url), 1).counters.written == 1
    assert [request.path for request in server.requests] == ["/ingest", "/v2?x=1"]
    assert server.requests[1].records == [record(1)]

    for location in (
        "http://localhost:{port}/",
        "https://127.0.0.1:{port}/",
        "http://127.0.0.1:1/",
        "",
        "http://[",
    ):
        with loopback() as server:
            port = server.address.rpartition(":")[2]
            server.answers = [Answer(status, {"location": location.format(port=port)})]
            sent = Sent(HttpWriter(server.url), 1)
        assert len(server.requests) == 1
        assert dict(sent.counters.dropped) == {f"status {status}": 1}


def test_redirects_that_go_round_end() -> None:
    with loopback(otherwise=lambda _: Answer(308, {"location": "/ingest"})) as server:
        assert dict(Sent(HttpWriter(server.url), 1).counters.dropped) == {"status 308": 1}
    assert len(server.requests) == 4


def test_certificates_are_verified() -> None:
    with loopback(tls=True) as server:
        writer = HttpWriter(server.url)
        with pytest.raises(DeliveryError, match="ConnectError") as caught:
            writer.deliver([encode_record(record(1))])
        assert caught.value.retry
        writer.close()
        assert server.requests == []
        assert Sent(HttpWriter(server.url, ca_file=str(TLS / "certificate.pem")), 1).counters.written == 1


# -- what is sent along, and what is shown


def test_headers_and_token_are_sent_and_never_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOKEN", "sesame")
    credentials = Credentials(token_env="TOKEN", headers={"x-team": "hidden-team"})
    with caplog.at_level(logging.INFO), loopback(Answer(401), Answer(503)) as server:
        url = server.url.replace("://", "://user:hidden-password@") + "?key=hidden-key"
        writer = HttpWriter(url, credentials=credentials)
        sent = Sent(writer, 1, 2, text="hidden-text")
    assert server.requests[0].headers["authorization"] == "Bearer sesame"
    assert server.requests[0].headers["x-team"] == "hidden-team"
    assert writer.name == f"http://{server.address}/ingest"
    assert "status 401: check the token or the headers" in caplog.text
    assert "hidden" not in caplog.text + repr(sent.last_error) + writer.name
    assert "sesame" not in caplog.text


def test_user_and_password_of_the_url_are_sent_where_there_is_no_token() -> None:
    with loopback() as server:
        Sent(HttpWriter(server.url.replace("://", "://us%65r:p%3A@")), 1)
    assert server.requests[0].headers["authorization"] == "Basic dXNlcjpwOg=="  # user:p:


def test_the_client_librarys_own_log_stays_on_for_others(caplog: pytest.LogCaptureFixture) -> None:
    import httpx

    with caplog.at_level(logging.INFO), loopback() as server:
        Sent(HttpWriter(server.url), 1)
        assert caplog.text == ""
        httpx.post(server.url, content=b"{}")
    assert "POST" in caplog.text


def test_credentials_without_tls_are_warned_about_unless_they_stay_on_this_machine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    credentials = Credentials(headers={"x-team": "blue"})
    for url in ("http://127.0.0.1/", "http://[::1]/", "http://localhost/", "https://example.com/"):
        HttpWriter(url, credentials=credentials).close()
    HttpWriter("http://example.com/").close()
    assert caplog.text == ""
    HttpWriter("http://example.com/?key=hidden", credentials=credentials).close()
    assert [r.getMessage() for r in caplog.records] == [
        "http://example.com/: credentials are sent without TLS"
    ]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com/",
        "http://",
        "http:///hidden",
        "http://[::1/hidden",
    ],
)
def test_a_url_that_cannot_be_posted_to_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(SinkError, match="needs a URL") as caught:
        HttpWriter(url)
    assert "hidden" not in str(caught.value)


def test_certificates_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for path, wanted in ((tmp_path / "none.pem", "No such file"), (tmp_path / "empty.pem", "cannot read")):
        with pytest.raises(SinkError, match=wanted):
            HttpWriter("https://example.com/", ca_file=str(path))
