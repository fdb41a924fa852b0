"""A record as the bytes that sinks carry.

Comes in: a record. Goes out: an `Entry` with compact UTF-8 JSON in the record's own key order, without a
line break. What the fast encoder refuses (integers beyond 64 bits, lone surrogates, nesting of hundreds of
levels) is written by a slow one: a Turn is not lost over one odd value. Never pydantic, and never recursive
in a record's depth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, cast

import orjson

from otel_turns.sinks.base import Entry, Record

__all__ = ["Unencodable", "decode_record", "encode_record"]

# A record nested deeper than this is not from JSON; it contains itself.
_MOST_LEVELS: Final = 10_000


class Unencodable(ValueError):
    """A record that is no JSON: it holds a value that JSON has no word for, or itself. Never shows the
    value.
    """


def encode_record(record: Record, *, bare: bool = False) -> Entry:
    """The entry of a record; without its `otel` member where `bare`. Raises `Unencodable`."""
    otel = cast("Mapping[str, Any]", record.get("otel") or {})
    turn_id, revision = str(otel.get("turnId", "")), int(otel.get("revision", 0))
    if bare and otel:
        record = {name: value for name, value in record.items() if name != "otel"}
    try:
        return Entry(turn_id, revision, orjson.dumps(record))
    except TypeError:
        return Entry(turn_id, revision, _encode(record), record)


def decode_record(entry: Entry) -> Record:
    """The record of an entry: a copy of its own, except where only the record itself says all
    (`Entry.odd`).
    """
    return cast("Record", orjson.loads(entry.data)) if entry.odd is None else entry.odd


class _Raw(str):
    """Text that is JSON already; a closing bracket ends a level."""

    __slots__ = ()


def _encode(record: Record) -> bytes:
    parts: list[str] = []
    stack: list[Any] = [record]
    levels = 0
    while stack:
        value = stack.pop()
        if isinstance(value, _Raw):
            parts.append(value)
            levels -= value in "]}"
        elif isinstance(value, str):
            parts.append(_text(value))
        elif value is None or value is True or value is False:
            parts.append("null" if value is None else "true" if value else "false")
        elif isinstance(value, int):
            parts.append(_integer(value))
        elif isinstance(value, float):
            parts.append(float.__repr__(value) if math.isfinite(value) else "null")
        elif isinstance(value, (list, tuple, dict)):
            levels += 1
            if levels > _MOST_LEVELS:
                raise Unencodable("a record that contains itself")
            _open(cast("list[Any] | tuple[Any, ...] | dict[Any, Any]", value), parts, stack)
        else:
            raise Unencodable(f"a value of type {type(value).__name__}")
    return "".join(parts).encode()


def _open(value: list[Any] | tuple[Any, ...] | dict[Any, Any], parts: list[str], stack: list[Any]) -> None:
    pending: list[Any] = []
    if isinstance(value, dict):
        parts.append("{")
        for key, member in value.items():
            if not isinstance(key, str):
                raise Unencodable(f"a key of type {type(key).__name__}")
            pending += (_Raw("," * bool(pending) + _text(key) + ":"), member)
        pending.append(_Raw("}"))
    else:
        parts.append("[")
        for member in value:
            if pending:
                pending.append(_Raw(","))
            pending.append(member)
        pending.append(_Raw("]"))
    stack.extend(reversed(pending))


def _text(value: str) -> str:
    # Surrogate pairs become the character they mean, lone surrogates U+FFFD: JSON for everybody.
    repaired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return json.dumps(repaired, ensure_ascii=False)


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # beyond what the interpreter agrees to write in decimal
        raise Unencodable("an integer of thousands of digits") from None
