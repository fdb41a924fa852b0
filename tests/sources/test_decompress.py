"""Bodies come out as they went in, never larger than the limit, and broken ones are refused as bad data."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.errors import MalformedTelemetry
from otel_turns.sources.decompress import TooLarge, UnknownEncoding, decompress, known_encodings, sniff

zstandard = pytest.importorskip("zstandard")

LIMIT = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd,
    "identity": bytes,
    "": bytes,
}
PACKED = ["gzip", "deflate", "zstd"]


@given(data=st.binary(max_size=2_000), name=st.sampled_from(sorted(PACK)))
def test_gives_back_what_was_compressed(data: bytes, name: str) -> None:
    assert decompress(PACK[name](data), name, LIMIT) == data


def test_names_are_taken_in_any_case() -> None:
    assert decompress(gzip.compress(b"abc"), " GZIP ", LIMIT) == b"abc"


def test_deflate_without_the_zlib_header_is_taken() -> None:
    assert decompress(raw_deflate(b"abc" * 50), "deflate", LIMIT) == b"abc" * 50


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_members_and_frames_follow_one_another(name: str) -> None:
    assert decompress(PACK[name](b"one ") + PACK[name](b"two"), name, LIMIT) == b"one two"


def test_zeros_behind_gzip_are_padding() -> None:
    assert decompress(gzip.compress(b"abc") + bytes(600), "gzip", LIMIT) == b"abc"


@pytest.mark.parametrize("name", PACKED)
def test_exactly_the_limit_passes_and_one_byte_more_does_not(name: str) -> None:
    packed = PACK[name](bytes(1_000))
    assert decompress(packed, name, 1_000) == bytes(1_000)
    with pytest.raises(TooLarge, match="999 bytes"):
        decompress(packed, name, 999)


def test_limit_holds_for_what_is_not_compressed() -> None:
    with pytest.raises(TooLarge):
        decompress(b"abcd", "identity", 3)


@pytest.mark.parametrize("name", PACKED)
def test_a_bomb_is_refused(name: str) -> None:
    bomb = PACK[name](bytes(50_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge):
        decompress(bomb, name, 10_000)


@pytest.mark.parametrize("name", PACKED)
def test_every_cut_is_bad_data(name: str) -> None:
    packed = PACK[name](b"some telemetry, some telemetry")
    for end in range(len(packed)):
        with pytest.raises(MalformedTelemetry):
            decompress(packed[:end], name, LIMIT)


@pytest.mark.parametrize("name", PACKED)
def test_other_bytes_are_bad_data(name: str) -> None:
    with pytest.raises(MalformedTelemetry):
        decompress(b"\xff" * 40, name, LIMIT)


def test_deflate_that_goes_on_after_its_end_is_bad_data() -> None:
    with pytest.raises(MalformedTelemetry, match="after its end"):
        decompress(zlib.compress(b"abc") + b"more", "deflate", LIMIT)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_body_of_countless_empty_members_is_bad_data(name: str) -> None:
    with pytest.raises(MalformedTelemetry, match="more than 4096"):
        decompress(PACK[name](b"") * 4_097, name, LIMIT)


def test_unknown_encodings_are_named_and_the_known_ones_listed() -> None:
    with pytest.raises(UnknownEncoding, match=r"'br'.*gzip, deflate, zstd, identity"):
        decompress(b"", "br", LIMIT)
    assert known_encodings() == ("gzip", "deflate", "zstd", "identity")


def test_zstd_is_unknown_where_its_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otel_turns.sources.decompress._zstandard", lambda: None)
    assert "zstd" not in known_encodings()
    with pytest.raises(UnknownEncoding):
        decompress(b"", "zstd", LIMIT)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"", "identity"),
        (b"\x0a\x00", "identity"),
        (b"\x78", "identity"),
        (b"\x78\x00\x01", "identity"),
        (gzip.compress(b"\x0a\x00", mtime=0), "gzip"),
        (zlib.compress(b"\x0a\x00"), "deflate"),
    ],
)
def test_sniffs_what_a_message_was_compressed_with(body: bytes, encoding: str) -> None:
    assert sniff(body) == encoding
