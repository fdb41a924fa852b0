"""Attributes and values: encoded `KeyValue` and `AnyValue` messages in, plain Python values out.

Goes out: `str`, `bool`, `int`, `float`, `bytes`, `list`, `dict`, and None for a value that is empty or
missing. Of two attributes with one key the later counts. Raises `MalformedTelemetry` for broken bytes.
Nothing is cached that could be content: what is remembered are keys, lengths and small numbers.

Encoders write a message in one form only, fields in order and numbers as short as they go. That form is read
here byte by byte. Whatever has another form is left to protobuf's own parser, so the result is the same as
its own for every input; a test holds the two against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from otel_turns.errors import MalformedTelemetry
from otel_turns.sources.otlp.raw import parse_key_value, parse_values

__all__ = ["DEEPEST", "LIST_LEVELS", "MAP_LEVELS", "any_value", "attributes", "broken", "too_deep"]

DEEPEST: Final = 100
"""Messages inside one another at most, the span or record the first: protobuf's own limit, some 48 lists."""

LIST_LEVELS, MAP_LEVELS = 2, 3
"""Messages that one list or map adds: ArrayValue > AnyValue, KeyValueList > KeyValue > AnyValue."""

_KEY, _VALUE = 0x0A, 0x12
_STRING, _BOOL, _INT, _DOUBLE, _ARRAY, _KVLIST, _RAW = 0x0A, 0x10, 0x18, 0x21, 0x2A, 0x32, 0x3A
"""Tags of KeyValue's and AnyValue's fields."""

_TWO_BYTE_INT: Final = bytes((_VALUE, 3, _INT))
_double = struct.Struct("<d").unpack_from
_LARGE: Final = 1 << 18
"""Bytes of a value from which an unusual encoding is refused: protobuf's parser may spend 40 times them."""

_MOST_SHAPES: Final = 8_192
_MOST_NAMES: Final = 8_192

_TEXT: Final = object()
_shapes: dict[bytes, tuple[int, str, Any]] = {}
"""The first bytes of short attributes (key, lengths, a small number) -> length of the whole, key, the value;
`_TEXT` where the value is the text that follows. Only first bytes that were found to be in the one form are
in here, so that a hit needs no further check but the length."""

_names: dict[bytes, str] = {}
"""Encoded keys -> keys."""

_LONG: Final = 126
"""Bytes of text from which the lengths in front of it take more than a byte each."""


class _Heads(dict[int, bytes]):
    """What stands between key and text, by how long it is together with the text; b"" where nothing fits."""

    def __missing__(self, size: int) -> bytes:
        head = b""
        for width in range(4, 12):
            inner = _prefix(_STRING, size - width)
            whole = _prefix(_VALUE, size - width + len(inner)) + inner
            if len(whole) == width:
                head = whole
                break
        if len(self) >= _MOST_SHAPES:
            self.clear()
        self[size] = head
        return head


def _prefix(tag: int, length: int) -> bytes:
    out = bytearray((tag,))
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out)


_heads = _Heads()


def attributes(entries: Iterable[bytes], level: int = 2) -> dict[str, Any]:
    """The mapping that encoded KeyValues stand for; `level` is how deep in messages their AnyValues lie."""
    out: dict[str, Any] = {}
    shapes, names, heads, text, long = _shapes.get, _names.get, _heads, _TEXT, _LONG
    # Runs once an attribute. What fails in here is read again, slowly and exactly.
    try:
        for entry in entries:
            end = entry[1] + 6
            size = len(entry)
            if size - end < long:
                shape = shapes(entry[:end])
                if shape is not None:
                    length, name, value = shape
                    if length == size:
                        out[name] = value if value is not text else entry[end:].decode()
                        continue
            else:
                end -= 4
                name = names(entry[:end])
                if name is not None:
                    head = heads[size - end]
                    if head and entry.startswith(head, end):
                        out[name] = entry[end + len(head) :].decode()
                        continue
            _entry(entry, level, out)
    except (IndexError, UnicodeDecodeError, DecodeError):
        return _slowly(entries, level)
    return out


def any_value(raw: bytes, level: int) -> Any:
    """The value that an encoded AnyValue stands for; `level` is how deep in messages it lies."""
    try:
        return _any_value(raw, level)
    except (IndexError, UnicodeDecodeError, DecodeError):
        return _parsed(raw, level)


def broken(error: Exception, what: str) -> MalformedTelemetry:
    """What to raise where protobuf's parser refused `what`. Quotes nothing of it."""
    text = str(error)
    if "UTF-8" in text:
        return MalformedTelemetry(f"{what} holds text that is not UTF-8")
    return too_deep() if "Depth" in text else MalformedTelemetry(f"the protobuf of {what} is broken")


def too_deep() -> MalformedTelemetry:
    """What to raise past `DEEPEST`."""
    return MalformedTelemetry("a value is nested too deep; 48 lists or 32 maps inside one another are read")


