"""One operation, and how its witnesses make it whole.

Comes in: what `Operations` gathered for it. Goes out: its times, input, output and status, by the table of
SEMANTICS, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from otel_turns.assembly.agents import Agent
from otel_turns.assembly.replies import Reply
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Role, ToolResult

__all__ = ["Operation", "alike", "points_to", "reaches", "resolve", "same_name", "span_of"]


@dataclass(slots=True, eq=False)
class Operation:
    """One tool call. `started` and `finished` are nanoseconds; `finished` is None while nothing shows that it
    ended.

    `run`: the span that executed it; `sub`: the sub-agent that it reached. `handed`: the request that carries
    its result.
    `joined_by`: how its run was found: "id", "arguments", "order", "name" (a sub-agent or handoff that the
    call points to), or "" for a run that nobody asked for. `answered_by`: the same for the result that a
    request hands in.
    """

    id: str | None
    name: str | None
    agent: Agent
    input: Any = MISSING
    asked: Reply | None = None
    index: int = 0
    run: Node | None = None
    runs: list[Node] = field(default_factory=list[Node])
    sub: Agent | None = None
    started: int = 0
    finished: int | None = None
    output: Any = MISSING
    failed: bool = False
    rejected: bool = False
    paused: bool = False
    error: str | None = None
    handed: Node | None = None
    result: ToolResult | None = None
    joined_by: str = ""
    answered_by: str = ""
    other_ids: tuple[str, ...] = ()
    told: tuple[int, int, bytes] | None = None
    unstarted: bool = False
    synthetic: bool = False
    skill: str | None = None
    tool: str | None = None
    unparsable: bool = False
    background: bool = False
    transfer: bool = False
    stream: Node | None = None
    told_at: int | None = None
    questioned: bool = False
    resumed: bool = False

    @property
    def ids(self) -> set[str]:
        return {i for i in (self.id, *self.other_ids) if i}

    def join(self, earlier: Operation) -> None:
        """Takes over what an earlier witness of the same operation says, where this one says nothing."""
        self.started, self.asked, self.index = earlier.started, earlier.asked or self.asked, earlier.index
        self.agent = earlier.agent
        if self.input is MISSING:
            self.input = earlier.input
        if self.output is MISSING:
            self.output = earlier.output
        if self.finished is None or (earlier.finished is not None and earlier.finished > self.finished):
            self.finished = earlier.finished
        self.run, self.sub = self.run or earlier.run, self.sub or earlier.sub
        self.runs = [*earlier.runs, *self.runs]
        self.name, self.error = self.name or earlier.name, self.error or earlier.error
        self.failed, self.rejected = self.failed or earlier.failed, self.rejected or earlier.rejected
        self.handed, self.result = self.handed or earlier.handed, self.result or earlier.result
        self.unstarted = self.unstarted and earlier.unstarted

    @property
    def status(self) -> str:
        return "rejected" if self.rejected else "failed" if self.failed else "completed"


def resolve(op: Operation) -> None:
    run, result = op.run, op.result
    if run is not None:
        facts = run.facts
        executing = facts.role in (Role.TOOL, Role.HANDOFF)
        if executing:
            op.name = facts.tool_name or op.name
            if facts.arguments is not MISSING and not ("arguments" in facts.cut and op.input is not MISSING):
                op.input = facts.arguments
            op.output = facts.result
            op.tool, op.skill = facts.tool, facts.skill
            op.background = facts.background
            op.unparsable = facts.unparsable
            op.failed = facts.failed and not facts.paused
            op.rejected = op.rejected or facts.rejected
            op.error = facts.error
        op.started = min(run.start, *(r.start for r in op.runs)) if op.runs else run.start
        op.paused = facts.paused
        if not run.is_span:
            op.started = min(op.started, op.asked.time) if op.asked else op.started
        if facts.paused or not run.ended:
            op.finished = None if op.result is None else op.finished
            op.output = MISSING if facts.paused else op.output
        else:
            op.finished = max(run.end, op.started)
    if op.sub is not None and run is op.sub.node and run is not None and run.ended:
        op.finished = run.end
    if result is not None:
        if op.output is MISSING:
            op.output = result.result
        op.failed = op.failed or result.failed
        op.rejected = op.rejected or result.rejected
    if op.rejected:
        op.failed = False
    if op.finished is not None and op.finished < op.started:
        op.finished = op.started


def span_of(op: Operation) -> bytes:
    node = op.run or (op.asked.node if op.asked else None) or op.handed
    return node.span_id if node is not None else b""


def same_name(a: str | None, b: str | None) -> bool:
    return a == b or a is None or b is None


def alike(a: Any, b: Any) -> bool:
    return a is not MISSING and b is not MISSING and a == b and type(a) is type(b)


def reaches(op: Operation, sub: Agent) -> int:
    """How surely a call reaches a sub-agent: it carries its name, its arguments name it, or it transfers."""
    pointed = points_to(op, sub.name)
    if pointed:
        return pointed
    output = sub.node.facts.data if sub.node is not None else MISSING
    return int(op.result is not None and output is not MISSING and op.result.result == output)


def points_to(op: Operation, name: str | None) -> int:
    if not name:
        return 0
    mine = _plain(op.name or "")
    other = _plain(name)
    if mine == other:
        return 4
    given: Any = op.input
    values = cast("dict[str, Any]", given).values() if isinstance(given, dict) else ()
    if any(isinstance(v, str) and _plain(v) == other for v in values):
        return 3
    return 2 if other and other in mine else 0


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
