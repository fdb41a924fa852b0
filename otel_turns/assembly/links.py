"""Parents, order and clocks of a forest.

Comes in: nodes by id. Goes out: the same, linked to their parents, sorted and numbered, with the clocks of
other hosts put right. The result is the same for any order of arrival.
"""

from __future__ import annotations

from otel_turns.assembly.tree import Forest, Node
from otel_turns.model.span import Span

__all__ = ["end_open_spans", "link", "shift_clocks", "sort", "unnumber"]

_NO_PARENT = b"\0" * 8


def link(forest: Forest) -> None:
    by_id, roots = forest.by_id, forest.roots
    for (trace_id, _), node in by_id.items():
        source = node.source
        parent_id = source.parent_id if isinstance(source, Span) else None
        if parent_id is None or parent_id == _NO_PARENT:
            roots.append(node)
            continue
        parent = by_id.get((trace_id, parent_id))
        if parent is None:
            node.parent_missing = parent_id
            roots.append(node)
        elif parent is node:
            roots.append(node)
        else:
            node.parent = parent
            parent.children.append(node)
    _break_circles(forest)


def _break_circles(forest: Forest) -> None:
    """Spans that are each other's ancestors: the earliest of each circle becomes a root."""
    seen: set[int] = set()
    for root in forest.roots:
        seen.update(id(n) for n in root.subtree())
    if len(seen) == len(forest.by_id):
        return
    lost = sorted((n for n in forest.by_id.values() if id(n) not in seen), key=lambda n: (n.start, n.span_id))
    for node in lost:
        if id(node) in seen:
            continue
        circle: list[Node] = []
        passed: set[int] = set()
        at: Node | None = node
        while at is not None and id(at) not in passed:
            passed.add(id(at))
            circle.append(at)
            at = at.parent
        turning = next((n for n, one in enumerate(circle) if one is at), 0)
        first = min(circle[turning:], key=lambda n: (n.start, n.span_id))
        if first.parent is not None:
            first.parent.children.remove(first)
            first.parent = None
        forest.roots.append(first)
        seen.update(id(n) for n in first.subtree())


def _by_time(node: Node) -> tuple[int, int, bytes]:
    return (node.start, node.end, node.span_id)


def sort(forest: Forest) -> None:
    """Puts children in order of time and numbers all nodes, so that what is below a node is one slice."""
    forest.roots.sort(key=lambda n: (n.start, n.trace_id, n.span_id))
    flat: list[Node] = []
    open_: list[Node] = []
    stack = list(reversed(forest.roots))
    while stack:
        node = stack.pop()
        parent = node.parent
        depth = 0 if parent is None else parent.depth + 1
        while len(open_) > depth:
            open_.pop().until = len(flat)
        open_.append(node)
        node.depth, node.at, node.flat = depth, len(flat), flat
        flat.append(node)
        children = node.children
        if children:
            if len(children) > 1:
                children.sort(key=_by_time)
            stack.extend(reversed(children))
    for node in open_:
        node.until = len(flat)
    forest.flat = flat


def unnumber(forest: Forest) -> None:
    """The tree has changed: nothing may go by the numbers of before."""
    for node in forest.flat or ():
        node.flat = None
    forest.flat = None


def end_open_spans(forest: Forest) -> None:
    """A span that never ended lasts at least as long as its children."""
    if all(n.ended for n in forest.by_id.values()):
        return
    for node in reversed(list(forest.nodes())):
        if not node.ended:
            node.end = max([node.end, *(c.end for c in node.children)])


def shift_clocks(forest: Forest) -> None:
    """A child of another process outside its parent's window is shifted into it, with all below it."""
    first = next(iter(forest.by_id.values())).resource if forest.by_id else None
    if all(n.source.resource is first for n in forest.by_id.values()):
        return
    for root in forest.roots:
        stack = [root]
        while stack:
            node = stack.pop()
            parent = node.parent
            if (
                parent is not None
                and node.resource is not parent.resource
                and node.resource != parent.resource
            ):
                delta = _into_window(node, parent)
                if delta:
                    for one in node.subtree():
                        one.start += delta
                        one.end += delta
                    node.shifted = True
            stack.extend(node.children)


def _into_window(node: Node, parent: Node) -> int:
    if not node.start or not parent.start or (node.start >= parent.start and node.end <= parent.end):
        return 0
    if node.end < parent.start or node.start > parent.end or node.start < parent.start:
        slack = (parent.end - parent.start) - (node.end - node.start)
        if slack < 0:
            return parent.start - node.start if node.start < parent.start or node.start > parent.end else 0
        return parent.start + slack // 2 - node.start
    return 0  # it began inside and ends later: work that outlives its caller, no matter of clocks
