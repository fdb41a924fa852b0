"""Everything that is known while one turn is made.

Comes in: a `TurnScope`, options and the memory of earlier turns. Goes out: `Making`, which the steps of a
turn fill one after another: witnesses, telling, remarks, record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from otel_turns.assembly.agents import Cast, cast
from otel_turns.assembly.boundaries import TurnScope
from otel_turns.assembly.evidence import Remarks
from otel_turns.assembly.memory import Memory
from otel_turns.assembly.narrative import Narrative
from otel_turns.assembly.operations import Operation, Operations
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.replies import Handed, Reply
from otel_turns.assembly.speech import Speech, fold
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Question, Role

__all__ = ["Making", "around", "asked_about"]


class Making:
    """Everything that is known while one turn is made."""

    def __init__(self, scope: TurnScope, options: AssemblyOptions, memory: Memory) -> None:
        self.scope, self.options, self.memory = scope, options, memory
        self.remarks = Remarks()
        self.nodes = scope.nodes()
        self.records = scope.records
        self.every: list[Node] = [*self.nodes, *self.records]
        self.cast: Cast = cast(scope, self.nodes)
        for record in self.records:
            self.cast.owner[id(record)] = self.cast.main
            if record.role is Role.INFERENCE:
                self.cast.main.requests.append(record)
        self.cast.main.requests.sort(key=lambda n: n.key)
        self.session = next((n.facts.session_id for n in self._by_rank() if n.facts.session_id), None)
        self.speeches: dict[int, Speech] = {id(n): fold(n) for n in self.every if n.facts.normalized}
        self.ops = Operations(self.cast)
        self.replies: list[Reply] = []
        self.handed: list[Handed] = []
        self.user_words: list[tuple[Node, list[str]]] = []
        self.narrative = Narrative(self.cast)
        self.data: Any = MISSING

    def _by_rank(self) -> Iterator[Node]:
        """Who is asked for the session: the turn's own agent before its sub-agents, spans around it last."""
        main, owner = self.cast.main, self.cast.owner
        yield self.scope.root
        yield from main.invocations
        yield from (n for n in self.every if owner.get(id(n)) is main)
        yield from self.every
        yield from self.scope.root.above()

    def was_asked(self, call_id: str) -> bool | None:
        """Whether an earlier turn left this call pending, and asked a human about it (`Memory.asked`)."""
        return self.memory.asked(self.session, call_id, self.identity)

    @property
    def identity(self) -> object:
        """What tells this turn from others."""
        root = self.scope.root
        return (root.trace_id, root.span_id, root.start if not root.is_span else 0)

    @property
    def gives_spans(self) -> bool:
        return any(
            n.facts.convention.runs_have_spans
            for n in self.nodes
            if n.role in (Role.AGENT, Role.INFERENCE, Role.TOOL)
        )


def asked_about(making: Making, question: Question, node: Node) -> Operation | None:
    ops = making.ops.all
    if question.call_id:
        return next((o for o in reversed(ops) if question.call_id in o.ids), None)
    near = around(making, node)
    if near is not None:
        return near
    if question.action:
        open_ones = [o for o in ops if o.name == question.action and (o.finished is None or o.paused)]
        fitting = [
            o for o in open_ones if question.input is MISSING or o.input == question.input
        ] or open_ones
        if fitting:
            return fitting[0]
    return None


def around(making: Making, node: Node) -> Operation | None:
    """The operation whose run this span is, or stands below."""
    for one in (node, *node.above()):
        for op in making.ops.all:
            if one in op.runs:
                return op
        if one.role in (Role.AGENT, Role.WORKFLOW):
            break
    return None
