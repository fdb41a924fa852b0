"""OTLP/JSON, read by orjson and mapped straight to spans and log records.

Comes in: bytes of one request. Goes out: items and rejections. Lower camel case as the specification has it,
and snake case as some exporters write it; ids as hex in either case; 64-bit numbers as strings or numbers;
enums as numbers or names; unknown fields are passed over. Values are never shown in a message. Source: OTLP
specification, JSON protobuf encoding.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from typing import Any, Final, cast

import orjson

from otel_turns.errors import MalformedTelemetry
from otel_turns.model.item import Item, LoadedItem
from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink
from otel_turns.sources.otlp.wire import WireLimits

__all__ = ["read_logs", "read_spans"]

_DEEPEST: Final = 48
_KINDS: Final = {"UNSPECIFIED": 0, "INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_CODES: Final = {"UNSET": 0, "OK": 1, "ERROR": 2}
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_SNAKE: Final = re.compile(r"(?<!^)([A-Z])")
Table = dict[str, Any]


def read_spans(body: bytes, limits: WireLimits) -> tuple[list[Item], list[str]]:
    """Spans of an export request, and why others were rejected."""
    return _read(body, "resourceSpans", "scopeSpans", "spans", _span, limits)


def read_logs(body: bytes, limits: WireLimits) -> tuple[list[Item], list[str]]:
    """Log records of an export request, and why others were rejected."""
    return _read(body, "resourceLogs", "scopeLogs", "logRecords", _record, limits)


def _read(
    body: bytes,
    groups: str,
    scopes: str,
    leaves: str,
    make: Callable[[Table, Scope, Resource, int], Span | LogRecord],
    limits: WireLimits,
) -> tuple[list[Item], list[str]]:
    try:
        request: Any = orjson.loads(body)
    except ValueError:
        raise MalformedTelemetry("this is not JSON, or nested too deep") from None
    if not isinstance(request, dict):
        raise MalformedTelemetry("the request is no JSON object")
    table = cast("Table", request)
    if (
        table
        and not any(_get(table, name) is not None for name in (groups,))
        and any(
            _get(table, name) is not None for name in ("resourceSpans", "resourceLogs", "resourceMetrics")
        )
    ):
        raise MalformedTelemetry(f"the request holds another signal; {groups} is what belongs here")
    items: list[Item] = []
    rejected: list[str] = []
    for group in _tables(table, groups):
        resource = Resource(_attributes(_get(_table(group, "resource"), "attributes")))
        for inner in _tables(group, scopes):
            given = _table(inner, "scope")
            scope = Scope(
                _text(given.get("name")), _text(given.get("version")), _attributes(given.get("attributes"))
            )
            for leaf in _list(inner, leaves):
                if len(items) + len(rejected) >= limits.items:
                    raise MalformedTelemetry(f"the request has more than {limits.items} spans or log records")
                try:
                    if not isinstance(leaf, dict):
                        raise MalformedTelemetry("an entry is no JSON object")
                    source = make(cast("Table", leaf), scope, resource, limits.attributes)
                except MalformedTelemetry as error:
                    rejected.append(str(error))
                    continue
                items.append(LoadedItem(source, _weight(cast("Table", leaf))))
    return items, rejected


def _weight(leaf: Table) -> int:
    """What a span costs while it is held: about its JSON, which is about its parsed values."""
    return 256 + sum(len(str(v)) for v in leaf.values())


def _span(given: Table, scope: Scope, resource: Resource, most: int) -> Span:
    attributes, events, links = _list(given, "attributes"), _list(given, "events"), _list(given, "links")
    if len(attributes) + len(events) + len(links) > most:
        raise MalformedTelemetry(f"a span has more than {most} attributes, events and links")
    status = _table(given, "status")
    trace_id, span_id = _get(given, "traceId"), _get(given, "spanId")
    parent = _get(given, "parentSpanId")
    return Span(
        _id(trace_id, 16, "trace id"),
        _id(span_id, 8, "span id"),
        None if parent in (None, "", _NO_SPAN) else _id(parent, 8, "parent span id"),
        _text(given.get("name")),
        _number(_get(given, "startTimeUnixNano")),
        _number(_get(given, "endTimeUnixNano")),
        _enum(given.get("kind"), _KINDS),
        _enum(status.get("code"), _CODES),
        _text(status.get("message")),
        _attributes(attributes),
        tuple(_event(e) for e in events if isinstance(e, dict)),
        tuple(_link(x) for x in links if isinstance(x, dict)),
        scope,
        resource,
        _number(_get(given, "droppedAttributesCount")),
        _number(_get(given, "droppedEventsCount")),
        _number(_get(given, "droppedLinksCount")),
        _number(given.get("flags")),
    )


def _event(given: Table) -> SpanEvent:
    return SpanEvent(
        _number(_get(given, "timeUnixNano")),
        _text(given.get("name")),
        _attributes(given.get("attributes")),
        _number(_get(given, "droppedAttributesCount")),
    )


def _link(given: Table) -> SpanLink:
    return SpanLink(
        _id(_get(given, "traceId"), 16, "trace id of a link"),
        _id(_get(given, "spanId"), 8, "span id of a link"),
        _attributes(given.get("attributes")),
    )


def _record(given: Table, scope: Scope, resource: Resource, most: int) -> LogRecord:
    attributes = _list(given, "attributes")
    if len(attributes) > most:
        raise MalformedTelemetry(f"a log record has more than {most} attributes")
    trace_id, span_id = _get(given, "traceId"), _get(given, "spanId")
    trace = None if trace_id in (None, "", _NO_TRACE) else _id(trace_id, 16, "trace id")
    return LogRecord(
        _number(_get(given, "timeUnixNano")) or _number(_get(given, "observedTimeUnixNano")),
        _text(_get(given, "eventName")),
        _value(given.get("body"), 0),
        _attributes(attributes),
        trace,
        None if trace is None or span_id in (None, "", _NO_SPAN) else _id(span_id, 8, "span id"),
        _number(_get(given, "severityNumber")) if not isinstance(_get(given, "severityNumber"), str) else 0,
        scope,
        resource,
        _number(_get(given, "droppedAttributesCount")),
    )


# --- values -------------------------------------------------------------------------------------------------


def _get(given: Table, name: str) -> Any:
    value = given.get(name)
    return given.get(_SNAKE.sub(r"_\1", name).lower()) if value is None else value


def _table(given: Table, name: str) -> Table:
    value = _get(given, name)
    return cast("Table", value) if isinstance(value, dict) else {}


def _list(given: Table, name: str) -> list[Any]:
    value = _get(given, name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedTelemetry(f"{name} is no list")
    return cast("list[Any]", value)


def _tables(given: Table, name: str) -> list[Table]:
    found = _list(given, name)
    if not all(isinstance(one, dict) for one in found):
        raise MalformedTelemetry(f"an entry of {name} is no JSON object")
    return found


def _id(value: Any, size: int, what: str) -> bytes:
    if not isinstance(value, str):
        raise MalformedTelemetry(f"a {what} is missing or no text")
    if len(value) != 2 * size:
        hint = " (base64? OTLP/JSON wants hex)" if len(value) in (24, 12) else ""
        raise MalformedTelemetry(f"a {what} is not {2 * size} hex digits{hint}")
    try:
        raw = bytes.fromhex(value)
    except ValueError:
        raise MalformedTelemetry(f"a {what} is no hex") from None
    if len(raw) != size or not any(raw):
        raise MalformedTelemetry(f"a {what} is all zero or of wrong length")
    return raw


def _number(value: Any) -> int:
    """A 32- or 64-bit number; 0 where it is missing."""
    if value is None or value == "":
        return 0
    if isinstance(value, bool):
        raise MalformedTelemetry("a number is a boolean")
    if isinstance(value, int):
        number = value
    elif (
        isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit()
    ):
        number = int(value)
    elif isinstance(value, float) and value.is_integer() and abs(value) < 2**64:
        number = int(value)
    else:
        raise MalformedTelemetry("a number is no whole number")
    if not 0 <= number < 2**64:
        raise MalformedTelemetry("a number is out of range")
    return number


def _enum(value: Any, names: dict[str, int]) -> int:
    if isinstance(value, str):
        known = names.get(value.rsplit("_", 1)[-1].upper())
        return known if known is not None else _number(value) if value.isdigit() else 0
    return _number(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _attributes(pairs: Any) -> Table:
    if not pairs:
        return {}
    if not isinstance(pairs, list):
        raise MalformedTelemetry("attributes is no list")
    out: Table = {}
    for pair in cast("list[Any]", pairs):
        if not isinstance(pair, dict):
            raise MalformedTelemetry("an attribute is no JSON object")
        key: Any = pair.get("key")  # type: ignore[reportUnknownMemberType]
        if not isinstance(key, str):
            raise MalformedTelemetry("an attribute has no key")
        value: Any = pair.get("value")  # type: ignore[reportUnknownMemberType]
        out[key] = _value(value, 0)
    return out


def _value(given: Any, depth: int) -> Any:
    """An AnyValue; an empty one is None."""
    if not given:
        return None
    if not isinstance(given, dict):
        raise MalformedTelemetry("a value is no JSON object")
    table = cast("Table", given)
    for kind, read in _VALUES.items():
        if kind in table:
            return read(table[kind], depth)
    for name in table:
        kind = name.replace("_", "").lower()
        if kind in _LOWER:
            return _VALUES[_LOWER[kind]](table[name], depth)
    return None


def _string(value: Any, depth: int) -> Any:
    return value if isinstance(value, str) else None


def _boolean(value: Any, depth: int) -> Any:
    return value if isinstance(value, bool) else None


def _integer(value: Any, depth: int) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif (
        isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit()
    ):
        number = int(value)
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    else:
        raise MalformedTelemetry("an integer value is no whole number")
    if not -(2**63) <= number < 2**63:
        raise MalformedTelemetry("an integer value is out of range")
    return number


def _double(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        try:
            return float(value.replace("Infinity", "inf"))
        except ValueError:
            raise MalformedTelemetry("a double value is no number") from None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bytes(value: Any, depth: int) -> Any:
    if not isinstance(value, str):
        return None
    try:
        return binascii.a2b_base64(value.replace("-", "+").replace("_", "/") + "==")
    except ValueError:
        raise MalformedTelemetry("a bytes value is no base64") from None


def _array(value: Any, depth: int) -> Any:
    if depth >= _DEEPEST:
        raise MalformedTelemetry(f"an attribute is nested deeper than {_DEEPEST} levels")
    table = cast("Table", value) if isinstance(value, dict) else {}
    return [_value(one, depth + 1) for one in _list(table, "values")]


def _map(value: Any, depth: int) -> Any:
    if depth >= _DEEPEST:
        raise MalformedTelemetry(f"an attribute is nested deeper than {_DEEPEST} levels")
    table = cast("Table", value) if isinstance(value, dict) else {}
    out: Table = {}
    for pair in _list(table, "values"):
        if isinstance(pair, dict):
            one = cast("Table", pair)
            out[_text(one.get("key"))] = _value(one.get("value"), depth + 1)
    return out


_VALUES: Final[dict[str, Callable[[Any, int], Any]]] = {
    "stringValue": _string,
    "intValue": _integer,
    "boolValue": _boolean,
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _map,
    "bytesValue": _bytes,
}
_LOWER: Final = {name.lower(): name for name in _VALUES}
