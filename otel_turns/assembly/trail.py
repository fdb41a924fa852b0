"""What became of each span and log record while turns were made, for whoever asks.

Comes in: what assembly holds anyway, at three moments: before facts are used up, behind each turn, and at
the end. Goes out: `Step`s (one a span or record), `TurnTrail`s (one a turn). Plain data without content:
names, ids and what was decided. It decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from otel_turns.assembly.making import Making
from otel_turns.assembly.operations import Operation
from otel_turns.assembly.tree import Forest, Node, Read
from otel_turns.model.facts import Convention, Role
from otel_turns.model.span import Span

__all__ = ["Became", "OperationTrail", "Step", "Trail", "TurnTrail"]

Became: TypeAlias = Literal[
    "turn",  # the root of a turn
    "agent",  # the turn's own agent
    "same_agent",  # an agent that acts already, again
    "subagent",
    "request",
    "side_request",  # a title, a summary: no speech of the agent
    "operation",  # it runs a tool call, or is a handoff
    "answer",  # it only hands the typed answer over
    "told",  # structure whose events, marks or questions are in the turn
    "merged",  # it tells of the same thing as another, and filled that one's gaps
    "wrapper",  # it stands around agents
    "structure",
    "no_work",  # known, and no agent work in itself
    "unread",  # it looks like agent work, and no convention reads it
    "no_turn",  # agent work that belongs to no turn
    "duplicate",  # the same span again
]
"""What became of a span or record; it may be several at once (a bare request is the root of its turn)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One span or log record. `convention`: of the dialect that read it, nameless where none did.

    `turns`: the ids of the turns that hold it. `operations`: the operations that it runs or is. `into`: trace
    and span id of what it was merged into. `normalized`: it carries NormalizedEvents.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    name: str
    scope: str
    start: int
    is_record: bool
    convention: Convention
    normalized: bool
    became: tuple[Became, ...]
    turns: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    into: tuple[bytes, bytes] | None = None


@dataclass(frozen=True, slots=True)
class OperationTrail:
    """One operation and its witnesses, by span id; None where there was no such witness.

    `joined_by`: how the run was found for the call; `answered_by`: how the result that a request hands in was
    ("id", "arguments", "order", "name"; "" where there was nothing to join). `told`: NormalizedEvents tell
    it.
    """

    id: str
    name: str
    kind: Literal["tool", "subagent"]
    status: str | None
    asked: bytes | None = None
    runs: tuple[bytes, ...] = ()
    handed: bytes | None = None
    joined_by: str = ""
    answered_by: str = ""
    told: bool = False


@dataclass(frozen=True, slots=True)
class TurnTrail:
    """One turn: the record that a sink gets, all its traces, and its operations as they started."""

    record: dict[str, Any]
    traces: frozenset[bytes]
    operations: list[OperationTrail]

    @property
    def id(self) -> str:
        return self.record["otel"]["turnId"]


@dataclass(slots=True)
class _Fate:
    became: list[Became] = field(default_factory=list[Became])
    turns: list[str] = field(default_factory=list[str])
    operations: list[str] = field(default_factory=list[str])


