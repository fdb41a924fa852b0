"""The same thing told twice.

Comes in: a forest with resolved positions. Goes out: the same with one node for each request, run and agent,
whoever told of it: wrapper chains, two instrumentations at once, client and server of one call.
"""

from __future__ import annotations

from collections import defaultdict

from otel_turns.assembly.tree import Forest, Node
from otel_turns.assembly.witness import fuller, said, supplement
from otel_turns.model.facts import Facts, Role

__all__ = ["merge_doubles"]

_AGENTIC = (Role.AGENT, Role.WORKFLOW)


def _absorb(keeper: Node, other: Node) -> None:
    """`other` told the same operation: its facts fill the keeper's gaps and its children move; it is
    structure then.
    """
    fuller(keeper.facts, other.facts)
    supplement(keeper.facts, other.facts)
    keeper.absorbed.append(other)
    other.owner = keeper
    convention = other.facts.convention
    other.facts = Facts(convention)


def merge_doubles(forest: Forest) -> None:
    for node in list(forest.nodes()):
        if node.role is Role.INFERENCE:
            outer = _nearest(node, Role.INFERENCE, (Role.AGENT, Role.WORKFLOW, Role.TOOL))
            if outer is not None and _same_request(outer, node):
                _absorb(outer, node)
        elif node.role is Role.TOOL:
            outer = _nearest(node, Role.TOOL, (Role.AGENT, Role.WORKFLOW, Role.INFERENCE))
            if outer is not None and _same_run(outer, node):
                _absorb(outer, node)
        elif node.role is Role.AGENT:
            outer = _nearest(node, Role.AGENT, (Role.TOOL, Role.WORKFLOW))
            if outer is not None and _same_agent(outer, node):
                _absorb(outer, node)
    _merge_by_response(forest)
    for node in forest.nodes():
        if node.role is Role.AGENT and _only_wraps(node):
            node.facts.role = Role.WORKFLOW


def _nearest(node: Node, role: Role, barriers: tuple[Role, ...]) -> Node | None:
    for up in node.above():
        if up.role is role:
            return up
        if up.role in barriers:
            return None
    return None


def _same_request(outer: Node, inner: Node) -> bool:
    a, b = outer.facts.response_id, inner.facts.response_id
    if a and b:
        return a == b
    if (
        outer.facts.outputs is not None
        and inner.facts.outputs is not None
        and outer.scope_name == inner.scope_name
    ):
        one, two = said(outer.facts.outputs), said(inner.facts.outputs)
        return all(part in two for part in one) or all(part in one for part in two)
    return (
        sum(1 for n in outer.below() if n.role is Role.INFERENCE and not _between(outer, n)) <= 1 or a is None
    )


def _between(outer: Node, inner: Node) -> bool:
    """Whether an agent or tool stands between the two."""
    for up in inner.above():
        if up is outer:
            return False
        if up.role in (Role.AGENT, Role.WORKFLOW, Role.TOOL):
            return True
    return False


def _same_run(outer: Node, inner: Node) -> bool:
    a, b = outer.facts.call_id, inner.facts.call_id
    if a and b:
        return a == b or a in inner.facts.other_ids or b in outer.facts.other_ids
    return outer.facts.tool_name == inner.facts.tool_name or not inner.facts.tool_name


def _same_agent(outer: Node, inner: Node) -> bool:
    a, b = outer.facts, inner.facts
    if a.invocation_id and b.invocation_id:
        return a.invocation_id == b.invocation_id
    return a.same_agent or b.same_agent or a.agent_name == b.agent_name


def _merge_by_response(forest: Forest) -> None:
    """One request told by two instrumentations beside each other, or in two traces: joined by the response
    id.
    """
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in forest.nodes():
        if node.role is Role.INFERENCE and node.facts.response_id:
            groups[node.facts.response_id].append(node)
    for group in groups.values():
        group.sort(key=lambda n: (-_weight(n), n.start, n.trace_id, n.span_id))
        kept: list[Node] = []
        for node in group:
            twin = next((k for k in kept if _is_twin(k, node)), None)
            if twin is None:
                kept.append(node)
            else:
                _absorb(twin, node)


def _is_twin(kept: Node, node: Node) -> bool:
    """Whether two requests with one response id are one: told by two instrumentations, or twice by one and at
    the same nanoseconds.
    """
    if kept.scope_name != node.scope_name:
        return kept.overlaps(node)
    same_time = (kept.start, kept.end) == (node.start, node.end)
    return same_time and kept.facts.outputs == node.facts.outputs


def _weight(node: Node) -> int:
    """How well a span is placed and how much it says: below an agent first, then with content."""
    placed = any(up.role in _AGENTIC for up in node.above())
    return 4 * placed + 2 * (node.facts.outputs is not None) + (node.facts.inputs is not None)


def _only_wraps(node: Node) -> bool:
    """An agent span without a request or tool of its own, around agents that have them, wraps them."""
    wraps = False
    stack = list(node.children)
    while stack:
        child = stack.pop()
        if child.role in (Role.INFERENCE, Role.TOOL, Role.HANDOFF) or child.tells:
            return False
        if child.role in _AGENTIC:
            wraps = True
        else:
            stack.extend(child.children)
    return wraps and not node.tells
