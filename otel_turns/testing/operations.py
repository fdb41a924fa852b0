"""What a Turn says about its operations: each started event with the finished event that belongs to it.

Comes in: a Turn or record, as plain data or as the pydantic type. Goes out: `Operation`s in the order in
which they started. Never checks the Turn; `otel-turns validate` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from otel_turns.model.facts import MISSING

__all__ = ["Operation", "TurnLike", "operations", "plain", "reply"]


class _Model(Protocol):
    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


TurnLike = Mapping[str, Any] | _Model
"""A Turn or record: a dict as a sink gets it, or `otel_turns.Turn`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One tool call or subagent. `status` is None where it never finished; `output` is `MISSING` where
    unknown.
    """

    id: str
    kind: str
    name: str
    input: Any
    output: Any = MISSING
    status: str | None = None


def plain(turn: TurnLike) -> Mapping[str, Any]:
    """The Turn as plain data."""
    return turn if isinstance(turn, Mapping) else turn.model_dump(mode="json")


def operations(turn: TurnLike, kind: str | None = None) -> list[Operation]:
    """The operations of a Turn in the order in which they started; `kind` is "tool", "subagent" or None for
    both.

    An id that starts again after its finish is another operation.
    """
    found: list[Operation] = []
    running: dict[tuple[str, str], int] = {}
    for event in plain(turn)["events"]:
        if event["type"] == "operation.started":
            what = event["operation"]
            running[event["operationId"], what["kind"]] = len(found)
            found.append(Operation(event["operationId"], what["kind"], what["name"], what.get("input")))
        elif event["type"] == "operation.finished":
            place = running.pop((event["operationId"], event["kind"]), None)
            if place is not None:
                begun = found[place]
                found[place] = Operation(
                    begun.id,
                    begun.kind,
                    begun.name,
                    begun.input,
                    event.get("output", MISSING),
                    event["status"],
                )
    return [each for each in found if kind in (None, each.kind)]


def reply(turn: TurnLike) -> str:
    """All that the agent said in the Turn, one paragraph for each message; "" where it said nothing."""
    said = (e["text"] for e in plain(turn)["events"] if e["type"] == "message" and e["role"] == "assistant")
    return "\n\n".join(said)
