"""The data that crosses the borders between the stages. Imports none of them.

Every name here is loaded when it is first used, so that a module of plain data (`span`, `facts`, `item`,
`normalized`, `evidence`) costs nothing but itself: the types that pydantic checks are for readers of Turns,
not for the way there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_turns.model.evidence import CODES, EvidenceCode
    from otel_turns.model.normalized import NormalizedEvent
    from otel_turns.model.provenance import bare, turn_id
    from otel_turns.model.record import Evidence, Issue, Otel, Record
    from otel_turns.model.turn import (
        MISSING,
        CompactionEvent,
        ErrorEvent,
        InputOption,
        InputRequest,
        InputRequested,
        JsonValue,
        MessageEvent,
        OperationFinished,
        OperationStarted,
        SkillLoaded,
        StreamEvent,
        SubagentOperation,
        SubagentOperationFinished,
        ThinkingEvent,
        ToolName,
        ToolOperation,
        ToolOperationFinished,
        Turn,
        Usage,
    )
    from otel_turns.model.validate import iter_problems

__all__ = [
    "CODES",
    "MISSING",
    "CompactionEvent",
    "ErrorEvent",
    "Evidence",
    "EvidenceCode",
    "InputOption",
    "InputRequest",
    "InputRequested",
    "Issue",
    "JsonValue",
    "MessageEvent",
    "NormalizedEvent",
    "OperationFinished",
    "OperationStarted",
    "Otel",
    "Record",
    "SkillLoaded",
    "StreamEvent",
    "SubagentOperation",
    "SubagentOperationFinished",
    "ThinkingEvent",
    "ToolName",
    "ToolOperation",
    "ToolOperationFinished",
    "Turn",
    "Usage",
    "bare",
    "iter_problems",
    "turn_id",
]

_HOME = {
    "CODES": "evidence",
    "Evidence": "record",
    "EvidenceCode": "evidence",
    "Issue": "record",
    "MISSING": "facts",
    "NormalizedEvent": "normalized",
    "Otel": "record",
    "Record": "record",
    "bare": "provenance",
    "iter_problems": "validate",
    "turn_id": "provenance",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'turn')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
