"""The wire forms of NormalizedEvent: how a span event or a JSON value becomes a variant, and back.

Comes in: a decoded JSON value in one of serde's three forms, JSON text, or the fields of a span event. Goes
out: one small object, or `MalformedEvent`. Nothing is guessed: a required field that is missing is an error,
and the error names variant and field and never shows a value. Fields that a variant does not have are
ignored, as serde ignores them.

What is read beyond the letter, because telemetry passes through stores that change it:
- a number may be a text of digits or a float without fraction; a truth value may be the text `true` or
`false`;
- in a span event, `payload` and `citation` may be JSON text, a citation's fields may stand there one by one,
and an
  absent `payload` is null, which attributes cannot say;
- `operation` of MemoryUpdate is `set` and `success` of ToolResult is true where absent, as the producer's own
reader has
  it; `total_tokens` is the sum of the other two where absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NoReturn, cast

from otel_turns.errors import OtelTurnsError
from otel_turns.model.variant_fields import VARIANTS, WRONG, Variant, variant_name
from otel_turns.model.variants import (
    CitationAdded,
    Custom,
    Done,
    Error,
    MemoryUpdate,
    MessageDelta,
    NormalizedEvent,
    ReasoningDelta,
    RuntimeStep,
    RuntimeStepKind,
    SandboxOutput,
    SkillActivation,
    StreamStart,
    ThinkingDelta,
    ToolCallComplete,
    ToolCallDelta,
    ToolResult,
    Usage,
    VariantName,
)

__all__ = [
    "VARIANTS",
    "CitationAdded",
    "Custom",
    "Done",
    "Error",
    "MalformedEvent",
    "MemoryUpdate",
    "MessageDelta",
    "NormalizedEvent",
    "ReasoningDelta",
    "RuntimeStep",
    "RuntimeStepKind",
    "SandboxOutput",
    "SkillActivation",
    "StreamStart",
    "ThinkingDelta",
    "ToolCallComplete",
    "ToolCallDelta",
    "ToolResult",
    "Usage",
    "VariantName",
    "parse_fields",
    "parse_json",
    "parse_wire",
    "to_fields",
    "to_wire",
    "variant_name",
    "wire_name",
]


class MalformedEvent(OtelTurnsError):
    """A NormalizedEvent that cannot be read. `variant` and `field` say where, as far as that is known."""

    def __init__(self, reason: str, variant: str | None = None, field: str | None = None) -> None:
        where = "NormalizedEvent" if variant is None else variant if field is None else f"{variant}.{field}"
        super().__init__(f"{where}: {reason}")
        self.variant = variant
        self.field = field


def parse_wire(value: Any) -> NormalizedEvent:
    """A decoded JSON value in serde's adjacently, internally or externally tagged form.

    `{"type": "message.delta", "data": {"text": "a"}}`, `{"type": "message_delta", "text": "a"}`,
    `{"MessageDelta": {"text": "a"}}`; `"Done"` for a variant without fields. The tag may have any spelling
    that `variant_name` knows. An object under `data` is the adjacent form. Raises `MalformedEvent`.
    """
    if isinstance(value, str):
        return _build(_variant(value), {})
    if not isinstance(value, Mapping):
        raise MalformedEvent("neither an object nor the name of a variant")
    event = cast("Mapping[str, Any]", value)
    tag = event.get("type")
    if isinstance(tag, str):
        inner = event.get("data")
        if not isinstance(inner, Mapping):
            inner = {name: each for name, each in event.items() if name != "type"}
        return _build(_variant(tag), cast("Mapping[str, Any]", inner))
    if len(event) != 1:
        raise MalformedEvent("no type, and not a single member named after a variant")
    [(name, inner)] = event.items()
    variant = _variant(name)
    if inner is not None and not isinstance(inner, Mapping):
        raise MalformedEvent("its fields are not an object", variant.name)
    return _build(variant, cast("Mapping[str, Any]", inner or {}))


def parse_json(text: str | bytes) -> NormalizedEvent:
    """JSON text of one event in any of the three forms. Raises `MalformedEvent`, also where it is no JSON."""
    return parse_wire(_decode(text))


def parse_fields(name: str, attributes: Mapping[str, Any]) -> NormalizedEvent:
    """A span event that is named after a variant and carries its fields as attributes. Raises
    `MalformedEvent`.
    """
    variant = _variant(name)
    if variant.make is CitationAdded:
        whole = attributes.get("citation", attributes)
        return _citation(_decode(whole, variant.name) if isinstance(whole, str) else whole)
    if variant.make is Custom:
        return _build(variant, {**attributes, "payload": _payload(attributes.get("payload"))})
    return _build(variant, attributes)


def to_wire(event: NormalizedEvent, form: Literal["adjacent", "internal", "external"] = "adjacent") -> Any:
    """The event as JSON data in one of serde's forms; optional fields that are None are left out.

    Raises `ValueError` for a citation that has a field which the internal form needs for itself.
    """
    name = type(event).__name__
    variant = VARIANTS[name]
    fields = _fields(event, variant)
    bare = variant.make is Done
    if form == "external":
        return name if bare else {name: fields}
    if form == "adjacent":
        return {"type": variant.wire} if bare else {"type": variant.wire, "data": fields}
    if "type" in fields or isinstance(fields.get("data"), dict):
        raise ValueError("a citation with a field named type or data has no internally tagged form")
    return {"type": variant.wire.replace(".", "_"), **fields}


def to_fields(event: NormalizedEvent) -> dict[str, str | bool | int]:
    """The event's fields as attributes of a span event named `wire_name(event)`: `parse_fields` reads them
    back.

    A payload and a citation are written as JSON text, since attributes hold no objects in every SDK.
    """
    if isinstance(event, CitationAdded):
        return {"citation": _encode(event.citation)}
    fields = _fields(event, VARIANTS[type(event).__name__])
    if isinstance(event, Custom):
        fields["payload"] = _encode(event.payload)
    return fields


def wire_name(event: NormalizedEvent) -> str:
    """The event's name on the wire, such as `tool_call.delta`."""
    return VARIANTS[type(event).__name__].wire


