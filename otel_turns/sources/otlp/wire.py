"""The outer wire walk: the three outer levels of an OTLP export request, and nothing inside a span.

Comes in: the bytes of an `ExportTraceServiceRequest` or `ExportLogsServiceRequest`; both have the same shape
(request 1 > resource group; 1 resource, 2 > scope group; 1 scope, 2 > span or record). Goes out:
`WireGroup`s, with each span or log record as the slice of bytes that stood in the request. Fields may come
in any order and repeated, unknown ones between them. It never parses a span, and never takes more time or
memory than a request of that size may cost: millions of empty messages are refused.

A small request is cut by protobuf's own parser. That one spends some 24 bytes a byte on empty messages, so a
large request is walked here, where limits are checked on the way, at about three times the time.

Wire format: protobuf encoding guide (https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from google.protobuf.message import DecodeError

from otel_turns.errors import MalformedTelemetry
from otel_turns.sources.otlp.raw import parse_request

__all__ = ["DEFAULT_LIMITS", "WireGroup", "WireLimits", "field_tags", "walk"]


@dataclass(frozen=True, slots=True)
class WireLimits:
    """How much one request may hold, whatever its size in bytes; the same for protobuf and JSON.

    items: spans or log records in a request. groups: groups of a resource or scope in a request. Past either,
    the request is malformed as a whole.
    item_bytes: bytes of one encoded span or record (protobuf only). attributes: attributes, events and links
    of one span or record, counted together. Past either, that span or record is rejected alone.
    """

    items: int = 100_000
    groups: int = 100_000
    item_bytes: int = 16 << 20
    attributes: int = 16_384


DEFAULT_LIMITS: Final = WireLimits()


class WireGroup(NamedTuple):
    """The slices under one scope of one resource.

    resource, scope: the encoded `Resource` and `InstrumentationScope`, b"" where absent. Where a request
    gives one in pieces they stand one behind the other, which protobuf defines as the merged message.
    """

    resource: bytes
    scope: bytes
    items: list[bytes]


_FIRST, _SECOND = 0x0A, 0x12
"""Tags of fields 1 and 2, length-delimited."""

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)
_LONGEST: Final = (1 << 31) - 1
_DEEPEST_GROUP: Final = 100

_SMALL: Final = 1 << 20

_MOST_OTHERS: Final = 100_000
"""Fields outside of spans that are neither a resource, a scope, a group nor an item; a request holds few."""


def walk(body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[WireGroup]:
    """Cuts a request into slices, in the order of the request; groups without items are left out.

    Raises `MalformedTelemetry` for bytes that are no such request, and past `limits.items` or
    `limits.groups`. Both ways give the same for the same bytes.
    """
    if len(body) <= _SMALL:
        return _cut(body, limits)
    try:
        return _Walk(body, limits).groups()
    except IndexError:
        raise _too_short() from None


def _cut(body: bytes, limits: WireLimits) -> list[WireGroup]:
    try:
        resources = parse_request(body).groups
    except DecodeError:
        raise MalformedTelemetry("this is no OTLP request: its protobuf is broken") from None
    if body and not resources:
        raise _no_resource()
    out: list[WireGroup] = []
    groups_left, items_left = limits.groups - len(resources), limits.items
    for resource in resources:
        scopes = resource.groups
        groups_left -= len(scopes)
        if groups_left < 0:
            raise _too_many(limits.groups, "resources and scopes")
        encoded = _merged(resource.resource)
        for scope in scopes:
            slices = scope.items
            items_left -= len(slices)
            if items_left < 0:
                raise _too_many(limits.items, "spans or log records")
            if slices:
                # A slice of protobuf's sequence is a list made in C; iterating it is twice as slow.
                out.append(WireGroup(encoded, _merged(scope.scope), cast("list[bytes]", slices[:])))
    return out


def _merged(pieces: Sequence[bytes]) -> bytes:
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def field_tags(message: bytes, most: int = 1_000) -> set[int]:
    """The tags (field number << 3 | wire type) of the first `most` fields of one message.

    Raises `MalformedTelemetry` where they are broken.
    """
    tags: set[int] = set()
    i, end = 0, len(message)
    try:
        while i < end and most:
            tag, _, i = _field(message, i, end)
            tags.add(tag)
            most -= 1
    except IndexError:
        i = end + 1
    if i > end:
        raise _too_short()
    return tags


class _Walk:
    """One walk, with what is left of its limits."""

    __slots__ = ("_body", "_groups", "_items", "_limits", "_others")

    def __init__(self, body: bytes, limits: WireLimits) -> None:
        self._body = body
        self._limits = limits
        self._items = limits.items
        self._groups = limits.groups
        self._others = _MOST_OTHERS + limits.groups

    def groups(self) -> list[WireGroup]:
        out: list[WireGroup] = []
        resources: list[tuple[int, int]] = []
        self._split(0, len(self._body), _FIRST, resources)
        if self._body and not resources:
            raise _no_resource()
        for start, stop in resources:
            scopes: list[tuple[int, int]] = []
            resource = self._split(start, stop, _SECOND, scopes)
            for first, last in scopes:
                items: list[bytes] = []
                scope = self._slice(first, last, items)
                if items:
                    out.append(WireGroup(resource, scope, items))
        return out

    def _split(self, i: int, end: int, groups: int, out: list[tuple[int, int]]) -> bytes:
        """Adds where each field `groups` of the message from `i` to `end` stands; gives field 1, joined."""
        body = self._body
        before = len(out)
        first: bytes = b""
        while i < end:
            tag = body[i]
            if tag in (_FIRST, _SECOND):
                start = i + 2
                stop = body[i + 1]
                if stop < 0x80:
                    stop += start
                else:
                    stop, start = _length(body, i + 1)
                    stop += start
            else:
                tag, start, stop = self._other(i, end)
            if stop > end:
                raise _too_short()
            if tag == groups:
                out.append((start, stop))
                if len(out) - before > self._groups:
                    raise _too_many(self._limits.groups, "resources and scopes")
            elif tag == _FIRST:
                first = self._joined(first, start, stop)
            i = stop
        self._groups -= len(out) - before
        return first

    def _slice(self, i: int, end: int, items: list[bytes]) -> bytes:
        """Adds each field 2 of the scope group from `i` to `end` to `items`; gives its field 1, joined."""
        body = self._body
        append = items.append
        first: bytes = b""
        left = self._items
        # Runs once a span: lengths up to 16 KiB are read in place.
        while i < end:
            tag = body[i]
            if tag == _SECOND:
                start = i + 2
                n = body[i + 1]
                if n >= 0x80:
                    high = body[start]
                    if high < 0x80:
                        n += (high << 7) - 0x80
                        start += 1
                    else:
                        n, start = _length(body, i + 1)
                i = start + n
                append(body[start:i])
                if left <= 0:
                    raise _too_many(self._limits.items, "spans or log records")
                left -= 1
            else:
                tag, start, i = self._other(i, end)
                if tag == _FIRST:
                    first = self._joined(first, start, i)
                elif tag == _SECOND:
                    append(body[start:i])
                    left -= 1
        if i > end:
            raise _too_short()
        if left < 0:
            raise _too_many(self._limits.items, "spans or log records")
        self._items = left
        return first

    def _other(self, i: int, end: int) -> tuple[int, int, int]:
        """A field in any encoding, counted."""
        self._others -= 1
        if self._others < 0:
            raise _too_many(_MOST_OTHERS, "fields that OTLP does not know")
        return _field(self._body, i, end)

    def _joined(self, first: bytes, start: int, stop: int) -> bytes:
        # Each piece copies what came before.
        self._others -= 1 + (len(first) >> 4)
        if self._others < 0:
            raise MalformedTelemetry("a resource or scope comes in too many pieces")
        piece = self._body[start:stop]
        return first + piece if first else piece


def _no_resource() -> MalformedTelemetry:
    return MalformedTelemetry("this is no OTLP request: no resource stands in it")


def _too_short() -> MalformedTelemetry:
    return MalformedTelemetry("the protobuf message ends too soon")


def _too_many(most: int, what: str) -> MalformedTelemetry:
    return MalformedTelemetry(f"the request has more than {most} {what}; send smaller batches")


def _length(body: bytes, i: int) -> tuple[int, int]:
    """The length that stands at `i`, and where what it measures begins; at most 2^31 - 1."""
    n, start = _varint(body, i, 5)
    if n > _LONGEST:
        raise MalformedTelemetry("a protobuf length is out of range")
    return n, start


def _varint(body: bytes, i: int, most: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * most, 7):
        byte = body[i]
        i += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, i
    raise MalformedTelemetry("a protobuf number is too long")


def _field(body: bytes, i: int, end: int) -> tuple[int, int, int]:
    """Tag of any field, and where its value starts and stops; `stop` may lie past `end`."""
    tag, i = _varint(body, i, 5)
    if tag >> 3 == 0 or tag > 0xFFFFFFFF:
        raise MalformedTelemetry("a protobuf field number is out of range")
    kind = tag & 7
    if kind == _BYTES:
        n, i = _length(body, i)
        return tag, i, i + n
    if kind == _VARINT:
        return tag, i, _varint(body, i, 10)[1]
    if kind == _FIXED64:
        return tag, i, i + 8
    if kind == _FIXED32:
        return tag, i, i + 4
    if kind == _GROUP:
        return tag, i, _end_of_group(body, i, end, tag)
    raise MalformedTelemetry("a protobuf wire type is unknown or out of place")


def _end_of_group(body: bytes, i: int, end: int, tag: int) -> int:
    """Where the group behind `tag` ends. Groups are long deprecated and hold nothing that OTLP knows."""
    opened = [tag]
    for _ in range(_MOST_OTHERS):
        if i >= end:
            raise _too_short()
        tag, j = _varint(body, i, 5)
        kind = tag & 7
        if kind == _END_GROUP:
            if opened.pop() != tag - 1:
                break
            if not opened:
                return j
            i = j
        elif kind == _GROUP and tag >> 3:
            opened.append(tag)
            if len(opened) > _DEEPEST_GROUP:
                break
            i = j
        else:
            i = _field(body, i, end)[2]
    raise MalformedTelemetry("a protobuf group has no end")
