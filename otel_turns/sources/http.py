"""OTLP over HTTP: `POST /v1/traces`, `/v1/logs` and `/v1/metrics`, in protobuf and in JSON on one port.

Comes in: requests. Goes out: to a `Reception`, and its answer in the request's encoding; every refusal has
a google.rpc.Status as its body. It opens no port. Needs `starlette` (extra `server`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from otel_turns.sources.decompress import known_encodings
from otel_turns.sources.reception import Answer, Code, Encoding, Reception, Signal

__all__ = ["BODY_TIMEOUT_S", "http_app"]

BODY_TIMEOUT_S: Final = 30.0
"""How long the body of one request may take to come, in seconds."""

INLINE_BYTES, INLINE_COMPRESSED_BYTES = 256 << 10, 16 << 10
"""Bodies up to these sizes are decoded on the event loop, which is cheaper; larger ones on a thread, so
that other requests are answered meanwhile."""

_ENCODINGS: Final[Mapping[str, Encoding]] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_MEDIA_TYPES: Final[Mapping[Encoding, str]] = {encoding: name for name, encoding in _ENCODINGS.items()}
_SIGNALS: Final[tuple[Signal, ...]] = ("traces", "logs", "metrics")


def http_app(reception: Reception, *, body_timeout_s: float = BODY_TIMEOUT_S) -> Starlette:
    """The ASGI application. `body_timeout_s`: how long one request's body may take to come, in seconds."""

    def endpoint(signal: Signal) -> Callable[[Request], Awaitable[Response]]:
        async def export(request: Request) -> Response:
            return await _export(reception, signal, request, body_timeout_s)

        return export

    async def refused(request: Request, error: Exception) -> Response:
        """What the router itself refuses: other paths and other methods."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        code = {404: Code.NOT_FOUND, 405: Code.METHOD_NOT_ALLOWED}.get(status, Code.INTERNAL)
        message = {
            Code.NOT_FOUND: "there is nothing here; the paths are /v1/traces, /v1/logs and /v1/metrics",
            Code.METHOD_NOT_ALLOWED: "only POST is taken here",
        }.get(code, "the request could not be taken")
        answer = reception.refuse("traces", code, message)
        response = _response(answer, _encoding(request))
        if code is Code.METHOD_NOT_ALLOWED:
            response.headers["allow"] = "POST"
        return response

    return Starlette(
        routes=[Route(f"/v1/{signal}", endpoint(signal), methods=["POST"]) for signal in _SIGNALS],
        exception_handlers={HTTPException: refused},
    )


async def _export(reception: Reception, signal: Signal, request: Request, timeout_s: float) -> Response:
    encoding = _encoding(request)
    limit = reception.limits.request
    refusal = reception.admit(request.headers.get("authorization"), signal)
    if refusal is None and encoding is None:
        known = " and ".join(_ENCODINGS)
        refusal = reception.refuse(signal, Code.UNSUPPORTED, f"the media type must be one of {known}")
    if refusal is None and _announced(request) > limit:
        refusal = reception.too_large(signal)
    try:
        # The body of a refused request is read as well, and thrown away: many clients read the answer only
        # after they have sent everything.
        body = await asyncio.wait_for(_read(request, limit if refusal is None else 0, 2 * limit), timeout_s)
    except asyncio.TimeoutError:
        message = f"the body did not come within {timeout_s:g} s"
        refusal = refusal or reception.refuse(signal, Code.TIMEOUT, message)
        return _response(refusal, encoding, close=True)
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it
    if refusal is not None or encoding is None or body is None:
        return _response(refusal or reception.too_large(signal), encoding)
    compression = request.headers.get("content-encoding", "")
    if len(body) <= (INLINE_COMPRESSED_BYTES if compression else INLINE_BYTES):
        answer = reception.export(signal, body, encoding, compression)
    else:
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(None, reception.export, signal, body, encoding, compression)
    return _response(answer, encoding)


async def _read(request: Request, limit: int, patience: int) -> bytes | None:
    """The body; None where it is longer than `limit`, and then read no further than `patience` bytes."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > patience:
            return None
        else:
            chunks.clear()
    return b"".join(chunks) if size <= limit else None


def _announced(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if len(length) < 20 and length.isascii() and length.isdigit() else 0


def _encoding(request: Request) -> Encoding | None:
    return _ENCODINGS.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())


def _response(answer: Answer, encoding: Encoding | None, *, close: bool = False) -> Response:
    """`answer` in the request's encoding; in JSON, which people can read, where that is not known."""
    written = encoding or "json"
    ok = answer.code is Code.OK
    headers: dict[str, str] = {}
    if answer.retry_after_s is not None:
        headers["retry-after"] = str(answer.retry_after_s)
    if answer.code is Code.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    if answer.code is Code.UNSUPPORTED:
        headers["accept-encoding"] = ", ".join(known_encodings())  # RFC 9110, section 15.5.16
    if close:
        headers["connection"] = "close"
    return Response(
        answer.success(written) if ok else answer.status(written),
        status_code=answer.code.http,
        headers=headers,
        media_type=_MEDIA_TYPES[written],
    )
