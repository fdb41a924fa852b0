"""What the OTLP servers do with a request, whatever the transport (opentelemetry-proto,
docs/specification.md).

Comes in: the body of an export request and how it is encoded. Goes out: its items to an `Intake`, and an
`Answer`: success, partial success, or a refusal (bad data, too large, busy). A bad span is rejected alone;
the rest of its batch lives. Knows neither gRPC nor HTTP, and never raises.
"""

from __future__ import annotations

import hmac
import itertools
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

import orjson
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_turns.errors import MalformedTelemetry
from otel_turns.sources.decompress import TooLarge, UnknownEncoding, decompress, sniff
from otel_turns.sources.described import described
from otel_turns.sources.intake import Intake
from otel_turns.sources.otlp.decode import Decoded, Encoding, decode_logs, decode_traces

__all__ = ["SNIFF", "Answer", "Code", "Encoding", "Limits", "Reception", "ReceptionCounts", "Signal"]

_log = logging.getLogger("otel_turns")

Signal = Literal["traces", "logs", "metrics"]

SNIFF: Final = "sniff"
"""As a content encoding: whatever the body looks like (a gRPC message that its transport left compressed)."""


class Code(Enum):
    """The outcomes of a request, as codes of google.rpc.Code with the HTTP status that goes with each."""

    OK = 0, 200
    INVALID_ARGUMENT = 3, 400
    UNSUPPORTED = 3, 415
    NOT_FOUND = 5, 404
    METHOD_NOT_ALLOWED = 12, 405
    TIMEOUT = 4, 408
    TOO_LARGE = 8, 413
    UNAUTHENTICATED = 16, 401
    UNAVAILABLE = 14, 503
    INTERNAL = 13, 500

    @property
    def grpc(self) -> int:
        """The number of google.rpc.Code."""
        return self.value[0]

    @property
    def http(self) -> int:
        """The HTTP status."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a request may be, in bytes: as sent, and once decompressed."""

    request: int = 20 << 20
    decompressed: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request.

    message: English, for whoever reads the client's log; never holds attribute values. rejected: spans or
    records of the batch that were refused alone. retry_after_s: set where the client shall send the same
    again, in seconds.
    """

    signal: Signal
    code: Code = Code.OK
    message: str = ""
    rejected: int = 0
    retry_after_s: int | None = None

    def success(self, encoding: Encoding) -> bytes:
        """The export response of the signal; `partial_success` is set only where something was rejected."""
        if encoding == "json":
            if not self.rejected:
                return b"{}"
            # The JSON form of protobuf writes 64-bit numbers as texts.
            partial = {_REJECTED[self.signal][1]: str(self.rejected), "errorMessage": self.message}
            return orjson.dumps({"partialSuccess": partial})
        response = _RESPONSES[self.signal]()
        if self.rejected:
            setattr(response.partial_success, _REJECTED[self.signal][0], self.rejected)
            response.partial_success.error_message = self.message
        return response.SerializeToString()

    def status(self, encoding: Encoding) -> bytes:
        """The refusal as a google.rpc.Status, with RetryInfo where the client shall come again."""
        if encoding == "json":
            status: dict[str, Any] = {"code": self.code.grpc, "message": self.message}
            if self.retry_after_s is not None:
                status["details"] = [
                    {
                        "@type": "type.googleapis.com/google.rpc.RetryInfo",
                        "retryDelay": f"{self.retry_after_s}s",
                    }
                ]
            return orjson.dumps(status)
        message = Status(code=self.code.grpc, message=self.message)
        if self.retry_after_s is not None:
            message.details.add().Pack(self.retry_info())
        return message.SerializeToString()

    def retry_info(self) -> RetryInfo:
        """How long the client shall wait, as google.rpc.RetryInfo."""
        return RetryInfo(retry_delay=Duration(seconds=self.retry_after_s or 0))


@dataclass(frozen=True, slots=True)
class ReceptionCounts:
    """Since the start. accepted, rejected: spans and log records. refused: whole requests, by `Code` name."""

    accepted: int
    rejected: int
    refused: Mapping[str, int]


class Reception:
    """Takes export requests for an `Intake`. May be called from several threads.

    token: the bearer token that every request must carry; None asks for none.
    on_accept: called after items were handed over, on the caller's thread.
    """

    def __init__(
        self,
        intake: Intake,
        *,
        limits: Limits | None = None,
        token: str | None = None,
        on_accept: Callable[[], None] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._intake = intake
        self._token = None if token is None else f"Bearer {token}".encode()
        self._on_accept = on_accept
        self._lock = threading.Lock()
        self._accepted = 0
        self._rejected = 0
        self._refused: Counter[str] = Counter()
        self._waits = itertools.cycle((1, 2, 3))

    def admit(self, authorization: str | None, signal: Signal) -> Answer | None:
        """The refusal of a request without the right token; None where it may come in."""
        if self._token is None or hmac.compare_digest((authorization or "").encode(), self._token):
            return None
        return self.refuse(signal, Code.UNAUTHENTICATED, "a bearer token is needed, and this is not it")

    def export(self, signal: Signal, body: bytes, encoding: Encoding, content_encoding: str) -> Answer:
        """Takes one export request. `content_encoding` as in HTTP, or `SNIFF`. Never raises."""
        try:
            return self._export(signal, body, encoding, content_encoding)
        except TooLarge as error:
            return self.refuse(signal, Code.TOO_LARGE, str(error))
        except UnknownEncoding as error:
            return self.refuse(signal, Code.UNSUPPORTED, str(error))
        except MalformedTelemetry as error:
            return self.refuse(signal, Code.INVALID_ARGUMENT, f"the request could not be read: {error}")
        except Exception as error:
            _log.error("otel_turns: a request could not be taken: %s", described(error))
            return self.refuse(signal, Code.INTERNAL, "the request could not be taken")

    def refuse(self, signal: Signal, code: Code, message: str, retry_after_s: int | None = None) -> Answer:
        """A refusal, counted."""
        with self._lock:
            self._refused[code.name] += 1
        return Answer(signal, code, message, retry_after_s=retry_after_s)

    def too_large(self, signal: Signal) -> Answer:
        """The refusal of a body past `limits.request`."""
        return self.refuse(
            signal,
            Code.TOO_LARGE,
            f"the request has more than {self.limits.request} bytes; send smaller batches",
        )

    def counts(self) -> ReceptionCounts:
        """What was accepted, rejected and refused so far."""
        with self._lock:
            return ReceptionCounts(self._accepted, self._rejected, dict(self._refused))

    def _export(self, signal: Signal, body: bytes, encoding: Encoding, content_encoding: str) -> Answer:
        if len(body) > self.limits.request:
            return self.too_large(signal)
        if signal == "metrics":
            return Answer(signal)  # politely taken and ignored
        if self._intake.would_refuse(len(body)):
            return self._busy(signal)
        if content_encoding == SNIFF:
            content_encoding = sniff(body)
        plain = decompress(body, content_encoding, self.limits.decompressed)
        if len(plain) > len(body) and self._intake.would_refuse(len(plain)):
            return self._busy(signal)
        decoded = _decoded(signal, plain, encoding)
        if decoded.items:
            self._intake.accept(decoded.items)
        rejected = len(decoded.rejections)
        with self._lock:
            self._accepted += len(decoded.items)
            self._rejected += rejected
        if decoded.items and self._on_accept is not None:
            self._on_accept()
        if not rejected:
            return Answer(signal)
        return Answer(signal, message=_summed_up(decoded.rejections), rejected=rejected)

    def _busy(self, signal: Signal) -> Answer:
        # 1, 2, 3 s in turn, so that clients that were refused together do not come back together.
        with self._lock:
            wait = next(self._waits)
        message = "the receiver is over its budget; send the same request again later"
        return self.refuse(signal, Code.UNAVAILABLE, message, wait)


_DECODERS: Final[Mapping[Signal, Callable[[bytes, Encoding], Decoded]]] = {
    "traces": decode_traces,
    "logs": decode_logs,
}

_RESPONSES: Final[Mapping[Signal, Callable[[], Any]]] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
_REJECTED: Final[Mapping[Signal, tuple[str, str]]] = {
    "traces": ("rejected_spans", "rejectedSpans"),
    "logs": ("rejected_log_records", "rejectedLogRecords"),
    "metrics": ("rejected_data_points", "rejectedDataPoints"),
}


def _decoded(signal: Signal, body: bytes, encoding: Encoding) -> Decoded:
    try:
        return _DECODERS[signal](body, encoding)
    except MalformedTelemetry:
        raise
    except Exception as error:
        # Whatever the decoder stumbles over came from the client, so it is bad data to the client.
        _log.error("otel_turns: a request could not be decoded: %s", described(error))
        raise MalformedTelemetry("it cannot be decoded") from None


_TOLD: Final = 3
"""Different reasons that one answer names."""


def _summed_up(rejections: Sequence[object]) -> str:
    reasons = Counter(str(rejection) for rejection in rejections)
    told = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(_TOLD))
    rest = len(reasons) - _TOLD
    return told if rest <= 0 else f"{told}; and {rest} other reasons"