def _variant(name: str) -> Variant:
    known = variant_name(name)
    if known is None:
        raise MalformedEvent("its type names no variant")
    return VARIANTS[known]


def _citation(fields: Any) -> CitationAdded:
    if not isinstance(fields, Mapping) or not fields:
        raise MalformedEvent("its fields are not an object, or there are none", "CitationAdded")
    return CitationAdded(dict(cast("Mapping[str, Any]", fields)))


def _build(variant: Variant, source: Mapping[str, Any]) -> NormalizedEvent:
    if variant.make is CitationAdded:
        return _citation(source)
    values: list[Any] = []
    for field in variant.fields:
        name, (read, what, _), default = field
        value = source.get(name)
        if value is None and not (field.nullable and name in source):
            if field.required:
                raise MalformedEvent("this field is missing", variant.name, name)
            values.append(default)
            continue
        value = read(value)
        if value is WRONG:
            raise MalformedEvent(f"this is not {what}", variant.name, name)
        values.append(value)
    if variant.make is Usage and values[2] is None:
        values[2] = values[0] + values[1]
    return variant.make(*values)


def _fields(event: NormalizedEvent, variant: Variant) -> dict[str, Any]:
    if isinstance(event, CitationAdded):
        return dict(event.citation)
    found = {field.name: getattr(event, field.name) for field in variant.fields}
    return {name: value for name, value in found.items() if value is not None or name == "payload"}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError("JSON has no NaN and no Infinity")


def _decode(text: str | bytes, variant: str | None = None) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        # From None: the decoder's error carries the text.
        raise MalformedEvent("this is not JSON", variant) from None


def _payload(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return _decode(value)
    except MalformedEvent:
        return value


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
