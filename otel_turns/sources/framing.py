"""Binary telemetry files, cut into messages.

Comes in: a stream of bytes. Goes out: its messages one by one, each the body of one export request, and None
where the last one is cut off. Three forms are told apart by their first bytes: many messages behind their
lengths of 4 bytes, big-endian, as the Collector's file exporter writes them; many behind their lengths as
varints, as protobuf's delimited streams have them; and one message alone. It parses no message.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, Final, Literal

from otel_turns.errors import SourceError

__all__ = ["LONGEST", "Framing", "framing_of", "messages"]

Framing = Literal["length32", "varint", "single"]

LONGEST: Final = 256 << 20
"""The longest message that is read, in bytes: what must be held in memory at once."""

_RESOURCES: Final = 0x0A
"""The tag of field 1, with which every export request begins."""


def framing_of(head: bytes) -> Framing:
    """Which form a file has whose first bytes are `head`; 16 of them are enough.

    A request begins with a tag of 0x0A. So does a length of 10 as a varint; such a message would hold no more
    than an empty resource, and is not expected.
    """
    if head[:1] == b"\x0a":
        return "single"
    if head[4:5] == b"\x0a" and int.from_bytes(head[:4], "big") <= LONGEST:
        # A varint of at most 3 bytes would be a message that begins with another tag.
        return "length32"
    return "varint"


def messages(stream: io.BufferedReader, framing: Framing) -> Iterator[bytes | None]:
    """Messages in the order of the file; None, and no more, where it ends within one. Of empty messages in a
    row the first is given alone.

    Raises `SourceError` for a length past `LONGEST`, naming the number of the message.
    """
    if framing == "single":
        body = stream.read(LONGEST + 1)
        if len(body) > LONGEST:
            raise _too_long(1, len(body))
        yield body
        return
    length = _LENGTHS[framing]
    number = empty = 0
    while True:
        number += 1
        size = length(stream)
        if size is None:
            return
        empty = 0 if size else empty + 1
        if empty > 1:
            if empty == _MOST_EMPTY:
                _pass_zeros(stream, _ZERO[framing])
                empty = 1
            continue
        if size > LONGEST:
            raise _too_long(number, size)
        body = stream.read(size) if size >= 0 else None
        if body is None or len(body) < size:
            yield None
            return
        yield body


def _pass_zeros(stream: io.BufferedReader, length: int) -> None:
    """Passes over all the empty messages that follow: a file of nothing but zeros must not take for ever."""
    while run := stream.peek():
        zeros = len(run) - len(run.lstrip(b"\0"))
        stream.read(zeros // length * length)
        if zeros < len(run) or zeros < length:
            return


def _too_long(number: int, size: int) -> SourceError:
    return SourceError(f"message {number}: {size} bytes or more; {LONGEST} are read at most")


def _four_bytes(stream: IO[bytes]) -> int | None:
    """The next length; None at the end of the file, -1 where the file ends within it."""
    head = stream.read(4)
    if len(head) == 4:
        return int.from_bytes(head, "big")
    return -1 if head else None


def _varint(stream: IO[bytes]) -> int | None:
    size = 0
    for shift in range(0, 35, 7):
        byte = stream.read(1)
        if not byte:
            return -1 if shift else None
        size |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return size
    return size


_MOST_EMPTY: Final = 64
"""Empty messages in a row from which the buffer is searched for their end: to look into it is a copy."""

_ZERO: Final = {"length32": 4, "varint": 1}
"""Bytes of the length of an empty message."""

_LENGTHS: Final[dict[str, Callable[[IO[bytes]], int | None]]] = {"length32": _four_bytes, "varint": _varint}
