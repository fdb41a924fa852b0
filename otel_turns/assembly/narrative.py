"""The events of a turn with what must come before what.

Comes in: the cast, replies, operations, NormalizedEvent speech and failures of a turn. Goes out: ordered
events as plain dicts, exactly in the vocabulary's shapes. It decides who is heard; it invents no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from otel_turns.assembly.agents import Agent, Cast
from otel_turns.assembly.operations import Operation
from otel_turns.assembly.order import ANSWERED, FINISH, MESSAGE, OTHER, START, THINKING, Event
from otel_turns.assembly.replies import Reply
from otel_turns.assembly.speech import Speech
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Question, Reasoning, Text, ToolCall

__all__ = ["Narrative"]

_STREAM = 1000
"""Events that one span's NormalizedEvents tell stand in the span's order where their times are equal."""


class Narrative:
    """Events of one turn in the making."""

    def __init__(self, troupe: Cast) -> None:
        self.cast = troupe
        self.events: list[Event] = []
        self.starts: dict[int, Event] = {}
        self.finishes: dict[int, Event] = {}
        self.by_agent: dict[int, list[Event]] = {}
        self.first_of_reply: dict[int, Event] = {}
        self.said: list[str] = []
        self._sub_started: dict[int, Event] = {}
        self._sub_finished: dict[int, Event] = {}
        self.events_left_out: set[int] = set()
        self._delegated: dict[int, tuple[Event, Event | None]] = {}

    def _add(self, agent: Agent, event: Event) -> Event:
        self.events.append(event)
        self.by_agent.setdefault(id(agent), []).append(event)
        return event

    # --- operations -----------------------------------------------------------------------------------------

    def operation(self, op: Operation) -> None:
        """The pair of one operation, or the skill that it loaded."""
        node = op.run or op.stream or (op.asked.node if op.asked else None) or op.handed
        span_id = node.span_id if node is not None else b""
        if op.skill is not None:
            payload: dict[str, Any] = {"type": "skill.loaded", "skill": op.skill, "operationId": op.id}
            event = self._add(op.agent, Event(payload, op.started, span_id, START, op.index))
            self.starts[id(op)] = self.finishes[id(op)] = event
            return
        rank, index = (
            (OTHER, _STREAM + op.index) if op.run is None and op.stream is not None else (START, op.index)
        )
        operation: dict[str, Any] = {
            "kind": "tool",
            "name": op.name or "",
            "input": None if op.input is MISSING else op.input,
        }
        if op.tool is not None:
            operation["tool"] = op.tool
        started = Event(
            {"type": "operation.started", "operationId": op.id, "operation": operation},
            op.started,
            span_id,
            rank,
            index,
        )
        if op.resumed:
            self.events_left_out.add(id(started))
        self.starts[id(op)] = self._add(op.agent, started)
        if op.finished is None:
            return
        payload = {"type": "operation.finished", "operationId": op.id, "kind": "tool"}
        if op.output is not MISSING:
            payload["output"] = op.output
        payload["status"] = op.status
        handed = op.handed.span_id if op.handed is not None and op.run is None else span_id
        rank, index = (
            (OTHER, _STREAM + op.told_at) if op.run is None and op.told_at is not None else (FINISH, op.index)
        )
        finished = Event(payload, op.finished, handed, rank, index)
        finished.follows(started)
        self.finishes[id(op)] = self._add(op.agent, finished)

    def subagent(self, sub: Agent, name: str, sub_id: str, output: Any, failed: bool) -> None:
        """The pair of one sub-agent."""
        node = sub.node
        if node is None or sub.parent is None:
            return
        operation: dict[str, Any] = {"kind": "subagent", "name": name}
        if node.facts.remote_url:
            operation["remoteUrl"] = node.facts.remote_url
        started = Event(
            {"type": "operation.started", "operationId": sub_id, "operation": operation},
            node.start,
            node.span_id,
            START,
        )
        payload: dict[str, Any] = {"type": "operation.finished", "operationId": sub_id, "kind": "subagent"}
        if output is not MISSING:
            payload["output"] = output
        payload["status"] = "failed" if failed else "completed"
        end = max([n.end for n in sub.invocations] + [node.start])
        finished = Event(payload, end, node.span_id, FINISH)
        finished.follows(started)
        self._sub_started[id(sub)] = self._add(sub.parent, started)
        if not all(n.ended for n in sub.invocations):
            return
        self._sub_finished[id(sub)] = self._add(sub.parent, finished)

    def delegation(self, op: Operation, name: str, sub_id: str) -> None:
        """A tool that names the agent it reaches, without a span of its own for that agent: both pairs from
        the one span.
        """
        start, end = self.starts[id(op)], self.finishes.get(id(op))
        payload = {
            "type": "operation.started",
            "operationId": sub_id,
            "operation": {"kind": "subagent", "name": name},
        }
        inner = self._add(op.agent, Event(payload, start.time, start.span_id, START, op.index))
        inner.follows(start)
        self._delegated[id(op)] = (inner, None)
        if end is None:
            return
        done: dict[str, Any] = {"type": "operation.finished", "operationId": sub_id, "kind": "subagent"}
        if op.output is not MISSING:
            done["output"] = op.output
        done["status"] = "failed" if op.failed or op.rejected else "completed"
        finish = self._add(op.agent, Event(done, end.time, end.span_id, FINISH, op.index))
        finish.follows(inner)
        end.follows(finish)
        self._delegated[id(op)] = (inner, finish)

    # --- speech ---------------------------------------------------------------------------------------------

    def reply(self, reply: Reply, ops: Sequence[Operation], data_text: str | None, told: str | None) -> None:
        """Reasoning and text of one reply, before the operations it asked for. `ops`: those operations, in
        its order.

        `data_text`: the text is typed data and no message. `told`: what NormalizedEvents of the same span
        said already.
        """
        node = reply.node
        runs = [o.started for o in ops]
        time = min([reply.time, *runs])
        heard = reply.agent.speaks and not reply.silent
        chain: Event | None = None
        if reply.ordered:
            chain = self._in_parts(reply, ops, told, heard)
        else:
            if heard and told is None:
                for index, thought in enumerate(reply.thoughts):
                    event = self._add(
                        reply.agent,
                        Event({"type": "thinking", "text": thought}, time, node.span_id, THINKING, index),
                    )
                    event.follows(chain)
                    chain = event
                    self.first_of_reply.setdefault(id(node), event)
            text = reply.text
            if heard and text and data_text is None and (told is None or text not in told) and text.strip():
                event = self._add(reply.agent, self._message(text, time, node.span_id))
                event.follows(chain)
                chain = event
                self.first_of_reply.setdefault(id(node), event)
            for op in ops:
                start = self.starts.get(id(op))
                if start is not None:
                    start.follows(chain)
        for op in ops:
            start = self.starts.get(id(op))
            if start is not None:
                self.first_of_reply.setdefault(id(node), start)
        self._tie_starts(ops)

    def _tie_starts(self, ops: Sequence[Operation]) -> None:
        """Calls of one reply that nobody saw running start in the reply's own order."""
        before: Event | None = None
        for op in ops:
            start = self.starts.get(id(op))
            if start is None or op.run is not None:
                continue
            start.follows(before)
            before = start

    def _in_parts(
        self, reply: Reply, ops: Sequence[Operation], told: str | None, heard: bool
    ) -> Event | None:
        """A reply whose parts stand in the order in which they came, runs of its calls between them."""
        node = reply.node
        by_call = {id(c): o for c, o in zip(reply.calls, ops, strict=False)}
        chain: Event | None = None
        ends: list[Event] = []
        parts = reply.parts
        last: Event | None = None
        for at, part in enumerate(parts):
            if isinstance(part, ToolCall):
                last = None
                op = by_call.get(id(part))
                start = self.starts.get(id(op)) if op is not None else None
                if start is not None:
                    start.follows(chain)
                    ends.append(self.finishes.get(id(op), start))
                continue
            if (
                not isinstance(part, Text | Reasoning)
                or not part.text
                or not heard
                or (told and part.text in told)
            ):
                continue
            following = [by_call[id(p)].started for p in parts[at:] if id(p) in by_call]
            time = min([reply.time, *following])
            if isinstance(part, Text):
                if last is not None:
                    last.payload["text"] += part.text
                    self.said[-1] += part.text
                    continue
                last = event = self._message(part.text, time, node.span_id)
            else:
                last = None
                event = Event({"type": "thinking", "text": part.text}, time, node.span_id, THINKING)
            event.index = at
            event.follows(chain, *ends)
            ends.clear()
            self.first_of_reply.setdefault(id(node), event)
            chain = self._add(reply.agent, event)
        return chain

    def _message(self, text: str, time: int, span_id: bytes) -> Event:
        self.said.append(text)
        return Event({"type": "message", "role": "assistant", "text": text}, time, span_id, MESSAGE)

    def final_words(self, agent: Agent, node: Node, text: str) -> None:
        """A text that only the agent's own span carries."""
        event = self._message(text, node.end, node.span_id)
        event.follows(*self.by_agent.get(id(agent), ()))
        self._add(agent, event)

    def user_words(self, node: Node, texts: Sequence[str], time: int, index: int = 0) -> None:
        for at, text in enumerate(texts):
            payload = {"type": "message", "role": "user", "text": text}
            self._add(self.cast.main, Event(payload, time, node.span_id, ANSWERED, index + at))

    def speech(self, node: Node, agent: Agent, speech: Speech) -> None:
        """What the NormalizedEvents of one span say themselves."""
        heard = agent.speaks and id(node) not in self.cast.inner
        base = _STREAM
        for one in speech.said:
            if not heard or not one.text or (one.kind == "message" and not one.text.strip()):
                continue
            if one.kind == "message":
                event = self._message(one.text, one.time, node.span_id)
            else:
                event = Event({"type": "thinking", "text": one.text}, one.time, node.span_id)
            event.rank, event.index = OTHER, base + one.index
            self._add(agent, event)
            self.first_of_reply.setdefault(id(node), event)
        for time, index, name in speech.skills:
            self._add(
                agent, Event({"type": "skill.loaded", "skill": name}, time, node.span_id, OTHER, base + index)
            )
        for time, index, payload in speech.events:
            self._add(agent, Event(payload, time, node.span_id, OTHER, base + index))

    # --- questions, marks, errors ---------------------------------------------------------------------------

    def question(self, question: Question, op: Operation | None, node: Node, answered: bool) -> None:
        """One question put to a human; the pending call's start stands before it."""
        request: dict[str, Any] = {}
        identity = question.id or (op.id if op is not None else None) or question.call_id
        if identity:
            request["id"] = identity
        action = question.action or (op.name if op is not None else None)
        if action:
            request["action"] = action
        given = question.input if question.input is not MISSING else (op.input if op is not None else MISSING)
        if given is not MISSING:
            request["input"] = given
        if question.prompt:
            request["prompt"] = question.prompt
        if question.options:
            request["options"] = question.options
        time = question.time or (op.finished if answered and op is not None and op.finished else node.end)
        event = Event({"type": "input.requested", "request": request}, time, node.span_id, OTHER)
        owner = self.cast.owner.get(id(node), self.cast.main)
        self._add(owner, event)
        if op is not None:
            start, finish = self.starts.get(id(op)), self.finishes.get(id(op))
            event.follows(start)
            if finish is not None:
                finish.follows(event)
                event.time = min(event.time, finish.time)

    def mark(self, node: Node, payload: dict[str, Any], time: int, index: int) -> None:
        owner = self.cast.owner.get(id(node), self.cast.main)
        self._add(owner, Event(payload, time or node.end, node.span_id, OTHER, index))

    def error(self, node: Node, message: str, fatal: bool, time: int) -> None:
        event = Event({"type": "error", "message": message}, time, node.span_id, OTHER, 1 << 30)
        if fatal:
            event.follows(*self.events)
        self._add(self.cast.main, event)

    # --- cause ----------------------------------------------------------------------------------------------

    def tie(self, operations: Sequence[Operation]) -> None:
        """Cause between agents and operations: a parent starts before its children and finishes after them, a
        result comes before the reply to the request that carries it.
        """
        for sub in self.cast.subs:
            started, finished = self._sub_started.get(id(sub)), self._sub_finished.get(id(sub))
            if started is None:
                continue
            for event in self.by_agent.get(id(sub), ()):
                event.follows(started)
                if finished is not None:
                    finished.follows(event)
        for op in operations:
            start, finish = self.starts.get(id(op)), self.finishes.get(id(op))
            if start is None:
                continue
            sub = op.sub
            if sub is not None and id(sub) in self._sub_started:
                begun, done = self._sub_started[id(sub)], self._sub_finished.get(id(sub))
                if op.transfer and sub.speaks:
                    begun.follows(finish or start)
                else:
                    begun.follows(start)
                    if finish is not None and not self._in_background(op, begun):
                        finish.follows(done)
            if finish is not None and op.handed is not None:
                first = self.first_of_reply.get(id(op.handed))
                if first is not None and op.handed is not (op.asked.node if op.asked else None):
                    first.follows(finish)
            self._nest(op, operations)

    @staticmethod
    def _in_background(op: Operation, begun: Event) -> bool:
        """An agent that began after its call had ended does not bind it, unless the convention says that such
        a call returns before its work ends: it finishes with its work then.
        """
        return not op.background and op.run is not None and op.run.end < begun.time

    def _nest(self, op: Operation, operations: Sequence[Operation]) -> None:
        """Operations run inside another's run."""
        if op.run is None or not op.run.children:
            return
        start, finish = self.starts[id(op)], self.finishes.get(id(op))
        if id(op) in self._delegated:
            start, finish = self._delegated[id(op)]
        inside = {id(n) for n in op.run.below()}
        for other in operations:
            if other is op or other.run is None or id(other.run) not in inside:
                continue
            begun, done = self.starts.get(id(other)), self.finishes.get(id(other))
            if begun is not None:
                begun.follows(start)
            if finish is not None and done is not None and begun is not None and begun.time <= finish.time:
                finish.follows(done)
