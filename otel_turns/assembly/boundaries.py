"""Which spans make one turn.

Comes in: a `Forest`. Goes out: `TurnScope`s, each with its root and all its nodes, in order of time. Nothing
here knows what an operation or a message is; it knows who invokes whom, and which requests belong together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from otel_turns.assembly.stitch import adds_user_message, repeats, stitch
from otel_turns.assembly.tree import Forest, Node
from otel_turns.model.facts import Role, ToolCall

__all__ = ["TurnScope", "find_turns"]


@dataclass(slots=True)
class TurnScope:
    """The nodes of one turn. `root` gives the turn its id; `orphan`: its real root never came.

    `stitched`: it was joined out of several traces. `tops`: the nodes under which everything of the turn
    hangs.
    """

    root: Node
    tops: list[Node]
    orphan: bool = False
    stitched: bool = False
    records: list[Node] = field(default_factory=list[Node])
    _only: set[int] | None = None

    def nodes(self) -> list[Node]:
        """All nodes of the turn, parents before children."""
        out: list[Node] = []
        for top in self.tops:
            out.extend(n for n in top.subtree() if self._only is None or id(n) in self._only or n is top)
        return out

    @property
    def start(self) -> int:
        return (
            min(n.start for n in (*self.tops, *self.records))
            if self.tops or self.records
            else self.root.start
        )


def find_turns(forest: Forest) -> list[TurnScope]:
    """The turns of a forest, in order of time."""
    turns: list[TurnScope] = []
    bare: list[Node] = []
    strays: list[Node] = []
    epochs = _Epochs(forest)
    for group in _root_groups(forest):
        tops = [top for root in group for top in _topmost(root)]
        orphan = any(root.orphaned for root in group)
        loose = [n for root in group for n in _outside(root)]
        if tops:
            if len(group) > 1 and orphan:
                turns.append(TurnScope(tops[0], [*group], orphan=True))
            else:
                made = _agents_of_one_root(tops, orphan)
                for node in loose:
                    if node.facts.side:
                        near = [t for t in made if t.start <= node.start] or made[:1]
                        near[-1].tops.append(node)
                    elif node.role is not Role.NOTHING:
                        strays.append(node)
                turns.extend(made)
        elif loose:
            if len(group) == 1 and (
                group[0].role is Role.INFERENCE or all(n.role is Role.TOOL for n in loose)
            ):
                bare.append(group[0])
            elif all(n.facts.group for n in loose):
                bare.extend(group)
            else:
                turns.extend(_requests_of_one_root(group, loose, orphan))
    turns.extend(_stitched(bare, turns, epochs))
    _join_strays(strays, turns)
    _join_records(forest.loose_records, turns, epochs)
    _continue(turns)
    _side_turns(turns)
    turns.sort(key=lambda t: (t.start, t.root.trace_id, t.root.span_id))
    return turns


class _Epochs:
    """Turns of one session or prompt id that only marked boundaries tell apart."""

    def __init__(self, forest: Forest) -> None:
        self._begins: dict[object, list[int]] = defaultdict(list)
        for node in (*forest.nodes(), *forest.loose_records):
            if node.facts.boundary == "start":
                self._begins[self._word(node)].append(node.start)
        for begins in self._begins.values():
            begins.sort()

    @staticmethod
    def _word(node: Node) -> object:
        facts = node.facts
        return ("group", facts.group) if facts.group else ("session", facts.session_id)

    def key(self, node: Node) -> object:
        """What joins the node to others of its turn; None where nothing does."""
        facts = node.facts
        if facts.group:
            begins = self._begins.get(("group", facts.group), ())
            return ("group", facts.group, bisect_right(begins, node.end))
        begins = self._begins.get(("session", facts.session_id), ())
        if facts.session_id and begins:
            return ("session", facts.session_id, bisect_right(begins, node.end))
        return None


def _root_groups(forest: Forest) -> list[list[Node]]:
    """Local roots, with orphans of one missing parent together."""
    groups: dict[object, list[Node]] = {}
    for root in forest.roots:
        key: object = id(root)
        if root.orphaned:
            key = (root.trace_id, root.parent_missing)
        groups.setdefault(key, []).append(root)
    return list(groups.values())


def _topmost(root: Node) -> list[Node]:
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.role in (Role.AGENT, Role.WORKFLOW):
            if node.role is Role.AGENT or _is_work(node):
                found.append(node)
        else:
            stack.extend(reversed(node.children))
    return sorted(found, key=lambda n: n.key)


def _is_work(node: Node) -> bool:
    return any(
        n.role in (Role.INFERENCE, Role.TOOL, Role.AGENT, Role.HANDOFF) or n.tells for n in node.subtree()
    )


def _outside(root: Node) -> list[Node]:
    """Agent work outside any agent."""
    found: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.role in (Role.AGENT, Role.WORKFLOW):
            continue
        if node.role in (Role.INFERENCE, Role.TOOL, Role.HANDOFF) or node.tells:
            found.append(node)
        stack.extend(reversed(node.children))
    return sorted(found, key=lambda n: n.key)


def _agents_of_one_root(tops: list[Node], orphan: bool) -> list[TurnScope]:
    """Siblings are turns of their own, except a resume of the same paused invocation that the convention
    marks.
    """
    return [TurnScope(top, [top], orphan=orphan and top.parent is None) for top in tops]


def _requests_of_one_root(group: list[Node], work: list[Node], orphan: bool) -> list[TurnScope]:
    """Without an agent the local root is the turn; a request that repeats a finished conversation and adds
    words of the user begins a new one.
    """
    requests = [n for n in work if n.role is Role.INFERENCE]
    starts: list[Node] = []
    for before, node in pairwise(requests):
        history = [*(before.facts.inputs or ()), *(before.facts.outputs or ())]
        done = before.facts.outputs is not None and not any(
            isinstance(p, ToolCall) for m in before.facts.outputs for p in m.parts
        )
        if done and adds_user_message(node.facts.inputs) and repeats(history, node.facts.inputs or []):
            starts.append(node)
    root = min(group, key=lambda n: n.key)
    if not starts:
        return [TurnScope(root, sorted(group, key=lambda n: n.key), orphan=orphan)]
    bounds = [work[0].start, *[n.start for n in starts]]
    turns: list[TurnScope] = []
    for at, begin in enumerate(bounds):
        end = bounds[at + 1] if at + 1 < len(bounds) else None
        mine = [n for n in work if n.start >= begin and (end is None or n.start < end)]
        chosen = {id(n) for n in mine}
        inner = [n for n in mine if not any(id(up) in chosen for up in n.above())]
        turns.append(TurnScope(root if at == 0 else inner[0], inner, orphan=orphan))
    return turns


def _stitched(bare: list[Node], turns: list[TurnScope], epochs: _Epochs) -> list[TurnScope]:
    """Turns of requests and runs that are traces of their own."""
    made: list[TurnScope] = []
    grouped: dict[object, list[Node]] = defaultdict(list)
    requests: list[Node] = []
    runs: list[Node] = []
    for node in bare:
        group = next((key for n in node.subtree() if (key := epochs.key(n)) is not None), None)
        if group is not None:
            grouped[group].append(node)
        elif node.role is Role.INFERENCE:
            requests.append(node)
        else:
            runs.append(node)
    for nodes in grouped.values():
        nodes.sort(key=lambda n: n.key)
        if any(
            not n.facts.side for top in nodes for n in top.subtree() if n.role is Role.INFERENCE
        ) or not any(n.role is Role.INFERENCE for top in nodes for n in top.subtree()):
            made.append(TurnScope(nodes[0], nodes, stitched=len(nodes) > 1))
    for chain in stitch(n for n in requests if not n.facts.side):
        made.append(TurnScope(chain.nodes[0], list(chain.nodes), stitched=len(chain.nodes) > 1))
    left = _join_runs(runs, [*turns, *made])
    made.extend(TurnScope(node, [node]) for node in left)
    return made


def _join_runs(runs: Iterable[Node], turns: list[TurnScope]) -> list[Node]:
    """An executing span alone in its trace joins the turn that asked for it: by the call's id; without one by
    its name, where one turn alone waits for such a call at that time.
    """
    ordered = sorted(runs, key=lambda n: n.key)
    if not ordered:
        return []
    asked = _Asked(turns)
    left: list[Node] = []
    for run in ordered:
        turn = asked.turn_of(run)
        if turn is None:
            left.append(run)
        else:
            turn.tops.append(run)
            turn.stitched = True
    return left


@dataclass(slots=True, eq=False)
class _Ask:
    """A call that a turn asked for: from when, and until when (the turn's next request) it may run."""

    turn: TurnScope
    call: ToolCall
    since: int
    until: int | None


class _Asked:
    """The calls of many turns, by id and by name, in order of time."""

    def __init__(self, turns: list[TurnScope]) -> None:
        self._by_id: dict[str, list[_Ask]] = defaultdict(list)
        self._by_name: dict[str, list[_Ask]] = defaultdict(list)
        for turn in turns:
            requests = sorted((n for n in turn.nodes() if n.role is Role.INFERENCE), key=lambda n: n.key)
            for at, node in enumerate(requests):
                following = requests[at + 1].start if at + 1 < len(requests) else None
                for call in (p for m in node.facts.outputs or () for p in m.parts if isinstance(p, ToolCall)):
                    ask = _Ask(turn, call, node.start, following)
                    for one in {call.id, *call.other_ids} - {None}:
                        self._by_id[str(one)].append(ask)
                    if call.name:
                        self._by_name[call.name].append(ask)
        for asks in (*self._by_id.values(), *self._by_name.values()):
            asks.sort(key=lambda a: a.since)

    def turn_of(self, run: Node) -> TurnScope | None:
        facts = next(n.facts for n in run.subtree() if n.role is Role.TOOL)
        ids = [i for i in (facts.call_id, *facts.other_ids) if i]
        for one in ids:
            asks = self._by_id.get(one, [])
            at = bisect_right(asks, run.start, key=lambda a: a.since)
            if at:
                return asks[at - 1].turn
        if ids or facts.tool_name is None:
            return None
        asks = self._by_name.get(facts.tool_name, [])
        near = asks[max(0, bisect_right(asks, run.start, key=lambda a: a.since) - 64) :]
        waiting = [a for a in near if a.since <= run.start and (a.until is None or run.start <= a.until)]
        equal = [a for a in waiting if a.call.arguments == facts.arguments] or waiting
        homes = {id(a.turn): a.turn for a in equal}
        return next(iter(homes.values())) if len(homes) == 1 else None


def _join_strays(strays: list[Node], turns: list[TurnScope]) -> None:
    """Agent work beside the agents of one local root: a run joins the turn that asked for it, a request the
    turn that it is nearest to in time under the same root; where neither holds it is a turn of its own.
    """
    known = {id(n) for n in strays}
    for node in _join_runs((n for n in strays if n.role is Role.TOOL), turns):
        if not any(id(up) in known for up in node.above()):
            turns.append(TurnScope(node, [node]))
    for chain in stitch(n for n in strays if n.role is Role.INFERENCE and not n.facts.side):
        turns.append(TurnScope(chain.nodes[0], list(chain.nodes)))


def _join_records(records: list[Node], turns: list[TurnScope], epochs: _Epochs) -> None:
    """Log records without a span join the turn of their trace or of their convention's id, or make one."""
    if not records:
        return
    by_group: dict[object, TurnScope] = {}
    by_trace: dict[bytes, list[TurnScope]] = defaultdict(list)
    for turn in turns:
        by_trace[turn.root.trace_id].append(turn)
        for node in turn.nodes():
            key = epochs.key(node)
            if key is not None:
                by_group.setdefault(key, turn)
    fresh: dict[object, TurnScope] = {}
    for record in records:
        facts = record.facts
        group = epochs.key(record)
        turn = by_group.get(group) if group is not None else None
        if turn is None and record.trace_id in by_trace and not facts.group:
            near = by_trace[record.trace_id]
            turn = max((t for t in near if t.start <= record.start), key=lambda t: t.start, default=near[0])
        if turn is not None:
            turn.records.append(record)
        elif group is not None or record.trace_id:
            key = group if group is not None else record.trace_id
            if key not in fresh:
                fresh[key] = TurnScope(record, [])
            fresh[key].records.append(record)
    turns.extend(t for t in fresh.values() if any(_speaks(r) for r in t.records))


def _continue(turns: list[TurnScope]) -> None:
    """A turn whose work ended behind its back goes on where a later root says so."""
    going_on = [
        (turn, call)
        for turn in sorted(turns, key=lambda t: t.start)
        if (call := next((n.facts.continues for n in (*turn.tops, *turn.records) if n.facts.continues), None))
    ]
    if not going_on:
        return
    made_by: dict[str, TurnScope] = {}
    for turn in turns:
        for node in (*turn.nodes(), *turn.records):
            if node.facts.call_id:
                made_by.setdefault(node.facts.call_id, turn)
    gone: set[int] = set()
    for turn, call in going_on:
        home = made_by.get(call)
        if home is None or home is turn:
            continue
        home.tops.extend(turn.tops)
        home.records.extend(turn.records)
        home.stitched = True
        gone.add(id(turn))
        for known, maker in made_by.items():
            if maker is turn:
                made_by[known] = home
    turns[:] = [t for t in turns if id(t) not in gone]


def _side_turns(turns: list[TurnScope]) -> None:
    """Side requests alone are no turn: they join the nearest turn of their trace, or count in none."""
    sides: list[tuple[TurnScope, list[Node]]] = []
    by_trace: dict[bytes, list[TurnScope]] = defaultdict(list)
    for turn in turns:
        work = [
            n
            for n in (*turn.nodes(), *turn.records)
            if n.role in (Role.INFERENCE, Role.TOOL, Role.HANDOFF) or n.tells
        ]
        if work and all(n.role is Role.INFERENCE and n.facts.side for n in work):
            sides.append((turn, work))
        else:
            by_trace[turn.root.trace_id].append(turn)
    if not sides:
        return
    for turn, work in sides:
        near = by_trace.get(turn.root.trace_id)
        if near:
            home = min(near, key=lambda t: (abs(t.start - turn.start), t.start))
            home.tops.extend(n for n in work if n.is_span)
            home.records.extend(n for n in work if not n.is_span)
    gone = {id(turn) for turn, _ in sides}
    turns[:] = [t for t in turns if id(t) not in gone]


def _speaks(record: Node) -> bool:
    return record.role in (Role.INFERENCE, Role.TOOL, Role.AGENT)
