"""Records posted to an HTTP endpoint.

Comes in: entries. Goes out: `POST` requests: one record as JSON, or several as lines
(`application/x-ndjson`). A 2xx answer means delivered. Answers that a later attempt may change (408, 425,
429, 5xx) and failures of the connection are tried again, not before `Retry-After`; any other answer is
final. TLS certificates are always verified, redirects lead nowhere but to the same host, answers are read
up to a bound, and neither headers nor the query of the URL are ever logged.

Each request says with `Idempotency-Key` what it carries, so that a server can tell a repetition after a
lost answer: the turn id and revision of its record, or a hash of all of theirs.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import logging
import re
import ssl
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any, Final, Literal

import httpx

from otel_turns.errors import SinkError
from otel_turns.sinks.base import DeliveryError, Entry, Writer
from otel_turns.sinks.credentials import Credentials
from otel_turns.sinks.product import own_version
from otel_turns.sinks.retry import retry_after_seconds

__all__ = ["HttpWriter"]

_logger = logging.getLogger(__name__)

_RETRYABLE: Final = frozenset((408, 425, 429))
# Answers that one bad record can bring upon a whole batch.
_SPLITTABLE: Final = frozenset((400, 413, 422))
_SAFE_KEY: Final = re.compile(r"[A-Za-z0-9._:-]{1,200}")
_MOST_REDIRECTS: Final = 3
_MOST_ANSWER_BYTES: Final = 64 * 1024

Format = Literal["json", "ndjson"]


_silent = threading.local()


class _Unlogged(logging.Filter):
    """The client library logs each request with its whole URL, which may hold a token; not for this sink's
    requests.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_silent, "active", False)


logging.getLogger("httpx").addFilter(_Unlogged())


@contextmanager
def _unlogged() -> Generator[None, None, None]:
    _silent.active = True
    try:
        yield
    finally:
        _silent.active = False


class HttpWriter(Writer):
    """Posts records to `url`.

    format: "json" posts each record alone, "ndjson" as many as wait, within `batch_records`, `batch_bytes`
        (before compression) and `linger_s`.
    compress: gzip the bodies. credentials: headers and token; from the environment where not given.
    timeout_s: for connecting, for each part of an exchange, and for the answer as a whole.
    ca_file: certificates to trust instead of the usual ones. now, clock: seconds since the epoch, and
        monotonic.

    Raises `SinkError` for a URL that cannot be posted to, and for certificates that cannot be read.
    """

    def __init__(
        self,
        url: str,
        *,
        format: Format = "json",
        batch_records: int = 256,
        batch_bytes: int = 1024 * 1024,
        linger_s: float = 0.2,
        compress: bool = False,
        credentials: Credentials | None = None,
        timeout_s: float = 10.0,
        ca_file: str | None = None,
        bare: bool = False,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url, self._userinfo = _checked(url)
        self.name = f"{self._url.scheme}://{self._url.netloc.decode('ascii')}{self._url.path}"
        self.bare = bare
        self._lines = format == "ndjson"
        self.batch_records = batch_records if self._lines else 1
        self.batch_bytes = batch_bytes
        self.linger_s = linger_s if self._lines else 0.0
        self._compress = compress
        self._credentials = credentials or Credentials()
        self._timeout_s = timeout_s
        self._tls = _tls(ca_file) if self._url.scheme == "https" else None
        self._now = now
        self._clock = clock
        self._client: httpx.Client | None = None
        self._agent = f"otel_turns/{own_version()}"
        if (self._credentials or self._userinfo) and self._tls_is_missing():
            _logger.warning("%s: credentials are sent without TLS", self.name)

    def deliver(self, entries: Sequence[Entry]) -> None:
        body = b"".join([entry.data + b"\n" for entry in entries]) if self._lines else entries[0].data
        headers = {
            **self._userinfo,
            **self._credentials.headers(),
            "content-type": "application/x-ndjson" if self._lines else "application/json",
            "idempotency-key": _idempotency_key(entries),
        }
        if self._compress:
            body = gzip.compress(body, 6, mtime=0)
            headers["content-encoding"] = "gzip"
        try:
            with _unlogged():
                status, asked = self._post(body, headers)
        except (httpx.TransportError, httpx.StreamError) as error:
            raise DeliveryError("connection", detail=type(error).__name__, retry=True) from None
        except RuntimeError as error:  # the client was closed under it
            raise DeliveryError("closed", detail=type(error).__name__, retry=True) from None
        if 200 <= status < 300:
            return
        retry = status in _RETRYABLE or status >= 500
        raise DeliveryError(
            f"status {status}",
            detail=_ADVICE.get(status, ""),
            retry=retry,
            after_s=retry_after_seconds(asked, self._now) if retry else None,
            split=status in _SPLITTABLE,
        )

    def after_fork(self) -> None:
        # The connections are the parent's: they are dropped, not closed, so that nothing is said on them.
        self._client = None

    def close(self) -> None:
        client = self._client
        if client is not None:
            with suppress(Exception):  # whatever is under way on it ends with it
                client.close()

    def _tls_is_missing(self) -> bool:
        return self._url.scheme != "https" and not _is_loopback(self._url.host)

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str | None]:
        """The final answer's status and its `Retry-After`."""
        client = self._opened_client()
        url = self._url
        for _ in range(_MOST_REDIRECTS + 1):
            with client.stream("POST", url, content=body, headers=headers) as answer:
                self._read(answer)
                if answer.status_code not in (307, 308):
                    return answer.status_code, answer.headers.get("retry-after")
                target = _redirected(url, answer.headers.get("location", ""))
                if target is None:
                    return answer.status_code, None
                url = target
        return 308, None

    def _read(self, answer: httpx.Response) -> None:
        # Read to its end, the connection can be used again; its content says nothing that the status does
        # not.
        deadline = self._clock() + self._timeout_s
        left = _MOST_ANSWER_BYTES
        for part in answer.iter_raw():
            left -= len(part)
            if left < 0 or self._clock() > deadline:
                return

    def _opened_client(self) -> httpx.Client:
        if self._client is None:
            verify: Any = self._tls if self._tls is not None else True
            self._client = httpx.Client(
                verify=verify,
                timeout=self._timeout_s,
                follow_redirects=False,
                headers={"user-agent": self._agent},
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
            )
        return self._client