class Trail:
    """Follows spans through assembly. `steps` and `turns` grow with each call of `assemble` that it is given
    to.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.turns: list[TurnTrail] = []
        self._reads: list[Read] = []
        self._first: dict[int, tuple[Convention, bool]] = {}
        self._fates: dict[int, _Fate] = {}

    def begin(self, reads: Iterable[Read]) -> list[Read]:
        """Notes who read what, before doubled spans are merged."""
        self._reads = list(reads)
        self._first = {id(r.source): (r.facts.convention, bool(r.facts.normalized)) for r in self._reads}
        self._fates = {}
        return self._reads

    def turn(self, making: Making, record: dict[str, Any]) -> None:
        """Notes what a turn made of its spans."""
        turn_id: str = record["otel"]["turnId"]
        for node in making.every:
            fate = self._fate(node)
            if turn_id not in fate.turns:
                fate.turns.append(turn_id)
        self._note_agents(making)
        for node in making.every:
            if node.role is Role.INFERENCE:
                self._add(node, "side_request" if node.facts.side else "request")
            elif node.role is Role.TOOL and node.facts.hands_over:
                self._add(node, "answer")
        for op in making.ops.all:
            for node in (*op.runs, *((op.run,) if op.run is not None else ())):
                self._add(node, "operation", op.id)
        root = making.scope.root
        fate = self._fate(root)
        fate.became.insert(0, "turn")
        if turn_id not in fate.turns:
            fate.turns.append(turn_id)
        traces = frozenset(n.trace_id for n in (*making.every, root))
        self.turns.append(TurnTrail(record, traces, _operations_of(making)))

    def end(self, forest: Forest) -> None:
        """Makes the steps of all spans and records."""
        nodes = {
            id(node.source): node
            for node in (
                *forest.by_id.values(),
                *forest.loose_records,
                *forest.near_records,
                *forest.told_records,
            )
        }
        self.steps.extend(self._step(read, nodes.get(id(read.source))) for read in self._reads)
        self._reads, self._first, self._fates = [], {}, {}

    def _note_agents(self, making: Making) -> None:
        for agent in making.cast.agents:
            for at, node in enumerate(agent.invocations):
                self._add(node, "same_agent" if at else "agent" if agent.is_main else "subagent")
                if not agent.is_main and agent.operation_id:
                    self._add(node, None, agent.operation_id)

    def _fate(self, node: Node) -> _Fate:
        return self._fates.setdefault(id(node), _Fate())

    def _add(self, node: Node, became: Became | None, operation: str | None = None) -> None:
        fate = self._fate(node)
        if became is not None and became not in fate.became:
            fate.became.append(became)
        if operation and operation not in fate.operations:
            fate.operations.append(operation)

    def _step(self, read: Read, node: Node | None) -> Step:
        source = read.source
        convention, normalized = self._first[id(source)]
        fate = self._fates.get(id(node), _Fate())
        became = tuple(fate.became) or (_otherwise(node, bool(fate.turns)),)
        if (
            node is not None
            and node.owner is not None
            and became in (("structure",), ("no_turn",), ("told",))
        ):
            became = ("merged",)
        is_span = isinstance(source, Span)
        return Step(
            source.trace_id or b"",
            source.span_id or b"",
            source.parent_id if isinstance(source, Span) else None,
            source.name if isinstance(source, Span) else source.event_name,
            source.scope.name,
            source.start if isinstance(source, Span) else source.time,
            not is_span,
            convention,
            normalized,
            became,
            tuple(fate.turns) if node is None or node.owner is None else self._turns_of(node.owner),
            tuple(fate.operations),
            (node.owner.trace_id, node.owner.span_id)
            if node is not None and node.owner is not None
            else None,
        )

    def _turns_of(self, node: Node) -> tuple[str, ...]:
        while node.owner is not None:
            node = node.owner
        return tuple(self._fates.get(id(node), _Fate()).turns)


def _otherwise(node: Node | None, in_turn: bool) -> Became:
    """What became of a span that no turn made anything of."""
    if node is None:
        return "duplicate"
    facts = node.facts
    if facts.unread:
        return "unread"
    if in_turn and (
        facts.normalized or facts.marks or facts.questions or facts.decisions or not node.is_span
    ):
        return "told"
    match node.role:
        case Role.NOTHING:
            return "no_work"
        case Role.WORKFLOW:
            return "wrapper"
        case Role.INFERENCE if facts.side and not in_turn:
            return "side_request"
        case Role.STEP | Role.CHAIN | Role.HANDOFF if node.is_span:
            return "structure"
        case _:
            return "structure" if in_turn else "no_turn"


def _operations_of(making: Making) -> list[OperationTrail]:
    found = [(op.started, op.index, _operation(op)) for op in making.ops.all]
    for sub in making.cast.subs:
        if sub.node is not None and sub.operation_id:
            trail = OperationTrail(
                sub.operation_id,
                sub.name or "",
                "subagent",
                "failed" if sub.failed else "completed",
                runs=tuple(n.span_id for n in sub.invocations),
            )
            found.append((sub.node.start, 0, trail))
    found.sort(key=lambda f: (f[0], f[1], f[2].id))
    return [trail for _, _, trail in found]


def _operation(op: Operation) -> OperationTrail:
    runs = op.runs or ([op.run] if op.run is not None else [])
    return OperationTrail(
        op.id or "",
        op.name or "",
        "tool",
        op.status if op.finished is not None else None,
        asked=op.asked.node.span_id if op.asked is not None else None,
        runs=tuple(n.span_id for n in runs),
        handed=op.handed.span_id if op.handed is not None else None,
        joined_by=op.joined_by if op.asked is not None or op.stream is not None else "",
        answered_by=op.answered_by,
        told=op.stream is not None,
    )
