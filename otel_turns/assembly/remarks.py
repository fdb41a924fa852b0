"""Remarks on what is missing from a turn: each absent input, output, text or count has its evidence.

Comes in: a `Making` that has been told. Goes out: its remarks. It changes nothing else.
"""

from __future__ import annotations

from typing import Any

from otel_turns.assembly.agents import Agent
from otel_turns.assembly.making import Making
from otel_turns.assembly.operations import Operation
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Facts, Role
from otel_turns.model.span import Span

__all__ = ["remark"]


def remark(making: Making, status: str, usage: dict[str, Any] | None, partial: list[Node]) -> None:
    remarks, scope = making.remarks, making.scope
    if scope.orphan or any(top.orphaned for top in scope.tops):
        remarks.add("root_missing", "the parent of the topmost spans never came", scope.root.span_id)
    for node in making.every:
        _remark_span(making, node)
    for op in making.ops.all:
        _remark_operation(making, op, status)
    for reply in making.replies:
        facts = reply.node.facts
        if (
            reply.captured
            or facts.side
            or (facts.failed and not reply.parts)
            or id(reply.node) in making.speeches
        ):
            continue
        remarks.add(
            "content_not_captured",
            _switch(facts, "the reply of this request was not captured"),
            reply.node.span_id,
        )
    for node in partial:
        remarks.add(
            "usage_partial", "the span's own total is more than its requests account for", node.span_id
        )
    _remark_usage(making, usage, status)
    _remark_text(making)


def _remark_span(making: Making, node: Node) -> None:
    remarks, source = making.remarks, node.source
    if node.shifted:
        remarks.add(
            "clock_skew", "the span lay outside its caller's time and was shifted into it", node.span_id
        )
    if node.adopted:
        remarks.add(
            "orphan_spans", "the parent of this span never came; its place is told by time", node.span_id
        )
    for mark in node.facts.marks:
        if mark.kind == "malformed":
            remarks.add("malformed_event", str(mark.value), node.span_id)
    speech = making.speeches.get(id(node))
    if speech is not None:
        for reason in speech.malformed:
            remarks.add("malformed_event", reason, node.span_id)
        for sub_id in sorted(speech.unfinished):
            remarks.add("operation_unfinished", "nothing shows that this agent ended", node.span_id, sub_id)
    if node.facts.unread:
        remarks.add(
            "unread_spans", "this span looks like agent work, and no convention reads it", node.span_id
        )
    dropped = source.dropped_attributes
    if isinstance(source, Span):
        dropped += sum(event.dropped_attributes for event in source.events)
        if source.dropped_events:
            remarks.add(
                "span_events_dropped",
                f"{source.dropped_events} span events were dropped by the SDK",
                node.span_id,
            )
        if not source.end and node is making.scope.root:
            remarks.add("root_unfinished", "the root of the turn never ended", node.span_id)
    if dropped:
        remarks.add("attributes_dropped", f"{dropped} attributes were dropped by the SDK", node.span_id)
    if node.facts.truncated:
        remarks.add("truncated_value", "a value was cut by a length limit of the SDK", node.span_id)
    if node.facts.unparsable and node.role is not Role.TOOL:
        remarks.add(
            "unparsable_json", "a value that should be JSON is not; what can be read is used", node.span_id
        )


def _remark_operation(making: Making, op: Operation, status: str) -> None:
    remarks = making.remarks
    node = op.run or (op.asked.node if op.asked else None) or op.handed or op.stream
    span_id = node.span_id if node is not None else None
    facts = node.facts if node is not None else None
    if op.synthetic:
        remarks.add(
            "synthetic_operation_id",
            "no witness names this call; its id was made from its span",
            span_id,
            op.id,
        )
    if op.unparsable:
        remarks.add("unparsable_json", "the arguments are no JSON; they stand as text", span_id, op.id)
    if op.input is MISSING and op.skill is None:
        if op.unstarted:
            remarks.add("operation_unstarted", "only the result of this call was seen", span_id, op.id)
        else:
            remarks.add(
                "content_not_captured",
                _switch(facts, "the arguments of this call were not captured"),
                span_id,
                op.id,
            )
    elif op.unstarted:
        remarks.add(
            "operation_unstarted",
            "only the result of this call was seen; its input is from the history",
            span_id,
            op.id,
        )
    if op.finished is None:
        if status == "waiting" and op.questioned:
            remarks.add("operation_unfinished", "this call waits for a human", span_id, op.id, expected=True)
        else:
            remarks.add(
                "operation_unfinished", "nothing shows that this call ran or was answered", span_id, op.id
            )
    elif op.output is MISSING and not (op.transfer or op.rejected or op.skill is not None):
        remarks.add(
            "content_not_captured", _switch(facts, "the result of this call was not captured"), span_id, op.id
        )


def _remark_usage(making: Making, usage: dict[str, Any] | None, status: str) -> None:
    remarks, root = making.remarks, making.scope.root
    if usage is None or "inputTokens" not in usage or "outputTokens" not in usage:
        silent = (
            usage is not None and all(r.node.facts.failed for r in making.replies) and bool(making.replies)
        )
        if not silent:
            remarks.add("usage_partial", "no span reports the tokens of this turn", root.span_id)
        return
    for agent in making.cast.agents:
        for node in agent.requests:
            reports = node.facts.usage or (id(node) in making.speeches and making.speeches[id(node)].usage)
            if not reports and not node.facts.failed and not _has_total(agent):
                remarks.add("usage_partial", "this request reports no tokens", node.span_id)


def _has_total(agent: Agent) -> bool:
    return any(n.facts.usage for n in agent.invocations) and not any(n.facts.usage for n in agent.requests)


def _remark_text(making: Making) -> None:
    """An agent with runs of tools and no request of its own: its words between them were not told."""
    for agent in making.cast.agents:
        node = agent.node
        if agent.requests or node is None or not agent.speaks or id(node) in making.speeches:
            continue
        if any(making.cast.owner.get(k) is agent for k in making.speeches):
            continue
        making.remarks.add(
            "content_not_captured",
            "no request to a model was seen below this agent: what it said between its calls is unknown",
            node.span_id,
        )


def _switch(facts: Facts | None, what: str) -> str:
    switch = facts.convention.content_switch if facts is not None else ""
    return f"{what}; {switch}" if switch else what
