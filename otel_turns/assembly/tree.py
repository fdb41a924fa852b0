"""The tree of what happened: nodes of read spans, linked, with doubled spans merged and positions resolved.

Comes in: `Read` spans and log records (span or record, with the facts that a dialect read in it). Goes out: a
`Forest` of `Node`s per trace. Never looks at an attribute, and never depends on the order in which the
telemetry arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields

from otel_turns.assembly.orphans import adopt_orphans
from otel_turns.model.facts import MISSING, Facts, Message, Role
from otel_turns.model.span import KIND_SERVER, LogRecord, Resource, Span

__all__ = ["Forest", "Node", "Read", "build_forest", "said", "supplement"]

_NO_PARENT = b"\0" * 8
_REMOTE = 0x300
"""OTLP's span flags: it is known whether the parent is in another process, and it is."""
_EVERYDAY = frozenset({"Done", "Error", "Usage", "Custom", "RuntimeStep"})


@dataclass(slots=True)
class Read:
    """One span or log record with what its dialect read in it."""

    source: Span | LogRecord
    facts: Facts


class Node:
    """A span of the tree. `start` and `end` are the span's own times, shifted where its host's clock was off.
    `adopted`: its parent never came, and its place follows from time alone. `owner`: the node that its facts
    went into, where it told of the same thing as another.
    """

    __slots__ = (
        "absorbed",
        "adopted",
        "at",
        "children",
        "depth",
        "end",
        "facts",
        "flat",
        "owner",
        "parent",
        "parent_missing",
        "shifted",
        "source",
        "span_id",
        "start",
        "trace_id",
        "until",
    )

    def __init__(self, source: Span | LogRecord, facts: Facts) -> None:
        self.source = source
        self.facts = facts
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.depth = 0
        self.flat: list[Node] | None = None
        self.at = self.until = 0
        self.absorbed: list[Node] = []
        self.owner: Node | None = None
        self.shifted = False
        self.adopted = False
        self.parent_missing: bytes | None = None
        if isinstance(source, Span):
            self.trace_id = source.trace_id
            self.span_id = source.span_id
            self.start = source.start
            self.end = source.end or source.start
        else:
            self.trace_id = source.trace_id or b""
            self.span_id = source.span_id or b""
            self.start = facts.began or source.time
            self.end = source.time

    @property
    def role(self) -> Role:
        return self.facts.role

    @property
    def is_span(self) -> bool:
        return isinstance(self.source, Span)

    @property
    def resource(self) -> Resource:
        return self.source.resource

    @property
    def scope_name(self) -> str:
        return self.source.scope.name

    @property
    def key(self) -> tuple[int, int, bytes]:
        return (self.start, self.depth, self.span_id)

    @property
    def ended(self) -> bool:
        """Whether it ended. A span that did not lasts as long as what is known to happen in it."""
        return not isinstance(self.source, Span) or self.source.end != 0

    @property
    def orphaned(self) -> bool:
        """Whether its parent is known and never came. A span whose parent is in another process is a local
        root of its own right.
        """
        if self.parent is not None or self.parent_missing is None or not isinstance(self.source, Span):
            return False
        return self.source.kind != KIND_SERVER and self.source.flags & _REMOTE != _REMOTE

    @property
    def tells(self) -> bool:
        """Whether its NormalizedEvents prove agent work: those with everyday names alone do not."""
        return any(type(event).__name__ not in _EVERYDAY for _, event in self.facts.normalized)

    def above(self) -> Iterator[Node]:
        """Its ancestors, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def below(self) -> list[Node]:
        """Its descendants, in order, parents before children."""
        return self.subtree()[1:] if self.children else []

    def subtree(self) -> list[Node]:
        """Itself and its descendants, in order, parents before children."""
        if self.flat is not None:
            return self.flat[self.at : self.until]
        out: list[Node] = []
        stack = [self]
        while stack:
            node = stack.pop()
            out.append(node)
            if node.children:
                stack.extend(reversed(node.children))
        return out

    def overlaps(self, other: Node) -> bool:
        return self.start <= other.end and other.start <= self.end

    def encloses(self, other: Node) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(slots=True)
class Forest:
    """All nodes of one or several traces. `roots`: nodes without a present parent, in order of time.

    Log records: `loose_records` stand by themselves; `told_records` name the span that they tell of;
    `near_records` look for it.
    """

    roots: list[Node] = field(default_factory=list[Node])
    by_id: dict[tuple[bytes, bytes], Node] = field(default_factory=dict[tuple[bytes, bytes], Node])
    loose_records: list[Node] = field(default_factory=list[Node])
    near_records: list[Node] = field(default_factory=list[Node])
    told_records: list[Node] = field(default_factory=list[Node])
    flat: list[Node] | None = None

    def nodes(self) -> list[Node]:
        """All nodes, parents before children."""
        if self.flat is not None:
            return self.flat
        return [node for root in self.roots for node in root.subtree()]


def build_forest(reads: Iterable[Read]) -> Forest:
    """Links, merges and resolves. The result is the same for any order of `reads`."""
    spans: dict[tuple[bytes, bytes], Node] = {}
    records: list[Node] = []
    for read in reads:
        node = Node(read.source, read.facts)
        if isinstance(read.source, Span):
            key = (node.trace_id, node.span_id)
            known = spans.get(key)
            if known is None or _later(node, known):
                spans[key] = node
        else:
            records.append(node)
    forest = Forest(by_id=spans)
    records.sort(key=lambda n: (n.start, n.facts.sequence, n.trace_id, n.span_id))
    _link(forest)
    _attach_records(forest, records)
    _end_open_spans(forest)
    _shift_clocks(forest)
    adopt_orphans(forest)
    _sort(forest)
    _reparent_loose(forest)
    _resolve_chains(forest)
    _attach_nearest(forest)
    _merge_doubles(forest)
    return forest


def _later(new: Node, known: Node) -> bool:
    """Of two spans with one id, the one that says more: it ended later, or says more in its attributes."""
    return (new.end, len(new.source.attributes)) > (known.end, len(known.source.attributes))


# --- log records --------------------------------------------------------------------------------------------


def _attach_records(forest: Forest, records: list[Node]) -> None:
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


def _attach_nearest(forest: Forest) -> None:
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


def fuller(facts: Facts, more: Facts) -> None:
    """Of two tellings of one reply, the one that tells more."""
    if (
        facts.outputs is not None
        and more.outputs is not None
        and len(said(more.outputs)) > len(said(facts.outputs))
    ):
        facts.outputs = more.outputs


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


_OWN = {
    "convention",
    "role",
    "supplements",
    "hidden",
    "cut",
    "marks",
    "questions",
    "decisions",
    "normalized",
    "began",
    "sequence",
    "requests",
}
_FILLABLE = tuple(f.name for f in fields(Facts) if f.name not in _OWN)


def supplement(facts: Facts, more: Facts) -> None:
    """Adds what `facts` lacks from a second witness of the same span; never overwrites what is there."""
    for name in _FILLABLE:
        value = getattr(facts, name)
        if value is None or value is MISSING or value is False or value == () or name in facts.cut:
            other = getattr(more, name)
            if other is not None and other is not MISSING and other is not False and other != ():
                setattr(facts, name, other)
    if facts.usage is not None and more.usage is not None:
        for name in ("input", "output", "cache_read", "cache_creation", "reasoning"):
            if getattr(facts.usage, name) is None:
                setattr(facts.usage, name, getattr(more.usage, name))
    if more.requests != 0 and (facts.requests == 0 or (facts.requests is None and more.requests is not None)):
        facts.requests = more.requests
    facts.cut &= more.cut
    facts.hidden |= more.hidden
    _settle_hidden(facts)
    facts.marks.extend(m for m in more.marks if m not in facts.marks)
    facts.questions.extend(q for q in more.questions if q not in facts.questions)
    facts.decisions.extend(d for d in more.decisions if d not in facts.decisions)
    facts.normalized.extend(n for n in more.normalized if n not in facts.normalized)


def _settle_hidden(facts: Facts) -> None:
    """What one witness hides and another shows is not hidden."""
    if facts.arguments is not MISSING:
        facts.hidden.discard("arguments")
    if facts.result is not MISSING:
        facts.hidden.discard("result")
    if facts.inputs is not None:
        facts.hidden.discard("inputs")
    if facts.outputs is not None:
        facts.hidden.discard("outputs")


# --- links and clocks ---------------------------------------------------------------------------------------


def _link(forest: Forest) -> None:
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


def _sort(forest: Forest) -> None:
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


def _unnumber(forest: Forest) -> None:
    """The tree has changed: nothing may go by the numbers of before."""
    for node in forest.flat or ():
        node.flat = None
    forest.flat = None


def _end_open_spans(forest: Forest) -> None:
    """A span that never ended lasts at least as long as its children."""
    if all(n.ended for n in forest.by_id.values()):
        return
    for node in reversed(list(forest.nodes())):
        if not node.ended:
            node.end = max([node.end, *(c.end for c in node.children)])


def _shift_clocks(forest: Forest) -> None:
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


# --- positions ----------------------------------------------------------------------------------------------

_AGENTIC = (Role.AGENT, Role.WORKFLOW)
_WORK = (Role.INFERENCE, Role.TOOL, Role.AGENT, Role.WORKFLOW, Role.HANDOFF)


def _move(node: Node, parent: Node) -> None:
    if node.parent is not None:
        node.parent.children.remove(node)
    node.parent = parent
    parent.children.append(node)


def _reparent_loose(forest: Forest) -> None:
    """A convention that hangs an agent's span beside the call that reached it: the enclosing tool span is its
    parent.
    """
    loose = [n for n in forest.nodes() if n.facts.loose and n.parent is not None]
    if not loose:
        return
    _unnumber(forest)
    for node in loose:
        parent = node.parent
        if parent is None:
            continue
        tools = [
            tool
            for tool in parent.below()
            if tool.role is Role.TOOL
            and tool is not node
            and tool.start <= node.start <= tool.end
            and not any(up is node for up in tool.above())
            and not any(up is tool for up in node.above())
        ]
        if tools:
            _move(node, max(tools, key=lambda t: (_names(t, node), t.start, t.span_id)))
    _sort(forest)


def _names(tool: Node, agent: Node) -> int:
    """How surely the tool reaches the agent: it says so, or carries its name."""
    name = agent.facts.agent_name
    if not name:
        return 0
    if tool.facts.delegates_to == name:
        return 3
    if tool.facts.tool_name == name:
        return 2
    return int(name in (tool.facts.tool_name or ""))


def _resolve_chains(forest: Forest) -> None:
    """CHAIN: an agent at the root, directly below a tool, or (where it speaks) above inferences; structure
    elsewhere.
    """
    for root in forest.roots:
        stack: list[tuple[Node, bool, bool]] = [(root, False, False)]
        while stack:
            node, inside, below_tool = stack.pop()
            if node.role is Role.CHAIN:
                topmost = not inside and _has_work(node)
                speaks = node.facts.chain_speaks and inside and _own_inference(node)
                agent = (topmost or below_tool or speaks) and _has_work(node)
                node.facts.role = Role.AGENT if agent else Role.STEP
            if node.facts.side and node.role is Role.STEP:
                for one in node.below():
                    one.facts.side = one.facts.side or one.role is Role.INFERENCE
                    if one.role in _AGENTIC or one.role is Role.CHAIN:
                        one.facts.role = Role.STEP
            inside = inside or node.role in _AGENTIC
            if node.role is Role.TOOL:
                below_tool = True
            elif node.role in (*_AGENTIC, Role.INFERENCE):
                below_tool = False
            stack.extend((child, inside, below_tool) for child in node.children)


def _has_work(node: Node) -> bool:
    return node.tells or any(n.role in _WORK or n.tells for n in node.below())


def _own_inference(node: Node) -> bool:
    stack = list(node.children)
    while stack:
        child = stack.pop()
        if child.role is Role.INFERENCE:
            return True
        if child.role in (Role.STEP, Role.NOTHING):
            stack.extend(child.children)
    return False


# --- the same thing told twice ------------------------------------------------------------------------------


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


def _merge_doubles(forest: Forest) -> None:
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


def said(messages: Iterable[Message]) -> list[object]:
    """The content of messages in a form that compares equal where they say the same."""
    return [part for message in messages for part in message.parts]


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
            twin = next((k for k in kept if k.scope_name != node.scope_name and k.overlaps(node)), None)
            if twin is None:
                kept.append(node)
            else:
                _absorb(twin, node)


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
