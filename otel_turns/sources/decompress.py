"""Decompression of request bodies, bounded in what comes out.

Comes in: a whole body and the name of its encoding. Goes out: its bytes, at most `limit` of them. A small
body that blows up never costs more memory than `limit`, and never more time than that many bytes take.
"""

from __future__ import annotations

import importlib
import zlib
from typing import Any, Final

from otel_turns.errors import MalformedTelemetry, OtelTurnsError

__all__ = ["TooLarge", "UnknownEncoding", "decompress", "known_encodings", "sniff"]


class TooLarge(OtelTurnsError):
    """A request past a size limit. The message names the limit."""


class UnknownEncoding(OtelTurnsError):
    """A content encoding that is not known here. The message lists the known ones."""


_SLICE: Final = 64 << 10
"""Input is fed in slices: at the end of every gzip member, `unused_data` copies the rest of what was fed."""

_MEMBERS: Final = 4096
"""Gzip members in one body at most: each costs an object, however small it is."""

_GZIP, _ZLIB, _RAW = 31, 15, -15


def _zstandard() -> Any:
    try:
        return importlib.import_module("zstandard")
    except ImportError:
        return None


def known_encodings() -> tuple[str, ...]:
    """The content encodings that `decompress` takes. zstd is one of them where `zstandard` is installed."""
    return (
        ("gzip", "deflate", "zstd", "identity")
        if _zstandard() is not None
        else ("gzip", "deflate", "identity")
    )


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """`body` without its content encoding (RFC 9110, section 8.4.1); "" and "identity" leave it as it is.

    Raises `TooLarge` where more than `limit` bytes come out, `MalformedTelemetry` for broken data and
    `UnknownEncoding` for any other encoding.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        out = body
    elif name in ("gzip", "x-gzip"):
        return _inflate(body, _GZIP, limit)
    elif name == "deflate":
        # The name means the zlib format; clients that send the bare one have always been about.
        return _inflate(body, _ZLIB if _is_zlib(body) else _RAW, limit)
    elif name == "zstd" and (zstandard := _zstandard()) is not None:
        return _zstd(zstandard, body, limit)
    else:
        known = ", ".join(known_encodings())
        raise UnknownEncoding(f"content encoding {name[:40]!r} is not supported; known: {known}")
    if len(out) > limit:
        raise _too_large(limit)
    return out


def sniff(body: bytes) -> str:
    """The encoding of a gRPC message that the transport left compressed: "gzip", "deflate" or "identity".

    No protobuf message can be taken for gzip, whose first byte would be a tag of wire type 7. One that
    begins like the zlib format would begin with field 15, which no OTLP request has.
    """
    if body[:2] == b"\x1f\x8b":
        return "gzip"
    return "deflate" if body[:1] == b"\x78" and _is_zlib(body) else "identity"


def _is_zlib(body: bytes) -> bool:
    """RFC 1950, section 2.2: method 8, and the first two bytes are a multiple of 31."""
    return len(body) >= 2 and body[0] & 0x0F == 8 and (body[0] << 8 | body[1]) % 31 == 0


def _inflate(body: bytes, wbits: int, limit: int) -> bytes:
    out: list[bytes] = []
    size, members = 0, 1
    inflater = zlib.decompressobj(wbits)
    try:
        for start in range(0, len(body), _SLICE):
            data = body[start : start + _SLICE]
            while data:
                if inflater.eof:
                    # gzip allows members one after another (RFC 1952, section 2.2), and zeros as padding.
                    if wbits != _GZIP:
                        raise MalformedTelemetry("the compressed body goes on after its end")
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    members += 1
                    if members > _MEMBERS:
                        raise MalformedTelemetry(f"the body has more than {_MEMBERS} gzip members")
                    inflater = zlib.decompressobj(wbits)
                piece = inflater.decompress(data, limit + 1 - size)
                size += len(piece)
                out.append(piece)
                if size > limit:
                    raise _too_large(limit)
                data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    except zlib.error as error:
        raise MalformedTelemetry(f"the compressed body is broken: {error}") from error
    if not inflater.eof:
        raise MalformedTelemetry("the compressed body ends too soon")
    return b"".join(out)


_WINDOW: Final = 8 << 20
"""What a zstd frame may ask for as a window: RFC 8878, section 3.1.1.1.2, recommends to take 8 MiB."""


_ZSTD_SLICE: Final = 512
"""Input fed at once: a block of 4 bytes can stand for 128 KiB, and what one slice gives cannot be bounded."""


def _zstd(zstandard: Any, body: bytes, limit: int) -> bytes:
    out: list[bytes] = []
    size = frames = 0
    inflater: Any = None
    try:
        for start in range(0, len(body), _ZSTD_SLICE):
            data = body[start : start + _ZSTD_SLICE]
            while data:
                if inflater is None or inflater.eof:  # frames may follow one another (RFC 8878, section 3.1)
                    frames += 1
                    if frames > _MEMBERS:
                        raise MalformedTelemetry(f"the body has more than {_MEMBERS} zstd frames")
                    inflater = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
                piece: bytes = inflater.decompress(data)
                size += len(piece)
                if size > limit:
                    raise _too_large(limit)
                out.append(piece)
                data = inflater.unused_data if inflater.eof else b""
    except zstandard.ZstdError as error:
        raise MalformedTelemetry(f"the compressed body is broken: {error}") from error
    if inflater is None or not inflater.eof:
        raise MalformedTelemetry("the compressed body ends too soon")
    return b"".join(out)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the request has more than {limit} bytes once decompressed")
