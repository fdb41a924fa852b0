"""The values that stand in OTLP/JSON: attributes, numbers, enums, ids, in what orjson made of them.

Comes in: parsed JSON. Goes out: the Python values that the same telemetry has in protobuf. Raises
`MalformedTelemetry` for what protobuf could not say either; a message names what was wrong, never a value.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from otel_turns.errors import MalformedTelemetry
from otel_turns.sources.otlp.values import DEEPEST, LIST_LEVELS, MAP_LEVELS, too_deep

__all__ = [
    "Table",
    "attributes_of",
    "bytes_of",
    "camel",
    "cost_of",
    "enum_of",
    "id_of",
    "list_of",
    "number_of",
    "table_of",
    "text_of",
    "value_of",
]

Table = dict[str, Any]

_KNOWN: Final = frozenset(
    (
        "resourceSpans",
        "scopeSpans",
        "spans",
        "resourceLogs",
        "scopeLogs",
        "logRecords",
        "resourceMetrics",
        "resourceProfiles",
        "resource",
        "scope",
        "schemaUrl",
        "name",
        "version",
        "attributes",
        "droppedAttributesCount",
        "entityRefs",
        "traceId",
        "spanId",
        "parentSpanId",
        "traceState",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "events",
        "droppedEventsCount",
        "links",
        "droppedLinksCount",
        "status",
        "flags",
        "message",
        "code",
        "timeUnixNano",
        "observedTimeUnixNano",
        "severityNumber",
        "severityText",
        "body",
        "eventName",
        "key",
        "value",
        "values",
        "stringValue",
        "boolValue",
        "intValue",
        "doubleValue",
        "arrayValue",
        "kvlistValue",
        "bytesValue",
    )
)
"""The members of OTLP/JSON that are read or at least common, in lower camel case."""

_CAMEL: Final = {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): name for name in _KNOWN}
"""Snake case to lower camel case."""


def camel(table: Table) -> Table:
    """`table` with members in lower camel case; itself where they are already."""
    if table.keys() <= _KNOWN:
        return table
    named = {_CAMEL.get(name, name): value for name, value in table.items()}
    for name in table.keys() & _KNOWN:  # where both forms are given
        named[name] = table[name]
    return named


def table_of(value: Any, what: str) -> Table:
    """A JSON object with members in lower camel case; an empty one for null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedTelemetry(f"{what} is no JSON object")
    return camel(cast("Table", value))


def list_of(value: Any, what: str) -> list[Any]:
    """A JSON array; an empty one for null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedTelemetry(f"{what} is no JSON array")
    return cast("list[Any]", value)


def text_of(value: Any, what: str) -> str:
    """Text; "" for null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedTelemetry(f"{what} is no text")
    return value


def number_of(value: Any, what: str, bits: int = 64) -> int:
    """An unsigned number; 0 for null."""
    if value is None:
        return 0
    number = _whole(value)
    if number is None or not 0 <= number < 1 << bits:
        raise MalformedTelemetry(f"{what} is no whole number of {bits} bits")
    return number


def enum_of(value: Any, names: Mapping[str, int], what: str) -> int:
    """An enum's number, given by number or name; 0 for null and for names that are not known."""
    if value is None:
        return 0
    if isinstance(value, str):
        known = names.get(value.upper())
        if known is not None:
            return known
        value = _whole(value) or 0
    number = _whole(value)
    if number is None or not -(1 << 31) <= number < 1 << 31:
        raise MalformedTelemetry(f"{what} is no enum's number or name")
    return number


def bytes_of(value: Any, what: str) -> bytes:
    """Bytes in hex, or in base64 where the length is that of an id; b"" for null."""
    if value is None:
        return b""
    if isinstance(value, str):
        try:
            if (len(value) == 24 and value.endswith("==")) or (len(value) == 12 and value.endswith("=")):
                return base64.b64decode(value, validate=True)
            raw = bytes.fromhex(value)
        except (ValueError, binascii.Error):
            raise MalformedTelemetry(f"{what} is no hex") from None
        if 2 * len(raw) == len(value):  # `fromhex` passes over spaces
            return raw
    raise MalformedTelemetry(f"{what} is no hex")