def _entry(entry: bytes, level: int, out: dict[str, Any]) -> None:
    """One attribute whose first bytes are not known."""
    start = entry[1] + 2
    key = entry[:start]
    name = _names.get(key)
    if name is None:
        if entry[0] != _KEY or start > 0x81 or len(key) != start:
            _slow_entry(entry, level, out)
            return
        name = key[2:].decode()
        if len(_names) >= _MOST_NAMES:
            _names.clear()
        _names[key] = name
    size = len(entry) - start
    if size == 0:
        out[name] = None
        return
    if size == 5 and entry[start : start + 3] == _TWO_BYTE_INT and entry[start + 3] > 0x7F > entry[start + 4]:
        out[name] = (entry[start + 4] << 7) + entry[start + 3] - 0x80
        return
    length, at = _length(entry, start + 1)
    if entry[start] != _VALUE or at + length != len(entry):
        _slow_entry(entry, level, out)
        return
    if length and entry[at] == _STRING:
        n, text = _length(entry, at + 1)
        if text + n == len(entry):
            out[name] = entry[text:].decode()
            if text == start + 4:
                _learn(entry[:text], len(entry), name, _TEXT)
            return
    value = _any_value(entry[at:], level)
    out[name] = value
    if size == 4 and value.__class__ in (int, bool):
        _learn(entry, len(entry), name, value)


def _learn(first: bytes, length: int, name: str, value: Any) -> None:
    if len(_shapes) >= _MOST_SHAPES:
        _shapes.clear()
    _shapes[first] = length, name, value


def _any_value(raw: bytes, level: int) -> Any:
    if level > DEEPEST:
        raise too_deep()
    if not raw:
        return None
    tag = raw[0]
    if tag == _STRING:
        n, start = _length(raw, 1)
        if start + n == len(raw):
            return raw[start:].decode()
    elif tag == _INT:
        value = _integer(raw)
        if value is not None:
            return value
    elif tag == _BOOL:
        if len(raw) == 2 and raw[1] < 2:
            return raw[1] == 1
    elif tag == _DOUBLE:
        if len(raw) == 9:
            return _double(raw, 1)[0]
    elif tag == _ARRAY:
        n, start = _length(raw, 1)
        if start + n == len(raw):
            if level >= DEEPEST:
                raise too_deep()
            if n > 3 and raw[start] == _KEY and raw[start + 1] == n - 2 and n < 0x80:
                return [_any_value(raw[start + 2 :], level + LIST_LEVELS)]  # one short element
            values = parse_values(raw[start:]).values[:]
            return [_any_value(value, level + LIST_LEVELS) for value in values]
    elif tag == _KVLIST:
        n, start = _length(raw, 1)
        if start + n == len(raw):
            entries = parse_values(raw[start:]).values[:]
            if level + (MAP_LEVELS if entries else 1) > DEEPEST:
                raise too_deep()
            return attributes(entries, level + MAP_LEVELS)
    elif tag == _RAW:
        n, start = _length(raw, 1)
        if start + n == len(raw):
            return raw[start:]
    return _parsed(raw, level)


def _length(raw: bytes, i: int) -> tuple[int, int]:
    """A length of at most four bytes, and where what it measures begins."""
    n = raw[i]
    if n < 0x80:
        return n, i + 1
    n &= 0x7F
    for shift in (7, 14, 21):
        i += 1
        byte = raw[i]
        n |= (byte & 0x7F) << shift
        if byte < 0x80:
            return n, i + 1
    raise IndexError  # read again, slowly


def _integer(raw: bytes) -> int | None:
    """An int_value that is all of `raw`; None where it has another form."""
    value = shift = 0
    last = len(raw) - 1
    if not 0 < last < 11:
        return None
    for i in range(1, last):
        if raw[i] < 0x80:
            return None
        value |= (raw[i] & 0x7F) << shift
        shift += 7
    if raw[last] > (0x7F if last < 10 else 1):
        return None
    value |= raw[last] << shift
    return value if value < 1 << 63 else value - (1 << 64)


# --- whatever the form: protobuf's own parser ---------------------------------------------------------------


def _slowly(entries: Iterable[bytes], level: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for entry in entries:
        _slow_entry(entry, level, out)
    return out


def _slow_entry(entry: bytes, level: int, out: dict[str, Any]) -> None:
    try:
        parsed = parse_key_value(entry)
    except DecodeError as error:
        raise broken(error, "an attribute") from None
    out[parsed.key] = any_value(b"".join(parsed.value), level)


def _parsed(raw: bytes, level: int) -> Any:
    if len(raw) > _LARGE:
        raise MalformedTelemetry("a large value is encoded in an unusual way")
    try:
        return _converted(AnyValue.FromString(raw), level)
    except DecodeError as error:
        raise broken(error, "a value") from None


def _converted(value: AnyValue, level: int) -> Any:
    if level > DEEPEST:
        raise too_deep()
    which = value.WhichOneof("value")
    if which == "array_value":
        return [_converted(inner, level + LIST_LEVELS) for inner in value.array_value.values]
    if which == "kvlist_value":
        return {kv.key: _converted(kv.value, level + MAP_LEVELS) for kv in value.kvlist_value.values}
    return getattr(value, which) if which in _PLAIN else None


_PLAIN: Final = frozenset({"string_value", "bool_value", "int_value", "double_value", "bytes_value"})
