"""Log records, each to the span that it tells of.

Comes in: records in order of time, and the linked spans. Goes out: spans whose facts are filled; the records
that stand by themselves are kept apart in the `Forest`.
"""

from __future__ import annotations

from collections import defaultdict

from otel_turns.assembly.tree import Forest, Node
from otel_turns.assembly.witness import fuller, supplement
from otel_turns.model.facts import MISSING, Facts, Message, Role

__all__ = ["attach_nearest", "attach_records"]


def attach_records(forest: Forest, records: list[Node]) -> None:
    """Each record to its span; those that stand by themselves are kept apart."""
    pieces: dict[tuple[bytes, bytes], list[Facts]] = defaultdict(list)
    near: list[Node] = []
    for record in records:
        kind = record.facts.supplements
        span = forest.by_id.get((record.trace_id, record.span_id))
        if kind == "nearest":
            near.append(record)
        elif kind is None or (span is None and kind == "whole"):
            forest.loose_records.append(record)
        elif span is None:
            continue
        elif kind == "whole":
            record.owner = span
            forest.told_records.append(record)
            supplement(span.facts, record.facts)
        else:
            record.owner = span
            forest.told_records.append(record)
            pieces[(record.trace_id, record.span_id)].append(record.facts)
    for key, parts in pieces.items():
        supplement(_told_of(forest.by_id[key], parts[0].role).facts, _joined(parts))
    forest.near_records = near


def _told_of(span: Node, role: Role) -> Node:
    """The span that messages belong to: the named one, or the only one of their role right below it."""
    if span.role is role or span.role is Role.AGENT:
        return span
    below = [n for n in span.below() if n.role is role]
    return below[0] if len(below) == 1 else span


def attach_nearest(forest: Forest) -> None:
    """Records that name only a span around the one that they belong to, or none: to the nearest one of their
    role.
    """
    alone: list[Node] = []
    for record in forest.near_records:
        span = _nearest_span(forest, record)
        if span is None:
            alone.append(record)
        else:
            fill(span, record)
    partial = [r for r in alone if r.facts.requests == 0]
    whole = [r for r in alone if r.facts.requests != 0]
    for record in partial:
        found = _choose(record, [w for w in whole if w.role is record.role and _together(w, record)])
        if found is None:
            whole.append(record)
        else:
            fill(found, record)
    forest.loose_records.extend(whole)
    forest.loose_records.sort(key=lambda n: (n.start, n.facts.sequence, n.trace_id, n.span_id))


def fill(node: Node, record: Node) -> None:
    """What a record adds to a span: gaps, and a fuller reply; counts never add up."""
    mine, its = node.facts, record.facts
    fuller(mine, its)
    supplement(mine, its)
    node.absorbed.append(record)
    record.owner = node


def _nearest_span(forest: Forest, record: Node) -> Node | None:
    facts = record.facts
    named = forest.by_id.get((record.trace_id, record.span_id)) if record.span_id else None
    if named is not None:
        for up in (named, *named.above()):
            if up.role is facts.role and up.facts.side == facts.side:
                return up
        below = [n for n in named.below() if n.role is facts.role]
    else:
        below = []
    if not below:
        for word in ("group", "session_id"):
            value = getattr(facts, word)
            if value is not None:
                below = [
                    n for n in forest.nodes() if n.role is facts.role and getattr(n.facts, word) == value
                ]
            if below:
                break
    return _choose(record, below)


def _choose(record: Node, nodes: list[Node]) -> Node | None:
    facts = record.facts
    fitting = [n for n in nodes if n.facts.side == facts.side]
    if facts.response_id:
        same = [n for n in fitting if n.facts.response_id == facts.response_id]
        if same:
            return same[0]
        fitting = [n for n in fitting if not n.facts.response_id]
    if facts.role is Role.TOOL:
        if facts.call_id:
            same = [n for n in fitting if n.facts.call_id == facts.call_id]
            if same:
                return same[0]
            fitting = [n for n in fitting if not n.facts.call_id]
        fitting = [
            n
            for n in fitting
            if n.facts.tool_name in (None, facts.tool_name)
            and (MISSING in (n.facts.arguments, facts.arguments) or n.facts.arguments == facts.arguments)
        ]
        fitting = [
            n for n in fitting if not any(a.role is Role.TOOL and not a.is_span for a in n.absorbed)
        ] or fitting
    if not fitting:
        return None
    enclosing = [n for n in fitting if n.start <= record.end <= n.end]
    return min(enclosing or fitting, key=lambda n: (abs(n.end - record.end), n.start, n.span_id))


def _together(a: Node, b: Node) -> bool:
    """Whether two records may tell of one thing: nothing says that they belong to different prompts or
    sessions.
    """
    for word in ("group", "session_id"):
        mine, its = getattr(a.facts, word), getattr(b.facts, word)
        if mine is not None and its is not None:
            return mine == its
    return True


def _joined(parts: list[Facts]) -> Facts:
    """One message a record: the messages of a request and its reply, in order of time."""
    whole = Facts(parts[0].convention)
    for part in parts:
        for name in ("inputs", "outputs"):
            more: list[Message] | None = getattr(part, name)
            if more is not None:
                setattr(whole, name, [*(getattr(whole, name) or ()), *more])
        whole.hidden |= part.hidden
        whole.unparsable |= part.unparsable
    return whole
