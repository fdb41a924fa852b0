"""NormalizedEvents among a span's events, whatever convention the span itself speaks.

Comes in: a span and its `Facts`. Goes out: `Facts.normalized`, in the order of the span, and a "malformed"
mark for each event that is one by name and cannot be read. It never raises and never looks at the span's
attributes.

A span event is one by its name: a variant in any spelling (`message.delta`, `message_delta`,
`MessageDelta`, each also behind `normalized.` or `uar.`), with its fields as attributes; or
`NormalizedEvent` / `normalized_event`, with the event as JSON in one attribute. Names that are everyday
words (`done`, `error`, `usage`, `custom`) may be anybody's: such an event that cannot be read is malformed
only beside others that are surely NormalizedEvents.
"""

from __future__ import annotations

from typing import Any

from otel_turns.model.facts import Facts, Mark
from otel_turns.model.normalized import (
    MalformedEvent,
    NormalizedEvent,
    parse_fields,
    parse_json,
    parse_wire,
    variant_name,
)
from otel_turns.model.span import Span, SpanEvent

__all__ = ["read_normalized"]

_CARRIERS = frozenset(
    prefix + name
    for prefix in ("", "normalized.", "uar.")
    for name in ("NormalizedEvent", "normalized_event", "normalized.event", "normalizedEvent")
)
_HOLDERS = ("event", "data", "payload", "body", "json")
_EVERYDAY = frozenset({"Done", "Error", "Usage", "Custom"})
_FOREIGN, _EVERYDAY_WORD, _OWN_WORD, _CARRIER = 0, 1, 2, 3
_MOST_NAMES = 4096
_known: dict[str, int] = {}


def read_normalized(span: Span, facts: Facts) -> None:
    """Adds what the span's events say. A span without a NormalizedEvent is left as it is."""
    certain = False
    doubtful: list[Mark] = []
    for event in span.events:
        kind = _known.get(event.name)
        if kind is None:
            kind = _learn(event.name)
        if kind == _FOREIGN:
            continue
        try:
            read = _carried(event) if kind == _CARRIER else parse_fields(event.name, event.attributes)
        except MalformedEvent as error:
            mark = Mark(event.time, "malformed", str(error))
            if kind == _EVERYDAY_WORD:
                doubtful.append(mark)
            else:
                certain = True
                facts.marks.append(mark)
            continue
        if kind != _EVERYDAY_WORD:
            certain = True
        facts.normalized.append((event.time, read))
    if certain:
        facts.marks.extend(doubtful)


def _learn(name: str) -> int:
    if name in _CARRIERS:
        kind = _CARRIER
    else:
        variant = variant_name(name)
        if variant is None:
            kind = _FOREIGN
        else:
            # Behind a prefix an everyday word is a name of its own.
            kind = _EVERYDAY_WORD if variant in _EVERYDAY and name.lower() == variant.lower() else _OWN_WORD
    if len(_known) < _MOST_NAMES:
        _known[name] = kind
    return kind


def _carried(event: SpanEvent) -> NormalizedEvent:
    attributes = event.attributes
    for holder in _HOLDERS:
        value: Any = attributes.get(holder)
        if value is None:
            continue
        if isinstance(value, (str, bytes)):
            # Bare text is the name of a variant without fields.
            bare = isinstance(value, str) and variant_name(value) is not None
            return parse_wire(value) if bare else parse_json(value)
        return parse_wire(value)
    raise MalformedEvent("no attribute holds the event")
