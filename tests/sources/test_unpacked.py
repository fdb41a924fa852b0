"""Packed files are read as what is in them, and a cut is told from an end."""

from __future__ import annotations

import gzip
import importlib
import io
import sys
from typing import Any

import pytest
import zstandard

from otel_turns.errors import SourceError
from otel_turns.sources.unpacked import READ_ERRORS, unpacked

CONTENT = b"".join(b"line %d\n" % n for n in range(20_000))


def zst(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def test_what_is_not_packed_stays_as_it_is() -> None:
    assert unpacked(io.BytesIO(CONTENT)).read() == CONTENT
    assert unpacked(io.BytesIO(b"")).read() == b""


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_packed(pack: Any) -> None:
    assert unpacked(io.BytesIO(pack(CONTENT))).read() == CONTENT
    assert unpacked(io.BytesIO(pack(b""))).read() == b""


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_several_parts_behind_each_other(pack: Any) -> None:
    stream = unpacked(io.BytesIO(pack(b"one\n") + pack(b"") + pack(CONTENT)))
    assert stream.readline() == b"one\n"
    assert stream.read() == CONTENT


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_a_cut_is_no_end(pack: Any) -> None:
    packed = pack(CONTENT)
    for missing in (1, 5, len(packed) // 2, len(packed) - 6):
        with pytest.raises(EOFError):
            unpacked(io.BytesIO(packed[:-missing])).read()


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_what_stands_before_a_cut_is_read(pack: Any) -> None:
    first = pack(b"first line\n")
    stream = unpacked(io.BytesIO(first + pack(CONTENT)[:-20]))
    assert stream.readline() == b"first line\n"


def test_of_gzip_all_that_stands_before_a_cut_is_read() -> None:
    """Not only what filled a buffer: a file whose writer died loses no more than its last block."""
    import zlib

    packed = gzip.compress(CONTENT)[:-2_000]
    whole = zlib.decompressobj(wbits=31).decompress(packed)
    stream, lines = unpacked(io.BytesIO(packed)), list[bytes]()
    with pytest.raises(EOFError):
        lines.extend(iter(stream.readline, b""))
    assert lines == whole.splitlines(keepends=True)[: len(lines)]
    assert len(lines) == whole.count(b"\n")


def test_what_stands_behind_gzip_is_told_and_no_loss() -> None:
    stream = unpacked(io.BytesIO(gzip.compress(CONTENT) + b"junk"))
    lines = [stream.readline() for _ in range(20_000)]
    assert b"".join(lines) == CONTENT
    with pytest.raises(OSError, match="broken gzip data"):
        stream.readline()


def test_zeros_behind_gzip_fill_up_the_file() -> None:
    assert unpacked(io.BytesIO(gzip.compress(CONTENT) + bytes(10_000))).read() == CONTENT


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_broken_data(pack: Any) -> None:
    packed = bytearray(pack(CONTENT))
    packed[30:60] = bytes(30)
    with pytest.raises(READ_ERRORS):
        unpacked(io.BytesIO(bytes(packed))).read()


def test_the_first_bytes_may_come_one_by_one() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(1 if size is None or size > 0 else size)

    packed = gzip.compress(CONTENT[:2_000])
    stream = unpacked(Slow(packed))
    assert stream.peek(512)[:512] == CONTENT[:512]
    assert stream.read() == CONTENT[:2_000]


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_a_bomb_costs_no_more_than_a_buffer(pack: Any) -> None:
    import tracemalloc

    bomb = pack(bytes(200 << 20))
    tracemalloc.start()
    try:
        stream = unpacked(io.BytesIO(bomb))
        for _ in range(20):
            assert stream.read(1 << 20) == bytes(1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80 << 20


def test_zstd_without_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(SourceError, match=r"otel_turns\[zstd\]"):
        unpacked(io.BytesIO(zst(CONTENT)))


def test_zstd_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python has its own, it is used. A stand-in shows the way on versions that have none."""

    class ZstdError(Exception):
        pass

    class ZstdFile:
        def __init__(self, stream: Any) -> None:
            self._rest = zstandard.ZstdDecompressor().stream_reader(stream)

        def read(self, size: int = -1) -> bytes:
            try:
                return self._rest.read(size)
            except zstandard.ZstdError as error:
                raise ZstdError(str(error)) from None

    module = type(sys)("compression.zstd")
    module.ZstdFile = ZstdFile  # pyright: ignore[reportAttributeAccessIssue] # a module made here
    module.ZstdError = ZstdError  # pyright: ignore[reportAttributeAccessIssue] # as above
    real = importlib.import_module

    def imported(name: str, package: str | None = None) -> Any:
        return module if name == "compression.zstd" else real(name, package)

    monkeypatch.setattr(importlib, "import_module", imported)
    packed = zst(CONTENT)
    assert unpacked(io.BytesIO(packed)).read() == CONTENT
    with pytest.raises(OSError, match="broken zstd data"):
        unpacked(io.BytesIO(packed[:30] + bytes(40) + packed[70:])).read()