def id_of(value: Any, what: str, size: int) -> bytes:
    """An id of `size` bytes that is not all zero."""
    raw = bytes_of(value, what)
    if len(raw) != size:
        if not raw:
            raise MalformedTelemetry(f"{what} is missing")
        raise MalformedTelemetry(f"{what} has {len(raw)} bytes; {size} are right")
    if not any(raw):
        raise MalformedTelemetry(f"{what} is all zero")
    return raw


def attributes_of(value: Any, level: int = 2) -> dict[str, Any]:
    """The mapping that an array of KeyValues stands for; `level` is how deep in messages their values lie."""
    out: dict[str, Any] = {}
    # Runs once an attribute.
    for pair in list_of(value, "attributes"):
        if pair.__class__ is not dict:
            raise MalformedTelemetry("an attribute is no JSON object")
        given = pair.get("value")
        key = pair.get("key")
        if key.__class__ is not str:
            key = text_of(key, "the key of an attribute")
        text = given.get("stringValue") if given.__class__ is dict else None
        out[key] = text if text.__class__ is str else value_of(given, level)
    return out


def value_of(given: Any, level: int) -> Any:
    """What an AnyValue stands for; None for an empty one. `level` is how deep in messages it lies."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise MalformedTelemetry("a value is no JSON object")
    if level > DEEPEST:
        raise too_deep()
    for name, value in cast("Table", given).items():
        read = _READERS.get(name) or _READERS.get(_CAMEL.get(name, ""))
        if read is not None and value is not None:
            return read(value, level)
    return None


def cost_of(values: Any) -> int:
    """About how many bytes a mapping of attributes, or any value in one, takes in memory."""
    if isinstance(values, str):
        return 60 + (len(values) if values.isascii() else 2 * len(values))
    if isinstance(values, dict):
        table = cast("Table", values)
        return 120 + 100 * len(table) + sum(map(cost_of, table.values()))
    if isinstance(values, list):
        return 80 + sum(map(cost_of, cast("list[Any]", values)))
    return 40 + len(values) if isinstance(values, bytes) else 40


def _whole(value: Any) -> int | None:
    """A whole number given as number or text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1 << 64 else None
    # 20 digits are more than 64 bits can say; a longer text is not even tried.
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return None


def _text(value: Any, _level: int) -> str:
    return text_of(value, "a string value")


def _bool(value: Any, _level: int) -> bool:
    if isinstance(value, bool):
        return value
    raise MalformedTelemetry("a bool value is neither true nor false")


def _int(value: Any, _level: int) -> int:
    number = _whole(value)
    if number is None or not -(1 << 63) <= number < 1 << 63:
        raise MalformedTelemetry("an int value is no whole number of 64 bits")
    return number


def _double(value: Any, _level: int) -> float:
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, str) and len(value) < 400 and value.strip() == value:
            return float(value)  # also "NaN", "Infinity", "-Infinity"
    except ValueError:
        pass
    raise MalformedTelemetry("a double value is no number")


def _bytes(value: Any, _level: int) -> bytes:
    if isinstance(value, str):
        standard = value.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
        except (ValueError, binascii.Error):
            pass
    raise MalformedTelemetry("a bytes value is no base64")


def _array(value: Any, level: int) -> list[Any]:
    if level >= DEEPEST:
        raise too_deep()
    values = list_of(table_of(value, "an array value").get("values"), "the values of an array value")
    return [value_of(inner, level + LIST_LEVELS) for inner in values]


def _kvlist(value: Any, level: int) -> dict[str, Any]:
    pairs = list_of(table_of(value, "a kvlist value").get("values"), "the values of a kvlist value")
    if level + (MAP_LEVELS if pairs else 1) > DEEPEST:
        raise too_deep()
    return attributes_of(pairs, level + MAP_LEVELS)


_READERS: Final[Mapping[str, Callable[[Any, int], Any]]] = {
    "stringValue": _text,
    "boolValue": _bool,
    "intValue": _int,
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _kvlist,
    "bytesValue": _bytes,
}
