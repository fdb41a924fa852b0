"""All turns of a number of settled traces.

Comes in: read spans and log records. Goes out: records, in order of time. It is the one door into assembly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from otel_turns.assembly.boundaries import TurnScope, find_turns
from otel_turns.assembly.forest import build_forest
from otel_turns.assembly.making import Making
from otel_turns.assembly.memory import Memory
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.session import goes_on
from otel_turns.assembly.trail import Trail
from otel_turns.assembly.tree import Read
from otel_turns.assembly.turn import assemble_turn
from otel_turns.model.facts import Role, ToolCall

__all__ = ["Told", "assemble", "may_go_on"]


class Told:
    """One turn: its record, the traces that it was read from, whether requests to come may still continue it,
    and whether it goes on with a session that began before it.
    """

    __slots__ = ("goes_on", "open", "record", "traces")

    def __init__(
        self, record: dict[str, Any], traces: frozenset[bytes], is_open: bool, goes_on: bool
    ) -> None:
        self.record = record
        self.traces = traces
        self.open = is_open
        self.goes_on = goes_on


def assemble(
    reads: Iterable[Read], options: AssemblyOptions, memory: Memory, trail: Trail | None = None
) -> list[Told]:
    """The turns of these spans and records, in order of time. `trail` is told what became of each of them."""
    told: list[Told] = []
    if trail is not None:
        reads = trail.begin(reads)
    forest = build_forest(reads)
    for scope in find_turns(forest):
        making = Making(scope, options, memory)
        record = assemble_turn(making)
        if record is not None:
            traces = frozenset(n.trace_id for n in (*scope.tops, *scope.records, scope.root))
            told.append(Told(record, traces, may_go_on(scope), goes_on(making)))
            if trail is not None:
                trail.turn(making, record)
    if trail is not None:
        trail.end(forest)
    return told


def may_go_on(scope: TurnScope) -> bool:
    """Whether the turn is made of bare requests (or of traces that only an id joins) whose last one asked for
    calls, so that another trace may carry its next request.
    """
    if any(n.role in (Role.AGENT, Role.WORKFLOW) for n in scope.tops):
        return False
    if any(n.facts.group for n in (*scope.tops, *scope.records)):
        return True
    requests = [n for n in scope.tops if n.role is Role.INFERENCE]
    if not requests:
        return bool(scope.tops) and all(n.role is Role.TOOL for n in scope.tops)
    last = max(requests, key=lambda n: n.key)
    return last.facts.outputs is None or any(
        isinstance(p, ToolCall) for m in last.facts.outputs for p in m.parts
    )
