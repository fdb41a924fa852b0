"""Spans whose parent never came, put where their time says, beside the tree of the same trace.

Comes in: a linked `Forest`, its clocks set. Goes out: the same, with orphans below the agent whose time alone
encloses them. Where more than one place fits, or none, they stay as they are: nothing is guessed.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_turns.model.facts import Role

if TYPE_CHECKING:
    from otel_turns.assembly.tree import Forest, Node

__all__ = ["adopt_orphans"]

_AGENTIC = (Role.AGENT, Role.WORKFLOW, Role.CHAIN)
_MOST_PLACES = 64
"""How many agents at work at one time are weighed against each other: what bounds the cost of many alike."""


@dataclass(slots=True)
class _Place:
    """A local root, or an agent below it. It encloses the places that are numbered from `enters` to `leaves`.

    `inside`: it is an agent, or stands below one.
    """

    node: Node
    enters: int
    leaves: int
    inside: bool

    def holds(self, other: _Place) -> bool:
        return self.enters <= other.enters < self.leaves


def adopt_orphans(forest: Forest) -> None:
    """Moves orphans below their place. Those of one lost parent go together."""
    lost: dict[bytes, dict[bytes, list[Node]]] = defaultdict(lambda: defaultdict(list))
    for root in forest.roots:
        if root.orphaned:
            lost[root.trace_id][root.parent_missing or b""].append(root)
    if not lost:
        return
    whole: dict[bytes, list[Node]] = defaultdict(list)
    for root in forest.roots:
        if root.trace_id in lost and not root.orphaned:
            whole[root.trace_id].append(root)
    for trace_id, roots in whole.items():
        for orphans, place in _placed(lost[trace_id].values(), _places(roots)):
            for orphan in orphans:
                orphan.parent, orphan.adopted = place, True
                place.children.append(orphan)
    forest.roots = [r for r in forest.roots if not r.adopted]


def _places(roots: Sequence[Node]) -> list[_Place]:
    """In order of time."""
    found: list[_Place] = []
    stack: list[tuple[Node, bool, _Place | None]] = [(root, False, None) for root in roots]
    number = 0
    while stack:
        node, inside, left = stack.pop()
        if left is not None:
            left.leaves = number
            continue
        inside = inside or node.role in _AGENTIC
        if node.parent is None or node.role in _AGENTIC:
            place = _Place(node, number, 0, inside)
            number += 1
            found.append(place)
            stack.append((node, inside, place))
        stack.extend((child, inside, None) for child in node.children)
    found.sort(key=lambda p: (p.node.start, p.node.span_id))
    return found


def _placed(groups: Iterable[list[Node]], places: Sequence[_Place]) -> list[tuple[list[Node], Node]]:
    """Each group that has one place, with it: one pass over time."""
    found: list[tuple[list[Node], Node]] = []
    at_work: list[tuple[int, int, _Place]] = []
    coming = 0
    ordered = sorted(
        ((min(o.start for o in g), max(o.start for o in g), g) for g in groups), key=lambda g: g[:2]
    )
    for first, last, orphans in ordered:
        while coming < len(places) and places[coming].node.start <= first:
            heapq.heappush(at_work, (places[coming].node.end, coming, places[coming]))
            coming += 1
        while at_work and at_work[0][0] < first:
            heapq.heappop(at_work)
        if len(at_work) > _MOST_PLACES:
            continue
        place = _deepest([p for end, _, p in at_work if end >= last])
        if place is not None and (place.inside or len(orphans) == 1 or not _has_agents(orphans)):
            found.append((orphans, place.node))
    return found


def _deepest(places: Sequence[_Place]) -> _Place | None:
    """The deepest of these that all deeper ones agree on; None where they stand below different roots."""
    line: list[_Place] = []
    parted = False
    for place in sorted(places, key=lambda p: p.enters):
        while line and not line[-1].holds(place):
            line.pop()
            parted = True
        if not parted:
            line.append(place)
        elif not line:
            return None
    return line[-1] if line else None


def _has_agents(orphans: Sequence[Node]) -> bool:
    """Agents beside each other under one lost parent are one turn, which has no root of its own."""
    return any(n.role in _AGENTIC for orphan in orphans for n in orphan.subtree())
