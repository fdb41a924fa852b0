"""The SDK's OTLP log exporters, made to say why an export failed.

Comes in: what the SDK's loggers emitted. Goes out: a request, or `DeliveryError` with what the answer means
for another attempt. The exporters themselves answer only "failure"; the reason is taken where they let
others look: a hook of the HTTP session, and the gRPC stub.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Final

import grpc

from otel_turns.sinks.base import DeliveryError

__all__ = ["Exporter", "GrpcExporter", "HttpExporter"]

# Answers after which the same request may succeed (OTLP specification, "Failures": for gRPC and for HTTP).
_RETRYABLE_GRPC: Final = frozenset(
    (
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    )
)
_RETRYABLE_HTTP: Final = frozenset((408, 429, 502, 503, 504))
# Answers that one bad record can bring upon a whole batch.
_SPLITTABLE_GRPC: Final = frozenset(
    (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
)
_SPLITTABLE_HTTP: Final = frozenset((400, 413, 500))
# RESOURCE_EXHAUSTED is said of servers that are busy and of requests that are too large; no server refuses
# this much.
_NEVER_TOO_LARGE: Final = 512 * 1024


class Exporter(ABC):
    """An SDK exporter, and why its last export failed, which it does not return."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self.status: grpc.StatusCode | int | None = None

    def export(self, records: list[Any], nbytes: int) -> None:
        self.status = None
        try:
            result = self._exporter.export(records)
        except OSError as error:  # HTTP exporters before 1.40 let a refused connection through
            raise DeliveryError("connection", detail=type(error).__name__, retry=True) from None
        if result.name != "SUCCESS" or self._was_redirected():
            raise self.failure(nbytes)

    def _was_redirected(self) -> bool:
        # The HTTP exporter follows no redirect, and takes one for success.
        return isinstance(self.status, int) and 300 <= self.status < 400

    @abstractmethod
    def failure(self, nbytes: int) -> DeliveryError:
        """What the last status means for a request of so many bytes."""

    def shutdown(self) -> None:
        self._exporter.shutdown()


# Where the exporter keeps its stub. It has been there in all versions so far; without it every failure is
# tried again.
_STUB: Final = "_client"


class GrpcExporter(Exporter):
    def __init__(self, endpoint: str | None) -> None:
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter

        super().__init__(OTLPLogExporter(endpoint=endpoint))

    def export(self, records: list[Any], nbytes: int) -> None:
        stub = getattr(self._exporter, _STUB, None)
        if stub is not None and not isinstance(stub, _WatchedStub):
            setattr(self._exporter, _STUB, _WatchedStub(stub, self))
        super().export(records, nbytes)

    def failure(self, nbytes: int) -> DeliveryError:
        status = self.status
        if not isinstance(status, grpc.StatusCode):
            return DeliveryError("export", detail="the exporter does not say why", retry=True)
        reason = f"status {status.name}"
        if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
            busy = nbytes <= _NEVER_TOO_LARGE
            return DeliveryError(reason, retry=busy, split=not busy)
        return DeliveryError(reason, retry=status in _RETRYABLE_GRPC, split=status in _SPLITTABLE_GRPC)


class _WatchedStub:
    def __init__(self, stub: Any, owner: Exporter) -> None:
        self._stub = stub
        self._owner = owner

    def Export(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._stub.Export(*args, **kwargs)
        except grpc.RpcError as error:
            code: Any = getattr(error, "code", None)
            self._owner.status = code() if code is not None else None
            raise


class HttpExporter(Exporter):
    def __init__(self, endpoint: str | None) -> None:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

        # Where the environment names a provider of sessions, that session is used, and failures are tried
        # again.
        provided = any(os.environ.get(name) for name in _SESSION_ENV)
        super().__init__(OTLPLogExporter(endpoint=endpoint, session=None if provided else self._session()))

    def _session(self) -> Any:
        import requests

        session = requests.Session()

        def note(response: Any, *_: Any, **__: Any) -> None:
            self.status = int(response.status_code)

        session.hooks["response"].append(note)
        return session

    def failure(self, nbytes: int) -> DeliveryError:
        if not isinstance(self.status, int):
            return DeliveryError("connection", retry=True)
        retry, split = self.status in _RETRYABLE_HTTP, self.status in _SPLITTABLE_HTTP
        return DeliveryError(f"status {self.status}", retry=retry, split=split)


_SESSION_ENV: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_LOGS_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
)
