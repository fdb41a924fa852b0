"""JSON values as protobuf messages and back, without loss.

Comes in: a JSON value as Python data. Goes out: a `JsonValue` message that keeps whole numbers of any size,
the difference of 1 and 1.0, and the order of members; and the value again. `google.protobuf.Value` keeps none
of these.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from otel_turns.model.pb import turn_pb2 as pb

__all__ = ["DEPTH", "decode", "encode"]

DEPTH: Final = 24
"""Levels of a value that become messages. Each takes up to three levels of a message, and parsers stop at
100; what lies deeper travels as JSON text."""

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def encode(value: Any, into: pb.JsonValue, depth: int = 0) -> None:
    """Writes a JSON value into an empty message. Raises `ValueError` or `TypeError` for anything else."""
    if value is None:
        into.null = pb.JsonValue.NULL_VALUE
    elif isinstance(value, bool):
        into.boolean = value
    elif isinstance(value, int):
        if _INT64_MIN <= value <= _INT64_MAX:
            into.integer = value
        else:
            into.big_integer = str(value)
    elif isinstance(value, float):
        into.number = value
    elif isinstance(value, str):
        into.text = value
    elif not isinstance(value, (list, dict)):
        raise TypeError("this is not a JSON value")
    elif depth >= DEPTH:
        into.json = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    elif isinstance(value, list):
        into.list.SetInParent()
        for each in cast("list[Any]", value):
            encode(each, into.list.values.add(), depth + 1)
    else:
        into.object.SetInParent()
        for key, each in cast("dict[str, Any]", value).items():
            member = into.object.members.add()
            member.key = key
            encode(each, member.value, depth + 1)


def decode(value: pb.JsonValue) -> Any:
    """The JSON value that a message holds. Raises `ValueError` for a message that holds none."""
    kind = value.WhichOneof("kind")
    if kind == "null":
        return None
    if kind == "big_integer":
        return int(value.big_integer)
    if kind == "list":
        return [decode(each) for each in value.list.values]
    if kind == "object":
        return {member.key: decode(member.value) for member in value.object.members}
    if kind == "json":
        return json.loads(value.json)
    if kind is None:
        raise ValueError("this JSON value is not set")
    return getattr(value, kind)
