"""One operation out of its witnesses: the reply that asks for it, the span that runs it, NormalizedEvents,
log records, and the request that hands in its result.

Comes in: replies, handed-in results and the turn's nodes. Goes out: `Operation`s, each with one start and at
most one finish. Witnesses are joined by call id; where there is none, by name and arguments, then by order
when the counts agree. Nothing is guessed: an operation that nobody finished stays unfinished, an input that
nobody tells is `MISSING`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from otel_turns.assembly.agents import Agent, Cast
from otel_turns.assembly.operation import (
    Operation,
    alike,
    points_to,
    reaches,
    resolve,
    same_name,
    span_of,
)
from otel_turns.assembly.replies import Handed, Reply
from otel_turns.assembly.speech import Call, Result
from otel_turns.assembly.tree import Node
from otel_turns.assembly.witness import supplement
from otel_turns.model.facts import MISSING, Facts, ToolCall, ToolResult

__all__ = ["Operation", "Operations"]


class Operations:
    """The operations of one turn, witness by witness. Order of use: `ask`, `run`, `hand`, `close`."""

    def __init__(self, troupe: Cast) -> None:
        self._cast = troupe
        self.all: list[Operation] = []
        self.data: Any = MISSING
        self._by_id: dict[str, list[Operation]] = {}

    # --- witnesses ------------------------------------------------------------------------------------------

    def ask(self, reply: Reply) -> None:
        """The calls of one reply."""
        results = {p.id: p for p in reply.parts if isinstance(p, ToolResult) and p.id}
        for index, call in enumerate(reply.calls):
            op = self._add(
                Operation(
                    call.id,
                    call.name,
                    reply.agent,
                    call.arguments,
                    asked=reply,
                    index=index,
                    started=reply.time,
                    other_ids=call.other_ids,
                )
            )
            done = results.get(call.id) if call.id else None
            if done is not None:
                self._finish(op, done, reply.node, reply.time, "id")

    def run(self, nodes: Iterable[Node]) -> None:
        """Executing spans, in order of time: those that name their call first, so that the others choose
        among the rest.
        """
        ordered = sorted(nodes, key=lambda n: n.key)
        waiting: list[Node] = []
        for node in ordered:
            if node.facts.hands_over:
                self._hand_over(node)
            elif not self._run_by_id(node):
                waiting.append(node)
        for node in self._run_by_arguments(waiting):
            self._run_alone(node)

    def record(self, nodes: Iterable[Node]) -> None:
        """Log records of executions: they fill what the spans lack, or are the execution where there is no
        span. One that only tells of an execution (`requests` 0) proves the call, and not that it ended.
        """
        for node in nodes:
            facts = node.facts
            op = self._find(facts.call_id, facts.other_ids, node)
            if op is None and not facts.call_id:
                waiting = [
                    o
                    for o in self._candidates(node)
                    if MISSING in (o.input, facts.arguments) or o.input == facts.arguments
                ]
                op = waiting[0] if waiting else None
            if op is None:
                op = self._add(Operation(facts.call_id, facts.tool_name, self._cast.main, started=node.start))
                op.unstarted = facts.arguments is MISSING and facts.requests != 0
            if op.run is None and facts.requests == 0:
                op.tool = facts.tool
                if op.input is MISSING:
                    op.input = facts.arguments
            elif op.run is None:
                op.run = node
                op.runs.append(node)
                op.joined_by = "id" if facts.call_id else "arguments"
            else:
                supplement(op.run.facts, facts)

    def hand(self, handed: Handed, gives_spans: bool, was_asked: Callable[[str], bool | None]) -> None:
        """Results that a request hands in. `was_asked`: calls that an earlier turn left pending -> whether a
        human was asked.
        """
        unnamed: list[ToolResult] = []
        for result in handed.results:
            if result.pending:
                continue
            op = self._answered(result, handed)
            if op is not None:
                self._finish(op, result, handed.node, handed.node.start, "id")
            elif result.id or result.other_ids:
                if not self._pair_by_order(result, handed):
                    self._prove(result, handed, gives_spans, was_asked)
            else:
                unnamed.append(result)
        for result in unnamed:
            if not self._pair_by_order(result, handed):
                self._prove(result, handed, gives_spans, was_asked)

    def reach(self, sub: Agent, transfers: Sequence[Node]) -> None:
        """A sub-agent: the operation through which it was reached, where there was one."""
        if sub.via is not None:
            for op in self.all:
                if sub.via in op.runs:
                    op.sub = sub
                    if sub.name is None:
                        sub.name = next(
                            (r.facts.delegates_to for r in op.runs if r.facts.delegates_to), op.name
                        )
                    return
            return
        node = sub.node
        if node is None:
            return
        waiting = [
            o
            for o in self.all
            if o.run is None and o.sub is None and o.started <= node.start and o.agent is not sub
        ]
        ranked = [
            (rank, o.started, -o.index, at) for at, o in enumerate(waiting) if (rank := reaches(o, sub))
        ]
        if not ranked:
            return
        op = waiting[max(ranked)[3]]
        op.sub = sub
        if sub.name is None:
            sub.name = op.name
        if sub.speaks:
            op.transfer = True
        else:
            op.run = node
            op.started = node.start
            op.joined_by = op.joined_by or "name"

    def transfer(self, node: Node, nexts: Agent | None) -> None:
        """A handoff span: the executing span of the transfer call."""
        facts = node.facts
        op = self._find(facts.call_id, facts.other_ids, node) if facts.call_id else None
        how = "id" if op is not None else "name"
        if op is None:
            agent = self._cast.owner[id(node)]
            waiting = [
                o
                for o in self.all
                if o.run is None
                and o.agent in (agent, self._cast.main)
                and o.asked is not None
                and o.asked.start <= node.start
            ]
            target = facts.handoff_to or (nexts.name if nexts else None)
            ranked = [
                (
                    points_to(o, target) or int(o.name == facts.tool_name and o.name is not None),
                    o.started,
                    -o.index,
                    at,
                )
                for at, o in enumerate(waiting)
            ]
            ranked = [r for r in ranked if r[0]] or (ranked if len(ranked) == 1 else [])
            if ranked:
                op = waiting[max(ranked)[3]]
        if op is None:
            if facts.tool_name is None:
                return
            op = self._add(
                Operation(facts.call_id, facts.tool_name, self._cast.owner[id(node)], facts.arguments)
            )
            how = ""
        op.run = node
        op.runs.append(node)
        op.transfer = True
        op.joined_by = op.joined_by or how

    def heard(self, node: Node, call: Call, again: bool) -> Operation:
        """A call that NormalizedEvents tell: it joins the operation of its id, or is one. `again`: the same
        stream told this id before, and its result.
        """
        op = self._find(call.id, (), node) if call.id and not again else None
        if op is not None and op.stream is not None and op.result is not None:
            op = None
        if op is None:
            op = self._add(Operation(call.id, call.name, self._cast.owner.get(id(node), self._cast.main)))
            op.started, op.index = call.time, call.index
        elif op.stream is None:
            op.started = call.time
        op.stream = op.stream or node
        op.name = op.name or call.name
        if call.arguments is not MISSING:
            op.input = call.arguments
        op.unparsable = op.unparsable or call.unparsable
        return op

    def heard_result(self, node: Node, result: Result) -> None:
        """A result that NormalizedEvents tell."""
        told = ToolResult(
            result.id, result.name, result.content, failed=not result.success, rejected=result.rejected
        )
        known = self._by_id.get(result.id, [])
        op = next((o for o in known if o.result is None or (o.handed is not None and o.stream is None)), None)
        if op is None:
            if any(o.result == told or (result.name is None and o.result is not None) for o in known):
                return  # the same result told twice
            op = self._add(
                Operation(
                    result.id,
                    result.name,
                    self._cast.owner.get(id(node), self._cast.main),
                    started=result.time,
                )
            )
            op.unstarted, op.index = True, result.index
        op.result, op.finished, op.handed, op.told_at = told, result.time, None, result.index
        op.answered_by = "id"
        op.stream = op.stream or node

    # --- the end --------------------------------------------------------------------------------------------

    def close(self, gives_spans: bool) -> None:
        """Resolves every operation: times, input, output, status, and ids for those that nobody named.

        `gives_spans`: in this convention a call that ran has a span, so one that waited for a human and was
        answered without one was refused.
        """
        for op in self.all:
            resolve(op)
            if (
                op.run is None
                and op.result is None
                and op.asked is not None
                and gives_spans
                and not op.questioned
            ):
                self._answer_unseen(op)
            waited = op.paused or (op.questioned and op.run is None)
            if waited and op.result is not None and gives_spans:
                op.rejected, op.failed = True, False
        self._join_open()
        taken = {o.id for o in self.all if o.id}
        for op in sorted((o for o in self.all if not o.id), key=lambda o: (o.started, o.index, span_of(o))):
            base = f"op:{span_of(op).hex()}" + (f":{op.index}" if op.run is None else "")
            fresh, number = base, 1
            while fresh in taken:
                number += 1
                fresh = f"{base}:{number}"
            op.id, op.synthetic = fresh, True
            taken.add(fresh)

    def place(self, replies: Sequence[Reply]) -> None:
        """Runs that no captured reply asked for belong to the reply that was under way, or had just come,
        when they began.
        """
        for op in self.all:
            if op.asked is not None or op.run is None or op.handed is op.run:
                continue
            above = {id(n) for n in op.run.above()}
            before = [r for r in replies if r.agent is op.agent and r.start <= op.run.start and not r.silent]
            if before and not before[-1].calls and id(before[-1].node) not in above:
                op.asked = before[-1]
                op.index = 1_000

    def _join_open(self) -> None:
        """The same id again while its operation is still open is one more witness of it."""
        for one, group in self._by_id.items():
            ops = [o for o in group if o.id == one and o in self.all] if len(group) > 1 else []
            ops.sort(key=lambda o: (o.started, o.index))
            for first, again in pairwise(ops):
                if first.finished is not None and first.finished <= again.started:
                    continue
                again.join(first)
                self.all.remove(first)

    def _answer_unseen(self, op: Operation) -> None:
        """A call that never ran, though its agent went on: it was answered by an error that nobody shows (an
        unknown tool).
        """
        if op.asked is None:
            return
        asked = op.asked.node
        following = [
            n for n in op.agent.requests if n.start >= asked.end and n is not asked and not n.facts.side
        ]
        if following and not op.transfer and op.sub is None:
            op.handed = following[0]
            op.finished, op.failed = following[0].start, True

    def drop(self, op: Operation) -> None:
        self.all.remove(op)

    # --- inside ---------------------------------------------------------------------------------------------

    def _add(self, op: Operation) -> Operation:
        self.all.append(op)
        for one in op.ids:
            self._by_id.setdefault(one, []).append(op)
        return op

    def _find(self, call_id: str | None, others: tuple[str, ...], node: Node) -> Operation | None:
        """The latest operation of this id that was asked for before the witness; the first one where none
        was.
        """
        found: list[Operation] = []
        for one in (call_id, *others):
            if one:
                found.extend(o for o in self._by_id.get(one, ()) if o not in found)
        if not found:
            return None
        before = [o for o in found if o.asked is None or o.asked.start <= node.start]
        return (before or found)[-1] if before else found[0]

    def _run_by_id(self, node: Node) -> bool:
        facts = node.facts
        if not facts.call_id and not facts.other_ids:
            return False
        ids = [i for i in (facts.call_id, *facts.other_ids) if i]
        found = [o for i in ids for o in self._by_id.get(i, ())]
        before = [o for o in found if o.asked is None or o.asked.start <= node.end] or found
        for op in reversed(before):
            if op.run is None or self._same_run(op, node):
                self._take(op, node, "id")
                return True
        if found:
            # the same id again after its finish: a retry, or a client that numbers its calls anew
            self._take(
                self._add(Operation(facts.call_id, facts.tool_name, self._cast.owner[id(node)])), node, "id"
            )
            return True
        return False

    @staticmethod
    def _same_run(op: Operation, node: Node) -> bool:
        """A second witness of the same run: it overlaps, or the first one ended in a pause."""
        return any(run.facts.paused or run.overlaps(node) for run in op.runs)

    def _take(self, op: Operation, node: Node, how: str) -> None:
        if op.run is None:
            op.run = node
        elif op.run.facts.paused:
            paused = op.run
            op.run = node
            supplement(
                node.facts,
                Facts(
                    paused.facts.convention,
                    arguments=paused.facts.arguments,
                    tool_name=paused.facts.tool_name,
                ),
            )
        elif not op.run.encloses(node) and node.encloses(op.run):
            supplement(node.facts, op.run.facts)
            op.run = node
        else:
            supplement(op.run.facts, node.facts)
        op.runs.append(node)
        op.joined_by = op.joined_by or how
        if op.id is None:
            op.id = node.facts.call_id

    def _run_by_arguments(self, nodes: list[Node]) -> list[Node]:
        """Runs without a known id: equal name and arguments first, then by order where the counts agree."""
        left: list[Node] = []
        for node in nodes:
            op = next((o for o in self._candidates(node) if alike(o.input, node.facts.arguments)), None)
            if op is not None:
                self._take(op, node, "arguments")
            else:
                left.append(node)
        rest: list[Node] = []
        for node in left:
            candidates = self._candidates(node)
            rivals = [n for n in left if n.facts.tool_name == node.facts.tool_name and n not in rest]
            waiting = [n for n in rivals if not any(n in o.runs for o in self.all)]
            unknown = node.facts.arguments is MISSING or not candidates or candidates[0].input is MISSING
            twin = self._beside(node)
            if twin is not None:
                self._take(twin, node, "order")
            elif candidates and (unknown or (len(candidates) == 1 and len(waiting) == 1)):
                self._take(candidates[0], node, "order")
            else:
                rest.append(node)
        return rest

    def _beside(self, node: Node) -> Operation | None:
        """The run that this span tells again: same tool, same time, other instrumentation."""
        for op in self.all:
            run = op.run
            if (
                run is not None
                and run is not node
                and run.is_span
                and run.scope_name != node.scope_name
                and run.facts.tool_name == node.facts.tool_name
                and (run.encloses(node) or node.encloses(run))
                and (node.facts.arguments is MISSING or alike(run.facts.arguments, node.facts.arguments))
            ):
                return op
        return None

    def _candidates(self, node: Node) -> list[Operation]:
        """Calls of the span's agent that nobody ran yet and that carry its tool's name, in the order in which
        they were asked.
        """
        agent = self._cast.owner[id(node)]
        name = node.facts.tool_name
        found = [
            o
            for o in self.all
            if (o.run is None or o.run.facts.paused)
            and o.run is not node
            and o.asked is not None
            and (o.agent is agent or agent.is_main)
            and o.asked.start <= node.start
            and same_name(o.name, name)
            and not (o.ids and node.facts.call_id and o.joined_by == "id")
        ]
        return sorted(found, key=lambda o: (o.agent is not agent, o.started, o.index))

    def _run_alone(self, node: Node) -> None:
        facts = node.facts
        op = self._add(
            Operation(facts.call_id, facts.tool_name, self._cast.owner[id(node)], started=node.start)
        )
        self._take(op, node, "")

    def _hand_over(self, node: Node) -> None:
        """A tool that only hands over the typed answer is data; its call is no operation."""
        facts = node.facts
        op = self._find(facts.call_id, facts.other_ids, node) if facts.call_id else None
        if op is None:
            op = next(iter(self._candidates(node)), None)
        value = facts.arguments if facts.data is MISSING else facts.data
        if op is not None:
            if value is MISSING:
                value = op.input
            self.drop(op)
        if self._cast.owner[id(node)].is_main and value is not MISSING:
            self.data = value

    def _answered(self, result: ToolResult, handed: Handed) -> Operation | None:
        found = [
            o for i in (result.id, *result.other_ids) if i for o in self._by_id.get(i, ()) if o in self.all
        ]
        before = [
            o
            for o in found
            if o.started <= handed.node.start or (o.asked is not None and o.asked.start < handed.node.start)
        ]
        open_ones = [o for o in before if o.result is None]
        if open_ones:
            return open_ones[-1]
        return before[-1] if before else None

    def _pair_by_order(self, result: ToolResult, handed: Handed) -> bool:
        """Results whose id no call has: joined in order where the counts agree (a Responses item id and its
        call id).
        """
        waiting = [
            o
            for o in self.all
            if o.result is None
            and o.asked is not None
            and o.agent is handed.agent
            and o.asked.start < handed.node.start
            and (o.run is None or not o.run.facts.call_id)
            and (o.id is None or all(r.id != o.id for r in handed.results))
        ]
        if result.name:
            waiting = [o for o in waiting if o.name == result.name] or waiting
        asked = handed.asked.get(result.id) if result.id else None
        if asked is not None and asked.arguments is not MISSING:
            equal = [o for o in waiting if o.name == asked.name and alike(o.input, asked.arguments)]
            if equal:
                self._finish(equal[0], result, handed.node, handed.node.start, "arguments")
                return True
            if waiting and all(o.name != asked.name for o in waiting):
                return False
        known = [r for r in handed.results if not any(o.result is r for o in self.all)]
        if not waiting or (len(waiting) != len(known) and not (len(waiting) >= 1 and result.name)):
            return False
        waiting.sort(key=lambda o: (o.asked.start if o.asked else 0, o.index))
        self._finish(waiting[0], result, handed.node, handed.node.start, "order")
        return True

    def _prove(
        self, result: ToolResult, handed: Handed, gives_spans: bool, was_asked: Callable[[str], bool | None]
    ) -> None:
        """A result whose call nobody saw in this turn still proves the call."""
        if not handed.first and any(o.result is not None and o.ids & {result.id or ""} for o in self.all):
            return
        if result.id is None and (result.name is None or any(o.name == result.name for o in self.all)):
            return  # nameless: nothing tells it from a result that is known already
        asked = handed.asked.get(result.id) if result.id else None
        if asked is not None and self._is_asked_later(asked, handed):
            return
        unnamed = self._run_of(asked, handed) if asked is not None else None
        if unnamed is not None:
            unnamed.id = result.id
            unnamed.joined_by = "arguments"
            self._by_id.setdefault(result.id or "", []).append(unnamed)
            self._finish(unnamed, result, handed.node, handed.node.start, "arguments")
            return
        op = self._add(
            Operation(
                result.id,
                result.name or (asked.name if asked else None),
                handed.agent,
                asked.arguments if asked else MISSING,
                started=handed.node.start,
            )
        )
        op.unstarted = op.input is MISSING or not handed.first
        self._finish(op, result, handed.node, handed.node.start, "id" if result.id else "")
        if result.id and was_asked(result.id) and gives_spans:
            op.rejected = True

    def _is_asked_later(self, call: ToolCall, handed: Handed) -> bool:
        """A request that was serialized late shows the call that its own reply asks for, and its result."""
        return any(
            o.asked is not None
            and o.asked.start >= handed.node.start
            and o.name == call.name
            and (call.arguments is MISSING or o.input is MISSING or alike(o.input, call.arguments))
            for o in self._by_id.get(call.id or "", ())
        )

    def _run_of(self, call: ToolCall, handed: Handed) -> Operation | None:
        """A run without an id in this turn that is the run of a call of an earlier one: same tool, same
        arguments.
        """
        runs = [
            o
            for o in self.all
            if o.run is not None
            and o.id is None
            and o.asked is None
            and o.result is None
            and o.run.start <= handed.node.start
            and (o.run.facts.tool_name or o.name) == call.name
        ]
        equal = [o for o in runs if alike(o.run.facts.arguments if o.run else MISSING, call.arguments)]
        if equal:
            return equal[0]
        open_ones = [o for o in runs if o.run is not None and o.run.facts.arguments is MISSING]
        return open_ones[0] if len(open_ones) == 1 else None

    def _finish(self, op: Operation, result: ToolResult, node: Node, time: int, how: str) -> None:
        if op.result is not None:
            return
        op.result, op.handed, op.answered_by = result, node, how
        if op.finished is None:
            op.finished = time
