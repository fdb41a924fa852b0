"""Gathers the witnesses of a turn: replies, runs, results, records, NormalizedEvents and decisions.

Comes in: a fresh `Making`. Goes out: the same with its replies and operations complete. It tells nothing yet.
"""

from __future__ import annotations

from collections import Counter

from otel_turns.assembly.agents import Agent
from otel_turns.assembly.making import Making, around, asked_about
from otel_turns.assembly.replies import Handed, Reply, read_replies, recover_across
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Role, Text, ToolCall, ToolResult

__all__ = ["decide", "end_behind_its_back", "gather"]


def gather(making: Making) -> None:
    troupe, ops = making.cast, making.ops
    for agent in troupe.agents:
        replies, handed, words = read_replies(agent, troupe.inner)
        making.replies.extend(replies)
        making.handed.extend(handed)
        if agent.is_main:
            making.user_words = words or _words_of_agent(agent)
    making.replies.sort(key=lambda r: r.node.key)
    recover_across([r for r in making.replies if r.agent.speaks and not r.silent])
    making.handed.sort(key=lambda h: h.node.key)
    _forget_shared_ids(making)
    for reply in making.replies:
        if not reply.node.facts.side:
            ops.ask(reply)
    _hear_calls(making)
    _ask_by_agents(making)
    ops.run(n for n in making.nodes if n.role is Role.TOOL)
    ops.record(n for n in making.records if n.role is Role.TOOL)
    subs = sorted(troupe.subs, key=lambda s: s.node.key if s.node is not None else (0, 0, b""))
    for node in making.nodes:
        if node.role is Role.HANDOFF:
            following = next((s for s in subs if s.node is not None and s.node.start >= node.start), None)
            ops.transfer(node, following)
    handoffs = [n for n in making.nodes if n.role is Role.HANDOFF]
    for sub in subs:
        _reach(making, sub, handoffs)
    for handed in making.handed:
        ops.hand(handed, making.gives_spans, making.was_asked)
    _hand_by_agents(making)
    _hear_results(making)
    if making.options.resumed_operations == "finish":
        for op in ops.all:
            op.resumed = (
                op.asked is None
                and (op.stream is None or op.unstarted)
                and (op.result is not None or op.run is not None)
                and any(making.was_asked(i) is not None for i in op.ids)
            )
    never_ran = {i for n in making.every for i in n.facts.handed_over}
    for op in [o for o in ops.all if o.ids & never_ran and o.run is None]:
        ops.drop(op)
    for op in ops.all:
        if op.transfer and op.sub is not None and op.sub.node is not None and op.run is None:
            op.finished = op.sub.node.start


def _words_of_agent(agent: Agent) -> list[tuple[Node, list[str]]]:
    """The user's words where only the agent's own span carries them."""
    node = agent.node
    if node is None or not node.facts.inputs:
        return []
    new = node.facts.inputs[node.facts.new_from or 0 :]
    at = len(new)
    while at and new[at - 1].role == "user":
        at -= 1
    texts = [p.text for m in new[at:] for p in m.parts if isinstance(p, Text)]
    return [(node, texts)] if texts else []


def _forget_shared_ids(making: Making) -> None:
    """An id that different calls of one reply share names none of them: arguments join them then."""
    shared: set[str] = set()
    for reply in making.replies:
        first: dict[str, ToolCall] = {}
        for call in reply.calls:
            if call.id is not None and first.setdefault(call.id, call) != call:
                shared.add(call.id)
    if not shared:
        return
    for reply in making.replies:
        for call in reply.calls:
            call.id = None if call.id in shared else call.id
    for node in making.every:
        if node.facts.call_id in shared:
            node.facts.call_id = None
    for handed in making.handed:
        for result in handed.results:
            result.id = None if result.id in shared else result.id
        for one in shared:
            handed.asked.pop(one, None)


def _reach(making: Making, sub: Agent, handoffs: list[Node]) -> None:
    making.ops.reach(sub, handoffs)
    if sub.via is None and not any(o.sub is sub for o in making.ops.all):
        # a transfer call that has a run of its own: the agent that starts next is the one it reached
        if sub.node is None:
            return
        for op in making.ops.all:
            run = op.run
            names = run is not None and (run.facts.handoff_to or run.facts.delegates_to) in (sub.name,)
            if op.sub is None and run is not None and names and run.start <= sub.node.start:
                op.sub, op.transfer = sub, sub.speaks
                return


def _hear_calls(making: Making) -> None:
    """Calls that NormalizedEvents tell: a witness of the call, and of its start where no span runs it."""
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is None:
            continue
        calls = Counter[str]()
        for call in speech.calls:
            name = call.id or ""
            ended = sum(1 for r in speech.results if r.id == name and r.index < call.index)
            making.ops.heard(node, call, bool(calls[name]) and ended >= calls[name])
            calls[name] += 1
            if call.broken:
                making.remarks.add(
                    "truncated_value",
                    "the stream of this call broke off before it was complete",
                    node.span_id,
                    call.id,
                )


def _hear_results(making: Making) -> None:
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is None:
            continue
        for result in speech.results:
            making.ops.heard_result(node, result)


def _ask_by_agents(making: Making) -> None:
    """Calls that only an agent's own span tells: its messages are a witness where it has no requests below
    it.
    """
    for agent in making.cast.agents:
        node = agent.node
        if node is None or any(r.captured for r in making.replies if r.agent is agent):
            continue
        outputs = node.facts.outputs or []
        calls = [p for m in outputs for p in m.parts if isinstance(p, ToolCall)]
        if calls:
            reply = Reply(node, agent, node.start, node.end, list(calls), captured=True, silent=True)
            making.ops.ask(reply)


def _hand_by_agents(making: Making) -> None:
    for agent in making.cast.agents:
        node = agent.node
        if node is None:
            continue
        known = {i for o in making.ops.all if o.result is not None or o.run is not None for i in o.ids}
        results = [
            p
            for m in node.facts.outputs or ()
            for p in m.parts
            if isinstance(p, ToolResult) and p.id is not None and p.id not in known
        ]
        new = node.facts.new_from
        if new is not None:
            results += [
                p
                for m in (node.facts.inputs or [])[new:]
                for p in m.parts
                if isinstance(p, ToolResult) and p.id is not None and p.id not in known
            ]
        if results:
            asked = {
                p.id: p
                for m in (*(node.facts.inputs or ()), *(node.facts.outputs or ()))
                for p in m.parts
                if isinstance(p, ToolCall) and p.id
            }
            making.ops.hand(Handed(node, agent, results, True, asked), making.gives_spans, making.was_asked)


def decide(making: Making) -> None:
    """Answers of humans: a refused call is rejected, whatever its result looks like."""
    for node in making.every:
        for question in node.facts.questions:
            op = asked_about(making, question, node)
            if op is not None:
                op.questioned = True
        for decision in node.facts.decisions:
            if decision.call_id is None:
                op = around(making, node)
            else:
                op = next((o for o in reversed(making.ops.all) if decision.call_id in o.ids), None)
            if op is None:
                continue
            if not decision.approved:
                op.rejected = True
                if op.finished is None and op.run is None:
                    op.finished = node.end if node.role is Role.TOOL else max(op.started, node.start)
                if op.output is MISSING and op.result is None and decision.reason:
                    op.error = op.error or decision.reason


def end_behind_its_back(making: Making) -> None:
    """Work that went on after its call had returned ends where the turn goes on because of it."""
    for node in making.nodes:
        if node.facts.continues is None:
            continue
        for op in making.ops.all:
            if node.facts.continues in op.ids:
                op.finished = max(op.finished or 0, node.start)
                op.background = False
