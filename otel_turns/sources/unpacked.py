"""Compressed files as streams of what is in them.

Comes in: an open binary file. Goes out: a buffered stream of its content, unpacked where it is gzip (several
members too) or zstd (several frames too). Which it is, its first bytes say and never its name. Nothing is
read ahead but one buffer, and a small file that blows up costs no more than a buffer either. Reading raises
one of `READ_ERRORS` where the packed data is broken, and `EOFError` where it is cut off.
"""

from __future__ import annotations

import importlib
import io
import zlib
from typing import IO, Any, Final, Protocol

from otel_turns.errors import SourceError

__all__ = ["READ_ERRORS", "unpacked"]

READ_ERRORS: Final = (OSError, EOFError)

_BUFFER: Final = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def unpacked(raw: IO[bytes]) -> io.BufferedReader:
    """A stream of the content of `raw`, whose `peek` gives at least 512 bytes where there are as many.

    Raises `SourceError` for zstd where nothing is installed that can read it.
    """
    stream = _with_head(raw)
    magic = stream.peek(4)
    if magic.startswith(_GZIP):
        return _with_head(_Gzip(stream))
    if magic.startswith(_ZSTD):
        return _with_head(_zstd(stream))
    return stream


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Headed(io.RawIOBase):
    """A stream whose first piece was read already. A pipe may give its first bytes one by one."""

    def __init__(self, head: bytes, rest: _Readable) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._head
        if piece:
            self._head = piece[len(buffer) :]
            piece = piece[: len(buffer)]
        else:
            piece = self._rest.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def _with_head(raw: _Readable) -> io.BufferedReader:
    head = b""
    while len(head) < 512:
        piece = raw.read(512 - len(head))
        if not piece:
            break
        head += piece
    return io.BufferedReader(_Headed(head, raw), _BUFFER)


class _Gzip:
    """Unpacks gzip. The standard library's own reader loses up to a buffer of what stands before a cut."""

    _SLICE: Final = 4 << 10
    """Bytes of input fed at once: what comes of the slice in which the data is broken is lost."""

    _MOST: Final = 1 << 20
    """Bytes of output at once."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self._inflater: Any = None
        self._input = b""
        self._parts = 0

    def read(self, size: int = -1, /) -> bytes:
        most = self._MOST if size < 0 else min(size, self._MOST)
        while True:
            if not self._input:
                self._input = self._stream.read(self._SLICE)
                if not self._input:
                    if self._inflater is not None:
                        raise EOFError("the packed data ends too soon")
                    return b""
            if self._inflater is None:
                if self._parts:  # parts may follow each other, and zeros may fill up the file
                    self._input = self._input.lstrip(b"\0")
                    if not self._input:
                        continue
                self._parts += 1
                self._inflater = zlib.decompressobj(wbits=31)
            try:
                output: bytes = self._inflater.decompress(self._input, most)
            except zlib.error as error:
                raise OSError(f"broken gzip data: {error}") from None
            self._input = self._inflater.unconsumed_tail
            if self._inflater.eof:
                self._input = self._inflater.unused_data
                self._inflater = None
            if output:
                return output


def _zstd(stream: _Readable) -> _Readable:
    for name, reader in (("compression.zstd", _standard_zstd), ("zstandard", _Zstandard)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return reader(module, stream)
    raise SourceError("packed by zstd; install otel_turns[zstd] or use Python 3.14")


def _standard_zstd(module: Any, stream: _Readable) -> _Readable:
    return _Translated(module.ZstdFile(stream), module.ZstdError)


class _Translated:
    """A reader whose own kind of error becomes an `OSError`."""

    def __init__(self, reader: _Readable, error: type[Exception]) -> None:
        self._reader = reader
        self._error = error

    def read(self, size: int = -1, /) -> bytes:
        try:
            return self._reader.read(size)
        except self._error as error:
            raise OSError(f"broken zstd data: {error}") from None


class _Zstandard:
    """Unpacks with the package `zstandard`, whose own stream reader does not tell a cut from the end."""

    _SLICE: Final = 1 << 10
    """Bytes of input fed at once: 4 can stand for 128 KiB, and what comes out of one slice is not bounded."""

    def __init__(self, module: Any, stream: _Readable) -> None:
        self._new: Any = module.ZstdDecompressor(max_window_size=1 << 27).decompressobj
        self._error: type[Exception] = module.ZstdError
        self._stream = stream
        self._inflater: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def read(self, size: int = -1, /) -> bytes:
        while not self._output:
            if not self._input:
                self._input = self._stream.read(self._SLICE)
                if not self._input:
                    if self._inflater is not None:
                        raise EOFError("the packed data ends too soon")
                    return b""
            try:
                if self._inflater is None:
                    self._inflater = self._new()
                self._output = memoryview(self._inflater.decompress(self._input))
            except self._error as error:
                raise OSError(f"broken zstd data: {error}") from None
            self._input = b""
            if self._inflater.eof:
                self._input = self._inflater.unused_data
                self._inflater = None
        piece = bytes(self._output[:size]) if size >= 0 else bytes(self._output)
        self._output = self._output[len(piece) :]
        return piece
