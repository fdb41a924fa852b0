"""Binary files are cut into the messages that were written."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.errors import SourceError
from otel_turns.sources.framing import LONGEST, Framing, framing_of, messages
from tests.sources.otlp.strategies import varint


def length32(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def delimited(body: bytes) -> bytes:
    return varint(len(body)) + body


WRITERS: dict[Framing, Callable[[bytes], bytes]] = {"length32": length32, "varint": delimited}

# As every export request begins: field 1, length-delimited.
bodies = st.binary(max_size=400).map(lambda rest: b"\x0a" + varint(len(rest)) + rest)


def cut(data: bytes, framing: Framing) -> list[bytes | None]:
    return list(messages(io.BufferedReader(io.BytesIO(data)), framing))  # pyright: ignore[reportArgumentType] # raw enough


@pytest.mark.parametrize("framing", ["length32", "varint"])
@given(written=st.lists(bodies, max_size=4))
def test_messages_come_back(framing: Framing, written: list[bytes]) -> None:
    data = b"".join(WRITERS[framing](body) for body in written)
    assert cut(data, framing) == written


@pytest.mark.parametrize("framing", ["length32", "varint"])
@given(body=st.binary(min_size=20, max_size=70_000).map(lambda rest: b"\x0a" + rest))
def test_framing_is_known_by_its_first_bytes(framing: Framing, body: bytes) -> None:
    assert framing_of(WRITERS[framing](body)[:16]) == framing
    assert framing_of(body[:16]) == "single"


@pytest.mark.parametrize("framing", ["length32", "varint"])
def test_a_file_that_ends_within_a_message(framing: Framing) -> None:
    first, second = b"\x0a\x01a", b"\x0a" + bytes(200)
    whole = WRITERS[framing](first) + WRITERS[framing](second)
    begin = len(WRITERS[framing](first))
    for end in range(begin + 1, len(whole)):
        assert cut(whole[:end], framing) == [first, None]
    assert cut(whole[:begin], framing) == [first]


@pytest.mark.parametrize("framing", ["length32", "varint"])
@pytest.mark.parametrize("empty", [1, 2, 9, 100_000])
def test_of_empty_messages_in_a_row_the_first_is_given(framing: Framing, empty: int) -> None:
    first, last = b"\x0a\x01a", b"\x0a" + bytes(300)
    data = b"".join(WRITERS[framing](body) for body in (first, *[b""] * empty, last, b""))
    assert cut(data, framing) == [first, b"", last, b""]


def test_zeros_without_end_are_passed_over_by_the_buffer() -> None:
    reads = 0

    class Zeros(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            nonlocal reads
            reads += 1
            size = len(buffer) if reads <= 1_000 else 0
            buffer[:size] = bytes(size)
            return size

    stream = io.BufferedReader(Zeros(), 1 << 16)
    cut_up = messages(stream, "varint")  # pyright: ignore[reportArgumentType] # any raw stream
    assert list(cut_up) == [b""]
    assert reads > 1_000


def test_a_single_message_is_the_whole_file() -> None:
    assert cut(b"\x0a\x01a", "single") == [b"\x0a\x01a"]


@pytest.mark.parametrize(
    ("data", "framing"),
    [
        ((LONGEST + 1).to_bytes(4, "big") + b"x", "length32"),
        (b"\xff\xff\xff\xff\x7f", "varint"),
        (b"\xff\xff\xff\xff\xff\x7f", "varint"),
    ],
)
def test_a_length_past_the_limit(data: bytes, framing: Framing) -> None:
    with pytest.raises(SourceError, match=r"message 1: .* are read at most"):
        cut(data, framing)


def test_a_single_message_past_the_limit() -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            return bytes(size)

    with pytest.raises(SourceError, match="message 1"):
        next(messages(Endless(), "single"))  # pyright: ignore[reportArgumentType] # `read` is all that is asked for
