"""The record: a Turn together with where it came from and what is known to be missing. This is what a sink
gets.

Comes in: a record as JSON or as plain data. Goes out: frozen objects. The Turn's own members stand at the top
level, so that a record is a Turn for everybody who reads Turns. Nanoseconds travel as decimal strings: JSON
numbers lose them beyond 2^53.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from otel_turns.model.evidence import EvidenceCode
from otel_turns.model.provenance import bare, group_turn_id, turn_id
from otel_turns.model.shape import MISSING, Maybe, MaybeJson, Shape
from otel_turns.model.turn import Turn

__all__ = [
    "Agent",
    "Annotation",
    "Evidence",
    "Issue",
    "Otel",
    "Record",
    "Service",
    "bare",
    "group_turn_id",
    "turn_id",
]


def _fits(nanoseconds: str) -> str:
    if int(nanoseconds) >= 2**64:
        raise PydanticCustomError("unix_nano", "a time is below 2^64 nanoseconds")
    return nanoseconds


UnixNano: TypeAlias = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,19})$"), AfterValidator(_fits)]
TurnId: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{48}$")]
TraceId: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]
SpanId: TypeAlias = Annotated[str, Field(pattern=r"^([0-9a-f]{16})?$")]


class Agent(Shape):
    """The agent under observation, as its telemetry names it."""

    name: Maybe[str] = None
    id: Maybe[str] = None
    version: Maybe[str] = None


class Service(Shape):
    """The service that ran the agent (the resource's service name and version)."""

    name: Maybe[str] = None
    version: Maybe[str] = None


class Annotation(Shape):
    """Something that the event vocabulary has no word for: a citation, a memory update, sandbox output, ...

    `type` is its name on the wire (`citation.added`), `data` its fields.
    """

    timeUnixNano: UnixNano
    spanId: SpanId
    type: str
    data: MaybeJson = MISSING


class Issue(Shape):
    """One thing that is missing or doubtful. `message` never holds content."""

    code: EvidenceCode
    message: str
    spanId: Maybe[SpanId] = None
    operationId: Maybe[str] = None


class Evidence(Shape):
    """What is known to be missing. `complete` is true only when no issue says that something is."""

    complete: bool
    issues: list[Issue]


class Otel(Shape):
    """Where a Turn came from.

    `turnId` is the same for the same spans, everywhere and always; a Turn that is told again has a higher
    `revision`. `traceId` and `rootSpanId` are hex, and empty where a Turn stands on log records that belong
    to no span. `turnNumber` counts the turns of a session from 1, and is absent where their order is not
    known. `eventTimes` and `eventSpans` have one entry for each event; a span id is empty where no span told
    of it. `conventions` names the dialects that read the spans.
    """

    turnId: TurnId
    revision: Annotated[int, Field(ge=0)]
    traceId: TraceId
    rootSpanId: SpanId
    sessionId: Maybe[str] = None
    turnNumber: Maybe[Annotated[int, Field(ge=1)]] = None
    agent: Maybe[Agent] = None
    service: Maybe[Service] = None
    startTimeUnixNano: UnixNano
    endTimeUnixNano: UnixNano
    eventTimes: list[UnixNano]
    eventSpans: list[SpanId]
    conventions: list[str]
    annotations: Maybe[list[Annotation]] = None
    evidence: Evidence


class Record(Turn):
    """A Turn as a sink gets it."""

    otel: Otel