_ADVICE: Final = {
    301: "it redirects; name the address that it leads to",
    302: "it redirects; name the address that it leads to",
    303: "it redirects; name the address that it leads to",
    307: "it redirects to another host; name that host if it is meant",
    308: "it redirects to another host; name that host if it is meant",
    401: "check the token or the headers",
    403: "check the token or the headers",
    404: "check the path",
    405: "check the path: it takes no POST",
    413: "too large for it; lower batch_bytes",
}


def _checked(url: str) -> tuple[httpx.URL, dict[str, str]]:
    """The URL to post to, and the header for the user and password that stood in it."""
    # No message shows the URL itself: it may hold a password, or a token in its query.
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise SinkError(f"an HTTP sink needs a URL such as https://host/path: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise SinkError("an HTTP sink needs a URL with http or https and a host, such as https://host/path")
    userinfo: dict[str, str] = {}
    if parsed.userinfo:
        pair = f"{parsed.username}:{parsed.password}".encode()
        userinfo["authorization"] = f"Basic {base64.b64encode(pair).decode('ascii')}"
    return parsed.copy_with(fragment=None, userinfo=b""), userinfo


def _tls(ca_file: str | None) -> ssl.SSLContext | None:
    if ca_file is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise SinkError(
            f"cannot read certificates from {ca_file}: {error.strerror or 'there are none'}"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _redirected(url: httpx.URL, location: str) -> httpx.URL | None:
    """Where a redirect leads, if that is the same scheme, host and port."""
    try:
        target = url.join(location)
    except httpx.InvalidURL:
        return None
    same = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
    return target if location and same else None


def _idempotency_key(entries: Sequence[Entry]) -> str:
    names = [
        f"{entry.turn_id}-{entry.revision}" if entry.turn_id else hashlib.sha256(entry.data).hexdigest()
        for entry in entries
    ]
    if len(names) == 1 and _SAFE_KEY.fullmatch(names[0]):
        return names[0]
    return hashlib.sha256("\n".join(names).encode("utf-8", "replace")).hexdigest()
