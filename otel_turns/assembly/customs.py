"""NormalizedEvents of the variant Custom whose names are documented: events of the vocabulary in a payload.

Comes in: one Custom. Goes out: the StreamEvent that it is, None where its name says nothing to us. It checks
the shape by the model's own types, which only these rare events make it load.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from otel_turns.model.normalized import Custom, MalformedEvent

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["custom_event"]


def custom_event(event: Custom) -> dict[str, Any] | None:
    """The StreamEvent that a Custom named `stream_event`, `compaction`, `input.requested` or `skill.loaded`
    is.

    Raises `MalformedEvent` where its payload is none; the reason never shows content.
    """
    payload: Any = event.payload
    fields = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    match event.event_name:
        case "stream_event":
            made = fields
        case "compaction":
            made = {"type": "compaction", **_known(fields, "reason")}
        case "input.requested":
            if not isinstance(payload, dict):
                raise MalformedEvent("this is not an object", "Custom", "payload")
            request: Any = fields.get("request")
            asked = cast("dict[str, Any]", request) if isinstance(request, dict) else fields
            made = {
                "type": "input.requested",
                "request": _known(asked, "id", "action", "input", "prompt", "options"),
            }
        case "skill.loaded":
            name = fields.get("skill", fields.get("name", payload if isinstance(payload, str) else None))
            made = {"type": "skill.loaded", "skill": name, **_known(fields, "operationId")}
        case _:
            return None
    if not _is_stream_event(made):
        raise MalformedEvent("this is not the event that its name says", "Custom", "payload")
    return dict(made)


def _known(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: fields[name] for name in names if fields.get(name) is not None}


def _is_stream_event(value: dict[str, Any]) -> bool:
    from pydantic import ValidationError

    try:
        _stream_event().validate_python(value)
    except ValidationError:
        return False
    return True


@cache
def _stream_event() -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    from otel_turns.model.turn import StreamEvent

    return TypeAdapter(StreamEvent)
